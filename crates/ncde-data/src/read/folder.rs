//! A folder with a csv file for each case: the name of a file is the id of its case.
//!
//! Labels are in a column, or in a file of labels, which may lie in the folder as `labels.csv`.

use std::fs;
use std::path::{Path, PathBuf};

use super::long::{Header, Kind, begin};
use super::{Format, Input, Loaded, ReadOptions, labels, stem};
use crate::Error;
use crate::error::Place;

pub(super) fn read(path: &Path, options: &ReadOptions) -> Result<Loaded, Error> {
    let folder = path.display().to_string();
    let (files, inside) = files(path, &folder)?;
    let labels = options.labels.clone().or(inside);
    let options = ReadOptions { labels, ..options.clone() };
    let mut opened: Vec<(Input<'_>, Header, String)> = Vec::with_capacity(files.len());
    for file in &files {
        let input = Input::of(file)?;
        let header = Header::of(&input)?;
        let id = stem(file);
        if let Some(before) = opened.iter().find(|(_, _, other)| *other == id) {
            let before = before.0.file().to_string();
            return Err(Error::RepeatedId { at: Place::line(input.file(), 0), id, before });
        }
        opened.push((input, header, id));
    }
    let Some((_, first, _)) = opened.first() else {
        return Err(Error::Empty { file: folder, seen: "holds no csv files", wanted: "one for each case" });
    };
    let separator = char::from(first.separator);
    let all: Vec<(&Input<'_>, &Header)> = opened.iter().map(|(input, header, _)| (input, header)).collect();
    let (mut table, warnings) = begin(&all, Kind::OfFolder, &options)?;
    for (input, header, id) in &opened {
        table.take(input, header, Some(id))?;
    }
    let loaded = table.finish(&stem(path), &options, separator, warnings)?;
    match &options.labels {
        Some(labels) => labels::attach(loaded, &folder, labels, &options),
        None => Ok(loaded),
    }
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
