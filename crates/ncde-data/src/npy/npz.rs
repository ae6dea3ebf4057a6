//! `.npz`: a zip archive of `.npy` files.

use std::io::{self, BufReader, Read, Seek, Write};

use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use super::{Array, Error, Header, header, read, write};
use crate::error::listed;

/// An archive that is open.
pub struct Archive<R> {
    file: String,
    zip: ZipArchive<R>,
    names: Vec<String>,
}

impl<R: Read + Seek> Archive<R> {
    /// Reads the list of arrays.
    ///
    /// # Errors
    ///
    /// [`Error::Archive`] if this is no zip archive.
    pub fn open(file: &str, reader: R) -> Result<Self, Error> {
        let broken = |error: ZipError| Error::Archive { file: file.into(), seen: error.to_string() };
        let zip = ZipArchive::new(reader).map_err(broken)?;
        let mut names = Vec::new();
        for name in zip.file_names() {
            let name = name.map_err(broken)?;
            names.extend(name.strip_suffix(".npy").map(str::to_string));
        }
        names.sort();
        Ok(Self { file: file.into(), zip, names })
    }

    /// The names of the arrays, sorted.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Reads an array.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchArray`], or any error about the array.
    pub fn read(&mut self, name: &str) -> Result<Array, Error> {
        // The size that an archive states is a claim, so nothing is known for certain.
        self.entry(name, |file, entry| read(file, entry, None))
    }

    /// Reads only what an array is.
    ///
    /// # Errors
    ///
    /// As of [`Archive::read`].
    pub fn header(&mut self, name: &str) -> Result<Header, Error> {
        self.entry(name, |file, mut entry| header::read(file, &mut entry).map(|(header, _)| header))
    }

    fn entry<T>(&mut self, name: &str, take: impl FnOnce(&str, &mut dyn Read) -> Result<T, Error>) -> Result<T, Error> {
        if !self.names.iter().any(|known| known == name) {
            let names = listed(&self.names);
            return Err(Error::NoSuchArray { file: self.file.clone(), name: name.into(), names });
        }
        let entry = self.zip.by_name(&format!("{name}.npy"));
        let entry = entry.map_err(|error| Error::Archive { file: self.file.clone(), seen: error.to_string() })?;
        take(&format!("{}:{name}", self.file), &mut BufReader::with_capacity(1 << 16, entry))
    }
}

/// Writes arrays under their names, compressed as `numpy.savez_compressed` does.
///
/// # Errors
///
/// If writing fails.
pub fn write_npz(arrays: &[(&str, Array)], out: impl Write + Seek) -> io::Result<()> {
    let mut archive = ZipWriter::new(out);
    for (name, array) in arrays {
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .large_file(array.data.len() > (u32::MAX as usize) / 16);
        archive.start_file(format!("{name}.npy"), options)?;
        write(array, &mut archive)?;
    }
    archive.finish()?;
    Ok(())
}
