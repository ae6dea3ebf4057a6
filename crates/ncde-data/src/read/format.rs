//! Which format a file has.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::error::shown;
use crate::npy;
use crate::text::lines::Source;

/// A file format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// `.ts` of sktime and aeon.
    Ts,
    /// `.arff` of Weka, univariate or with a relational attribute.
    Arff,
    /// Long csv: a row an observation, `id,time,channels...`.
    Csv,
    /// JSON, or JSON lines: a table of records, columns or series.
    Json,
    /// Several arrays of numpy.
    Npz,
    /// One array of numpy, `[cases, length, channels]`.
    Npy,
    /// A Parquet file: a table as csv, with typed columns.
    Parquet,
    /// An Arrow file or stream, which is also Feather 2: the same.
    Arrow,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 8] = [Self::Ts, Self::Arff, Self::Csv, Self::Json, Self::Npz, Self::Npy, Self::Parquet, Self::Arrow];

    /// What files of this format are called at the end, without the dot.
    pub fn extension(self) -> &'static str {
        self.names()[0]
    }

    /// What a file of this format is called, in messages.
    pub(super) fn words(self) -> &'static str {
        self.names()[1]
    }

    fn names(self) -> [&'static str; 2] {
        match self {
            Self::Ts => ["ts", "a .ts file"],
            Self::Arff => ["arff", "an .arff file"],
            Self::Csv => ["csv", "a csv file"],
            Self::Json => ["json", "a JSON file"],
            Self::Npz => ["npz", "an .npz file"],
            Self::Npy => ["npy", "an .npy file"],
            Self::Parquet => ["parquet", "a Parquet file"],
            Self::Arrow => ["arrow", "an Arrow file"],
        }
    }

    /// The format that the name of a file promises; `.gz` does not count.
    ///
    /// ```
    /// use std::path::Path;
    /// use ncde_data::Format;
    /// assert_eq!(Format::of(Path::new("a.TS.gz")), Some(Format::Ts));
    /// assert_eq!(Format::of(Path::new("a.txt")), None);
    /// ```
    pub fn of(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?.to_ascii_lowercase();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        let (_, extension) = name.rsplit_once('.')?;
        match extension {
            "tsv" => Some(Self::Csv),
            "jsonl" | "ndjson" => Some(Self::Json),
            "pq" => Some(Self::Parquet),
            "feather" | "ipc" => Some(Self::Arrow),
            extension => Self::ALL.into_iter().find(|format| format.extension() == extension),
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.extension())
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|format| format.extension() == text);
        found.ok_or_else(|| format!("`{text}` is no format; wanted ts, arff, csv, json, npz, npy, parquet or arrow"))
    }
}

/// How files of the binary formats start, and what such a file is called.
const STARTS: [(Format, &[u8], &str); 4] = [
    (Format::Npy, npy::MAGIC, "a .npy file"),
    (Format::Npz, b"PK", "a zip archive"),
    (Format::Parquet, b"PAR1", "a Parquet file"),
    (Format::Arrow, b"ARROW1", "an Arrow file"),
];

/// The binary format that a file starts like.
fn binary(start: &[u8]) -> Option<(Format, &'static str)> {
    STARTS.into_iter().find(|(_, magic, _)| start.starts_with(magic)).map(|(format, _, name)| (format, name))
}

/// The format of a file that is open: as the caller says, else by its name, else by its content.
pub(super) fn of(source: &mut Source<'_>, path: &Path, requested: Option<Format>) -> Result<Format, Error> {
    let start = match source.reader.fill_buf() {
        Ok(start) => start,
        Err(error) => return Err(source.failed(error)),
    };
    if start.is_empty() {
        return Err(Error::Empty { file: source.file.clone(), seen: "is empty", wanted: "series" });
    }
    let Some(format) = requested.or_else(|| Format::of(path)) else {
        return by_content(start).map_err(|seen| Error::UnknownFormat { file: source.file.clone(), seen });
    };
    let seen = match binary(start) {
        Some((found, _)) if found == format => return Ok(format),
        Some((_, name)) => format!("it starts as {name} does"),
        // A stream of Arrow starts with the length of its first message.
        None if format == Format::Arrow && start.starts_with(b"\xff\xff\xff\xff") => return Ok(format),
        None if format == Format::Arrow && start.starts_with(b"FEA1") => {
            "it is of version 1 of Feather, which nobody writes any more".into()
        }
        None => match STARTS.iter().find(|(binary, ..)| *binary == format) {
            Some((_, _, name)) => format!("it does not start as {name} does"),
            None => return Ok(format),
        },
    };
    Err(Error::WrongFormat { file: source.file.clone(), wanted: format.words(), seen })
}

/// The format that a file starts like, or what it starts with.
fn by_content(start: &[u8]) -> Result<Format, String> {
    if let Some((format, _)) = binary(start) {
        return Ok(format);
    }
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
    let mut comment = None;
    for line in start.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii) {
        match line.first() {
            None => {}
            Some(b'#') => comment = Some(Format::Ts),
            Some(b'%') => comment = Some(Format::Arff),
            Some(b'@') if line.len() >= 9 && line[..9].eq_ignore_ascii_case(b"@relation") => return Ok(Format::Arff),
            Some(b'@') => return Ok(Format::Ts),
            Some(b'{') => return Ok(Format::Json),
            Some(b'[') if matches!(line[1..].trim_ascii_start().first(), None | Some(b'{' | b'[')) => return Ok(Format::Json),
            Some(_) if str::from_utf8(line).is_ok() && line.iter().any(|byte| b",;\t".contains(byte)) => return Ok(Format::Csv),
            Some(_) => return Err(format!("it starts with `{}`", shown(line))),
        }
    }
    comment.ok_or_else(|| "it holds blank lines only".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_tells() {
        assert_eq!(by_content(b"# about\n\n@problemName x\n"), Ok(Format::Ts));
        assert_eq!(by_content(b"% about\r\n@RELATION x\r\n"), Ok(Format::Arff));
        assert_eq!(by_content(b"\xef\xbb\xbfid,time,x\n"), Ok(Format::Csv));
        assert_eq!(by_content(b"PK\x03\x04"), Ok(Format::Npz));
        assert_eq!(by_content(b"\x93NUMPY\x01"), Ok(Format::Npy));
        assert_eq!(by_content(b"PAR1\x15"), Ok(Format::Parquet));
        assert_eq!(by_content(b"ARROW1\0\0"), Ok(Format::Arrow));
        assert_eq!(by_content(b"# only\n# comments"), Ok(Format::Ts));
        assert_eq!(by_content(b"hello"), Err("it starts with `hello`".into()));
        assert_eq!(by_content(b"\n\n"), Err("it holds blank lines only".into()));
    }
}
