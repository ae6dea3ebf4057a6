//! Atomic writing of files, locks on directories, and reading of plain files.
//!
//! ```
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("answer.txt");
//! ncde_files::write_whole(&path, b"42")?;
//! assert_eq!(ncde_files::read_plain(&path)?, b"42");
//! let lock = ncde_files::Lock::take(folder.path())?;
//! assert!(lock.is_some() && ncde_files::Lock::take(folder.path())?.is_none());
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! | file | what |
//! | --- | --- |
//! | `whole` | [`Whole`], [`write_whole`]: a temporary file, then renamed |
//! | `lock` | [`Lock`]: a lock of the operating system, released even by a crash |
//! | `plain` | [`read_plain`]: no devices, no pipes |
//!
//! The crate uses only the standard library.

mod lock;
mod plain;
mod whole;

pub use lock::{LOCK, Lock};
pub use plain::{check_plain, read_plain};
pub use whole::{Whole, write_whole};
