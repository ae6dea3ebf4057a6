//! Reading of plain files only: a device or a pipe could be read without end.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

/// Checks that a path is a plain file or a link to one.
///
/// # Errors
/// If there is nothing at the path, or something else.
pub fn check_plain(path: impl AsRef<Path>) -> io::Result<()> {
    let metadata = fs::metadata(path)?;
    let wrong =
        |what: &str| Err(io::Error::new(io::ErrorKind::InvalidInput, format!("it is {what}, but a plain file is wanted")));
    match (metadata.is_file(), metadata.is_dir()) {
        (true, _) => Ok(()),
        (false, true) => wrong("a folder"),
        (false, false) => wrong("a device or a pipe"),
    }
}

/// The bytes of a plain file, as many as it had when it was opened: a file that grows meanwhile cannot fill the memory.
///
/// # Errors
/// If it cannot be read, or is no plain file.
pub fn read_plain(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    let path = path.as_ref();
    check_plain(path)?;
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    let mut bytes = Vec::new();
    let room = usize::try_from(length).map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge))?;
    bytes.try_reserve_exact(room).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
    file.take(length).read_to_end(&mut bytes)?;
    Ok(bytes)
}
