//! The npz format: a zip archive of npy files.

use std::io::{self, BufReader, Read, Seek, Write};

use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use super::{Array, Input, ReadError, npy};

/// Reads the array called `name`, or the only one.
pub(super) fn read(file: &str, reader: impl Read + Seek, name: Option<&str>) -> Result<Input, ReadError> {
    let broken = |error: &ZipError| ReadError::Archive { file: file.into(), message: error.to_string() };
    let mut archive = ZipArchive::new(reader).map_err(|error| broken(&error))?;
    let mut arrays = Vec::new();
    for name in archive.file_names() {
        let name = name.map_err(|error| broken(&error))?;
        arrays.extend(name.strip_suffix(".npy").map(str::to_string));
    }
    arrays.sort();
    let names = || arrays.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let chosen = match (name, arrays.as_slice()) {
        (_, []) => return Err(ReadError::NoArrays { file: file.into() }),
        (None, [only]) => only,
        (None, _) => {
            return Err(ReadError::SeveralArrays { file: file.into(), names: names() });
        }
        (Some(name), arrays) => arrays.iter().find(|array| *array == name).ok_or_else(|| ReadError::NoSuchArray {
            file: file.into(),
            name: name.into(),
            names: names(),
        })?,
    };
    let entry = archive.by_name(&format!("{chosen}.npy")).map_err(|error| broken(&error))?;
    let bytes = entry.size();
    npy::read(&format!("{file}:{chosen}"), BufReader::new(entry), bytes)
}

/// Writes one array under this name, compressed as `numpy.savez_compressed` does.
pub(super) fn write(name: &str, array: &Array, out: impl Write + Seek) -> io::Result<()> {
    let mut archive = ZipWriter::new(out);
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .large_file(array.data.len() > (u32::MAX as usize) / 16);
    archive.start_file(format!("{name}.npy"), options)?;
    npy::write(array, &mut archive)?;
    archive.finish()?;
    Ok(())
}
