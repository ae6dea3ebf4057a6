//! Where bytes come from: a file that can be opened again, or memory.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;

use super::columnar::Columns;
use super::grid::Grid;
use crate::error::at_line;
use crate::text::encoding::{Decoder, Encoding};
use crate::text::lines::Source;
use crate::{Error, Warning};

/// Files are read in pieces of this size.
const PIECE: usize = 1 << 18;

/// Something that can be read from its start as often as needed.
pub(super) struct Input<'a> {
    /// As the user named it.
    file: String,
    from: From<'a>,
    /// How its letters are written, if its first bytes do not say it.
    encoding: Option<Encoding>,
}

enum From<'a> {
    Path(PathBuf),
    Bytes(Cow<'a, [u8]>),
    /// A table that is no text.
    #[cfg_attr(not(feature = "parquet"), expect(dead_code, reason = "only the feature makes some"))]
    Columns(Columns),
    /// Its cells.
    Grid(Grid),
}

impl<'a> Input<'a> {
    /// A file; `-` is standard input. What can be read only once is taken into memory.
    pub(super) fn of(path: &Path) -> Result<Self, Error> {
        let file = path.display().to_string();
        if file == "-" {
            let file = "standard input".to_string();
            let bytes = all(std::io::stdin().lock(), &file)?;
            return Ok(Self { file, from: From::Bytes(Cow::Owned(bytes)), encoding: None });
        }
        let opened = File::open(path).map_err(|source| Error::Open { file: file.clone(), source })?;
        let is_plain = opened.metadata().is_ok_and(|about| about.is_file());
        let from = if is_plain { From::Path(path.into()) } else { From::Bytes(Cow::Owned(all(opened, &file)?)) };
        Ok(Self { file, from, encoding: None })
    }

    pub(super) fn bytes(name: &str, bytes: &'a [u8]) -> Self {
        Self { file: name.into(), from: From::Bytes(Cow::Borrowed(bytes)), encoding: None }
    }

    /// A table that was read from a file.
    #[cfg(feature = "parquet")]
    pub(super) fn columns(file: &str, columns: Columns) -> Self {
        Self { file: file.into(), from: From::Columns(columns), encoding: None }
    }

    /// A table of cells that were read from a file.
    pub(super) fn grid(file: &str, grid: Grid) -> Input<'static> {
        Input { file: file.into(), from: From::Grid(grid), encoding: None }
    }

    /// All of its text.
    pub(super) fn text(&self) -> Result<Vec<u8>, Error> {
        let mut source = self.open()?;
        let mut bytes = Vec::new();
        match source.reader.read_to_end(&mut bytes) {
            Err(error) => Err(source.failed(error)),
            Ok(_) if str::from_utf8(&bytes).is_err() => Err(Error::NotUtf8 { at: at_line(&self.file, 0) }),
            Ok(_) => Ok(bytes),
        }
    }

    /// The names of the columns of a table, if it is no text.
    pub(super) fn names(&self) -> Option<&[String]> {
        match &self.from {
            From::Columns(columns) => Some(columns.names()),
            From::Grid(grid) => Some(&grid.names),
            From::Path(_) | From::Bytes(_) => None,
        }
    }

    /// Calls `each` with every row of a table that is no text.
    pub(super) fn each(&self, each: impl FnMut(u64, &[Cow<'_, [u8]>]) -> Result<(), Error>) -> Result<(), Error> {
        match &self.from {
            From::Columns(columns) => columns.each(each),
            From::Grid(grid) => grid.each(each),
            From::Path(_) | From::Bytes(_) => Ok(()),
        }
    }

    /// Whether its bytes are UTF-8, or became it.
    fn is_utf8(&self) -> Result<bool, Error> {
        let source = self.open()?;
        Ok(str::from_utf8(&all(source.reader, &self.file)?).is_ok())
    }

    pub(super) fn file(&self) -> &str {
        &self.file
    }

    /// Opens it at its start, unpacked if it is gzip; text as UTF-8.
    pub(super) fn open(&self) -> Result<Source<'_>, Error> {
        match &self.from {
            From::Bytes(bytes) => self.unpack(Box::new(&bytes[..])),
            // What it was read from is not kept: there is no text of it.
            From::Columns(_) | From::Grid(_) => self.unpack(Box::new(std::io::empty())),
            From::Path(path) => {
                let opened = File::open(path).map_err(|source| Error::Open { file: self.file.clone(), source })?;
                self.unpack(Box::new(BufReader::with_capacity(PIECE, opened)))
            }
        }
    }

    fn unpack<'b>(&self, mut reader: Box<dyn BufRead + 'b>) -> Result<Source<'b>, Error> {
        let file = self.file.clone();
        let start = reader.fill_buf().map_err(|source| Error::Read { file: file.clone(), source })?;
        let is_gzip = start.starts_with(b"\x1f\x8b");
        if !is_gzip && file.to_ascii_lowercase().ends_with(".gz") {
            let seen = if start.is_empty() { "it is empty" } else { "it does not start as gzip does" };
            return Err(Error::WrongFormat { file, wanted: "a gzip file", seen: seen.into() });
        }
        if is_gzip {
            reader = Box::new(BufReader::with_capacity(PIECE, MultiGzDecoder::new(reader)));
        }
        let start = match reader.fill_buf() {
            Ok(start) => start,
            Err(source) if is_gzip => return Err(Error::Gzip { file, source }),
            Err(source) => return Err(Error::Read { file, source }),
        };
        let encoding = self.encoding.unwrap_or_else(|| Encoding::of(start));
        if encoding != Encoding::Utf8 {
            reader = Box::new(BufReader::with_capacity(PIECE, Decoder::new(reader, encoding)));
        }
        Ok(Source { file, reader, is_gzip, encoding })
    }
}

fn all(mut from: impl Read, file: &str) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    from.read_to_end(&mut bytes).map_err(|source| Error::Read { file: file.into(), source })?;
    Ok(bytes)
}

/// Reads files as UTF-8 or UTF-16; those of which a letter says that they are neither, as Windows-1252. And what was taken.
pub(super) fn in_any_encoding<T>(
    mut inputs: Vec<Input<'_>>,
    read: impl Fn(&[Input<'_>]) -> Result<T, Error>,
) -> Result<(T, Option<Warning>), Error> {
    let found = match read(&inputs) {
        Err(Error::NotUtf8 { .. }) => {
            for input in &mut inputs {
                if !input.is_utf8()? {
                    input.encoding = Some(Encoding::Windows1252);
                }
            }
            read(&inputs)?
        }
        found => found?,
    };
    let mut warning = None;
    for input in &inputs {
        let encoding = input.open()?.encoding;
        if encoding != Encoding::Utf8 {
            let seen = format!("`{}` is read as {} text", input.file, encoding.name());
            warning = Some(Warning::new(seen, "save it as UTF-8 if names or words look wrong"));
            break;
        }
    }
    Ok((found, warning))
}
