//! What survives `kill -9`: one safetensors file, written beside its target and renamed, so that it is always whole.
//!
//! ```text
//! metadata: {"checkpoint": "{\"version\": 5, \"crc32\": ..., \"progress\": \"{...}\"}"}
//! tensors:  now/WEIGHT, now/WEIGHT/SLOT, older/..., newer/..., best/WEIGHT         f32, flat; SLOTs are the optimizer's
//! ```
//!
//! The checksum is that of the progress and of all numbers, in the order of names.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use ncde_report::record::{Best, Point, Recovery};
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::state::Counts;
use crate::store::write_whole;

/// The file in the directory of a run that goes on, or was interrupted.
pub const RUNNING: &str = "checkpoint.safetensors";
/// The same file once the run is finished: longer training goes on from there. Nothing else needs it.
pub(crate) const FINISHED: &str = "state.safetensors";
const VERSION: u32 = 5;
const KEY: &str = "checkpoint";

/// Where a run stands.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Progress {
    /// All that a run which is resumed must have the same.
    pub(crate) identity: serde_json::Value,
    /// The metric that was asked for, to be shown first; empty if none was.
    #[serde(default)]
    pub(crate) headline: String,
    /// The step after which it was last asked to train longer; patience counts from there.
    pub(crate) extended: usize,
    /// How many steps are done.
    pub(crate) step: usize,
    /// The seconds they took.
    pub(crate) seconds: f64,
    pub(crate) history: Vec<Point>,
    pub(crate) best: Option<Best>,
    /// The validation loss at the best step, which decides between equal metrics.
    pub(crate) best_loss: f64,
    /// The sum of the losses since the last evaluation, and how many.
    pub(crate) losses: (f64, usize),
    pub(crate) counts: Counts,
    /// Where it went back to earlier weights; each time the learning rate was lowered.
    pub(crate) recoveries: Vec<Recovery>,
}

impl Progress {
    /// Whether nothing lies after the step where it stands.
    fn is_sound(&self) -> bool {
        let best = self.best.as_ref().map_or(0, |best| best.step);
        best <= self.step && self.extended <= self.step && self.counts.are_within(self.step)
    }
}

/// Flat tensors by name.
pub(crate) type NamedTensors = BTreeMap<String, Vec<f32>>;

/// What the metadata of the file hold.
#[derive(Debug, Serialize, Deserialize)]
struct Header {
    version: u32,
    crc32: u32,
    /// [`Progress`] as JSON.
    progress: String,
}

fn checksum<'a>(progress: &str, tensors: impl Iterator<Item = &'a [u8]>) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(progress.as_bytes());
    tensors.for_each(|bytes| hasher.update(bytes));
    hasher.finalize()
}

fn path(directory: &Path) -> PathBuf {
    directory.join(RUNNING)
}

pub(crate) fn save(directory: &Path, progress: &Progress, tensors: &NamedTensors) -> Result<(), Error> {
    let path = path(directory);
    let failed = |problem: String| Error::File { path: path.clone(), problem };
    let progress = serde_json::to_string(progress).map_err(|e| failed(e.to_string()))?;
    let raw: Vec<(&String, Vec<u8>)> =
        tensors.iter().map(|(name, values)| (name, values.iter().flat_map(|x| x.to_le_bytes()).collect())).collect();
    let crc32 = checksum(&progress, raw.iter().map(|(_, bytes)| &bytes[..]));
    let header = serde_json::to_string(&Header { version: VERSION, crc32, progress }).map_err(|e| failed(e.to_string()))?;
    let views = raw.iter().map(|(name, bytes)| Ok((name.as_str(), TensorView::new(Dtype::F32, vec![bytes.len() / 4], bytes)?)));
    let views: Result<Vec<_>, safetensors::SafeTensorError> = views.collect();
    let bytes = views.and_then(|views| safetensors::serialize(views, Some(HashMap::from([(KEY.to_owned(), header)]))));
    write_whole(&path, &bytes.map_err(|e| failed(e.to_string()))?)
}

/// Reads the one of a run that goes on ([`RUNNING`]) or ended ([`FINISHED`]); none if there is none.
pub(crate) fn load(directory: &Path, which: &str) -> Result<Option<(Progress, NamedTensors)>, Error> {
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
    parse(&bytes).map(Some).ok_or_else(damaged)
}

/// The progress and tensors of a file; none if it is not whole.
fn parse(bytes: &[u8]) -> Option<(Progress, NamedTensors)> {
    let (_, metadata) = SafeTensors::read_metadata(bytes).ok()?;
    let header: Header = serde_json::from_str(metadata.metadata().as_ref()?.get(KEY)?).ok()?;
    let file = SafeTensors::deserialize(bytes).ok()?;
    let mut raw: Vec<(String, TensorView<'_>)> = file.tensors();
    raw.sort_by(|a, b| a.0.cmp(&b.0));
    let is_whole =
        header.version == VERSION && header.crc32 == checksum(&header.progress, raw.iter().map(|(_, view)| view.data()));
    if !is_whole || raw.iter().any(|(_, view)| view.dtype() != Dtype::F32) {
        return None;
    }
    let progress: Progress = serde_json::from_str(&header.progress).ok().filter(Progress::is_sound)?;
    let values = |view: &TensorView<'_>| view.data().as_chunks::<4>().0.iter().map(|four| f32::from_le_bytes(*four)).collect();
    Some((progress, raw.iter().map(|(name, view)| (name.clone(), values(view))).collect()))
}

/// The run is finished: its checkpoint is kept under another name.
pub(crate) fn finish(directory: &Path) -> Result<(), Error> {
    where_it_is(directory, |path| std::fs::rename(path, directory.join(FINISHED)))
}

pub(crate) fn remove(directory: &Path) -> Result<(), Error> {
    where_it_is(directory, |path| std::fs::remove_file(path))
}

/// Does something with the checkpoint, if there is one.
fn where_it_is(directory: &Path, work: impl FnOnce(&Path) -> std::io::Result<()>) -> Result<(), Error> {
    let path = path(directory);
    match work(&path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(Error::File { path, problem: e.to_string() }),
        _ => Ok(()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test")]
mod tests {
    use super::*;

    fn tensors() -> NamedTensors {
        let all = [("now/layers.0.weight", vec![0.5, -1.0, 2.0]), ("now/layers.0.weight/mean", vec![0.0, 0.25, 1e-9])];
        all.map(|(name, values)| (name.to_owned(), values)).into()
    }

    fn progress() -> Progress {
        let point = Point { step: 4, seconds: 0.5, loss: 1.5, rate: 0.01, validation: Some(2.0), metric: None };
        let recovery = Recovery { step: 3, from: 0, factor: 0.3, reason: "too large".into() };
        let best = Best { step: 4, metric: "loss".into(), value: 1.0 };
        Progress { step: 5, history: vec![point], best: Some(best), recoveries: vec![recovery], ..Progress::default() }
    }

    #[test]
    fn a_checkpoint_comes_back_as_it_was() {
        let directory = tempfile::tempdir().unwrap();
        assert!(load(directory.path(), RUNNING).unwrap().is_none());
        save(directory.path(), &progress(), &tensors()).unwrap();
        assert_eq!(load(directory.path(), RUNNING).unwrap().unwrap(), (progress(), tensors()));
        // Others can read the numbers.
        let bytes = std::fs::read(path(directory.path())).unwrap();
        let file = SafeTensors::deserialize(&bytes).unwrap();
        assert_eq!(file.tensor("now/layers.0.weight").unwrap().shape(), [3]);
        finish(directory.path()).unwrap();
        assert!(load(directory.path(), RUNNING).unwrap().is_none() && load(directory.path(), FINISHED).unwrap().is_some());
    }

    /// Whatever byte is broken, it is told; nothing that is read is another state than the one that was written.
    #[test]
    fn damaged_checkpoints_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        save(directory.path(), &progress(), &tensors()).unwrap();
        let whole = std::fs::read(path(directory.path())).unwrap();
        let (good, bad) = ncde_reference::mutation::mutants(&[whole], 2_000, |bytes| {
            std::fs::write(path(directory.path()), bytes).unwrap();
            match load(directory.path(), RUNNING) {
                Ok(Some(read)) => {
                    assert_eq!(read.0, progress());
                    true
                }
                Ok(None) => false,
                Err(error) => {
                    assert!(error.to_string().contains("remove it to begin anew"), "{error}");
                    false
                }
            }
        });
        assert!(bad > 0, "{good} good and {bad} bad mutants");
    }

    #[test]
    fn steps_beyond_the_last_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        for (progress, is_good) in
            [(progress(), true), (Progress { step: 3, ..progress() }, false), (Progress { extended: 6, ..progress() }, false)]
        {
            save(directory.path(), &progress, &tensors()).unwrap();
            assert_eq!(load(directory.path(), RUNNING).is_ok(), is_good, "{progress:?}");
        }
    }
}
