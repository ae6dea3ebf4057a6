//! Text that is not UTF-8: UTF-16 in either order of bytes, and Windows-1252, which is Latin-1 with more signs.

use std::io::{self, BufReader, Read};

/// How the letters of a file are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    Utf8,
    Utf16Le,
    Utf16Be,
    Windows1252,
}

/// Bytes that are looked at to tell UTF-16 without a mark.
const LOOKED_AT: usize = 64;

impl Encoding {
    /// What the first bytes of a text say; all that is not UTF-16 is taken for UTF-8 until a letter says otherwise.
    pub(crate) fn of(start: &[u8]) -> Self {
        // A stream of Arrow starts with four bytes of ones; no text does.
        if start.starts_with(b"\xff\xfe") {
            return Self::Utf16Le;
        }
        if start.starts_with(b"\xfe\xff") {
            return Self::Utf16Be;
        }
        let pairs = start[..start.len().min(LOOKED_AT)].chunks_exact(2);
        // Most letters of a table are Latin, and none is a zero.
        let is = |zero: usize| {
            let latin = pairs.clone().filter(|pair| pair[zero] == 0).count();
            pairs.len() >= 4 && 4 * latin >= 3 * pairs.len() && pairs.clone().all(|pair| pair[1 - zero] != 0)
        };
        match (is(1), is(0)) {
            (true, _) => Self::Utf16Le,
            (_, true) => Self::Utf16Be,
            _ => Self::Utf8,
        }
    }

    /// What it is called.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "UTF-8",
            Self::Utf16Le | Self::Utf16Be => "UTF-16",
            Self::Windows1252 => "Windows-1252 (Latin-1)",
        }
    }
}

/// Text as UTF-8, whatever it was.
pub(crate) struct Decoder<R> {
    from: BufReader<R>,
    encoding: Encoding,
    /// The first half of a letter of UTF-16 whose second half is not read yet.
    high: Option<u16>,
    /// Letters that did not fit.
    left: Vec<u8>,
}

/// Letters of Windows-1252 that differ from Latin-1, from 0x80 on; those that nothing stands for are the controls of Latin-1.
const SIGNS: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}', '\u{90}', '‘', '’', '“', '”',
    '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

impl<R: Read> Decoder<R> {
    pub(crate) fn new(from: R, encoding: Encoding) -> Self {
        Self { from: BufReader::new(from), encoding, high: None, left: Vec::new() }
    }

    /// The next letter; `None` at the end.
    fn next(&mut self) -> io::Result<Option<char>> {
        let Some(first) = self.byte()? else {
            return Ok(self.high.take().map(|_| char::REPLACEMENT_CHARACTER));
        };
        if self.encoding == Encoding::Windows1252 {
            return Ok(Some(match first {
                0x80..=0x9f => SIGNS[usize::from(first - 0x80)],
                other => char::from(other),
            }));
        }
        let Some(mut unit) = self.unit(first)? else { return Ok(Some(char::REPLACEMENT_CHARACTER)) };
        let is_half = |unit: u16| (0xd800..0xdc00).contains(&unit);
        if self.high.is_none() && is_half(unit) {
            let next = match self.byte()? {
                Some(first) => self.unit(first)?,
                None => None,
            };
            let Some(next) = next else { return Ok(Some(char::REPLACEMENT_CHARACTER)) };
            self.high = Some(std::mem::replace(&mut unit, next));
        }
        let letter = char::decode_utf16(self.high.take().into_iter().chain([unit])).next();
        if !matches!(letter, Some(Ok(_))) && is_half(unit) {
            self.high = Some(unit);
        }
        Ok(Some(letter.and_then(Result::ok).unwrap_or(char::REPLACEMENT_CHARACTER)))
    }

    /// Two bytes of UTF-16; `None` if the file ends after the first.
    fn unit(&mut self, first: u8) -> io::Result<Option<u16>> {
        let Some(second) = self.byte()? else { return Ok(None) };
        let pair = [first, second];
        Ok(Some(if self.encoding == Encoding::Utf16Be { u16::from_be_bytes(pair) } else { u16::from_le_bytes(pair) }))
    }

    fn byte(&mut self) -> io::Result<Option<u8>> {
        let mut byte = [0];
        Ok((self.from.read(&mut byte)? > 0).then_some(byte[0]))
    }
}

impl<R: Read> Read for Decoder<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut written = 0;
        while written < into.len() {
            if self.left.is_empty() {
                let Some(letter) = self.next()? else { break };
                self.left.extend(letter.encode_utf8(&mut [0; 4]).as_bytes());
            }
            let count = self.left.len().min(into.len() - written);
            into[written..written + count].copy_from_slice(&self.left[..count]);
            self.left.drain(..count);
            written += count;
        }
        Ok(written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(bytes: &[u8], encoding: Encoding) -> String {
        let mut text = String::new();
        Decoder::new(bytes, encoding).read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn letters_of_all_kinds() {
        let text = "id,Größe €,𝄞\n";
        let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        assert_eq!((Encoding::of(&little), Encoding::of(&big)), (Encoding::Utf16Le, Encoding::Utf16Be));
        assert_eq!((Encoding::of(b"\xff\xfea\0"), Encoding::of(b"id,time,x")), (Encoding::Utf16Le, Encoding::Utf8));
        assert_eq!(decoded(&little, Encoding::Utf16Le), text);
        assert_eq!(decoded(&big, Encoding::Utf16Be), text);
        assert_eq!(decoded(b"Gr\xf6\xdfe \x80", Encoding::Windows1252), "Größe €");
        // Half letters.
        assert_eq!(decoded(b"a\0\x34\xd8b\0", Encoding::Utf16Le), "a\u{fffd}");
        assert_eq!(decoded(b"a\0\x34\xd8", Encoding::Utf16Le), "a\u{fffd}");
        assert_eq!(decoded(b"a\0b", Encoding::Utf16Le), "a\u{fffd}");
    }
}
