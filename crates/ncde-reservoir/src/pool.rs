//! Running sums of responses above thresholds. A response is a linear functional of a memory and of its signal.
//!
//! ```text
//! r_k = sum_i w_i m_i(t_k),   over rows with weights dt_k (the gap before a row), for each threshold b:
//! share   = sum dt [r > b] / W              mean    = sum dt (r - b)^+ / sum dt [r > b]
//! longest = longest run of r > b / W        place   = mean time at which r > b / W               W = sum dt
//! ```
//!
//! All of them can go on for ever. Once `W` has reached the horizon, 1, what is old fades: everything is multiplied by `rho = (1 - dt) / W` before a row is
//! added, so `W` stays 1, and sums are over the last horizon or so. The place is kept as a mean age, which needs no origin; what is older than the horizon in
//! the mean has the place 0.

use ncde_simd::{Kernel, Simd};
use serde::{Deserialize, Serialize};

/// Responses of a group.
pub const LANES: usize = crate::memory::LANES;

/// Thresholds of a response.
pub const CUTS: usize = 4;

/// A way of pooling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pooling {
    /// The share of time above a threshold.
    Share,
    /// The mean height above it, over that time.
    Mean,
    /// The longest run above it.
    Longest,
    /// The mean place of that time in the series.
    Place,
}

/// Numbers that are kept for a threshold at most: share, run, longest run, sum, age.
const MOST_KEPT: usize = 5;

/// The weight of a row and what older ones are multiplied with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Beat {
    pub(crate) weight: f32,
    pub(crate) fade: f32,
}

/// The weight of a row after a gap, where `total` is the weight of all rows so far.
pub(crate) fn beat(total: &mut f32, gap: f64) -> Beat {
    let weight = gap.min(1.0) as f32;
    let sum = *total + weight;
    if sum < 1.0 || *total == 0.0 {
        *total = sum;
        return Beat { weight, fade: 1.0 };
    }
    let fade = (1.0 - weight) / *total;
    // What is left after the fading, and not the gap: the two may differ by rounding, and sums of millions of rows would drift.
    let weight = 1.0 - fade * *total;
    *total = 1.0;
    Beat { weight, fade }
}

/// What is kept, so that nothing is remembered and computed that nobody reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kept {
    /// Shares alone.
    Shares,
    /// Shares and runs.
    Runs,
    /// Everything.
    All,
}

impl Kept {
    /// What these ways of pooling need.
    pub(crate) fn of(pools: &[Pooling]) -> Self {
        match pools.iter().all(|pool| *pool == Pooling::Share) {
            true => Self::Shares,
            false if pools.iter().all(|pool| matches!(pool, Pooling::Share | Pooling::Longest)) => Self::Runs,
            false => Self::All,
        }
    }

    /// Numbers that are kept for a group of responses.
    pub(crate) fn numbers(self) -> usize {
        CUTS * LANES
            * match self {
                Self::Shares => 1,
                Self::Runs => 3,
                Self::All => MOST_KEPT,
            }
    }
}

/// Takes a few rows into the sums of a group of responses on one signal; `RUNS` and `REST` say which of them.
pub(crate) struct Pool<'a, const RUNS: bool, const REST: bool> {
    /// `[q + 1, LANES]`.
    pub(crate) taps: &'a [f32],
    /// `[CUTS, LANES]`.
    pub(crate) cuts: &'a [f32],
    /// The memories of each row, `[rows, q + 1, width]`.
    pub(crate) memories: &'a [f32],
    pub(crate) width: usize,
    pub(crate) signal: usize,
    pub(crate) beats: &'a [Beat],
    /// `[CUTS, numbers kept, LANES]`.
    pub(crate) kept: &'a mut [f32],
}

impl<const RUNS: bool, const REST: bool> Kernel for Pool<'_, RUNS, REST> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { taps, cuts, memories, width, signal, beats, kept } = self;
        let size = taps.len() / LANES * width;
        let ((taps, _), (cuts, _)) = (S::as_simd_f32s(taps), S::as_simd_f32s(cuts));
        let (kept, _) = S::as_mut_simd_f32s(kept);
        let registers = LANES / S::F32_LANES;
        let slots = const { 1 + if RUNS { 2 } else { 0 } + if REST { 2 } else { 0 } };
        let zero = simd.splat_f32s(0.0);
        for l in 0..registers {
            let mut state = [[zero; MOST_KEPT]; CUTS];
            let mut cut = [zero; CUTS];
            for j in 0..CUTS {
                cut[j] = cuts[j * registers + l];
                for (i, own) in state[j].iter_mut().take(slots).enumerate() {
                    *own = kept[(j * slots + i) * registers + l];
                }
            }
            for (memory, beat) in memories.chunks_exact(size).zip(beats) {
                let mut r = zero;
                for (i, &m) in memory[signal..].iter().step_by(width).enumerate() {
                    r = simd.mul_add_e_f32s(simd.splat_f32s(m), taps[i * registers + l], r);
                }
                let (weight, fade) = (simd.splat_f32s(beat.weight), simd.splat_f32s(beat.fade));
                for j in 0..CUTS {
                    let [share, run, longest, sum, age] = state[j];
                    let over = simd.sub_f32s(r, cut[j]);
                    let above = simd.less_than_f32s(zero, over);
                    let own = simd.select_f32s(above, weight, zero);
                    state[j][0] = simd.mul_add_e_f32s(share, fade, own);
                    if RUNS {
                        let run = simd.select_f32s(above, simd.mul_add_e_f32s(run, fade, weight), zero);
                        state[j][1] = run;
                        state[j][2] = simd.max_f32s(simd.mul_f32s(longest, fade), run);
                    }
                    if REST {
                        state[j][3] = simd.mul_add_e_f32s(sum, fade, simd.mul_f32s(own, over));
                        state[j][4] = simd.mul_f32s(simd.mul_add_e_f32s(share, weight, age), fade);
                    }
                }
            }
            for j in 0..CUTS {
                for (i, own) in state[j].iter().take(slots).enumerate() {
                    kept[(j * slots + i) * registers + l] = *own;
                }
            }
        }
    }
}

/// The response of each row alone, `[rows, LANES]`, for thresholds to be found from.
pub(crate) fn respond(taps: &[f32], memories: &[f32], width: usize, signal: usize, out: &mut Vec<[f32; LANES]>) {
    for memory in memories.chunks_exact(taps.len() / LANES * width) {
        let mut r = [0.0; LANES];
        for (&m, taps) in memory[signal..].iter().step_by(width).zip(taps.chunks_exact(LANES)) {
            r.iter_mut().zip(taps).for_each(|(r, tap)| *r += m * tap);
        }
        out.push(r);
    }
}

/// One way of pooling, of all thresholds and responses of a group, where all rows weigh `total`.
pub(crate) fn pooled(kept: &[f32], total: f32, pool: Pooling, out: &mut Vec<f32>) {
    let per = |x: f32, y: f32| if y > 0.0 { x / y } else { 0.0 };
    let inverse = per(1.0, total);
    let first = out.len();
    out.resize(first + CUTS * LANES, 0.0);
    // Registers of fixed size, and a multiplication each: this is most of what a prediction reads.
    let (out, _) = out[first..].as_chunks_mut::<LANES>();
    let (kept, _) = kept.as_chunks::<LANES>();
    for (cut, out) in kept.chunks_exact(kept.len() / CUTS).zip(out) {
        match (pool, cut) {
            (Pooling::Share, [share, ..]) => out.iter_mut().zip(share).for_each(|(y, x)| *y = x * inverse),
            (Pooling::Longest, [_, _, longest, ..]) => {
                out.iter_mut().zip(longest).for_each(|(y, x)| *y = (x * inverse).min(1.0));
            }
            (Pooling::Mean, [share, _, _, sum, ..]) => {
                out.iter_mut().zip(sum.iter().zip(share)).for_each(|(y, (&x, &share))| *y = per(x, share));
            }
            (Pooling::Place, [share, _, _, _, age]) => {
                for (y, (&x, &share)) in out.iter_mut().zip(age.iter().zip(share)).filter(|(_, (_, share))| **share > 0.0) {
                    *y = (1.0 - per(per(x, share), total)).max(0.0);
                }
            }
            // What is asked for is kept.
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::beat;

    /// What is left and what is added make the whole, to the last bit: of a million short gaps nothing may be gained or lost.
    #[test]
    fn fading_and_weight_sum_to_one() {
        for gap in [3.2e-7, 1.3e-6, 0.001_234_567, 0.3, 1.0, 7.0] {
            let mut total = 1.0;
            let row = beat(&mut total, gap);
            assert_eq!((f64::from(row.fade) + f64::from(row.weight), total), (1.0, 1.0), "{gap}");
        }
    }
}
