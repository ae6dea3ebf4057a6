//! Results to files: written beside their target and renamed, so that a failure leaves what was there.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use ncde_data::npy;
use ncde_files::Whole;

use super::open::Format;
use super::{Data, Rows};
use crate::error::{Failure, refuse};

/// A file that can be written, opened before the work begins.
#[derive(Debug)]
pub(crate) struct Target {
    path: PathBuf,
    format: Format,
    file: Whole,
}

impl Target {
    pub(crate) fn create(path: &Path) -> Result<Self, Failure> {
        let Some(format) = Format::of(path) else {
            let path = path.display();
            refuse!(
                "cannot write `{path}`: its extension is not known; wanted .csv, .npy or .npz, or `-` for csv on standard output"
            )
        };
        // Renaming onto a link would replace the link.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.into());
        if path.exists() && !path.is_file() {
            refuse!("cannot write `{}`: there is something that is no file; choose another name", path.display());
        }
        let folder = match path.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        if !folder.is_dir() {
            refuse!("cannot write `{}`: the folder `{}` does not exist", path.display(), folder.display());
        }
        let file = Whole::create(&path)
            .map_err(|e| Failure::Refused(format!("cannot write `{}`: {e}; may you write in its folder?", path.display())))?;
        Ok(Self { path, format, file })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the rows; only csv asks for the labels of their entries, only npz for a name.
    pub(crate) fn write(mut self, name: &str, rows: Rows, labels: impl FnOnce() -> Vec<String>) -> Result<(), Failure> {
        let written = match self.format {
            Format::Csv => write_csv(&rows, &labels(), &mut self.file),
            Format::Npy => npy::write(&rows.array.into(), &mut self.file),
            Format::Npz => npy::write_npz(&[(name, rows.array.into())], &mut self.file),
        };
        let path = self.path;
        written.and_then(|()| self.file.finish()).map_err(|source| Failure::Write { path, source })
    }
}

/// A header of axes and labels, then a line a row. Numbers read back as exactly what they were.
pub(crate) fn write_csv(rows: &Rows, labels: &[String], out: &mut dyn Write) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    let header = rows.axes.iter().copied().chain(labels.iter().map(String::as_str));
    csv.write_record(header).map_err(cause)?;
    for row in 0..rows.count() {
        let index = rows.index(row).into_iter().map(|i| i.to_string());
        let places = row * labels.len()..(row + 1) * labels.len();
        match &rows.array.data {
            Data::F32(values) => csv.write_record(index.chain(values[places].iter().map(digits))),
            Data::F64(values) => csv.write_record(index.chain(values[places].iter().map(digits))),
        }
        .map_err(cause)?;
    }
    csv.flush()
}

/// The shortest digits that read back, with an exponent where that is shorter.
fn digits(x: &impl std::fmt::Debug) -> String {
    format!("{x:?}")
}

/// What the writer below said: a broken pipe must stay one.
fn cause(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(source) => source,
        kind => io::Error::other(format!("{kind:?}")),
    }
}
