//! Arrays of numpy: `.npy` files, and `.npz` archives of them.
//!
//! A magic, a version, a Python dictionary that names dtype, order and shape, then the entries. Floats keep their size,
//! integers and booleans become `i64`, text becomes [`String`]; either endianness is read, Fortran order is rearranged.
//! Entries are read as they come: a header that claims too much costs nothing.

mod entries;
mod header;
mod npz;
mod write;

use std::io::{self, Read};

pub use npz::{Archive, write_npz};
pub use write::write;

pub use self::header::Header;

/// The first bytes of a `.npy` file.
pub const MAGIC: &[u8] = b"\x93NUMPY";

/// Entries in row-major order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Array {
    /// The sizes, first axis first; none for a single entry.
    pub shape: Vec<usize>,
    /// The entries.
    pub data: Data,
}

/// The entries of an array.
#[derive(Debug, Clone, PartialEq)]
pub enum Data {
    /// Floats of 32 bits.
    F32(Vec<f32>),
    /// Floats of 64 bits.
    F64(Vec<f64>),
    /// Integers of any size, and booleans.
    Int(Vec<i64>),
    /// Text.
    Text(Vec<String>),
}

impl Default for Data {
    fn default() -> Self {
        Self::F64(Vec::new())
    }
}

impl Data {
    fn len(&self) -> usize {
        match self {
            Self::F32(entries) => entries.len(),
            Self::F64(entries) => entries.len(),
            Self::Int(entries) => entries.len(),
            Self::Text(entries) => entries.len(),
        }
    }

    /// The entries as `f64`, or `None` if they are text.
    ///
    /// ```
    /// use ncde_data::npy::Data;
    /// assert_eq!(Data::Int(vec![1, -2]).into_f64(), Some(vec![1.0, -2.0]));
    /// ```
    pub fn into_f64(self) -> Option<Vec<f64>> {
        match self {
            Self::F32(entries) => Some(entries.into_iter().map(f64::from).collect()),
            Self::F64(entries) => Some(entries),
            Self::Int(entries) => Some(entries.into_iter().map(|x| x as f64).collect()),
            Self::Text(_) => None,
        }
    }
}

/// Why an array could not be read: of `file`, `seen` is what is there and `wanted` what should be.
#[expect(missing_docs, reason = "the fields are described once, above")]
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Reading failed.
    #[error("cannot read `{file}`: {source}")]
    Read { file: String, source: io::Error },
    /// The header is none.
    #[error("`{file}` has a broken npy header: {seen}; save it again with `numpy.save`")]
    Header { file: String, seen: String },
    /// Entries that are neither numbers nor text.
    #[error("`{file}` holds entries of type `{seen}`; wanted floats, integers or text: save it with `.astype(\"float64\")`")]
    Dtype { file: String, seen: String },
    /// Objects of Python, which only Python can read.
    #[error(
        "`{file}` holds Python objects (`{seen}`); wanted an array of numbers: pad ragged series to one length with NaN and save it with `.astype(\"float64\")`"
    )]
    Objects { file: String, seen: String },
    /// There is less than the header says.
    #[error("`{file}` ends too early: its header promises {wanted} bytes of entries, {seen} are there; copy it again")]
    Truncated { file: String, wanted: u64, seen: u64 },
    /// There is not enough memory.
    #[error("`{file}` is too large for the memory of this machine: it needs {bytes} bytes; split it")]
    Memory { file: String, bytes: u64 },
    /// Text that is none.
    #[error("`{file}`, entry {entry}: this is not text; save it as unicode")]
    Text { file: String, entry: usize },
    /// The zip archive is broken.
    #[error("`{file}` is a broken zip archive: {seen}; copy it again, or save it again with `numpy.savez`")]
    Archive { file: String, seen: String },
    /// The archive has no such array.
    #[error("`{file}` has no array `{name}`; it holds {names}")]
    NoSuchArray { file: String, name: String, names: String },
}

/// Reads an array; `bytes` is the size of the whole file where it is known for certain.
///
/// ```
/// use ncde_data::npy::{Array, Data, read, write};
/// let array = Array { shape: vec![2, 1], data: Data::F32(vec![0.5, 2.0]) };
/// let mut bytes = Vec::new();
/// write(&array, &mut bytes)?;
/// assert_eq!(read("memory", bytes.as_slice(), Some(bytes.len() as u64))?, array);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Any [`Error`] but those about archives.
pub fn read(file: &str, mut reader: impl Read, bytes: Option<u64>) -> Result<Array, Error> {
    let (header, start) = header::read(file, &mut reader)?;
    entries::read(file, reader, header, bytes.map(|bytes| bytes.saturating_sub(start)))
}
