//! Errors of the other crates as exceptions, with their texts.

use std::io;
use std::path::Path;

use pyo3::PyErr;
use pyo3::exceptions::{PyFileNotFoundError, PyOSError, PyRuntimeError, PyValueError};

/// What went wrong in another crate.
pub(crate) trait Raised {
    fn raised(self) -> PyErr;
}

impl Raised for ncde_signature::Error {
    fn raised(self) -> PyErr {
        PyValueError::new_err(self.to_string())
    }
}

impl Raised for ncde_data::Error {
    fn raised(self) -> PyErr {
        let text = self.to_string();
        match self {
            Self::Open { source, .. } | Self::Read { source, .. } | Self::Write { source, .. } => of_file(source.kind(), text),
            _ => PyValueError::new_err(text),
        }
    }
}

impl Raised for ncde_runtime::Error {
    fn raised(self) -> PyErr {
        match &self {
            Self::File { path, .. } => of_path(path, self.to_string()),
            _ => PyValueError::new_err(self.to_string()),
        }
    }
}

impl Raised for ncde_report::RecordError {
    fn raised(self) -> PyErr {
        PyValueError::new_err(self.to_string())
    }
}

impl Raised for ncde_train::Error {
    fn raised(self) -> PyErr {
        match self {
            Self::Data(source) => source.raised(),
            Self::Runtime(source) => source.raised(),
            Self::File { ref path, .. } => of_path(path, self.to_string()),
            other if other.is_failure() => PyRuntimeError::new_err(other.to_string()),
            other => PyValueError::new_err(other.to_string()),
        }
    }
}

impl Raised for io::Error {
    fn raised(self) -> PyErr {
        of_file(self.kind(), self.to_string())
    }
}

fn of_path(path: &Path, text: String) -> PyErr {
    of_file(if path.exists() { io::ErrorKind::Other } else { io::ErrorKind::NotFound }, text)
}

fn of_file(kind: io::ErrorKind, text: String) -> PyErr {
    if kind == io::ErrorKind::NotFound { PyFileNotFoundError::new_err(text) } else { PyOSError::new_err(text) }
}
