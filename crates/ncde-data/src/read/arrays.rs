//! Arrays of numpy: `[cases, length, channels]`, with labels, times and lengths beside them in an `.npz`.
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

mod labels;
mod series;
mod tokens;

use std::io::{Cursor, Read, Seek};

use super::{Loaded, ReadOptions};
use crate::error::{Place, hint, listed};
use crate::npy::{self, Archive, Array, Data};
use crate::text::lines::Source;
use crate::{Columns, Error};

const VALUES: [&str; 4] = ["X", "x", "data", "values"];
const LABELS: [&str; 5] = ["y", "labels", "label", "target", "targets"];

/// Reads an `.npy` file: values only.
pub(super) fn read_npy(source: Source<'_>, name: &str, options: &ReadOptions) -> Result<Loaded, Error> {
    let by_tokens = ReadOptions { columns: Columns { tokens: None, ..options.columns.clone() }, ..options.clone() };
    super::refuse(&source, "an .npy file", &by_tokens)?;
    let array = npy::read(&source.file, source.reader, None)?;
    let arrays = Arrays { file: source.file, values: (String::new(), array), ..Arrays::default() };
    series::dataset(arrays, name, options)
}

/// Reads an `.npz` file.
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

impl Default for Arrays {
    fn default() -> Self {
        let nothing = Array { shape: vec![0], data: Data::F64(vec![]) };
        Self {
            file: String::new(),
            values: (String::new(), nothing),
            labels: None,
            times: None,
            lengths: None,
            ids: None,
            channels: None,
            classes: None,
            vocabulary: None,
            statics: None,
            static_names: None,
            name: None,
            clock: None,
            target: None,
        }
    }
}

impl Arrays {
    fn open<R: Read + Seek>(file: &str, mut archive: Archive<R>, options: &ReadOptions) -> Result<Self, Error> {
        let values = Self::find_values(file, &mut archive)?;
        let values = (values.clone(), archive.read(&values)?);
        let mut one = |asked: &Option<String>, known: &[&str], role| -> Result<Option<(String, Array)>, Error> {
            let names = archive.names();
            let name = match asked {
                Some(asked) if !names.contains(asked) => {
                    return Err(Error::NoColumn {
                        file: file.into(),
                        role,
                        wanted: format!("`{asked}` was named"),
                        seen: listed(names),
                        hint: hint(asked, names),
                    });
                }
                Some(asked) => Some(asked.clone()),
                None => known.iter().find(|known| names.iter().any(|name| name == *known)).map(|name| (*name).into()),
            };
            name.filter(|name: &String| *name != values.0).map(|name| Ok((name.clone(), archive.read(&name)?))).transpose()
        };
        let asked_label = if options.labels.is_some() { &None } else { &options.columns.label };
        let labels = one(asked_label, &LABELS, "labels")?;
        let times = one(&options.columns.time, &["times"], "times")?;
        let ids = one(if options.labels.is_some() { &None } else { &options.columns.id }, &["ids"], "ids")?;
        let mut plain = |name: &str| Ok::<_, Error>(one(&None, &[name], "names")?.map(|(_, array)| array));
        let lengths = plain("lengths")?;
        let statics = plain("statics")?;
        let mut texts = |name: &str| plain(name)?.map(|array| text(file, name, array)).transpose();
        let channels = texts("channels")?;
        let classes = texts("classes")?;
        let vocabulary = if let Data::F32(_) | Data::F64(_) = values.1.data { None } else { texts("vocabulary")? };
        let static_names = texts("static_names")?;
        let mut word = |name: &str| Ok::<_, Error>(texts(name)?.and_then(|texts| texts.into_iter().next()));
        let name = word("name")?;
        let clock = word("clock")?;
        let target = word("target_name")?;
        let ids = ids.map(|(name, array)| Ok::<_, Error>((name.clone(), ids_of(file, &name, array)?))).transpose()?;
        let file = file.into();
        Ok(Self {
            file,
            values,
            labels,
            times,
            lengths,
            ids,
            channels,
            classes,
            vocabulary,
            statics,
            static_names,
            name,
            clock,
            target,
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
            _ if names.is_empty() => Err(Error::Empty {
                file: file.into(),
                seen: "holds no arrays",
                wanted: "one called `X` of shape [cases, length, channels]",
            }),
            [only] => Ok(only.clone()),
            _ => Err(Error::Array {
                at: Place::line(file, 0),
                seen: format!("it holds the arrays {}, of which {} have 3 axes", listed(&names), cubes.len()),
                wanted: "one called `X` of shape [cases, length, channels]".into(),
            }),
        }
    }
}

/// The place of an array; in an `.npy` file it is the file, and has no name.
fn place(file: &str, name: &str) -> Box<Place> {
    Place::field(file, 0, if name.is_empty() { String::new() } else { format!("array `{name}`") })
}

fn text(file: &str, name: &str, array: Array) -> Result<Vec<String>, Error> {
    match array.data {
        Data::Text(texts) => Ok(texts),
        _ => Err(Error::Array { at: place(file, name), seen: "it holds numbers".into(), wanted: "text".into() }),
    }
}

/// Ids may be numbers.
fn ids_of(file: &str, name: &str, array: Array) -> Result<Vec<String>, Error> {
    match array.data {
        Data::Text(ids) => Ok(ids),
        Data::Int(ids) => Ok(ids.iter().map(i64::to_string).collect()),
        _ => Err(Error::Array { at: place(file, name), seen: "it holds floats".into(), wanted: "text or integers".into() }),
    }
}

/// A shape that is not the one wanted.
fn wrong_shape(file: &str, name: &str, shape: &[usize], wanted: String) -> Error {
    Error::Array { at: place(file, name), seen: format!("its shape is {shape:?}"), wanted }
}
