//! A folder with a csv file for each case: the name of a file is the id of its case.
//!
//! Labels are in a column, or in a file of labels, which may lie in the folder as `labels.csv`.

use std::fs;
use std::path::{Path, PathBuf};

use super::long::{Columns, Rule, Table, Wanted, columns};
use super::{Format, ReadOptions, labels, open, stem};
use crate::error::{Place, listed};
use crate::text::lines::Lines;
use crate::{Dataset, Error};

pub(super) fn read(path: &Path, options: &ReadOptions) -> Result<Dataset, Error> {
    let folder = path.display().to_string();
    let (files, inside) = files(path, &folder)?;
    let labels = options.labels.clone().or(inside);
    let options = ReadOptions { labels, ..options.clone() };
    let mut all: Option<(Table, Columns)> = None;
    let mut ids: Vec<String> = Vec::new();
    for file in &files {
        let mut lines = Lines::new(open(file)?)?;
        let found = columns::read(&mut lines, &Wanted::of_folder(&options))?;
        let id = stem(file);
        if let Some(before) = ids.iter().position(|other| *other == id) {
            let before = files[before].display().to_string();
            return Err(Error::RepeatedId { at: Place::line(lines.file(), 0), id, before });
        }
        let (table, first) = match &mut all {
            Some(all) => (&mut all.0, &all.1),
            None => {
                let table = Table::new(&found, Rule::Series);
                let all = all.insert((table, found));
                all.0.take(&mut lines, &all.1, Some(&id))?;
                ids.push(id);
                continue;
            }
        };
        let found = matched(found, first, lines.file(), &files[0])?;
        table.take(&mut lines, &found, Some(&id))?;
        ids.push(id);
    }
    let Some((table, _)) = all else {
        return Err(Error::Empty { file: folder, seen: "holds no csv files", wanted: "one for each case" });
    };
    let data = table.finish(&stem(path), &options)?;
    match &options.labels {
        Some(labels) => labels::attach(data, &folder, labels, &options),
        None => Ok(data),
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

/// The columns of a further file, with the roles that the first file gives them by name.
fn matched(found: Columns, first: &Columns, file: &str, first_file: &Path) -> Result<Columns, Error> {
    let role = |name: &String| first.names.iter().position(|other| other == name).map(|i| first.roles[i]);
    let roles: Option<Vec<_>> = found.names.iter().map(role).collect();
    match roles {
        Some(roles) if found.names.len() == first.names.len() => Ok(Columns { roles, ..found }),
        _ => Err(Error::Header {
            at: Place::line(file, 1),
            seen: format!("the columns are {}, but {} in `{}`", listed(&found.names), listed(&first.names), first_file.display()),
            fix: "give all files of a folder the same columns".into(),
        }),
    }
}
