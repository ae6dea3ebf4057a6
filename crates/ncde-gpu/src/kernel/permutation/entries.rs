//! The gradient of the dictionary, an entry of some lines a unit, which goes through steps of all series:
//!
//! ```text
//! dM_k[j, i] = sum over steps of s_k dM[j, i],   dM[j, i] = S[j, i] l_j (e_i - sum_i S[j, i] e_i)
//! ```
//!
//! The entries of all matrices and their sums are in registers; `S` is made again from them and from what [`soften`](super::lines::soften) found of each line. Parts of all steps are added in order.

use cubecl::prelude::*;

use super::lines::MAX_UNROLLED;
use crate::kernel::unit::unit_below;
use crate::permutation::PermutationDiagonal;

/// Lines of a unit: they share what is read of a step.
pub(crate) fn lines_per_unit(of: PermutationDiagonal) -> usize {
    (MAX_UNROLLED / 2 / of.matrices).clamp(1, 4)
}

/// The part of a split of `dM_k`, `[splits, K, H, H]`. `vectors` are `e` and `l`, `[rows, 2 width]`.
///
/// Units: `[splits, groups of lines, H]`.
#[cube(launch_unchecked)]
pub(crate) fn gather(
    weights: &Array<f32>,
    dictionary: &Array<f32>,
    stats: &Array<f32>,
    vectors: &Array<f32>,
    places: &Array<u32>,
    out: &mut Array<f32>,
    steps: usize,
    per_split: usize,
    units: usize,
    #[comptime] of: PermutationDiagonal,
) {
    let unit = unit_below(units);
    let hidden = comptime!(of.hidden);
    let matrices = comptime!(of.matrices);
    let complex = comptime!(of.parts() == 2);
    let lines = comptime!(lines_per_unit(of));
    let groups = comptime!(of.hidden.div_ceil(lines));
    let i = unit % hidden;
    let first = unit / hidden % groups * lines;
    let split = unit / comptime!(of.hidden * of.hidden.div_ceil(lines));
    let mut entries = Array::<f32>::new(comptime!(lines * of.matrices));
    let mut sums = Array::<f32>::new(comptime!(lines * of.matrices));
    let mut s = Array::<f32>::new(matrices);
    #[unroll]
    for l in 0..lines {
        let line = min(first + l, comptime!(of.hidden - 1));
        #[unroll(of.matrices <= MAX_UNROLLED)]
        for k in 0..matrices {
            entries[l * matrices + k] = dictionary[(k * hidden + line) * hidden + i];
            sums[l * matrices + k] = f32::new(0.0);
        }
    }
    let end = min((split + 1) * per_split, steps);
    for step in split * per_split..end {
        #[unroll(of.matrices <= MAX_UNROLLED)]
        for k in 0..matrices {
            s[k] = weights[k * steps + step];
        }
        let at = places[step] as usize * comptime!(2 * of.width());
        let re = vectors[at + i];
        let mut im = f32::new(0.0);
        if comptime!(complex) {
            im = vectors[at + hidden + i];
        }
        #[unroll]
        for l in 0..lines {
            let line = min(first + l, comptime!(of.hidden - 1));
            let mut mixed = f32::new(0.0);
            #[unroll(of.matrices <= MAX_UNROLLED)]
            for k in 0..matrices {
                mixed += s[k] * entries[l * matrices + k];
            }
            let from = line * steps + step;
            let mut slope = vectors[at + comptime!(of.width()) + line] * (re - stats[hidden * steps + from]);
            if comptime!(complex) {
                slope += vectors[at + comptime!(of.width() + of.hidden) + line] * (im - stats[2 * hidden * steps + from]);
            }
            let dm = f32::exp(mixed - stats[from]) * slope;
            #[unroll(of.matrices <= MAX_UNROLLED)]
            for k in 0..matrices {
                sums[l * matrices + k] += s[k] * dm;
            }
        }
    }
    #[unroll]
    for l in 0..lines {
        if first + l < hidden {
            #[unroll(of.matrices <= MAX_UNROLLED)]
            for k in 0..matrices {
                out[((split * matrices + k) * hidden + first + l) * hidden + i] = sums[l * matrices + k];
            }
        }
    }
}
