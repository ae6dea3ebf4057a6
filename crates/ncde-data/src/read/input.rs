//! Where bytes come from: a file that can be opened again, or memory.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;

use super::columnar::Columns;
use crate::Error;
use crate::text::lines::Source;

/// Files are read in pieces of this size.
const PIECE: usize = 1 << 18;

/// Something that can be read from its start as often as needed.
pub(super) struct Input<'a> {
    /// As the user named it.
    file: String,
    from: From<'a>,
}

enum From<'a> {
    Path(PathBuf),
    Bytes(Cow<'a, [u8]>),
    /// A table that is no text.
    #[cfg_attr(not(feature = "parquet"), expect(dead_code, reason = "only the feature makes some"))]
    Columns(Columns),
}

impl<'a> Input<'a> {
    /// A file; `-` is standard input. What can be read only once is taken into memory.
    pub(super) fn of(path: &Path) -> Result<Self, Error> {
        let file = path.display().to_string();
        if file == "-" {
            let file = "standard input".to_string();
            let bytes = all(std::io::stdin().lock(), &file)?;
            return Ok(Self { file, from: From::Bytes(Cow::Owned(bytes)) });
        }
        let opened = File::open(path).map_err(|source| Error::Open { file: file.clone(), source })?;
        let is_plain = opened.metadata().is_ok_and(|about| about.is_file());
        let from = if is_plain { From::Path(path.into()) } else { From::Bytes(Cow::Owned(all(opened, &file)?)) };
        Ok(Self { file, from })
    }

    pub(super) fn bytes(name: &str, bytes: &'a [u8]) -> Self {
        Self { file: name.into(), from: From::Bytes(Cow::Borrowed(bytes)) }
    }

    /// A table that was read from a file.
    #[cfg(feature = "parquet")]
    pub(super) fn columns(file: &str, columns: Columns) -> Self {
        Self { file: file.into(), from: From::Columns(columns) }
    }

    /// The table, if it is no text.
    pub(super) fn table(&self) -> Option<&Columns> {
        match &self.from {
            From::Columns(columns) => Some(columns),
            From::Path(_) | From::Bytes(_) => None,
        }
    }

    pub(super) fn file(&self) -> &str {
        &self.file
    }

    /// Opens it at its start, unpacked if it is gzip.
    pub(super) fn open(&self) -> Result<Source<'_>, Error> {
        match &self.from {
            From::Bytes(bytes) => unpack(self.file.clone(), Box::new(&bytes[..])),
            // What it was read from is not kept: there is no text of it.
            From::Columns(_) => unpack(self.file.clone(), Box::new(std::io::empty())),
            From::Path(path) => {
                let opened = File::open(path).map_err(|source| Error::Open { file: self.file.clone(), source })?;
                unpack(self.file.clone(), Box::new(BufReader::with_capacity(PIECE, opened)))
            }
        }
    }
}

fn all(mut from: impl Read, file: &str) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    from.read_to_end(&mut bytes).map_err(|source| Error::Read { file: file.into(), source })?;
    Ok(bytes)
}

fn unpack<'a>(file: String, mut reader: Box<dyn BufRead + 'a>) -> Result<Source<'a>, Error> {
    let start = reader.fill_buf().map_err(|source| Error::Read { file: file.clone(), source })?;
    let is_gzip = start.starts_with(b"\x1f\x8b");
    if !is_gzip && file.to_ascii_lowercase().ends_with(".gz") {
        let seen = if start.is_empty() { "it is empty" } else { "it does not start as gzip does" };
        return Err(Error::WrongFormat { file, wanted: "a gzip file", seen: seen.into() });
    }
    if is_gzip {
        reader = Box::new(BufReader::with_capacity(PIECE, MultiGzDecoder::new(reader)));
    }
    Ok(Source { file, reader, is_gzip })
}
