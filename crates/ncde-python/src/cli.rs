//! The command line, which comes with the package.

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs the command line on the words behind `ncde`; the result is its exit code. `program` is how it is started again, for what it runs in processes of its own.
#[pyfunction]
pub(crate) fn run(py: Python<'_>, words: Vec<OsString>, program: Vec<OsString>) -> u8 {
    py.detach(|| ncde_cli::run(words, program))
}
