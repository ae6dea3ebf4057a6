//! Arrays of npy and npz files, as [`ncde_data::npy`] reads and writes them: floats in their own type, integers as `f64`.

use std::io::{Read, Seek};

use ncde_data::npy::{self, Archive};

use super::{Array, Data, Input, Origin};
use crate::error::{Failure, refuse};

/// Reads the array called `name` of an npz file, or the only one.
pub(super) fn read_one(file: &str, reader: impl Read + Seek, name: Option<&str>) -> Result<Input, Failure> {
    let mut archive = Archive::open(file, reader)?;
    let chosen = match (name, archive.names()) {
        (_, []) => refuse!("`{file}` holds no arrays"),
        (Some(name), _) => name.to_string(),
        (None, [only]) => only.clone(),
        (None, several) => {
            let names = several.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
            refuse!("`{file}` holds several arrays ({names}); name one: `{file}:NAME` or `--array NAME`")
        }
    };
    input(&format!("{file}:{chosen}"), archive.read(&chosen)?)
}

pub(super) fn input(file: &str, array: npy::Array) -> Result<Input, Failure> {
    let (data, note) = match array.data {
        npy::Data::F32(values) => (Data::F32(values), None),
        npy::Data::F64(values) => (Data::F64(values), None),
        npy::Data::Int(values) => {
            let values = values.into_iter().map(|x| x as f64).collect();
            (Data::F64(values), Some(format!("`{file}` holds integers; computing in f64")))
        }
        npy::Data::Text(_) => {
            refuse!("`{file}` holds text; wanted floats or integers: save it with `.astype(\"float64\")`")
        }
    };
    Ok(Input { name: file.into(), array: Array { shape: array.shape, data }, origin: Origin::Entries, note })
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
