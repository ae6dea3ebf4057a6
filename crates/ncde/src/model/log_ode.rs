//! Windows of a driving path as log-signatures, on tensors.
//!
//! ```text
//! log S^N(omega, xi)_[r_l, r_{l+1}] = sum_P lambda^l_P P,   Omega_l = sum_P lambda^l_P A_P,   beta_l = sum_P lambda^l_P c_P
//! ```
//!
//! What each coordinate multiplies is decided by [`Plan`](ncde_runtime::Plan), from sizes alone.

use std::sync::Arc;

use burn::tensor::Tensor;
use ncde_runtime::Plan;
use ncde_signature::Signature;

use super::parameters::{clear_padding, places};
use super::{Error, ModelBackend};
use crate::linear;
use crate::signature::signature;

/// The parameters of the recurrence, from those of the field.
pub(crate) fn matrices<B: ModelBackend>(plan: &Plan, a: Tensor<B, 1>) -> Result<Tensor<B, 1>, Error> {
    match plan.brackets() {
        Some(brackets) => Ok(linear::matrices(brackets, a)?),
        None => Ok(a),
    }
}

/// `c_P`, by xi letter, `[vectors, H]`; the same number for each letter.
pub(crate) fn vectors<B: ModelBackend>(plan: &Plan, a: Tensor<B, 1>, b: Tensor<B, 2>) -> Result<Tensor<B, 2>, Error> {
    match plan.vector_brackets() {
        Some((brackets, rows)) => {
            let all = linear::vectors(brackets, a, b)?;
            Ok(chosen(all, 0, rows))
        }
        None => Ok(b),
    }
}

/// The coordinates that go with matrices and those that go with vectors.
pub(crate) fn split<B: ModelBackend>(plan: &Plan, log: Tensor<B, 3>) -> (Tensor<B, 3>, Option<Tensor<B, 3>>) {
    let affine = (!plan.vector_places().is_empty()).then(|| chosen(log.clone(), 2, plan.vector_places()));
    (chosen(log, 2, plan.matrix_places()), affine)
}

/// These places along an axis; nothing is copied where they are all of them, in order.
fn chosen<B: ModelBackend, const D: usize>(all: Tensor<B, D>, axis: usize, wanted: &[usize]) -> Tensor<B, D> {
    if wanted.iter().copied().eq(0..all.dims()[axis]) {
        return all;
    }
    let wanted = places(wanted, &all.device());
    all.select(axis, wanted)
}

/// The log-signatures of consecutive windows of `steps` increments, and the number of windows of each series. The last window
/// of a series may be shorter.
///
/// # Shapes
/// `increments`, of the joint path: `[batch, length, channels]`, to `[batch, windows, coordinates]`.
pub(crate) fn windows<B: ModelBackend>(
    transform: &Arc<Signature>,
    increments: Tensor<B, 3>,
    lengths: Option<&[usize]>,
    steps: usize,
) -> Result<Tensor<B, 3>, Error> {
    let increments = clear_padding(increments, lengths);
    let [batch, length, channels] = increments.dims();
    let windows = length.div_ceil(steps);
    let options = (&increments.device(), increments.dtype());
    // A path that stands still has the log-signature of nothing: zeros complete the last window.
    let missing = windows * steps - length;
    let full = if missing == 0 {
        increments
    } else {
        Tensor::cat(vec![increments, Tensor::zeros([batch, missing, channels], options)], 1)
    };
    // Each window starts at 0: sums over one window round less than sums over the whole series.
    let path = full.reshape([batch * windows, steps, channels]).cumsum(1);
    let path = Tensor::cat(vec![Tensor::zeros([batch * windows, 1, channels], options), path], 1);
    Ok(signature(transform, path)?.reshape([batch, windows, transform.len()]))
}
