//! From scores to weights, and the way back:
//!
//! ```text
//! s = softmax(q),   dq = s * (ds - sum_k s ds)
//! ```
//!
//! Weights lie by matrices, `[K, rows]`, so that neighbouring rows are neighbouring numbers. Steps past the end of a series have `s = 0`, whatever their numbers are.

use cubecl::prelude::*;

use crate::permutation::PermutationDiagonal;

/// `s`. Units: one for each row, which sums in order, as the processor does.
#[cube(launch_unchecked)]
pub(crate) fn weights(
    control: &Array<f32>,
    lengths: &Array<u32>,
    out: &mut Array<f32>,
    rows: usize,
    length: usize,
    #[comptime] of: PermutationDiagonal,
) {
    let row = ABSOLUTE_POS;
    if row >= rows {
        terminate!();
    }
    let at = row * comptime!(of.columns());
    if row % length < lengths[row / length] as usize {
        let mut most = control[at];
        for k in 1..comptime!(of.matrices) {
            most = max(most, control[at + k]);
        }
        let mut sum = f32::new(0.0);
        for k in 0..comptime!(of.matrices) {
            let e = f32::exp(control[at + k] - most);
            out[k * rows + row] = e;
            sum += e;
        }
        let factor = 1.0 / sum;
        for k in 0..comptime!(of.matrices) {
            out[k * rows + row] *= factor;
        }
    } else {
        for k in 0..comptime!(of.matrices) {
            out[k * rows + row] = f32::new(0.0);
        }
    }
}

/// `dq`, to its place in the gradient of control, from the parts of `ds` that groups of lines have, `[groups, K, rows]`. Units: one for each row.
#[cube(launch_unchecked)]
pub(crate) fn scores(
    weights: &Array<f32>,
    parts: &Array<f32>,
    d_control: &mut Array<f32>,
    groups: usize,
    rows: usize,
    #[comptime] of: PermutationDiagonal,
) {
    let row = ABSOLUTE_POS;
    if row >= rows {
        terminate!();
    }
    let at = row * comptime!(of.columns());
    let mut mean = f32::new(0.0);
    for k in 0..comptime!(of.matrices) {
        let mut sum = f32::new(0.0);
        for group in 0..groups {
            sum += parts[(group * comptime!(of.matrices) + k) * rows + row];
        }
        d_control[at + k] = sum;
        mean += weights[k * rows + row] * sum;
    }
    for k in 0..comptime!(of.matrices) {
        d_control[at + k] = weights[k * rows + row] * (d_control[at + k] - mean);
    }
}
