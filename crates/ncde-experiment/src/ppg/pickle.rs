//! A restricted reader of Python pickles: enough for dictionaries of numpy arrays, protocols 0 to 5.
//!
//! ```text
//! bytes -> operations on a stack -> a tree of nodes; what Python would call is kept as a node and never called
//! ```
//!
//! A pickle is a program for a small stack machine. This one builds constants, tuples, lists and dictionaries, and remembers what would have been called with
//! which arguments ([`Node::Object`]); it knows no name and runs nothing. The one call that it undoes by itself is `_codecs.encode(text, "latin1")`, which is how Python 3
//! writes bytes in old protocols. Strings of Python 2 are bytes.
//!
//! Nodes lie in one list and name each other by place, so that nothing recurses; there are at most [`MAX_NODES`]. Strings longer than a limit are passed over
//! ([`Node::Long`]), so that a file of a gigabyte, most of it signals that nobody wants, takes the memory of those that are. Lengths are never believed: a string is
//! read as far as it goes.

use std::collections::HashMap;
use std::io::BufRead;
use std::str::FromStr;

use super::bytes::{Bytes, LONGEST_LINE};

/// The most nodes of a file; those of this data set have some hundreds.
const MAX_NODES: usize = 1 << 20;
/// The most bytes that calls of `_codecs.encode` make: text may be named again and again.
const MAX_ENCODED: usize = 1 << 28;

pub(super) type Id = usize;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Node {
    None,
    /// A boolean or an integer; those beyond 64 bits are 0.
    Int(i64),
    Float(f64),
    /// Bytes, a string of Python 2, or text as UTF-8.
    Bytes(Vec<u8>),
    /// A string that is longer than the limit, which was passed over.
    Long,
    Tuple(Vec<Id>),
    List(Vec<Id>),
    Dict(Vec<[Id; 2]>),
    /// A name that Python would import: module and name.
    Global(String, String),
    /// What a call would have made, and the state that it would have been given.
    Object {
        callee: Id,
        arguments: Id,
        state: Option<Id>,
    },
}

/// A whole file.
#[derive(Debug)]
pub(super) struct Pickle {
    nodes: Vec<Node>,
    root: Id,
}

impl Pickle {
    /// Reads a file; strings longer than `longest` bytes are passed over.
    ///
    /// # Errors
    /// If it is broken, or holds what it need not hold; the error says what and where.
    pub(super) fn read(reader: impl BufRead, longest: usize) -> Result<Self, String> {
        let mut machine = Machine {
            bytes: Bytes { reader, at: 0, longest },
            nodes: Vec::new(),
            stack: Vec::new(),
            marks: Vec::new(),
            memo: HashMap::new(),
            encoded: 0,
        };
        machine.run()
    }

    /// The outermost value.
    pub(super) fn root(&self) -> Id {
        self.root
    }

    pub(super) fn node(&self, id: Id) -> &Node {
        &self.nodes[id]
    }

    /// The entry of a dictionary, if there is one; the last where a key comes twice, as in Python.
    pub(super) fn entry(&self, id: Id, key: &str) -> Option<Id> {
        let Node::Dict(entries) = self.node(id) else { return None };
        let own = |[name, _]: &&[Id; 2]| matches!(self.node(*name), Node::Bytes(bytes) if bytes == key.as_bytes());
        entries.iter().rev().find(own).map(|[_, value]| *value)
    }
}

struct Machine<R> {
    bytes: Bytes<R>,
    nodes: Vec<Node>,
    stack: Vec<Id>,
    /// Where the stack stood at each mark.
    marks: Vec<usize>,
    memo: HashMap<u64, Id>,
    /// How many bytes were made of text.
    encoded: usize,
}

impl<R: BufRead> Machine<R> {
    fn run(&mut self) -> Result<Pickle, String> {
        loop {
            let [code] = self.bytes.array()?;
            if code == b'.' {
                let root = self.pop()?;
                return Ok(Pickle { nodes: std::mem::take(&mut self.nodes), root });
            }
            self.step(code)?;
        }
    }

    fn step(&mut self, code: u8) -> Result<(), String> {
        let node = match code {
            // The protocol, and frames, which say how much may be read at once.
            0x80 => return self.bytes.array::<1>().map(drop),
            0x95 => return self.bytes.array::<8>().map(drop),
            b'(' => {
                self.marks.push(self.stack.len());
                return Ok(());
            }
            b'0' => return self.pop().map(drop),
            b'1' => return self.marked().map(drop),
            b'2' => {
                let top = self.top()?;
                return self.push_known(top);
            }
            b'N' => Node::None,
            b'I' | b'L' => Node::Int(self.parsed("an integer")?),
            b'J' => Node::Int(i32::from_le_bytes(self.bytes.array()?).into()),
            b'K' => Node::Int(self.bytes.size::<1>()? as i64),
            b'M' => Node::Int(self.bytes.size::<2>()? as i64),
            0x88 | 0x89 => Node::Int((code == 0x88).into()),
            0x8a => self.long::<1>()?,
            0x8b => self.long::<4>()?,
            b'F' => Node::Float(self.parsed("a float")?),
            b'G' => Node::Float(f64::from_be_bytes(self.bytes.array()?)),
            b'S' => self.bytes.quoted()?,
            b'V' => self.bytes.line(self.bytes.longest)?.map_or(Node::Long, Node::Bytes),
            b'U' | b'C' | 0x8c => self.string::<1>()?,
            b'T' | b'B' | b'X' => self.string::<4>()?,
            0x8d | 0x8e | 0x96 => self.string::<8>()?,
            b'c' => Node::Global(self.bytes.word()?, self.bytes.word()?),
            0x93 => {
                let (name, module) = (self.pop()?, self.pop()?);
                Node::Global(self.words(module)?, self.words(name)?)
            }
            b')' => Node::Tuple(Vec::new()),
            b']' => Node::List(Vec::new()),
            b'}' => Node::Dict(Vec::new()),
            b't' => Node::Tuple(self.marked()?),
            b'l' => Node::List(self.marked()?),
            b'd' => Node::Dict(self.pairs()?),
            0x85..=0x87 => {
                let from = self.stack.len().checked_sub(usize::from(code - 0x84)).ok_or_else(|| self.empty())?;
                Node::Tuple(self.taken(from)?)
            }
            b'a' => {
                let item = self.pop()?;
                return self.append(vec![item]);
            }
            b'e' => {
                let items = self.marked()?;
                return self.append(items);
            }
            b's' => {
                let (value, key) = (self.pop()?, self.pop()?);
                return self.set(vec![[key, value]]);
            }
            b'u' => {
                let pairs = self.pairs()?;
                return self.set(pairs);
            }
            // A call, and a new object of a class.
            b'R' | 0x81 => {
                let (arguments, callee) = (self.pop()?, self.pop()?);
                self.called(callee, arguments)?
            }
            b'b' => {
                let (given, object) = (self.pop()?, self.top()?);
                if let Node::Object { state, .. } = &mut self.nodes[object] {
                    *state = Some(given);
                }
                return Ok(());
            }
            b'p' | b'q' | b'r' | 0x94 => {
                let number = match code {
                    b'p' => self.parsed("a place")?,
                    b'q' => self.bytes.size::<1>()?,
                    b'r' => self.bytes.size::<4>()?,
                    _ => self.memo.len() as u64,
                };
                let top = self.top()?;
                self.memo.insert(number, top);
                return Ok(());
            }
            b'g' | b'h' | b'j' => {
                let number = match code {
                    b'g' => self.parsed("a place")?,
                    b'h' => self.bytes.size::<1>()?,
                    _ => self.bytes.size::<4>()?,
                };
                let known = *self.memo.get(&number).ok_or_else(|| self.broken("a place"))?;
                return self.push_known(known);
            }
            other => {
                let at = self.bytes.at - 1;
                return Err(format!("has the operation 0x{other:02x} at byte {at}, which no dictionary of arrays needs"));
            }
        };
        if self.nodes.len() >= MAX_NODES {
            return Err(self.too_many());
        }
        self.nodes.push(node);
        self.push_known(self.nodes.len() - 1)
    }

    /// Puts a node that is there already on the stack.
    fn push_known(&mut self, id: Id) -> Result<(), String> {
        if self.stack.len() >= MAX_NODES {
            return Err(self.too_many());
        }
        self.stack.push(id);
        Ok(())
    }

    fn too_many(&self) -> String {
        format!("holds more than {MAX_NODES} values before byte {}", self.bytes.at)
    }

    /// The next line as a number.
    fn parsed<T: FromStr>(&mut self, what: &str) -> Result<T, String> {
        self.bytes.word()?.trim_end_matches('L').parse().map_err(|_| self.broken(what))
    }

    fn empty(&self) -> String {
        format!("takes a value before byte {} where there is none", self.bytes.at)
    }

    fn broken(&self, what: &str) -> String {
        format!("has {what} that is none before byte {}", self.bytes.at)
    }

    fn top(&self) -> Result<Id, String> {
        self.stack
            .last()
            .copied()
            .filter(|_| self.marks.last().is_none_or(|mark| *mark < self.stack.len()))
            .ok_or_else(|| self.empty())
    }

    fn pop(&mut self) -> Result<Id, String> {
        let top = self.top()?;
        self.stack.pop();
        Ok(top)
    }

    /// What lies above a place of the stack.
    fn taken(&mut self, from: usize) -> Result<Vec<Id>, String> {
        if self.marks.last().is_some_and(|mark| *mark > from) {
            return Err(self.empty());
        }
        Ok(self.stack.split_off(from))
    }

    /// What lies above the last mark.
    fn marked(&mut self) -> Result<Vec<Id>, String> {
        let from = self.marks.pop().ok_or_else(|| self.broken("the end of a list"))?;
        self.taken(from)
    }

    fn pairs(&mut self) -> Result<Vec<[Id; 2]>, String> {
        let all = self.marked()?;
        let (pairs, rest) = all.as_chunks::<2>();
        if rest.is_empty() { Ok(pairs.to_vec()) } else { Err(self.broken("a dictionary")) }
    }

    fn append(&mut self, items: Vec<Id>) -> Result<(), String> {
        let top = self.top()?;
        match &mut self.nodes[top] {
            Node::List(own) => own.extend(items),
            _ => return Err(self.broken("a list")),
        }
        Ok(())
    }

    fn set(&mut self, pairs: Vec<[Id; 2]>) -> Result<(), String> {
        let top = self.top()?;
        match &mut self.nodes[top] {
            Node::Dict(own) => own.extend(pairs),
            _ => return Err(self.broken("a dictionary")),
        }
        Ok(())
    }

    /// An integer of any size in two's complement; beyond 64 bits it is of no use here.
    fn long<const N: usize>(&mut self) -> Result<Node, String> {
        Ok(Node::Int(match self.string::<N>()? {
            Node::Bytes(own) if !own.is_empty() && own.len() <= 8 => {
                let mut whole = [if own[own.len() - 1] >= 0x80 { 0xff } else { 0 }; 8];
                whole[..own.len()].copy_from_slice(&own);
                i64::from_le_bytes(whole)
            }
            _ => 0,
        }))
    }

    fn string<const N: usize>(&mut self) -> Result<Node, String> {
        let length = self.bytes.size::<N>()?;
        self.bytes.string(length)
    }

    /// The text of a node that names something.
    fn words(&self, id: Id) -> Result<String, String> {
        match &self.nodes[id] {
            Node::Bytes(own) if own.len() <= LONGEST_LINE => Ok(String::from_utf8_lossy(own).into_owned()),
            _ => Err(self.broken("a name")),
        }
    }

    /// What a call makes: bytes where it is `_codecs.encode` of text in Latin-1, else a note of it.
    fn called(&mut self, callee: Id, arguments: Id) -> Result<Node, String> {
        let encode = matches!(&self.nodes[callee], Node::Global(module, name) if module == "_codecs" && name == "encode");
        let text = match &self.nodes[arguments] {
            Node::Tuple(given) if encode => given.first().map(|&text| &self.nodes[text]),
            _ => None,
        };
        match text {
            Some(Node::Long) => Ok(Node::Long),
            Some(Node::Bytes(text)) => {
                self.encoded += text.len();
                if self.encoded > MAX_ENCODED {
                    return Err(format!("makes more than {MAX_ENCODED} bytes of text before byte {}", self.bytes.at));
                }
                let text = std::str::from_utf8(text).map_err(|_| self.broken("text"))?;
                let letter = |letter: char| u8::try_from(u32::from(letter)).map_err(|_| self.broken("text in Latin-1"));
                text.chars().map(letter).collect::<Result<_, _>>().map(Node::Bytes)
            }
            _ => Ok(Node::Object { callee, arguments, state: None }),
        }
    }
}
