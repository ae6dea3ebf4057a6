//! Files that are written whole or not at all, directories that one process writes to at a time, and reading of plain files.
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
//! | `whole` | [`Whole`], [`write_whole`]: beside the target first, then renamed |
//! | `lock` | [`Lock`]: the system's own, so that a crash leaves none behind |
//! | `plain` | [`read_plain`]: no devices, no pipes |
//!
//! Nothing but the standard library.

mod lock;
mod plain;
mod whole;

pub use lock::{LOCK, Lock};
pub use plain::{check_plain, read_plain};
pub use whole::{Whole, write_whole};
