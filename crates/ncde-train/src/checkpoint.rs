//! What survives `kill -9`: one file, written beside its target and renamed, so that it is always whole.
//!
//! ```text
//! "ncde checkpoint 4\n", length of the JSON (u64), JSON, numbers (f32), CRC-32 of all before (u32); all little-endian
//! ```
//!
//! The numbers are all weights in order and the two means of Adam of the trained ones: as they are, and twice as they were when they were kept to go back to.
//! Then the best weights, if there are some.

use std::path::{Path, PathBuf};

use ncde_report::record::{Best, Point, Recovery};
use serde::{Deserialize, Serialize};

use super::Error;
use super::state::Steps;
use super::store::write_whole;

/// The file in the directory of a run that goes on, or was interrupted.
pub(super) const RUNNING: &str = "checkpoint.bin";
/// The same file once the run is finished: longer training goes on from there. Nothing else needs it.
pub(super) const FINISHED: &str = "state.bin";
const MAGIC: &[u8] = b"ncde checkpoint 4\n";

/// Where a run stands.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Progress {
    /// The effective configuration; a run that is resumed must have the same.
    pub(super) config: String,
    /// The fingerprint of the data; a run that is resumed must have the same.
    pub(super) data: String,
    /// The metric that was asked for, to be shown first; empty if none was.
    #[serde(default)]
    pub(super) headline: String,
    /// The step after which it was last asked to train longer; patience counts from there.
    pub(super) extended: usize,
    /// How many steps are done.
    pub(super) step: usize,
    /// The seconds they took.
    pub(super) seconds: f64,
    pub(super) history: Vec<Point>,
    pub(super) best: Option<Best>,
    /// The validation loss at the best step, which decides between equal metrics.
    pub(super) best_loss: f64,
    /// The sum of the losses since the last evaluation, and how many.
    pub(super) losses: (f64, usize),
    /// The steps of the weights and of those that were kept.
    pub(super) steps: Steps,
    /// Where it went back to earlier weights; each time the learning rate was lowered.
    pub(super) recoveries: Vec<Recovery>,
}

impl Progress {
    /// Whether nothing lies after the step where it stands.
    fn is_sound(&self) -> bool {
        let best = self.best.as_ref().map_or(0, |best| best.step);
        best <= self.step && self.extended <= self.step && self.steps.are_within(self.step)
    }
}

fn path(directory: &Path) -> PathBuf {
    directory.join(RUNNING)
}

/// Writes it.
pub(super) fn save(directory: &Path, progress: &Progress, numbers: &[f32]) -> Result<(), Error> {
    let path = path(directory);
    let json = serde_json::to_vec(progress).map_err(|e| Error::File { path: path.clone(), problem: e.to_string() })?;
    let mut bytes = MAGIC.to_vec();
    bytes.extend((json.len() as u64).to_le_bytes());
    bytes.extend(json);
    bytes.extend(numbers.iter().flat_map(|x| x.to_le_bytes()));
    bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
    write_whole(&path, &bytes)
}

/// Reads the one of a run that goes on ([`RUNNING`]) or ended ([`FINISHED`]); none if there is none.
pub(super) fn load(directory: &Path, which: &str) -> Result<Option<(Progress, Vec<f32>)>, Error> {
    let path = directory.join(which);
    let bytes = match ncde_files::read_plain(&path) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(Error::File { path, problem: e.to_string() }),
    };
    let damaged = || Error::File {
        path: path.clone(),
        problem: "not a checkpoint of this version of ncde, or a damaged one; remove it to begin anew".into(),
    };
    let (body, crc) = bytes.split_last_chunk::<4>().ok_or_else(damaged)?;
    if crc32fast::hash(body) != u32::from_le_bytes(*crc) {
        return Err(damaged());
    }
    let rest = body.strip_prefix(MAGIC).ok_or_else(damaged)?;
    let (length, rest) = rest.split_first_chunk::<8>().ok_or_else(damaged)?;
    let (json, numbers) = rest.split_at_checked(u64::from_le_bytes(*length) as usize).ok_or_else(damaged)?;
    let progress: Progress = serde_json::from_slice(json).map_err(|_| damaged())?;
    let (numbers, rest) = numbers.as_chunks::<4>();
    if !rest.is_empty() || !progress.is_sound() {
        return Err(damaged());
    }
    Ok(Some((progress, numbers.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect())))
}

/// The run is finished: it is kept under another name.
pub(super) fn finish(directory: &Path) -> Result<(), Error> {
    let (path, kept) = (path(directory), directory.join(FINISHED));
    match std::fs::rename(&path, kept) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(Error::File { path, problem: e.to_string() }),
        _ => Ok(()),
    }
}

/// Removes it.
pub(super) fn remove(directory: &Path) -> Result<(), Error> {
    let path = path(directory);
    match std::fs::remove_file(&path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(Error::File { path, problem: e.to_string() }),
        _ => Ok(()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test")]
mod tests {
    use super::*;

    /// The file of a checkpoint with this body, and a checksum that says it is whole.
    fn written(directory: &Path, body: &[u8]) {
        let crc = crc32fast::hash(body).to_le_bytes();
        std::fs::write(path(directory), [body, &crc[..]].concat()).unwrap();
    }

    fn saved(directory: &Path, progress: &Progress) -> Vec<u8> {
        save(directory, progress, &[0.5, -1.0, 2.0]).unwrap();
        let mut bytes = std::fs::read(path(directory)).unwrap();
        bytes.truncate(bytes.len() - 4);
        bytes
    }

    fn progress() -> Progress {
        let point = Point { step: 4, seconds: 0.5, loss: 1.5, rate: 0.01, validation: Some(2.0), metric: None };
        let recovery = Recovery { step: 3, from: 0, factor: 0.3, reason: "too large".into() };
        let best = Best { step: 4, metric: "loss".into(), value: 1.0 };
        Progress { step: 5, history: vec![point], best: Some(best), recoveries: vec![recovery], ..Progress::default() }
    }

    #[test]
    fn damaged_checkpoints_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let whole = saved(directory.path(), &progress());
        let long = saved(directory.path(), &Progress { config: "[train]\nsteps = 5\n".into(), step: usize::MAX, ..progress() });
        let (good, bad) = ncde_reference::mutation::mutants(&[whole, long], 1_000, |body| {
            written(directory.path(), body);
            match load(directory.path(), RUNNING) {
                Ok(Some((progress, _))) => {
                    let best = progress.best.as_ref().map_or(0, |best| best.step);
                    assert!(progress.step >= best.max(progress.extended));
                    true
                }
                Ok(None) => false,
                Err(error) => {
                    assert!(error.to_string().contains("remove it to begin anew"), "{error}");
                    false
                }
            }
        });
        assert!(good > 0 && bad > 0, "{good} good and {bad} bad mutants");
    }

    #[test]
    fn steps_beyond_the_last_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        for (own, is_good) in
            [(progress(), true), (Progress { step: 3, ..progress() }, false), (Progress { extended: 6, ..progress() }, false)]
        {
            written(directory.path(), &saved(directory.path(), &own));
            assert_eq!(load(directory.path(), RUNNING).is_ok(), is_good, "{own:?}");
        }
    }
}
