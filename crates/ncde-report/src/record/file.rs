//! Run records as files. The format is looked at first, so that a newer file is called newer and not broken.

use std::path::{Path, PathBuf};
use std::{fs, io};

use super::RunRecord;

/// Why a run record could not be read or written.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum RecordError {
    #[error("cannot read the run record `{path}`: {source}; give the `run.json` of a training run")]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot write the run record `{path}`: {source}; check that the folder exists and that there is space")]
    Write { path: PathBuf, source: io::Error },
    #[error("the run record `{path}` has format `{seen}`, but this version reads formats up to `{known}`; update ncde")]
    Newer { path: PathBuf, seen: u64, known: u32 },
    #[error("`{path}` is no run record: it has no number `format`; give the `run.json` of a training run")]
    Foreign { path: PathBuf },
    #[error("the run record `{path}` is damaged: {source}; train again, or restore the file from a copy")]
    Damaged { path: PathBuf, source: serde_json::Error },
}

impl RunRecord {
    /// The record as indented JSON.
    ///
    /// # Errors
    ///
    /// None that its fields can cause; the JSON writer's are passed on.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self)
    }

    /// A record from JSON; `path` is where it came from, for messages.
    ///
    /// # Errors
    ///
    /// [`RecordError::Newer`], [`RecordError::Foreign`] or [`RecordError::Damaged`].
    pub fn from_json(text: &str, path: &Path) -> Result<Self, RecordError> {
        let damaged = |source| RecordError::Damaged { path: path.into(), source };
        let value: serde_json::Value = serde_json::from_str(text).map_err(damaged)?;
        match value.get("format").and_then(serde_json::Value::as_u64) {
            None => Err(RecordError::Foreign { path: path.into() }),
            Some(seen) if seen > u64::from(Self::FORMAT) => {
                Err(RecordError::Newer { path: path.into(), seen, known: Self::FORMAT })
            }
            Some(_) => serde_json::from_str(text).map_err(damaged),
        }
    }

    /// Reads a record.
    ///
    /// # Errors
    ///
    /// [`RecordError::Read`], and those of [`RunRecord::from_json`].
    pub fn read(path: &Path) -> Result<Self, RecordError> {
        let text = fs::read_to_string(path).map_err(|source| RecordError::Read { path: path.into(), source })?;
        Self::from_json(&text, path)
    }

    /// Writes the record beside its target, then renames it: a reader never sees half a file.
    ///
    /// # Errors
    ///
    /// [`RecordError::Write`].
    pub fn write(&self, path: &Path) -> Result<(), RecordError> {
        let failed = |source: io::Error| RecordError::Write { path: path.into(), source };
        let text = self.to_json().map_err(|error| failed(error.into()))?;
        ncde_files::write_whole(path, (text + "\n").as_bytes()).map_err(failed)
    }
}
