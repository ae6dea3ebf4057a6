//! Running sums of responses above thresholds. A response is a linear functional of a memory and of its signal.
//!
//! ```text
//! r_k = sum_i w_i m_i(t_k),   over rows with weights dt_k (the gap before a row), for each threshold b:
//! share   = sum dt [r > b] / W              mean    = sum dt (r - b)^+ / sum dt [r > b]
//! longest = longest run of r > b / W        place   = mean time at which r > b / W               W = sum dt
//! height  = sum dt (r - b)^+ / W            late    = sum dt [r > b] (its time / W) / W
//! ```
//!
//! `competing` has no thresholds, see [`competing`](crate::competing).
//!
//! A stream has no end, so old rows fade: once `W` has reached the horizon, 1, all sums are multiplied by `rho = (1 - dt) / W` before a row is
//! added. `W` then stays 1, and sums are over about the last horizon. The place is stored as a mean age, which needs no origin in time; a mean
//! age beyond the horizon gives the place 0.

use ncde_simd::{Kernel, Simd, kernel};
use serde::{Deserialize, Serialize};

use crate::competing::{COMPETING, Group, compete};

/// The number of responses in a group.
pub const LANES: usize = crate::memory::LANES;

/// The number of thresholds of a response.
pub const CUTS: usize = 4;

/// A way of pooling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pooling {
    /// The share of time above a threshold.
    Share,
    /// The mean height above a threshold while above it.
    Mean,
    /// The longest run above a threshold.
    Longest,
    /// The mean position in the series of the time above a threshold.
    Place,
    /// The height above a threshold, 0 below it, in the mean over time.
    Height,
    /// The share of time above a threshold, each moment weighted with its position in the series.
    Late,
    /// The share of time as the largest and as the smallest of its group, and its mean height and depth then.
    Competing,
}

/// The most numbers stored for a threshold: share, run, longest run, sum, age.
const MAX_SUMS: usize = 5;

/// The weight of a row, and the factor on the sums over earlier rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RowWeight {
    pub(crate) weight: f32,
    pub(crate) fade: f32,
}

/// The weight of a row after a gap, where `total` is the weight of all rows so far.
pub(crate) fn row_weight(total: &mut f32, gap: f64) -> RowWeight {
    let weight = gap.min(1.0) as f32;
    let sum = *total + weight;
    if sum < 1.0 || *total == 0.0 {
        *total = sum;
        return RowWeight { weight, fade: 1.0 };
    }
    let fade = (1.0 - weight) / *total;
    // Not the gap itself: fade and weight must add up to exactly 1, or rounding errors of millions of rows would accumulate.
    let weight = 1.0 - fade * *total;
    *total = 1.0;
    RowWeight { weight, fade }
}

/// Which sums are stored: only those that the pools of a family read. First those of thresholds, shares among them, then those of responses that compete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StoredSums {
    /// Two numbers for each threshold.
    has_runs: bool,
    /// Sums and ages: two more; runs then are there, too.
    has_rest: bool,
    has_competing: bool,
}

impl StoredSums {
    /// The sums that these pools read.
    pub(crate) fn of(pools: &[Pooling]) -> Self {
        use Pooling::{Competing, Height, Late, Longest, Mean, Place};
        let has = |list: &[Pooling]| pools.iter().any(|pool| list.contains(pool));
        let has_rest = has(&[Mean, Place, Height, Late]);
        Self { has_runs: has_rest || has(&[Longest]), has_rest, has_competing: has(&[Competing]) }
    }

    /// The numbers stored for the thresholds of a group of responses.
    fn of_cuts(self) -> usize {
        CUTS * LANES * (1 + 2 * usize::from(self.has_runs) + 2 * usize::from(self.has_rest))
    }

    /// The numbers stored for a group of responses.
    pub(crate) fn numbers(self) -> usize {
        self.of_cuts() + if self.has_competing { COMPETING } else { 0 }
    }
}

/// Adds a few rows to the sums of a group of responses on one signal; `RUNS` and `REST` select the sums (see [`StoredSums`]).
struct Pool<'a, const RUNS: bool, const REST: bool> {
    /// `[q + 1, LANES]`.
    taps: &'a [f32],
    /// `[CUTS, LANES]`.
    cuts: &'a [f32],
    /// The memories of each row, `[rows, q + 1, width]`.
    memories: &'a [f32],
    width: usize,
    signal: usize,
    row_weights: &'a [RowWeight],
    /// `[CUTS, numbers stored, LANES]`.
    sums: &'a mut [f32],
}

impl<const RUNS: bool, const REST: bool> Pool<'_, RUNS, REST> {
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { taps, cuts, memories, width, signal, row_weights, sums } = self;
        let size = taps.len() / LANES * width;
        let ((taps, _), (cuts, _)) = (S::as_simd_f32s(taps), S::as_simd_f32s(cuts));
        let (sums, _) = S::as_mut_simd_f32s(sums);
        let registers = LANES / S::F32_LANES;
        let slots = const { 1 + if RUNS { 2 } else { 0 } + if REST { 2 } else { 0 } };
        let zero = simd.splat_f32s(0.0);
        for l in 0..registers {
            let mut state = [[zero; MAX_SUMS]; CUTS];
            let mut cut = [zero; CUTS];
            for j in 0..CUTS {
                cut[j] = cuts[j * registers + l];
                for (i, stored) in state[j].iter_mut().take(slots).enumerate() {
                    *stored = sums[(j * slots + i) * registers + l];
                }
            }
            for (memory, row) in memories.chunks_exact(size).zip(row_weights) {
                let r = response(simd, &taps[l..], registers, &memory[signal..], width);
                let (weight, fade) = (simd.splat_f32s(row.weight), simd.splat_f32s(row.fade));
                for j in 0..CUTS {
                    let [share, run, longest, sum, age] = state[j];
                    let over = simd.sub_f32s(r, cut[j]);
                    let above = simd.less_than_f32s(zero, over);
                    let time_above = simd.select_f32s(above, weight, zero);
                    state[j][0] = simd.mul_add_e_f32s(share, fade, time_above);
                    if RUNS {
                        let run = simd.select_f32s(above, simd.mul_add_e_f32s(run, fade, weight), zero);
                        state[j][1] = run;
                        state[j][2] = simd.max_f32s(simd.mul_f32s(longest, fade), run);
                    }
                    if REST {
                        state[j][3] = simd.mul_add_e_f32s(sum, fade, simd.mul_f32s(time_above, over));
                        state[j][4] = simd.mul_f32s(simd.mul_add_e_f32s(share, weight, age), fade);
                    }
                }
            }
            for j in 0..CUTS {
                for (i, stored) in state[j].iter().take(slots).enumerate() {
                    sums[(j * slots + i) * registers + l] = *stored;
                }
            }
        }
    }
}

/// The number of taps for which the loop is unrolled.
const UNROLLED_TAPS: usize = crate::memory::UNROLLED_ORDER + 1;

/// `sum_i w_i m_i` for a register of responses; taps and memories begin at theirs.
#[inline(always)]
pub(crate) fn response<S: Simd>(simd: S, taps: &[S::f32s], registers: usize, memory: &[f32], width: usize) -> S::f32s {
    if taps.len().div_ceil(registers) == UNROLLED_TAPS {
        return unrolled::<S, UNROLLED_TAPS>(simd, taps, registers, memory, width);
    }
    let all = memory.iter().step_by(width).zip(taps.iter().step_by(registers));
    all.fold(simd.splat_f32s(0.0), |r, (&m, &tap)| simd.mul_add_e_f32s(simd.splat_f32s(m), tap, r))
}

#[inline(always)]
fn unrolled<S: Simd, const N: usize>(simd: S, taps: &[S::f32s], registers: usize, memory: &[f32], width: usize) -> S::f32s {
    let (taps, memory) = (&taps[..(N - 1) * registers + 1], &memory[..(N - 1) * width + 1]);
    let mut r = simd.splat_f32s(0.0);
    for i in 0..N {
        r = simd.mul_add_e_f32s(simd.splat_f32s(memory[i * width]), taps[i * registers], r);
    }
    r
}

/// Adds a few rows to the sums of all groups of responses of a span.
pub(crate) struct PoolAll<'a> {
    /// `[groups, q + 1, LANES]`.
    pub(crate) taps: &'a [f32],
    /// `[groups, CUTS, LANES]`.
    pub(crate) cuts: &'a [f32],
    /// The memories of each row, `[rows, q + 1, width]`.
    pub(crate) memories: &'a [f32],
    pub(crate) width: usize,
    /// For groups without a delay (0) and with one (1).
    pub(crate) row_weights: &'a [Vec<RowWeight>; 2],
    /// For each group whether pooling is delayed (1).
    pub(crate) delayed: &'a [usize],
    /// The sums that each group stores.
    pub(crate) stored: &'a [StoredSums],
    pub(crate) sums: &'a mut [f32],
}

impl Kernel for PoolAll<'_> {
    type Output = ();
    // One call for all groups: a call for each group would take as long as its work.
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { taps, cuts, memories, width, row_weights, delayed, stored, sums } = self;
        let mut rest = sums;
        let groups = taps.chunks_exact((taps.len() / stored.len().max(1)).max(1)).zip(cuts.chunks_exact(CUTS * LANES));
        for (signal, ((taps, cuts), (kind, &delayed))) in groups.zip(stored.iter().zip(delayed)).enumerate() {
            let (sums, after) = rest.split_at_mut(kind.numbers());
            rest = after;
            let row_weights = &row_weights[delayed][..];
            let (sums, competing) = sums.split_at_mut(kind.of_cuts());
            if kind.has_competing {
                compete(simd, Group { taps, cuts, memories, width, signal }, row_weights, competing);
            }
            macro_rules! pool {
                ($runs:literal, $rest:literal) => {
                    Pool::<$runs, $rest> { taps, cuts, memories, width, signal, row_weights, sums }.run(simd)
                };
            }
            match (kind.has_runs, kind.has_rest) {
                (false, _) => pool!(false, false),
                (true, false) => pool!(true, false),
                (true, true) => pool!(true, true),
            }
        }
    }
}

/// The responses of each row, `[rows, LANES]`: thresholds are chosen from their distribution.
pub(crate) fn respond(taps: &[f32], memories: &[f32], width: usize, signal: usize, out: &mut Vec<[f32; LANES]>) {
    for memory in memories.chunks_exact(taps.len() / LANES * width) {
        let mut r = [0.0; LANES];
        for (&m, taps) in memory[signal..].iter().step_by(width).zip(taps.chunks_exact(LANES)) {
            r.iter_mut().zip(taps).for_each(|(r, tap)| *r += m * tap);
        }
        out.push(r);
    }
}

kernel! {
    /// Reads one pool of all thresholds and responses, for groups of a span that store the same sums.
    ///
    /// `sums` is `[groups, numbers stored]`, `out` `[groups, CUTS, LANES]`; `totals` are the weights of all rows for groups without a delay (0) and with
    /// one (1), and `delayed` says for each group which.
    pub(crate) dispatch fn read_pool<'a, S: Simd>(
        _simd: S,
        sums: &'a [f32],
        totals: [f32; 2],
        delayed: &'a [usize],
        pool: Pooling,
        stored: StoredSums,
        out: &'a mut [f32],
    ) {
        let groups = sums.chunks_exact(stored.numbers()).zip(out.chunks_exact_mut(CUTS * LANES));
        let is_competing = pool == Pooling::Competing;
        let own = if is_competing { stored.of_cuts()..stored.numbers() } else { 0..stored.of_cuts() };
        groups.zip(delayed).for_each(|((sums, out), &delayed)| pool.of(&sums[own.clone()], totals[delayed], out));
    }
}

impl Pooling {
    /// The pool of all thresholds and responses of a group, where `total` is the weight of all rows.
    #[inline(always)]
    fn of(self, sums: &[f32], total: f32, out: &mut [f32]) {
        let per = |x: f32, y: f32| if y > 0.0 { x / y } else { 0.0 };
        let inverse = per(1.0, total);
        // Arrays of fixed size vectorise, and multiplying by the inverse saves a division: these are most of the features of a prediction.
        let (out, _) = out.as_chunks_mut::<LANES>();
        let (sums, _) = sums.as_chunks::<LANES>();
        for (cut, out) in sums.chunks_exact(sums.len() / CUTS).zip(out) {
            match (self, cut) {
                (Pooling::Share | Pooling::Competing, [share, ..]) => *out = std::array::from_fn(|l| share[l] * inverse),
                (Pooling::Longest, [_, _, longest, ..]) => *out = std::array::from_fn(|l| (longest[l] * inverse).min(1.0)),
                (Pooling::Mean, [share, _, _, sum, ..]) => *out = std::array::from_fn(|l| per(sum[l], share[l])),
                (Pooling::Place, [share, _, _, _, age]) => {
                    let place = |l: usize| if share[l] > 0.0 { (1.0 - per(per(age[l], share[l]), total)).max(0.0) } else { 0.0 };
                    *out = std::array::from_fn(place);
                }
                (Pooling::Height, [_, _, _, sum, _]) => *out = std::array::from_fn(|l| sum[l] * inverse),
                (Pooling::Late, [share, _, _, _, age]) => {
                    *out = std::array::from_fn(|l| (share[l] - age[l] * inverse) * inverse);
                }
                // Unreachable: `StoredSums::of` stores what its pools read.
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::row_weight;

    /// Fade and weight add up to exactly 1: otherwise rounding errors of a million short gaps would accumulate.
    #[test]
    fn fading_and_weight_sum_to_one() {
        for gap in [3.2e-7, 1.3e-6, 0.001_234_567, 0.3, 1.0, 7.0] {
            let mut total = 1.0;
            let row = row_weight(&mut total, gap);
            assert_eq!((f64::from(row.fade) + f64::from(row.weight), total), (1.0, 1.0), "{gap}");
        }
    }
}
