//! What survives a run on words that is killed: weights, means of Adam, and where it stood. Words are functions of the step, so it goes on to the same bits.
//!
//! ```text
//! {"settings": ..., "step": ..., ...}\n   f32 f32 f32 ...      weights in order, then the two means of each that is trained
//! ```

use std::path::Path;

use ncde_train::Learner;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::record::CHECKPOINT;

/// Where a run stands.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Standing {
    /// All that decides what comes out.
    pub(super) settings: String,
    /// Steps that were taken.
    pub(super) step: usize,
    /// Steps of Adam.
    pub(super) adam: usize,
    /// Seconds of these steps.
    pub(super) seconds: f64,
    /// Steps and the accuracy after each look.
    pub(super) curve: Vec<[f64; 2]>,
}

/// Writes where a run stands.
///
/// # Errors
/// If the file cannot be written.
pub(super) fn save(directory: &Path, standing: &Standing, trained: &dyn Learner) -> Result<(), Error> {
    let path = directory.join(CHECKPOINT);
    let failed = |problem: String| Error::File { path: path.clone(), problem };
    let (numbers, adam) = trained.state();
    let mut bytes = serde_json::to_vec(&Standing { adam, ..standing.clone() }).map_err(|e| failed(e.to_string()))?;
    bytes.push(b'\n');
    bytes.extend(numbers.iter().flat_map(|x| x.to_le_bytes()));
    std::fs::create_dir_all(directory).map_err(|e| failed(e.to_string()))?;
    ncde_files::write_whole(&path, &bytes).map_err(|e| failed(e.to_string()))
}

/// Goes on where a run stood that had these settings; none, and nothing changed, if there is no such file or it is of another run.
pub(super) fn restore(directory: &Path, settings: &str, trained: &mut dyn Learner) -> Option<Standing> {
    let bytes = ncde_files::read_plain(directory.join(CHECKPOINT)).ok()?;
    let line = bytes.iter().position(|&byte| byte == b'\n')?;
    let standing: Standing = serde_json::from_slice(&bytes[..line]).ok()?;
    let numbers: Vec<f32> =
        bytes[line + 1..].chunks_exact(4).map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]])).collect();
    (standing.settings == settings && trained.restore(&numbers, standing.adam)).then_some(standing)
}
