//! What can be wrong with a file.

use std::io;

#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    #[error("cannot open `{file}`: {source}; check the name, or give `-` to read csv from standard input")]
    Open { file: String, source: io::Error },

    #[error("cannot read `{file}`: {source}")]
    Io { file: String, source: io::Error },

    #[error("`{file}` has no extension that is known; wanted .csv, .npy or .npz")]
    Extension { file: String },

    #[error("`{file}` is empty; wanted rows of numbers")]
    Empty { file: String },

    #[error("`{file}` has a header row but no numbers below it")]
    OnlyHeader { file: String },

    #[error("`{file}` {seen}, so it is not {wanted}; {hint}")]
    Kind { file: String, seen: &'static str, wanted: &'static str, hint: &'static str },

    #[error("`{file}`, line {line}: {cells} cells, but the lines before have {wanted}; every line needs a cell for each column")]
    Ragged { file: String, line: u64, cells: usize, wanted: usize },

    #[error("`{file}`, line {line}, column `{column}`: `{cell}` is not a number{hint}")]
    NotANumber { file: String, line: u64, column: String, cell: String, hint: &'static str },

    #[error("`{file}`, line {line}: this is not UTF-8 text; save the file as UTF-8")]
    NotUtf8 { file: String, line: u64 },

    #[error("`{file}`, line {line}: {message}")]
    Quotes { file: String, line: u64, message: String },

    #[error(transparent)]
    Npy(#[from] ncde_data::npy::Error),

    #[error("`{file}` holds text; wanted floats or integers: save it with `.astype(\"float64\")`")]
    Text { file: String },

    #[error("`{file}` holds no arrays")]
    NoArrays { file: String },

    #[error("`{file}` holds several arrays ({names}); name one: `{file}:NAME` or `--array NAME`")]
    SeveralArrays { file: String, names: String },

    #[error("`{file}` is not an .npz file, so `--array` has nothing to choose from; leave it out")]
    NotAnArchive { file: String },
}
