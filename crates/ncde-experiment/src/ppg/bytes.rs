//! The bytes of a pickle: numbers, strings of a length, lines and quoted strings, read as far as they go.

use std::io::{BufRead, Read};

use super::pickle::Node;

/// The longest line of an operation that is no string.
pub(super) const LONGEST_LINE: usize = 1 << 12;

/// Bytes, and how many were read.
pub(super) struct Bytes<R> {
    pub(super) reader: R,
    pub(super) at: u64,
    pub(super) longest: usize,
}

impl<R: BufRead> Bytes<R> {
    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], String> {
        let mut own = [0; N];
        self.reader.read_exact(&mut own).map_err(|_| self.ended())?;
        self.at += N as u64;
        Ok(own)
    }

    pub(super) fn ended(&self) -> String {
        format!("ends at byte {} or before it is whole; copy it again", self.at)
    }

    /// A number of so many bytes, the least significant first.
    pub(super) fn size<const N: usize>(&mut self) -> Result<u64, String> {
        let mut own = [0; 8];
        own[..N].copy_from_slice(&self.array::<N>()?);
        Ok(u64::from_le_bytes(own))
    }

    /// A string of a length; as much is held as is there.
    pub(super) fn string(&mut self, length: u64) -> Result<Node, String> {
        let mut part = (&mut self.reader).take(length);
        let (read, node) = if length > self.longest as u64 {
            (std::io::copy(&mut part, &mut std::io::sink()), Node::Long)
        } else {
            let mut own = Vec::new();
            (part.read_to_end(&mut own).map(|read| read as u64), Node::Bytes(own))
        };
        let read = read.map_err(|e| e.to_string())?;
        self.at += read;
        if read == length { Ok(node) } else { Err(self.ended()) }
    }

    /// The rest of a line, without its end; none if it is longer than `most`, and passed over.
    pub(super) fn line(&mut self, most: usize) -> Result<Option<Vec<u8>>, String> {
        let mut own = Some(Vec::new());
        loop {
            let seen = self.reader.fill_buf().map_err(|e| e.to_string())?;
            if seen.is_empty() {
                return Err(self.ended());
            }
            let end = seen.iter().position(|&byte| byte == b'\n');
            let part = &seen[..end.unwrap_or(seen.len())];
            own = own.filter(|own: &Vec<u8>| own.len() + part.len() <= most);
            if let Some(own) = &mut own {
                own.extend_from_slice(part);
            }
            let used = part.len() + usize::from(end.is_some());
            self.reader.consume(used);
            self.at += used as u64;
            if end.is_some() {
                return Ok(own);
            }
        }
    }

    /// A short line of plain characters.
    pub(super) fn word(&mut self) -> Result<String, String> {
        let line = self.line(LONGEST_LINE)?.and_then(|line| String::from_utf8(line).ok());
        line.map(|line| line.trim_end_matches('\r').to_owned())
            .ok_or_else(|| format!("has a broken line before byte {}", self.at))
    }

    /// A string in quotes, as Python 2 writes it: escapes stand for bytes.
    pub(super) fn quoted(&mut self) -> Result<Node, String> {
        // A byte takes up to four characters.
        let Some(line) = self.line(4 * self.longest + 2)? else { return Ok(Node::Long) };
        let line = line.strip_suffix(b"\r").unwrap_or(&line);
        let inner = match line {
            [b'\'', inner @ .., b'\''] | [b'"', inner @ .., b'"'] => inner,
            _ => return Err(format!("has a string without quotes before byte {}", self.at)),
        };
        let bytes = unescaped(inner).ok_or_else(|| format!("has a broken string before byte {}", self.at))?;
        Ok(if bytes.len() > self.longest { Node::Long } else { Node::Bytes(bytes) })
    }
}

/// The bytes that a string with escapes stands for.
fn unescaped(text: &[u8]) -> Option<Vec<u8>> {
    let mut own = Vec::with_capacity(text.len() / 2);
    let mut rest = text.iter();
    while let Some(&byte) = rest.next() {
        own.push(match byte {
            b'\\' => match rest.next()? {
                b'x' => {
                    let digit = |byte: Option<&u8>| char::from(*byte?).to_digit(16);
                    (16 * digit(rest.next())? + digit(rest.next())?) as u8
                }
                b'n' => b'\n',
                b't' => b'\t',
                b'r' => b'\r',
                other @ (b'\\' | b'\'' | b'"') => *other,
                _ => return None,
            },
            plain => plain,
        });
    }
    Some(own)
}
