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

use super::bytes::{Bytes, LONGEST_LINE};

/// The most nodes of a file; those of this data set have some hundreds.
const MAX_NODES: usize = 1 << 20;
/// The most bytes that calls of `_codecs.encode` make: text may be named again and again.
const MAX_ENCODED: usize = 1 << 28;

/// The place of a node.
pub(super) type Id = usize;

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Node {
    /// `None`.
    None,
    /// A boolean or an integer; those beyond 64 bits are 0.
    Int(i64),
    /// A float.
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

    /// A node.
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
        match code {
            // The protocol, and frames, which say how much may be read at once.
            0x80 => self.bytes.array::<1>().map(|_| ()),
            0x95 => self.bytes.array::<8>().map(|_| ()),
            b'(' => {
                self.marks.push(self.stack.len());
                Ok(())
            }
            b'0' => self.pop().map(|_| ()),
            b'1' => self.marked().map(|_| ()),
            b'2' => {
                let top = self.pop()?;
                self.stack.extend([top, top]);
                Ok(())
            }
            b'N' => self.push(Node::None),
            b'I' | b'L' => {
                let word = self.bytes.word()?;
                let number = word.trim_end_matches('L').parse().map_err(|_| self.broken("an integer"))?;
                self.push(Node::Int(number))
            }
            b'J' => {
                let number = i32::from_le_bytes(self.bytes.array()?);
                self.push(Node::Int(number.into()))
            }
            b'K' => self.small::<1>(),
            b'M' => self.small::<2>(),
            0x88 | 0x89 => self.push(Node::Int((code == 0x88).into())),
            0x8a => self.long::<1>(),
            0x8b => self.long::<4>(),
            b'F' => {
                let number = self.bytes.word()?.parse().map_err(|_| self.broken("a float"))?;
                self.push(Node::Float(number))
            }
            b'G' => {
                let number = f64::from_be_bytes(self.bytes.array()?);
                self.push(Node::Float(number))
            }
            b'S' => {
                let own = self.bytes.quoted()?;
                self.push(own)
            }
            b'V' => {
                let longest = self.bytes.longest;
                let own = self.bytes.line(longest)?.map_or(Node::Long, Node::Bytes);
                self.push(own)
            }
            b'U' | b'C' | 0x8c => self.string::<1>(),
            b'T' | b'B' | b'X' => self.string::<4>(),
            0x8d | 0x8e | 0x96 => self.string::<8>(),
            b'c' => {
                let own = Node::Global(self.bytes.word()?, self.bytes.word()?);
                self.push(own)
            }
            0x93 => {
                let (name, module) = (self.pop()?, self.pop()?);
                let own = Node::Global(self.words(module)?, self.words(name)?);
                self.push(own)
            }
            b')' => self.push(Node::Tuple(Vec::new())),
            b']' => self.push(Node::List(Vec::new())),
            b'}' => self.push(Node::Dict(Vec::new())),
            b't' => {
                let own = self.marked()?;
                self.push(Node::Tuple(own))
            }
            b'l' => {
                let own = self.marked()?;
                self.push(Node::List(own))
            }
            b'd' => {
                let own = self.pairs()?;
                self.push(Node::Dict(own))
            }
            0x85..=0x87 => {
                let from = self.stack.len().checked_sub(usize::from(code - 0x84)).ok_or_else(|| self.empty())?;
                let own = self.taken(from)?;
                self.push(Node::Tuple(own))
            }
            b'a' => {
                let item = self.pop()?;
                self.append(vec![item])
            }
            b'e' => {
                let items = self.marked()?;
                self.append(items)
            }
            b's' => {
                let (value, key) = (self.pop()?, self.pop()?);
                self.set(vec![[key, value]])
            }
            b'u' => {
                let pairs = self.pairs()?;
                self.set(pairs)
            }
            // A call, and a new object of a class.
            b'R' | 0x81 => {
                let (arguments, callee) = (self.pop()?, self.pop()?);
                let own = self.called(callee, arguments)?;
                self.push(own)
            }
            b'b' => {
                let given = self.pop()?;
                let top = self.top()?;
                if let Node::Object { state, .. } = &mut self.nodes[top] {
                    *state = Some(given);
                }
                Ok(())
            }
            b'p' => {
                let place = self.bytes.word()?.parse().map_err(|_| self.broken("a place"))?;
                self.keep(place)
            }
            b'q' => {
                let place = self.bytes.size::<1>()?;
                self.keep(place)
            }
            b'r' => {
                let place = self.bytes.size::<4>()?;
                self.keep(place)
            }
            0x94 => self.keep(self.memo.len() as u64),
            b'g' => {
                let place = self.bytes.word()?.parse().map_err(|_| self.broken("a place"))?;
                self.fetch(place)
            }
            b'h' => {
                let place = self.bytes.size::<1>()?;
                self.fetch(place)
            }
            b'j' => {
                let place = self.bytes.size::<4>()?;
                self.fetch(place)
            }
            other => {
                Err(format!("has the operation 0x{other:02x} at byte {}, which no dictionary of arrays needs", self.bytes.at - 1))
            }
        }
    }

    fn push(&mut self, node: Node) -> Result<(), String> {
        if self.nodes.len() >= MAX_NODES || self.stack.len() >= MAX_NODES {
            return Err(format!("holds more than {MAX_NODES} values before byte {}", self.bytes.at));
        }
        self.stack.push(self.nodes.len());
        self.nodes.push(node);
        Ok(())
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

    fn small<const N: usize>(&mut self) -> Result<(), String> {
        let number = self.bytes.size::<N>()?;
        self.push(Node::Int(number as i64))
    }

    /// An integer of any size in two's complement; beyond 64 bits it is of no use here.
    fn long<const N: usize>(&mut self) -> Result<(), String> {
        let length = self.bytes.size::<N>()?;
        let number = match self.bytes.string(length)? {
            Node::Bytes(own) if !own.is_empty() && own.len() <= 8 => {
                let mut whole = [if own[own.len() - 1] >= 0x80 { 0xff } else { 0 }; 8];
                whole[..own.len()].copy_from_slice(&own);
                i64::from_le_bytes(whole)
            }
            _ => 0,
        };
        self.push(Node::Int(number))
    }

    fn string<const N: usize>(&mut self) -> Result<(), String> {
        let length = self.bytes.size::<N>()?;
        let own = self.bytes.string(length)?;
        self.push(own)
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

    fn keep(&mut self, place: u64) -> Result<(), String> {
        let top = self.top()?;
        self.memo.insert(place, top);
        Ok(())
    }

    fn fetch(&mut self, place: u64) -> Result<(), String> {
        let own = *self.memo.get(&place).ok_or_else(|| self.broken("a place"))?;
        if self.stack.len() >= MAX_NODES {
            return Err(format!("holds more than {MAX_NODES} values before byte {}", self.bytes.at));
        }
        self.stack.push(own);
        Ok(())
    }
}
