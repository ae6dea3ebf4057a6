//! Responses that compete: at each row the largest of a group of 16 and the smallest count, as kernels do in Hydra (Dempster et al., 2023).
//!
//! ```text
//! f = 2^-10 max |b|, b the thresholds of the group
//! up = max_l r_l > f:     l the first with r_l >= up - f,       largest_l  += dt,   height_l += dt r_l
//! down = min_l r_l < -f:  l the first with r_l <= down + f,     smallest_l += dt,   depth_l  -= dt r_l
//! ```
//!
//! Where a signal is constant, or two responses are equal, rounding does not decide: responses within `f` of each other are the same.

use ncde_simd::Simd;

use crate::pool::{CUTS, LANES, RowWeight, response};

/// The numbers stored for a group: shares of time as the largest and as the smallest, heights, depths.
pub(crate) const COMPETING: usize = 4 * LANES;

/// What is the same, as a share of the largest threshold.
const SAME: f32 = 1.0 / 1024.0;

/// The responses of a group.
#[derive(Clone, Copy)]
pub(crate) struct Group<'a> {
    /// `[q + 1, LANES]`.
    pub(crate) taps: &'a [f32],
    /// `[CUTS, LANES]`.
    pub(crate) cuts: &'a [f32],
    /// The memories of each row, `[rows, q + 1, width]`.
    pub(crate) memories: &'a [f32],
    pub(crate) width: usize,
    pub(crate) signal: usize,
}

/// Adds a few rows to the sums of a group, `[4, LANES]`.
#[inline(always)]
pub(crate) fn compete<S: Simd>(simd: S, group: Group<'_>, row_weights: &[RowWeight], sums: &mut [f32]) {
    let Group { taps, cuts, memories, width, signal } = group;
    let size = taps.len() / LANES * width;
    let floor = SAME * cuts[..CUTS * LANES].iter().fold(0.0, |most: f32, cut| most.max(cut.abs()));
    let (taps, _) = S::as_simd_f32s(taps);
    let registers = LANES / S::F32_LANES;
    for (memory, row) in memories.chunks_exact(size).zip(row_weights) {
        if row.fade != 1.0 {
            sums.iter_mut().for_each(|sum| *sum *= row.fade);
        }
        let mut r = [0.0; LANES];
        let (all, _) = S::as_mut_simd_f32s(&mut r);
        for (l, own) in all.iter_mut().enumerate() {
            *own = response(simd, &taps[l..], registers, &memory[signal..], width);
        }
        let (mut up, mut down) = (all[0], all[0]);
        for &own in &all[1..] {
            (up, down) = (simd.max_f32s(up, own), simd.min_f32s(down, own));
        }
        let (up, down) = (simd.reduce_max_f32s(up), simd.reduce_min_f32s(down));
        if up > floor {
            add(sums, &r, |x| x >= up - floor, row.weight, 0);
        }
        if down < -floor {
            add(sums, &r, |x| x <= down + floor, row.weight, 1);
        }
    }
}

/// Counts the first response that is meant, on this side.
#[inline(always)]
fn add(sums: &mut [f32], r: &[f32; LANES], is_meant: impl Fn(f32) -> bool, weight: f32, side: usize) {
    let bits = r.iter().enumerate().fold(0_u32, |bits, (l, &x)| bits | u32::from(is_meant(x)) << l);
    let lane = bits.trailing_zeros() as usize;
    if lane < LANES {
        sums[side * LANES + lane] += weight;
        sums[(2 + side) * LANES + lane] += weight * r[lane].abs();
    }
}
