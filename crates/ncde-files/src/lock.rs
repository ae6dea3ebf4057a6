//! One process at a time: a lock of the operating system on a file in a directory.
//!
//! The system gives it back when the process ends, however that is. The file stays; it is the lock on it that counts.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;

/// The name of the file that is locked.
pub const LOCK: &str = ".lock";

/// A directory that this process alone writes to, until it is dropped.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Locks a directory; none if another process, or another place of this one, holds it.
    ///
    /// # Errors
    /// If the directory is not there, or nothing can be written to it.
    pub fn take(directory: &Path) -> io::Result<Option<Self>> {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(directory.join(LOCK))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            // A file system without locks: as good as it gets there.
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => Ok(Some(Self { _file: file })),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}
