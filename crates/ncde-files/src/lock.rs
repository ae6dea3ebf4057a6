//! One process at a time: a lock of the operating system on a file in a directory.
//!
//! The system gives it back when the process ends, however that is. The file stays; it is the lock on it that counts.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;

/// The name of the file that is locked.
pub const LOCK: &str = ".lock";

/// A directory, or whatever else a file stands for, that this process alone writes to, until it is dropped.
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
        Self::on(&directory.join(LOCK))
    }

    /// Locks a file, which is made if it is not there; none if another process, or another place of this one, holds it.
    ///
    /// # Errors
    /// If the file cannot be opened.
    pub fn on(path: &Path) -> io::Result<Option<Self>> {
        let file = open(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            // A file system without locks: as good as it gets there.
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => Ok(Some(Self { _file: file })),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// The same, after whoever holds it has let it go.
    ///
    /// # Errors
    /// If the file cannot be opened.
    pub fn wait_on(path: &Path) -> io::Result<Self> {
        let file = open(path)?;
        match file.lock() {
            // As above.
            Err(error) if error.kind() != io::ErrorKind::Unsupported => Err(error),
            _ => Ok(Self { _file: file }),
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)
}
