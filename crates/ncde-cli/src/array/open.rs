//! From the name of a file to its numbers.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use ncde_data::npy::MAGIC;

use super::{Input, csv, npy};
use crate::error::{Failure, refuse};

/// The kinds of files, by extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Csv,
    Npy,
    Npz,
}

impl Format {
    pub(super) fn of(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        match extension.as_str() {
            "csv" => Some(Self::Csv),
            "npy" => Some(Self::Npy),
            "npz" => Some(Self::Npz),
            _ => None,
        }
    }
}

/// Reads `name`: a file, `FILE.npz:ARRAY`, or `-` for csv from standard input.
pub(crate) fn open(name: &str, array: Option<&str>) -> Result<Input, Failure> {
    if name == "-" {
        let name = "standard input";
        none_to_choose(name, array)?;
        return csv::read(name, io::stdin().lock());
    }
    let (file, array) = split(name, array);
    let Some(format) = Format::of(Path::new(file)) else {
        refuse!("`{file}` has no extension that is known; wanted .csv, .npy or .npz")
    };
    let opened = File::open(file).map_err(|e| {
        Failure::Refused(format!("cannot open `{file}`: {e}; check the name, or give `-` to read csv from standard input"))
    })?;
    let mut reader = BufReader::with_capacity(1 << 20, opened);
    check_kind(file, format, &mut reader)?;
    match format {
        Format::Csv => {
            none_to_choose(file, array)?;
            csv::read(file, reader)
        }
        Format::Npy => {
            none_to_choose(file, array)?;
            let bytes = reader.get_ref().metadata().ok().map(|file| file.len());
            npy::input(file, ncde_data::npy::read(file, reader, bytes)?)
        }
        Format::Npz => npy::read_one(file, reader, array),
    }
}

/// `FILE.npz:ARRAY` in its two parts, unless that is the name of a file.
fn split<'a>(name: &'a str, array: Option<&'a str>) -> (&'a str, Option<&'a str>) {
    match name.rsplit_once(':') {
        Some((file, inside)) if array.is_none() && Format::of(Path::new(file)).is_some() && !Path::new(name).exists() => {
            (file, Some(inside))
        }
        _ => (name, array),
    }
}

fn none_to_choose(file: &str, array: Option<&str>) -> Result<(), Failure> {
    match array {
        None => Ok(()),
        Some(_) => refuse!("`{file}` is not an .npz file, so `--array` has nothing to choose from; leave it out"),
    }
}

/// Compares the first bytes with what the extension promises.
fn check_kind(file: &str, format: Format, reader: &mut impl BufRead) -> Result<(), Failure> {
    let start = reader.fill_buf().map_err(|e| super::read_failure(file, &e))?;
    if start.is_empty() {
        refuse!("`{file}` is empty; wanted rows of numbers");
    }
    let (is_npy, is_zip) = (start.starts_with(MAGIC), start.starts_with(b"PK"));
    let (seen, wanted) = match format {
        Format::Npy if !is_npy => ("does not start with the npy magic", "an npy file"),
        Format::Npz if !is_zip => ("does not start as a zip archive does", "an npz file"),
        Format::Csv if is_npy => ("starts with the npy magic", "a csv file"),
        Format::Csv if is_zip => ("starts as a zip archive does", "a csv file"),
        _ => return Ok(()),
    };
    let hint = match (is_npy, is_zip) {
        (true, _) => "name it .npy",
        (_, true) => "name it .npz if arrays are inside",
        _ if start.is_ascii() => "it looks like text: name it .csv if it holds rows of numbers",
        _ => "save it again with `numpy.save` or `numpy.savez`",
    };
    refuse!("`{file}` {seen}, so it is not {wanted}; {hint}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_arrays_come_after_a_colon() {
        assert_eq!(split("a/b.npz:x", None), ("a/b.npz", Some("x")));
        assert_eq!(split("a/b.npz", Some("x")), ("a/b.npz", Some("x")));
        assert_eq!(split("c:/b.npz", None), ("c:/b.npz", None));
    }
}
