//! A folder with a csv file for each case: the name of a file is the id of its case.
//!
//! Labels are in a column, or in a file of labels, which may lie in the folder as `labels.csv`; or there is a folder for each
//! class in the folder, and the id of a case is `CLASS/NAME`.

use std::fs;
use std::path::{Path, PathBuf};

use super::long::{FileKind, Header, begin};
use super::{Format, Input, Loaded, ReadOptions, in_any_encoding, labels, stem};
use crate::error::at_line;
use crate::label::{Label, Labels};
use crate::{Case, Dataset, Error, Targets};

pub(super) fn read(path: &Path, options: &ReadOptions) -> Result<Loaded, Error> {
    let folder = path.display().to_string();
    let (files, inside) = files(path, &folder)?;
    let classes = classes(path, &folder, files.is_empty())?;
    let labels = options.labels.clone().or(inside);
    let files = if classes.is_empty() { files.into_iter().map(|file| (stem(&file), file)).collect() } else { classes.clone() };
    let options = ReadOptions { labels, ..options.clone() };
    let mut ids: Vec<String> = Vec::with_capacity(files.len());
    let mut inputs: Vec<Input<'_>> = Vec::with_capacity(files.len());
    for (id, file) in files {
        let input = Input::of(&file)?;
        if let Some(before) = ids.iter().position(|other| *other == id) {
            let before = inputs[before].file().to_string();
            return Err(Error::RepeatedId { at: at_line(input.file(), 0), id, before });
        }
        inputs.push(input);
        ids.push(id);
    }
    let (mut loaded, warning) = in_any_encoding(inputs, |inputs| join(inputs, &ids, path, &options))?;
    loaded.warnings.extend(warning);
    if !classes.is_empty() && options.reads_labels() {
        loaded.data.targets = targets(&loaded.data, &folder, &options)?;
    }
    match &options.labels {
        Some(labels) => labels::attach(loaded, &folder, labels, &options),
        None => Ok(loaded),
    }
}

/// The table of all files, each a case with its id.
fn join(inputs: &[Input<'_>], ids: &[String], path: &Path, options: &ReadOptions) -> Result<Loaded, Error> {
    let mut headers = inputs.iter().map(Header::of).collect::<Result<Vec<Header>, Error>>()?;
    let Some(first) = headers.first() else {
        return Err(Error::Empty { file: path.display().to_string(), seen: "holds no csv files", wanted: "one for each case" });
    };
    let separator = char::from(first.separator);
    let all: Vec<&Input<'_>> = inputs.iter().collect();
    let (mut table, warnings) = begin(&all, &mut headers, FileKind::OfFolder, options)?;
    for ((input, header), id) in inputs.iter().zip(&headers).zip(ids) {
        table.take(input, header, Some(id))?;
    }
    table.finish(&stem(path), options, separator, warnings)
}

/// The csv files of a folder by name, and the file of labels among them.
fn files(path: &Path, folder: &str) -> Result<(Vec<PathBuf>, Option<PathBuf>), Error> {
    let failed = |source| Error::Read { file: folder.into(), source };
    let mut files = Vec::new();
    let mut labels = None;
    for entry in fs::read_dir(path).map_err(failed)? {
        let file = entry.map_err(failed)?.path();
        if Format::of(&file) != Some(Format::Csv) || !file.is_file() {
            continue;
        }
        if stem(&file) == "labels" { labels = Some(file) } else { files.push(file) }
    }
    files.sort();
    Ok((files, labels))
}

/// The csv files in folders of a folder, if there are no others, each with its id `CLASS/NAME`.
fn classes(path: &Path, folder: &str, are_all: bool) -> Result<Vec<(String, PathBuf)>, Error> {
    let failed = |source| Error::Read { file: folder.into(), source };
    let mut all = Vec::new();
    for entry in fs::read_dir(path).map_err(failed)? {
        let inside = entry.map_err(failed)?.path();
        if !inside.is_dir() {
            continue;
        }
        let class = inside.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let (inside_files, _) = files(&inside, &inside.display().to_string())?;
        all.extend(inside_files.into_iter().map(|file| (format!("{class}/{}", stem(&file)), file)));
    }
    if !all.is_empty() && !are_all {
        let seen = "there are csv files and folders with csv files";
        return Err(Error::question(folder, seen, "keep either a file for each case, or a folder for each class"));
    }
    all.sort();
    Ok(all)
}

/// The class of each case: the folder it lies in.
fn targets(data: &Dataset, folder: &str, options: &ReadOptions) -> Result<Targets, Error> {
    if data.targets != Targets::None {
        return Err(Error::LabelsTwice { file: folder.into(), labels: "the folders of its classes".into() });
    }
    let at = || at_line(folder, 0);
    let mut labels = Labels::new("class");
    let class = |case: &Case| case.id.split('/').next().unwrap_or("").to_string();
    let seen = data.cases.iter().map(|case| labels.label(class(case).as_bytes(), at)).collect::<Result<Vec<Label>, Error>>()?;
    labels.of_cases(&seen, options.task, |i| data.cases[i].id.clone(), |_| at())
}
