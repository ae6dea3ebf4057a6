//! The directory of a run: one process writes to it at a time, and nothing of others in it is overwritten.

use std::path::Path;

use ncde_files::{LOCK, Lock};
use ncde_report::RunRecord;
use ncde_runtime::{SPEC, WEIGHTS};

use super::{Error, checkpoint};

/// The file in the directory of a run with its effective configuration.
pub const CONFIG: &str = "config.toml";
pub(super) const RECORD: &str = "run.json";

/// The files that a run writes, and the pages that are made of it.
const OWN: &[&str] =
    &[CONFIG, RECORD, SPEC, WEIGHTS, checkpoint::RUNNING, checkpoint::FINISHED, "report.html", "report.json", "report.md"];

/// Takes a directory for a run, until the lock is dropped.
///
/// # Errors
/// If another process writes to it, it holds files of others under the names of a run's, or it holds a run and none is to be resumed.
pub(super) fn claim(directory: &Path, resume: bool) -> Result<Lock, Error> {
    let refused = |problem: String| Error::Directory { path: directory.into(), problem };
    let failed = |e: std::io::Error| Error::File { path: directory.into(), problem: e.to_string() };
    if directory.exists() && !directory.is_dir() {
        return Err(refused("is a file; name a directory (`--out DIR`)".into()));
    }
    if let Some(name) = foreign(directory) {
        return Err(refused(format!("holds a `{name}` that no run has written; name another directory (`--out DIR`)")));
    }
    std::fs::create_dir_all(directory).map_err(failed)?;
    let Some(lock) = Lock::take(directory).map_err(failed)? else {
        return Err(refused(
            "is being written to by another run; wait for it to end, or name another directory (`--out DIR`)".into(),
        ));
    };
    let held = if directory.join(RECORD).exists() {
        "a finished run"
    } else if directory.join(checkpoint::RUNNING).exists() {
        "a run that was interrupted"
    } else {
        return Ok(lock);
    };
    if resume {
        return Ok(lock);
    }
    Err(refused(format!("holds {held}; name another directory (`--out DIR`), or go on with it (`--resume`)")))
}

/// A file that has the name of a run's but is none: there was never a lock of ours, and no record or checkpoint that can be read.
fn foreign(directory: &Path) -> Option<&'static str> {
    let ours = directory.join(LOCK).exists()
        || RunRecord::read(&directory.join(RECORD)).is_ok()
        || checkpoint::load(directory, checkpoint::RUNNING).is_ok_and(|saved| saved.is_some());
    OWN.iter().find(|name| !ours && directory.join(name).exists()).copied()
}
