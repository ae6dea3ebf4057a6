//! Plain files alone: a device or a pipe under the name of a file would be read for ever.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

/// Refuses what is not a plain file (or a link to one).
///
/// # Errors
/// If there is nothing, or something else.
pub fn check_plain(path: &Path) -> io::Result<()> {
    let seen = fs::metadata(path)?;
    let wrong =
        |what: &str| Err(io::Error::new(io::ErrorKind::InvalidInput, format!("it is {what}, but a plain file is wanted")));
    match (seen.is_file(), seen.is_dir()) {
        (true, _) => Ok(()),
        (false, true) => wrong("a folder"),
        (false, false) => wrong("a device or a pipe"),
    }
}

/// The bytes of a plain file. As many are read as it had when it was opened: one that grows meanwhile does not fill the memory.
///
/// # Errors
/// If it cannot be read, or is no plain file.
pub fn read_plain(path: &Path) -> io::Result<Vec<u8>> {
    check_plain(path)?;
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    let mut bytes = Vec::new();
    let room = usize::try_from(length).map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge))?;
    bytes.try_reserve_exact(room).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
    file.take(length).read_to_end(&mut bytes)?;
    Ok(bytes)
}
