//! Arrays of numpy: `[cases, length, channels]` or `[cases, channels, length]`, with labels, times and lengths beside them in an `.npz`.
//!
//! | array | shape | what |
//! | --- | --- | --- |
//! | `X`, `data`, `values`, or the only one with 3 axes | `[cases, length, channels]` or `[cases, length]` | values, NaN missing; tokens |
//! | `y`, `labels`, `label`, `target`, `targets` | `[cases]` or `[cases, length]` | classes or numbers |
//! | `times` | `[length]` or `[cases, length]` | numbers, or ISO 8601 text |
//! | `lengths` | `[cases]` | how much of each series is there |
//! | `ids`, `channels`, `classes` | `[cases]`, `[channels]`, `[classes]` | names; with `classes`, `y` counts them from 0 |
//! | `vocabulary` | `[tokens]` | tokens; with it, integers in `X` count them from 0 |
//! | `statics`, `static_names` | `[cases, statics]`, `[statics]` | covariates of whole cases |
//! | `name`, `clock`, `target_name` | one text | the name; `dates` if times are seconds since 1970; the name of the target |

mod axes;
mod labels;
mod series;
mod tokens;

use std::collections::BTreeSet;
use std::fmt::{Debug, Display};
use std::io::{Cursor, Read, Seek};

use super::{Loaded, ReadOptions};
use crate::error::{Location, at_field, listed, shown};
use crate::npy::{self, Archive, Array, Data};
use crate::text::lines::Source;
use crate::{Columns, Error};

const VALUES: [&str; 4] = ["X", "x", "data", "values"];
const WANTED: &str = "one called `X` of shape [cases, length, channels]";
const LABELS: [&str; 5] = ["y", "labels", "label", "target", "targets"];

/// Reads an `.npy` file: values only.
pub(super) fn read_npy(source: Source<'_>, name: &str, options: &ReadOptions) -> Result<Loaded, Error> {
    let by_tokens = ReadOptions { columns: Columns { tokens: None, ..options.columns.clone() }, ..options.clone() };
    super::refuse(&source, "an .npy file", &by_tokens)?;
    let array = npy::read(&source.file, source.reader, None)?;
    let arrays = Arrays { file: source.file, values: (String::new(), array), ..Arrays::default() };
    series::dataset(arrays, name, options)
}

pub(super) fn read_npz(mut source: Source<'_>, name: &str, options: &ReadOptions) -> Result<Loaded, Error> {
    // An archive is read from its end, which a stream that is unpacked does not have yet.
    let mut bytes = Vec::new();
    if let Err(error) = source.reader.read_to_end(&mut bytes) {
        return Err(source.failed(error));
    }
    let archive = Archive::open(&source.file, Cursor::new(bytes))?;
    let arrays = Arrays::open(&source.file, archive, options)?;
    series::dataset(arrays, name, options)
}

/// The arrays of a file, each under the name it has there.
#[derive(Default)]
struct Arrays {
    file: String,
    values: (String, Array),
    labels: Option<(String, Array)>,
    times: Option<(String, Array)>,
    lengths: Option<Array>,
    ids: Option<(String, Vec<String>)>,
    channels: Option<Vec<String>>,
    classes: Option<Vec<String>>,
    vocabulary: Option<Vec<String>>,
    statics: Option<Array>,
    static_names: Option<Vec<String>>,
    name: Option<String>,
    clock: Option<String>,
    target: Option<String>,
}

/// The arrays of an archive that are not the values, by what they are for.
struct Finder<'a, R> {
    file: &'a str,
    archive: Archive<R>,
    values: &'a str,
}

impl<R: Read + Seek> Finder<'_, R> {
    /// The array that the caller names, else the first of the known names that is there.
    fn one(&mut self, named: Option<&String>, known: &[&str], role: &'static str) -> Result<Option<(String, Array)>, Error> {
        let names = self.archive.names();
        let name = match named {
            Some(name) if !names.contains(name) => return Err(Error::no_column(self.file, role, name, names)),
            Some(name) => Some(name.clone()),
            None => known.iter().map(|known| (*known).to_string()).find(|known| names.contains(known)),
        };
        name.filter(|name| name != self.values).map(|name| Ok((name.clone(), self.archive.read(&name)?))).transpose()
    }

    fn plain(&mut self, name: &str) -> Result<Option<Array>, Error> {
        Ok(self.one(None, &[name], "names")?.map(|(_, array)| array))
    }

    fn texts(&mut self, name: &str) -> Result<Option<Vec<String>>, Error> {
        self.plain(name)?.map(|array| text(self.file, name, array)).transpose()
    }

    fn word(&mut self, name: &str) -> Result<Option<String>, Error> {
        Ok(self.texts(name)?.and_then(|texts| texts.into_iter().next()))
    }
}

impl Arrays {
    fn open<R: Read + Seek>(file: &str, mut archive: Archive<R>, options: &ReadOptions) -> Result<Self, Error> {
        let name = Self::find_values(file, &mut archive)?;
        let values = (name.clone(), archive.read(&name)?);
        let is_float = matches!(values.1.data, Data::F32(_) | Data::F64(_));
        let mut find = Finder { file, archive, values: &name };
        // With a file of labels, names of ids and labels are of that one.
        let columns = Some(&options.columns).filter(|_| options.labels.is_none());
        Ok(Self {
            labels: find.one(columns.and_then(|columns| columns.label.as_ref()), &LABELS, "labels")?,
            times: find.one(options.columns.time.as_ref(), &["times"], "times")?,
            ids: match find.one(columns.and_then(|columns| columns.id.as_ref()), &["ids"], "ids")? {
                Some((name, array)) => Some((name.clone(), ids_of(file, &name, array)?)),
                None => None,
            },
            lengths: find.plain("lengths")?,
            statics: find.plain("statics")?,
            channels: find.texts("channels")?,
            classes: find.texts("classes")?,
            vocabulary: if is_float { None } else { find.texts("vocabulary")? },
            static_names: find.texts("static_names")?,
            name: find.word("name")?,
            clock: find.word("clock")?,
            target: find.word("target_name")?,
            file: file.into(),
            values,
        })
    }

    /// The array that holds the series.
    fn find_values<R: Read + Seek>(file: &str, archive: &mut Archive<R>) -> Result<String, Error> {
        let names = archive.names().to_vec();
        if let Some(known) = VALUES.iter().find(|known| names.iter().any(|name| name == *known)) {
            return Ok((*known).into());
        }
        let mut cubes = Vec::new();
        for name in &names {
            if archive.header(name)?.shape.len() == 3 {
                cubes.push(name.clone());
            }
        }
        match cubes.as_slice() {
            _ if names.is_empty() => Err(Error::Empty { file: file.into(), seen: "holds no arrays", wanted: WANTED }),
            [only] => Ok(only.clone()),
            _ => {
                let seen = format!("it holds the arrays {}, of which {} have 3 axes", listed(&names), cubes.len());
                Err(wrong(file, "", seen, WANTED))
            }
        }
    }
}

/// The place of an array; in an `.npy` file it is the file, and has no name.
fn place(file: &str, name: &str) -> Location {
    at_field(file, 0, if name.is_empty() { String::new() } else { format!("array `{name}`") })
}

fn text(file: &str, name: &str, array: Array) -> Result<Vec<String>, Error> {
    match array.data {
        Data::Text(texts) => Ok(texts),
        _ => Err(wrong(file, name, "it holds numbers", "text")),
    }
}

/// Ids may be numbers.
fn ids_of(file: &str, name: &str, array: Array) -> Result<Vec<String>, Error> {
    match array.data {
        Data::Text(ids) => Ok(ids),
        Data::Int(ids) => Ok(ids.iter().map(i64::to_string).collect()),
        _ => Err(wrong(file, name, "it holds floats", "text or integers")),
    }
}

/// An array that is not as it should be.
fn wrong(file: &str, array: &str, seen: impl Into<String>, wanted: impl Into<String>) -> Error {
    Error::Array { at: place(file, array), seen: seen.into(), wanted: wanted.into() }
}

/// A shape that is not the one wanted.
fn wrong_shape(file: &str, array: &str, shape: &[usize], wanted: impl Into<String>) -> Error {
    wrong(file, array, format!("its shape is {shape:?}"), wanted)
}

/// An entry, by its index or indices, that is not what was wanted.
fn wrong_entry(file: &str, array: &str, index: impl Debug, seen: impl Display, wanted: impl Into<String>) -> Error {
    wrong(file, array, format!("entry {index:?} (counted from 0) is `{seen}`"), wanted)
}

/// Refuses a text that is there twice.
fn check_distinct(file: &str, array: &str, texts: &[String], wanted: &str) -> Result<(), Error> {
    let mut seen = BTreeSet::new();
    match texts.iter().find(|text| !seen.insert(text.as_str())) {
        None => Ok(()),
        Some(twice) => Err(wrong(file, array, format!("`{}` is there twice", shown(twice)), wanted)),
    }
}
