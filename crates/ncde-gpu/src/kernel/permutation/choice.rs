//! From scores to weights, and the way back:
//!
//! ```text
//! s = softmax(q),   dq = s * (ds - sum_k s ds)
//! ```
//!
//! Weights lie by matrices, `[K, steps]`, so that neighbouring steps are neighbouring numbers. Rows past the end of a series are no steps.

use cubecl::prelude::*;

use crate::kernel::unit::unit_below;
use crate::permutation::PermutationDiagonal;

/// `s`. Units: one for each step, which sums in order, as the processor does.
#[cube(launch_unchecked)]
pub(crate) fn weights(
    control: &Array<f32>,
    places: &Array<u32>,
    out: &mut Array<f32>,
    steps: usize,
    #[comptime] of: PermutationDiagonal,
) {
    let step = unit_below(steps);
    let at = places[step] as usize * comptime!(of.columns());
    let mut most = control[at];
    for k in 1..comptime!(of.matrices) {
        most = max(most, control[at + k]);
    }
    let mut sum = f32::new(0.0);
    for k in 0..comptime!(of.matrices) {
        let e = f32::exp(control[at + k] - most);
        out[k * steps + step] = e;
        sum += e;
    }
    let factor = 1.0 / sum;
    for k in 0..comptime!(of.matrices) {
        out[k * steps + step] *= factor;
    }
}

/// `dq`, to its place in the gradient of control, from the parts of `ds` that groups of lines have, `[groups, K, steps]`. Units: one for each step.
#[cube(launch_unchecked)]
pub(crate) fn scores(
    weights: &Array<f32>,
    parts: &Array<f32>,
    places: &Array<u32>,
    d_control: &mut Array<f32>,
    groups: usize,
    steps: usize,
    #[comptime] of: PermutationDiagonal,
) {
    let step = unit_below(steps);
    let at = places[step] as usize * comptime!(of.columns());
    let mut mean = f32::new(0.0);
    for k in 0..comptime!(of.matrices) {
        let mut sum = f32::new(0.0);
        for group in 0..groups {
            sum += parts[(group * comptime!(of.matrices) + k) * steps + step];
        }
        d_control[at + k] = sum;
        mean += weights[k * steps + step] * sum;
    }
    for k in 0..comptime!(of.matrices) {
        d_control[at + k] = weights[k * steps + step] * (d_control[at + k] - mean);
    }
}
