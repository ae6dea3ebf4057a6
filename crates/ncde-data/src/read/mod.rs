//! From the name of a file to a dataset: what it is, by extension, then by its first bytes.

mod arff;
mod arrays;
mod columnar;
mod folder;
mod format;
mod grid;
mod input;
mod json;
mod labels;
mod long;
mod rows;
mod ts;

use std::path::{Path, PathBuf};

pub use format::Format;
use input::{Input, in_any_encoding};
pub use long::{Given, Line, LineReader};

use crate::schema::{Layout, Schema, Warning};
use crate::text::lines::Source;
use crate::text::missing::Missing;
use crate::{Columns, Dataset, Error, TaskName};

/// How a file is to be read. By default everything is found out from the file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReadOptions {
    /// The format, whatever the file is called.
    pub format: Option<Format>,
    /// A csv file `id,label[,statics...]` that holds the labels.
    pub labels: Option<PathBuf>,
    /// What is said of its columns.
    pub columns: Columns,
    /// How the columns of a table (csv) were read for a model that is there; what else is said here goes first.
    pub layout: Option<Layout>,
    /// What is predicted, which says whether labels are classes or numbers.
    pub task: Option<TaskName>,
    /// Whether labels are not read, as series are only predicted; those of a forecast are not read either.
    pub without_labels: bool,
}

impl ReadOptions {
    pub(crate) fn reads_labels(&self) -> bool {
        !self.without_labels && self.task != Some(TaskName::Forecast)
    }
}

/// A dataset, and how it was read.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Loaded {
    /// The series.
    pub data: Dataset,
    /// How the columns of a table were read; `None` of a format that says so itself.
    pub layout: Option<Layout>,
    /// Guesses that could be wrong, each with what decides it.
    pub warnings: Vec<Warning>,
}

impl Loaded {
    /// The form of the dataset, and how its columns were read.
    pub fn schema(&self) -> Schema {
        Schema { table: self.layout.clone(), ..self.data.schema() }
    }

    fn of(data: Dataset, warnings: Vec<Warning>) -> Self {
        Self { data, layout: None, warnings }
    }
}

/// Reads a file, a folder with a csv file for each case, or standard input (`-`). Its guesses are not told: see [`load`].
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
pub fn read(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Dataset, Error> {
    load(path, options).map(|loaded| loaded.data)
}

/// Reads a file as [`read`] does, and says how.
///
/// ```
/// use ncde_data::{ReadOptions, load};
/// let folder = tempfile::tempdir()?;
/// let file = folder.path().join("stays.csv");
/// std::fs::write(&file, "patient_id,hour,x\np1,0,1.5\np1,2,2.5\np2,0,3\n")?;
/// let loaded = load(&file, &ReadOptions::default())?;
/// assert_eq!(loaded.layout.unwrap().to_string(), "patient_id -> id, hour -> time (numbers), x -> channel");
/// assert!(loaded.warnings[0].to_string().ends_with("say so with `--id patient_id`, or `--id none` if all rows are one series"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// As of [`read`].
pub fn load(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Loaded, Error> {
    let path = path.as_ref();
    if path.is_dir() {
        return folder::read(path, options);
    }
    from_input(Input::of(path)?, path, options)
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
    load_bytes(name, bytes, options).map(|loaded| loaded.data)
}

/// Reads a file that is in memory as [`read_bytes`] does, and says how.
///
/// # Errors
///
/// As of [`read`].
pub fn load_bytes(name: &str, bytes: &[u8], options: &ReadOptions) -> Result<Loaded, Error> {
    from_input(Input::bytes(name, bytes), Path::new(name), options)
}

fn from_input(input: Input<'_>, path: &Path, options: &ReadOptions) -> Result<Loaded, Error> {
    let file = input.file().to_owned();
    let (mut loaded, warning) = in_any_encoding(vec![input], |inputs| of_format(&inputs[0], path, options))?;
    loaded.warnings.extend(warning);
    match &options.labels {
        Some(labels) => labels::attach(loaded, &file, labels, options),
        None => Ok(loaded),
    }
}

fn of_format(input: &Input<'_>, path: &Path, options: &ReadOptions) -> Result<Loaded, Error> {
    let mut source = input.open()?;
    let format = format::of(&mut source, path, options.format)?;
    let name = stem(path);
    let mut loaded = match format {
        Format::Ts => ts::read(source, &name, options),
        Format::Arff => arff::read(source, &name, options),
        Format::Csv => long::read(input, &name, options),
        Format::Parquet | Format::Arrow => long::read(&columnar::open(input, format, options)?, &name, options),
        Format::Json => long::read(&json::open(input)?, &name, options),
        Format::Npz => arrays::read_npz(source, &name, options),
        Format::Npy => arrays::read_npy(source, &name, options),
    }?;
    if loaded.layout.is_none() && loaded.data.vocabulary.is_none() {
        let missing = Missing::new(options.columns.missing.as_deref().unwrap_or_default());
        let values = loaded.data.cases.iter_mut().flat_map(|case| case.values.iter_mut().chain(&mut case.statics));
        values.filter(|x| missing.is_number(**x)).for_each(|x| *x = f64::NAN);
    }
    Ok(loaded)
}

/// The name of a file without folder and extensions.
fn stem(path: &Path) -> String {
    let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    if name == "-" {
        return "stdin".into();
    }
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    name.rsplit_once('.').map_or(name, |(stem, _)| if stem.is_empty() { name } else { stem }).to_string()
}

/// An option that only files with columns have.
fn refuse(source: &Source<'_>, format: &str, options: &ReadOptions) -> Result<(), Error> {
    // With a file of labels, the names may be of its columns.
    let in_labels = |is_given: bool| is_given && options.labels.is_none();
    let given = [
        ("id", in_labels(options.columns.id.is_some())),
        ("time", options.columns.time.is_some()),
        ("label", in_labels(options.columns.label.is_some())),
        ("statics", in_labels(options.columns.statics.as_ref().is_some_and(|statics| !statics.is_empty()))),
        ("group", in_labels(options.columns.group.is_some())),
        ("tokens", options.columns.tokens.is_some()),
        ("ignore", options.columns.ignore.is_some()),
        ("channels", options.columns.channels.is_some()),
        ("time_format", options.columns.time_format.is_some()),
        ("time_zone", options.columns.time_zone.is_some()),
        ("shape", options.columns.shape.is_some()),
    ];
    match given.iter().find(|(_, is_given)| *is_given) {
        None => Ok(()),
        Some((name, _)) => {
            let seen = format!("the option `{name}` is about columns, but {format} has no names of columns");
            Err(Error::header(crate::error::at_line(&source.file, 0), seen, "leave the option out"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stems_lose_extensions_only() {
        for (path, wanted) in [("a/b.csv", "b"), ("b.c.ts.gz", "b.c"), ("plain", "plain"), (".hidden", ".hidden"), ("-", "stdin")]
        {
            assert_eq!(stem(Path::new(path)), wanted);
        }
    }
}
