//! A file is written under a temporary name next to its target and renamed when complete: there is never half a file, and after a failure
//! the old file is still there.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Makes the temporary names of one process unique.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// A file that is being written. It appears under its name in [`finish`](Self::finish); dropped before that, it is removed.
///
/// A target that is no plain file (a pipe, `/dev/null`) is written to as it is: it cannot be replaced.
#[derive(Debug)]
pub struct Whole {
    out: BufWriter<File>,
    target: PathBuf,
    /// The file that is written until it is complete; `None` if the target is written directly.
    temporary: Option<TemporaryFile>,
}

/// A path whose file is removed on drop, unless it was renamed.
#[derive(Debug)]
struct TemporaryFile(PathBuf);

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        // An error here would hide the one that caused the drop.
        let _ = fs::remove_file(&self.0);
    }
}

impl Whole {
    /// Opens the file, so that a target that cannot be written is known before the work begins.
    ///
    /// # Errors
    /// If the folder is not there or cannot be written to, or the target is a folder.
    pub fn create(target: impl AsRef<Path>) -> io::Result<Self> {
        let target = target.as_ref();
        // Renaming onto a link would replace the link.
        let target = fs::canonicalize(target).unwrap_or_else(|_| target.into());
        match fs::metadata(&target) {
            Ok(metadata) if metadata.is_dir() => return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder")),
            Ok(metadata) if !metadata.is_file() => {
                let file = OpenOptions::new().write(true).open(&target)?;
                return Ok(Self { out: BufWriter::with_capacity(1 << 18, file), target, temporary: None });
            }
            Ok(metadata) if metadata.permissions().readonly() => {
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it may only be read"));
            }
            _ => {}
        }
        let Some(name) = target.file_name() else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it has no name"));
        };
        let mut hidden = std::ffi::OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{}-{}.part", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed)));
        let temporary = target.with_file_name(hidden);
        let file = OpenOptions::new().write(true).create_new(true).open(&temporary)?;
        Ok(Self { out: BufWriter::with_capacity(1 << 18, file), target, temporary: Some(TemporaryFile(temporary)) })
    }

    /// The target file.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Completes the file: it takes the name of the target.
    ///
    /// # Errors
    /// If the disk is full, or the file cannot be renamed; what was there before is still there.
    pub fn finish(mut self) -> io::Result<()> {
        self.out.flush()?;
        let Some(temporary) = &self.temporary else { return Ok(()) };
        self.out.get_ref().sync_all()?;
        fs::rename(&temporary.0, &self.target)
    }
}

impl Write for Whole {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Seek for Whole {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.out.seek(to)
    }
}

/// Writes these bytes, whole or not at all.
///
/// # Errors
/// As for [`Whole::create`] and [`Whole::finish`].
pub fn write_whole(target: impl AsRef<Path>, bytes: &[u8]) -> io::Result<()> {
    let mut file = Whole::create(target)?;
    file.write_all(bytes)?;
    file.finish()
}
