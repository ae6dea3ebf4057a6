//! Arrays from and to files: csv, npy and npz.

mod csv;
mod npy;
mod open;
mod save;

pub(crate) use open::open;
pub(crate) use save::{Target, write_csv};

use crate::error::Failure;

/// What is told of a file that cannot be read.
fn read_failure(file: &str, error: &std::io::Error) -> Failure {
    Failure::Refused(format!("cannot read `{file}`: {error}"))
}

/// Numbers in row-major order.
#[derive(Debug, Clone)]
pub(crate) struct Array {
    pub(crate) shape: Vec<usize>,
    pub(crate) data: Data,
}

/// The numbers of an array, in the type they came in.
#[derive(Debug, Clone, serde::Serialize)]
#[serde(untagged)]
pub(crate) enum Data {
    F32(Vec<f32>),
    F64(Vec<f64>),
}

impl From<Vec<f32>> for Data {
    fn from(values: Vec<f32>) -> Self {
        Self::F32(values)
    }
}

impl From<Vec<f64>> for Data {
    fn from(values: Vec<f64>) -> Self {
        Self::F64(values)
    }
}

impl Data {
    pub(crate) fn dtype(&self) -> &'static str {
        match self {
            Self::F32(_) => "f32",
            Self::F64(_) => "f64",
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::F32(values) => values.len(),
            Self::F64(values) => values.len(),
        }
    }

    /// Entry `i`, widened.
    pub(crate) fn get(&self, i: usize) -> f64 {
        match self {
            Self::F32(values) => values[i].into(),
            Self::F64(values) => values[i],
        }
    }
}

/// An array that was read, with what is needed to say where in the file a number stood.
#[derive(Debug)]
pub(crate) struct Input {
    /// The file, as the user named it.
    pub(crate) name: String,
    pub(crate) array: Array,
    pub(crate) origin: Origin,
    /// What the user should know about how it was read.
    pub(crate) note: Option<String>,
}

/// How numbers are found again in their file.
#[derive(Debug)]
pub(crate) enum Origin {
    /// In a text: by the line of each row and the name of each column.
    Text { lines: Vec<u64>, columns: Vec<String> },
    /// In an array: by index.
    Entries,
}

impl Input {
    /// Where entry `i` of the data stood.
    pub(crate) fn place(&self, i: usize) -> String {
        match &self.origin {
            Origin::Text { lines, columns } => {
                let (row, column) = (i / columns.len(), i % columns.len());
                format!("line {}, column `{}`", lines[row], columns[column])
            }
            Origin::Entries => {
                let index = unravel(i, &self.array.shape);
                format!("entry {index:?} (counted from 0)")
            }
        }
    }
}

/// An array to be shown or written, with a name for each axis but the last.
#[derive(Debug)]
pub(crate) struct Rows {
    pub(crate) array: Array,
    pub(crate) axes: Vec<&'static str>,
}

impl Rows {
    pub(crate) fn count(&self) -> usize {
        self.array.shape[..self.axes.len()].iter().product()
    }

    /// The index of a row along each named axis, counted from 1.
    pub(crate) fn index(&self, row: usize) -> Vec<usize> {
        unravel(row, &self.array.shape[..self.axes.len()]).into_iter().map(|i| i + 1).collect()
    }
}

/// The index along each axis of entry `i`, in row-major order.
fn unravel(i: usize, shape: &[usize]) -> Vec<usize> {
    let mut rest = i;
    let mut index: Vec<usize> = shape
        .iter()
        .rev()
        .map(|&size| {
            let along = rest % size;
            rest /= size;
            along
        })
        .collect();
    index.reverse();
    index
}
