//! From the name of a file to a dataset: what it is, by extension, then by its first bytes.

mod arff;
mod arrays;
mod folder;
mod format;
mod labels;
mod long;
mod rows;
mod ts;

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;
pub use format::Format;

use crate::text::lines::{Packing, Source};
use crate::{Dataset, Error, Task};

/// Files are read in pieces of this size.
const PIECE: usize = 1 << 18;

/// How a file is to be read. By default everything is found out from the file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReadOptions {
    /// The format, whatever the file is called.
    pub format: Option<Format>,
    /// A csv file `id,label[,statics...]` that holds the labels.
    pub labels: Option<PathBuf>,
    /// The column (csv) or array (npz) of ids.
    pub id: Option<String>,
    /// The column (csv) or array (npz) of times.
    pub time: Option<String>,
    /// The column (csv) or array (npz) of labels.
    pub label: Option<String>,
    /// The columns (csv) that are static covariates, a text column by its name or by those of its categories; by default
    /// those that look it. A file for a model that is trained already is read with the statics of its
    /// [`Schema`](crate::Schema).
    pub statics: Option<Vec<String>>,
    /// The column (csv) that holds tokens, which may be integers or words; for arrays of integers (npz, npy) any name asks that
    /// they are tokens. By default the only channel holds tokens if it holds text.
    pub tokens: Option<String>,
    /// Whether labels are classes or numbers.
    pub task: Option<Task>,
}

/// Reads a file, or a folder with a csv file for each case.
///
/// ```
/// use ncde_data::{ReadOptions, read};
/// let folder = tempfile::tempdir()?;
/// let file = folder.path().join("two.csv");
/// std::fs::write(&file, "id,time,x,label\na,0,1.5,up\na,2,,up\nb,0,3,down\n")?;
/// let data = read(&file, &ReadOptions::default())?;
/// assert_eq!(data.cases[0].times, [0.0, 2.0]);
/// assert!(data.cases[0].values[1].is_nan());
/// assert_eq!(data.targets.classes(), ["down", "up"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Any [`Error`] about a file: it cannot be read, or what it holds is not what its format asks for.
pub fn read(path: &Path, options: &ReadOptions) -> Result<Dataset, Error> {
    if path.is_dir() {
        return folder::read(path, options);
    }
    let source = open(path)?;
    let data = from_source(source, path, options)?;
    match &options.labels {
        Some(labels) => labels::attach(data, &path.display().to_string(), labels, options),
        None => Ok(data),
    }
}

/// Reads a file that is in memory; `name` stands for the name of the file.
///
/// ```
/// use ncde_data::{Format, ReadOptions, read_bytes};
/// let options = ReadOptions { format: Some(Format::Csv), ..ReadOptions::default() };
/// let data = read_bytes("memory", b"time,x\n0,1\n0.5,2\n", &options)?;
/// assert_eq!(data.cases[0].times, [0.0, 0.5]);
/// # Ok::<(), ncde_data::Error>(())
/// ```
///
/// # Errors
///
/// As of [`read`].
pub fn read_bytes(name: &str, bytes: &[u8], options: &ReadOptions) -> Result<Dataset, Error> {
    let source = unpack(name.into(), Box::new(bytes))?;
    let data = from_source(source, Path::new(name), options)?;
    match &options.labels {
        Some(labels) => labels::attach(data, name, labels, options),
        None => Ok(data),
    }
}

fn from_source(mut source: Source<'_>, path: &Path, options: &ReadOptions) -> Result<Dataset, Error> {
    let format = format::of(&mut source, path, options.format)?;
    let name = stem(path);
    match format {
        Format::Ts => ts::read(source, &name, options),
        Format::Arff => arff::read(source, &name, options),
        Format::Csv => long::read(source, &name, options),
        Format::Npz => arrays::read_npz(source, &name, options),
        Format::Npy => arrays::read_npy(source, &name, options),
    }
}

/// Opens a file, unpacked if it is gzip.
fn open(path: &Path) -> Result<Source<'static>, Error> {
    let file = path.display().to_string();
    let opened = File::open(path).map_err(|source| Error::Open { file: file.clone(), source })?;
    unpack(file, Box::new(BufReader::with_capacity(PIECE, opened)))
}

fn unpack<'a>(file: String, mut reader: Box<dyn BufRead + 'a>) -> Result<Source<'a>, Error> {
    let start = reader.fill_buf().map_err(|source| Error::Read { file: file.clone(), source })?;
    let is_gzip = start.starts_with(b"\x1f\x8b");
    if !is_gzip && file.to_ascii_lowercase().ends_with(".gz") {
        let seen = if start.is_empty() { "it is empty" } else { "it does not start as gzip does" };
        return Err(Error::WrongFormat { file, wanted: "a gzip file", seen });
    }
    if is_gzip {
        let reader = Box::new(BufReader::with_capacity(PIECE, MultiGzDecoder::new(reader)));
        return Ok(Source { file, reader, packing: Packing::Gzip });
    }
    Ok(Source { file, reader, packing: Packing::Plain })
}

/// The name of a file without folder and extensions.
fn stem(path: &Path) -> String {
    let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    name.rsplit_once('.').map_or(name, |(stem, _)| if stem.is_empty() { name } else { stem }).to_string()
}

/// An option that only files with columns have.
fn refuse(source: &Source<'_>, format: &str, options: &ReadOptions) -> Result<(), Error> {
    // With a file of labels, the names may be of its columns.
    let in_labels = |is_given: bool| is_given && options.labels.is_none();
    let given = [
        ("id", in_labels(options.id.is_some())),
        ("time", options.time.is_some()),
        ("label", in_labels(options.label.is_some())),
        ("statics", in_labels(options.statics.as_ref().is_some_and(|statics| !statics.is_empty()))),
        ("tokens", options.tokens.is_some()),
    ];
    match given.iter().find(|(_, is_given)| *is_given) {
        None => Ok(()),
        Some((name, _)) => Err(Error::Header {
            at: crate::error::Place::line(&source.file, 0),
            seen: format!("the option `{name}` names a column, but {format} has no names of columns"),
            fix: "leave the option out".into(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stems_lose_extensions_only() {
        for (path, wanted) in [("a/b.csv", "b"), ("b.c.ts.gz", "b.c"), ("plain", "plain"), (".hidden", ".hidden")] {
            assert_eq!(stem(Path::new(path)), wanted);
        }
    }
}
