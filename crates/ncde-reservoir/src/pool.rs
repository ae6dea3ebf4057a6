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
const MAX_KEPT: usize = 5;

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
                Self::All => MAX_KEPT,
            }
    }
}

/// Takes a few rows into the sums of a group of responses on one signal; `RUNS` and `REST` say which of them.
struct Pool<'a, const RUNS: bool, const REST: bool> {
    /// `[q + 1, LANES]`.
    taps: &'a [f32],
    /// `[CUTS, LANES]`.
    cuts: &'a [f32],
    /// The memories of each row, `[rows, q + 1, width]`.
    memories: &'a [f32],
    width: usize,
    signal: usize,
    beats: &'a [Beat],
    /// `[CUTS, numbers kept, LANES]`.
    kept: &'a mut [f32],
}

impl<const RUNS: bool, const REST: bool> Pool<'_, RUNS, REST> {
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
            let mut state = [[zero; MAX_KEPT]; CUTS];
            let mut cut = [zero; CUTS];
            for j in 0..CUTS {
                cut[j] = cuts[j * registers + l];
                for (i, own) in state[j].iter_mut().take(slots).enumerate() {
                    *own = kept[(j * slots + i) * registers + l];
                }
            }
            for (memory, beat) in memories.chunks_exact(size).zip(beats) {
                let r = match taps.len() / registers {
                    USUAL_TAPS => response::<S, USUAL_TAPS>(simd, &taps[l..], registers, &memory[signal..], width),
                    _ => {
                        let all = memory[signal..].iter().step_by(width).zip(taps[l..].iter().step_by(registers));
                        all.fold(zero, |r, (&m, &tap)| simd.mul_add_e_f32s(simd.splat_f32s(m), tap, r))
                    }
                };
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

/// Taps of the usual order of memories, for which the loop is unrolled.
const USUAL_TAPS: usize = crate::memory::USUAL_ORDER + 1;

/// `sum_i w_i m_i`, for a register of responses.
#[inline(always)]
fn response<S: Simd, const N: usize>(simd: S, taps: &[S::f32s], registers: usize, memory: &[f32], width: usize) -> S::f32s {
    let (taps, memory) = (&taps[..(N - 1) * registers + 1], &memory[..(N - 1) * width + 1]);
    let mut r = simd.splat_f32s(0.0);
    for i in 0..N {
        r = simd.mul_add_e_f32s(simd.splat_f32s(memory[i * width]), taps[i * registers], r);
    }
    r
}

/// Takes a few rows into the sums of all groups of responses of a span.
pub(crate) struct PoolAll<'a> {
    /// `[groups, q + 1, LANES]`.
    pub(crate) taps: &'a [f32],
    /// `[groups, CUTS, LANES]`.
    pub(crate) cuts: &'a [f32],
    /// The memories of each row, `[rows, q + 1, width]`.
    pub(crate) memories: &'a [f32],
    pub(crate) width: usize,
    /// Of groups that wait (1) and that do not (0).
    pub(crate) beats: &'a [Vec<Beat>; 2],
    /// Which groups do.
    pub(crate) waits: &'a [usize],
    /// What is kept of each.
    pub(crate) kinds: &'a [Kept],
    pub(crate) kept: &'a mut [f32],
}

impl Kernel for PoolAll<'_> {
    type Output = ();
    // One call for all groups: a call for each would take as long as its work.
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { taps, cuts, memories, width, beats, waits, kinds, kept } = self;
        let mut rest = kept;
        let groups = taps.chunks_exact((taps.len() / kinds.len().max(1)).max(1)).zip(cuts.chunks_exact(CUTS * LANES));
        for (signal, ((taps, cuts), (kind, &waits))) in groups.zip(kinds.iter().zip(waits)).enumerate() {
            let (kept, after) = rest.split_at_mut(kind.numbers());
            rest = after;
            let beats = &beats[waits][..];
            macro_rules! pool {
                ($runs:literal, $rest:literal) => {
                    Pool::<$runs, $rest> { taps, cuts, memories, width, signal, beats, kept }.run(simd)
                };
            }
            match kind {
                Kept::Shares => pool!(false, false),
                Kept::Runs => pool!(true, false),
                Kept::All => pool!(true, true),
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

/// One way of pooling, of all thresholds and responses of some groups of a span that keep the same.
pub(crate) struct Pooled<'a> {
    /// `[groups, numbers kept]`.
    pub(crate) kept: &'a [f32],
    /// What all rows weigh, for groups that wait (1) and that do not (0).
    pub(crate) totals: [f32; 2],
    /// Which groups do.
    pub(crate) waits: &'a [usize],
    pub(crate) pool: Pooling,
    /// `[groups, CUTS, LANES]`.
    pub(crate) out: &'a mut [f32],
}

impl Kernel for Pooled<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let Self { kept, totals, waits, pool, out } = self;
        let each = kept.chunks_exact((kept.len() / waits.len().max(1)).max(1)).zip(out.chunks_exact_mut(CUTS * LANES));
        each.zip(waits).for_each(|((kept, out), &waits)| pool.of(kept, totals[waits], out));
    }
}

impl Pooling {
    /// Of all thresholds and responses of a group, where all rows weigh `total`.
    #[inline(always)]
    fn of(self, kept: &[f32], total: f32, out: &mut [f32]) {
        let per = |x: f32, y: f32| if y > 0.0 { x / y } else { 0.0 };
        let inverse = per(1.0, total);
        // Registers of fixed size, and a multiplication each: this is most of what a prediction reads.
        let (out, _) = out.as_chunks_mut::<LANES>();
        let (kept, _) = kept.as_chunks::<LANES>();
        for (cut, out) in kept.chunks_exact(kept.len() / CUTS).zip(out) {
            match (self, cut) {
                (Pooling::Share, [share, ..]) => *out = std::array::from_fn(|l| share[l] * inverse),
                (Pooling::Longest, [_, _, longest, ..]) => *out = std::array::from_fn(|l| (longest[l] * inverse).min(1.0)),
                (Pooling::Mean, [share, _, _, sum, ..]) => *out = std::array::from_fn(|l| per(sum[l], share[l])),
                (Pooling::Place, [share, _, _, _, age]) => {
                    let place = |l: usize| if share[l] > 0.0 { (1.0 - per(per(age[l], share[l]), total)).max(0.0) } else { 0.0 };
                    *out = std::array::from_fn(place);
                }
                // What is asked for is kept.
                _ => {}
            }
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
