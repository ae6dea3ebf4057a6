//! What survives a run on words that is killed: weights, means of Adam, and where it stood. Words are functions of the step, so it goes on to the same bits.
//!
//! ```text
//! {"settings": ..., "step": ..., ...}\n   f32 f32 f32 ...      weights in order, then the two means of each that is trained
//! ```

use std::path::Path;

use burn_autodiff::Autodiff;
use burn_flex::Flex;
use burn_tensor::{Tensor, TensorData};
use ncde::layer::Optimiser;
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
pub(super) fn save(directory: &Path, standing: &Standing, trained: &Optimiser<Autodiff<Flex>>) -> Result<(), Error> {
    let path = directory.join(CHECKPOINT);
    let failed = |problem: String| Error::File { path: path.clone(), problem };
    let mut bytes = serde_json::to_vec(standing).map_err(|e| failed(e.to_string()))?;
    bytes.push(b'\n');
    let tensors = trained.network.tensors.iter().chain(trained.means.iter().flatten().flatten());
    for tensor in tensors {
        tensor.to_data().iter::<f32>().for_each(|x| bytes.extend(x.to_le_bytes()));
    }
    std::fs::create_dir_all(directory).map_err(|e| failed(e.to_string()))?;
    ncde_files::write_whole(&path, &bytes).map_err(|e| failed(e.to_string()))
}

/// Goes on where a run stood that had these settings; none, and nothing changed, if there is no such file or it is of another run.
pub(super) fn restore(directory: &Path, settings: &str, trained: &mut Optimiser<Autodiff<Flex>>) -> Option<Standing> {
    let bytes = ncde_files::read_plain(&directory.join(CHECKPOINT)).ok()?;
    let line = bytes.iter().position(|&byte| byte == b'\n')?;
    let standing: Standing = serde_json::from_slice(&bytes[..line]).ok()?;
    let numbers: Vec<f32> =
        bytes[line + 1..].chunks_exact(4).map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]])).collect();
    let mut rest = &numbers[..];
    let mut next = |like: &Tensor<Flex, 1>| -> Option<Tensor<Flex, 1>> {
        let (own, after) = rest.split_at_checked(like.dims()[0])?;
        rest = after;
        Some(Tensor::from_data(TensorData::new(own.to_vec(), [own.len()]), &like.device()))
    };
    let weights = trained.network.tensors.iter().map(&mut next).collect::<Option<Vec<_>>>()?;
    let mut means = trained.means.clone();
    for pair in means.iter_mut().flatten() {
        *pair = [next(&pair[0])?, next(&pair[1])?];
    }
    if !rest.is_empty() || standing.settings != settings {
        return None;
    }
    (trained.network.tensors, trained.means, trained.steps) = (weights, means, standing.adam);
    Some(standing)
}
