//! A file beside its target, renamed when it is complete: at no moment is there half a file, and a failure leaves what was there.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Tells the files of one process apart.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// A file that is being written. It takes its name in [`finish`](Self::finish); dropped before that, it leaves nothing.
///
/// A target that is no plain file (a pipe, `/dev/null`) is written to as it is: it cannot be replaced.
#[derive(Debug)]
pub struct Whole {
    out: BufWriter<File>,
    target: PathBuf,
    /// Where it is written to until it is complete; none if that is the target.
    beside: Option<Beside>,
}

/// A file that is gone at the end, unless it was renamed.
#[derive(Debug)]
struct Beside(PathBuf);

impl Drop for Beside {
    fn drop(&mut self) {
        // What was left half written helps nobody, and what went wrong before is what is told.
        let _ = fs::remove_file(&self.0);
    }
}

impl Whole {
    /// Opens it, so that a target that cannot be written is known before the work begins.
    ///
    /// # Errors
    /// If the folder is not there or cannot be written to, or the target is a folder.
    pub fn create(target: &Path) -> io::Result<Self> {
        // Renaming onto a link would replace the link.
        let target = fs::canonicalize(target).unwrap_or_else(|_| target.into());
        match fs::metadata(&target) {
            Ok(seen) if seen.is_dir() => return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder")),
            Ok(seen) if !seen.is_file() => {
                let file = OpenOptions::new().write(true).open(&target)?;
                return Ok(Self { out: BufWriter::with_capacity(1 << 18, file), target, beside: None });
            }
            Ok(seen) if seen.permissions().readonly() => {
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
        let beside = target.with_file_name(hidden);
        let file = OpenOptions::new().write(true).create_new(true).open(&beside)?;
        Ok(Self { out: BufWriter::with_capacity(1 << 18, file), target, beside: Some(Beside(beside)) })
    }

    /// The file that it becomes.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Everything is written: it takes its name.
    ///
    /// # Errors
    /// If the disk is full, or the file cannot be renamed; what was there before is still there.
    pub fn finish(mut self) -> io::Result<()> {
        self.out.flush()?;
        let Some(beside) = &self.beside else { return Ok(()) };
        self.out.get_ref().sync_all()?;
        fs::rename(&beside.0, &self.target)
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
pub fn write_whole(target: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = Whole::create(target)?;
    file.write_all(bytes)?;
    file.finish()
}
