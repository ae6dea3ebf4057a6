//! Lines of a file, as they are read: one at a time, or in blocks of whole lines that are parsed side by side.
//!
//! Nothing is held but the line or the block, so memory is that of the numbers. A byte order mark is skipped.

use std::io::{self, BufRead};

use crate::Error;
use crate::error::Location;
use crate::text::encoding::Encoding;

/// A quote that is not closed by then never will be.
const MAX_RECORD_LINES: usize = 200;
const MAX_RECORD_BYTES: usize = 1 << 16;

/// A file that is open.
pub(crate) struct Source<'a> {
    /// As the user named it.
    pub(crate) file: String,
    pub(crate) reader: Box<dyn BufRead + 'a>,
    /// Whether what is read is unpacked gzip.
    pub(crate) is_gzip: bool,
    /// How its letters were written; what is read is UTF-8.
    pub(crate) encoding: Encoding,
}

impl Source<'_> {
    /// What a failure to read means.
    pub(crate) fn failed(&self, source: io::Error) -> Error {
        let file = self.file.clone();
        if self.is_gzip { Error::Gzip { file, source } } else { Error::Read { file, source } }
    }
}

/// The lines of a source, counted from 1.
pub(crate) struct Lines<'a> {
    source: Source<'a>,
    buffer: Vec<u8>,
    count: u64,
}

/// One line without its end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line<'a> {
    pub(crate) number: u64,
    pub(crate) text: &'a [u8],
}

/// Some whole lines.
pub(crate) struct Block {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    first: u64,
}

impl Block {
    /// The lines, without their ends.
    pub(crate) fn lines(&self) -> Vec<Line<'_>> {
        let mut start = 0;
        let line = |(i, &end): (usize, &usize)| {
            let text = &self.bytes[start..end];
            start = end;
            Line { number: self.first + i as u64, text: trimmed(text) }
        };
        self.ends.iter().enumerate().map(line).collect()
    }
}

impl<'a> Lines<'a> {
    pub(crate) fn new(source: Source<'a>) -> Result<Self, Error> {
        let mut lines = Self { source, buffer: Vec::new(), count: 0 };
        let start = lines.source.reader.fill_buf().map(|start| start[..start.len().min(3)].to_vec());
        let start = start.map_err(|error| lines.source.failed(error))?;
        if start == b"\xef\xbb\xbf" {
            lines.source.reader.consume(3);
        }
        Ok(lines)
    }

    pub(crate) fn file(&self) -> &str {
        &self.source.file
    }

    pub(crate) fn next(&mut self) -> Result<Option<Line<'_>>, Error> {
        self.buffer.clear();
        let read = self.source.reader.read_until(b'\n', &mut self.buffer);
        if read.map_err(|error| self.source.failed(error))? == 0 {
            return Ok(None);
        }
        self.count += 1;
        Ok(Some(Line { number: self.count, text: trimmed(&self.buffer) }))
    }

    /// The next line, with those behind it while `is_open` says that it goes on: a cell in quotes may hold ends of lines. Its
    /// number is that of the first.
    pub(crate) fn record(&mut self, is_open: impl Fn(&[u8]) -> bool) -> Result<Option<Line<'_>>, Error> {
        self.next()?;
        let number = self.count;
        if self.buffer.is_empty() {
            return Ok(None);
        }
        let mut lines = 1;
        while self.buffer.contains(&b'"')
            && lines < MAX_RECORD_LINES
            && self.buffer.len() < MAX_RECORD_BYTES
            && is_open(trimmed(&self.buffer))
        {
            let read = self.source.reader.read_until(b'\n', &mut self.buffer);
            if read.map_err(|error| self.source.failed(error))? == 0 {
                break;
            }
            lines += 1;
            self.count += 1;
        }
        Ok(Some(Line { number, text: trimmed(&self.buffer) }))
    }

    /// The next lines, at least so many bytes of them unless the file ends.
    pub(crate) fn block(&mut self, least: usize) -> Result<Option<Block>, Error> {
        let mut block = Block { bytes: std::mem::take(&mut self.buffer), ends: Vec::new(), first: self.count + 1 };
        block.bytes.clear();
        while block.bytes.len() < least {
            let read = self.source.reader.read_until(b'\n', &mut block.bytes);
            if read.map_err(|error| self.source.failed(error))? == 0 {
                break;
            }
            block.ends.push(block.bytes.len());
        }
        self.count += block.ends.len() as u64;
        Ok((!block.ends.is_empty()).then_some(block))
    }

    /// Gives the memory of a block back, to be used again.
    pub(crate) fn reuse(&mut self, block: Block) {
        self.buffer = block.bytes;
    }
}

/// A line without `\n` or `\r\n`.
fn trimmed(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// The text of a cell or a line.
pub(crate) fn utf8(text: &[u8], at: impl FnOnce() -> Location) -> Result<&str, Error> {
    str::from_utf8(text).map_err(|_| Error::NotUtf8 { at: at() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &[u8]) -> Lines<'_> {
        let reader = Box::new(io::BufReader::with_capacity(4, text));
        Lines::new(Source { file: "test".into(), reader, is_gzip: false, encoding: Encoding::Utf8 }).unwrap()
    }

    #[test]
    fn lines_end_in_every_way() {
        let mut lines = lines(b"\xef\xbb\xbfa\r\n\n  b\nc");
        let mut seen = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            seen.push((line.number, String::from_utf8(line.text.to_vec()).unwrap()));
        }
        assert_eq!(seen, [(1, "a".into()), (2, String::new()), (3, "  b".into()), (4, "c".into())]);
    }

    #[test]
    fn blocks_go_on_where_lines_stopped() {
        let mut lines = lines(b"head\none\r\ntwo\nthree\n");
        assert_eq!(lines.next().unwrap().unwrap().text, b"head");
        let block = lines.block(5).unwrap().unwrap();
        let seen: Vec<_> = block.lines().iter().map(|line| (line.number, line.text.to_vec())).collect();
        assert_eq!(seen, [(2, b"one".to_vec())]);
        lines.reuse(block);
        let block = lines.block(100).unwrap().unwrap();
        let seen: Vec<_> = block.lines().iter().map(|line| (line.number, line.text.to_vec())).collect();
        assert_eq!(seen, [(3, b"two".to_vec()), (4, b"three".to_vec())]);
        assert!(lines.block(1).unwrap().is_none());
    }
}
