//! npy and npz files, as [`ncde_data::npy`] reads and writes them: floats in their own type, integers as `f64`.

use std::io::{self, Read, Seek, Write};

use ncde_data::npy::{self, Archive};

use super::{Array, Data, Input, Origin, ReadError};

/// Reads an npy file; `bytes` is its size where that is known.
pub(super) fn read(file: &str, reader: impl Read, bytes: Option<u64>) -> Result<Input, ReadError> {
    input(file, npy::read(file, reader, bytes)?)
}

/// Reads the array called `name` of an npz file, or the only one.
pub(super) fn read_one(file: &str, reader: impl Read + Seek, name: Option<&str>) -> Result<Input, ReadError> {
    let mut archive = Archive::open(file, reader)?;
    let chosen = match (name, archive.names()) {
        (_, []) => return Err(ReadError::NoArrays { file: file.into() }),
        (Some(name), _) => name.to_string(),
        (None, [only]) => only.clone(),
        (None, several) => {
            let names = several.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
            return Err(ReadError::SeveralArrays { file: file.into(), names });
        }
    };
    input(&format!("{file}:{chosen}"), archive.read(&chosen)?)
}

fn input(file: &str, array: npy::Array) -> Result<Input, ReadError> {
    let (data, note) = match array.data {
        npy::Data::F32(values) => (Data::F32(values), None),
        npy::Data::F64(values) => (Data::F64(values), None),
        npy::Data::Int(values) => {
            let values = values.into_iter().map(|x| x as f64).collect();
            (Data::F64(values), Some(format!("`{file}` holds integers; computing in f64")))
        }
        npy::Data::Text(_) => return Err(ReadError::Text { file: file.into() }),
    };
    Ok(Input { name: file.into(), array: Array { shape: array.shape, data }, origin: Origin::Entries, note })
}

/// Writes an npy file.
pub(super) fn write(array: Array, out: &mut impl Write) -> io::Result<()> {
    npy::write(&array.into(), out)
}

/// Writes an npz file with one array of this name.
pub(super) fn write_one(name: &str, array: Array, out: impl Write + Seek) -> io::Result<()> {
    npy::write_npz(&[(name, array.into())], out)
}

impl From<Array> for npy::Array {
    fn from(array: Array) -> Self {
        let data = match array.data {
            Data::F32(values) => npy::Data::F32(values),
            Data::F64(values) => npy::Data::F64(values),
        };
        Self { shape: array.shape, data }
    }
}
