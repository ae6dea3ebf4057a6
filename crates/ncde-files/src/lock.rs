//! One process at a time: a lock of the operating system on a file in a directory.
//!
//! The system releases it when the process ends, even by a crash. The file itself stays.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;

/// The name of the file that is locked.
pub const LOCK: &str = ".lock";

/// Exclusive access to a directory, or to what another lock file stands for, until it is dropped.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Locks a directory; `None` if another process, or another lock of this process, holds it.
    ///
    /// # Errors
    /// If the directory is not there, or nothing can be written to it.
    pub fn take(directory: impl AsRef<Path>) -> io::Result<Option<Self>> {
        Self::on(directory.as_ref().join(LOCK))
    }

    /// Locks a file, which is created if missing; `None` if another process, or another lock of this process, holds it.
    ///
    /// # Errors
    /// If the file cannot be opened.
    pub fn on(path: impl AsRef<Path>) -> io::Result<Option<Self>> {
        let file = open(path.as_ref())?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            // A file system without locks: go on without one.
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => Ok(Some(Self { _file: file })),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Locks a file as [`on`](Self::on), and waits while it is held.
    ///
    /// # Errors
    /// If the file cannot be opened.
    pub fn wait_on(path: impl AsRef<Path>) -> io::Result<Self> {
        let file = open(path.as_ref())?;
        match file.lock() {
            // A file system without locks, as above.
            Err(error) if error.kind() != io::ErrorKind::Unsupported => Err(error),
            _ => Ok(Self { _file: file }),
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)
}
