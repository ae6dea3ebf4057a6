//! Pools that are linear in the sums of their thresholds, added up with the weights of a linear readout: a few numbers
//! for each output are stored in place of some for each threshold.
//!
//! ```text
//! y = sum_j (a_j share_j / W + h_j sum_j / W + l_j (share_j / W - age_j / W^2)) = B / W - A / W^2          over responses and thresholds j
//! B <- rho B + w sum_j [r_j > b_j] (a_j + l_j + h_j (r_j - b_j)),     A <- rho (A + w P),     P <- rho P + w sum_j [r_j > b_j] l_j
//! ```

use ncde_simd::{Kernel, Simd};

use crate::pool::{CUTS, LANES, Pooling, RowWeight, response};
use crate::responses::Shape;

/// Weights of a threshold for an output: of the time above it, of the height above it, of late times above it.
const KINDS: usize = 3;

/// More outputs take longer to add up at each row than their sums are worth.
const MAX_OUTPUTS: usize = 32;

/// The readout of pooled responses.
#[derive(Debug, Clone)]
pub(crate) struct Fold {
    outputs: usize,
    /// `[spans, groups, CUTS, outputs, KINDS, LANES]`.
    weights: Vec<f32>,
    /// Whether heights and late times have weights.
    height: bool,
    late: bool,
}

/// Whether all pools of a family are linear in the sums.
pub(crate) fn is_linear(pools: &[Pooling]) -> bool {
    pools.iter().all(|pool| matches!(pool, Pooling::Share | Pooling::Height | Pooling::Late))
}

impl Fold {
    /// Of the weights of all features for each output; `None` where a pool is not linear, or sums for each output take more room.
    pub(crate) fn new(shape: &Shape, columns: &[Vec<f32>]) -> Option<Self> {
        let (groups, outputs) = (shape.groups(), columns.len());
        if outputs == 0 || outputs > MAX_OUTPUTS.min(groups * 8) || !shape.families.iter().all(|family| is_linear(&family.pools))
        {
            return None;
        }
        let mut weights = vec![0.0; shape.spans.len() * groups * CUTS * outputs * KINDS * LANES];
        let has = |wanted: Pooling| shape.families.iter().any(|family| family.pools.contains(&wanted));
        for (o, column) in columns.iter().enumerate() {
            let mut features = column.chunks_exact(LANES);
            let mut first = 0;
            for family in &shape.families {
                for &pool in &family.pools {
                    for place in (0..shape.spans.len()).flat_map(|s| (0..family.groups).map(move |g| s * groups + first + g)) {
                        for cut in 0..CUTS {
                            let Some(lanes) = features.next() else { continue };
                            let at = (((place * CUTS + cut) * outputs) + o) * KINDS * LANES;
                            let mut add = |kind: usize| {
                                let to = &mut weights[at + kind * LANES..][..LANES];
                                to.iter_mut().zip(lanes).for_each(|(to, w)| *to += w);
                            };
                            match pool {
                                Pooling::Height => add(1),
                                Pooling::Late => [0, 2].into_iter().for_each(add),
                                _ => add(0),
                            }
                        }
                    }
                }
                first += family.groups;
            }
        }
        Some(Self { outputs, weights, height: has(Pooling::Height), late: has(Pooling::Late) })
    }

    /// The doubles stored for an output, of groups without a delay and with one.
    fn doubles(&self) -> usize {
        if self.late { 3 } else { 1 }
    }

    /// The numbers stored for a span; a double is a pair of them, the second what the first is off by.
    pub(crate) fn state(&self) -> usize {
        2 * 2 * self.outputs * self.doubles()
    }

    /// Adds a few rows to the sums of span `s`, `[2, outputs, 1 or 3, 2]`.
    pub(crate) fn push(
        &self,
        state: &mut [f32],
        s: usize,
        rows: FoldRows<'_>,
        row_weights: &[Vec<RowWeight>; 2],
        scratch: &mut Vec<f32>,
    ) {
        let count = row_weights[0].len();
        scratch.clear();
        scratch.resize(count * 2 * self.outputs * 2 * LANES, 0.0);
        let size = rows.delayed.len() * CUTS * self.outputs * KINDS * LANES;
        let weights = &self.weights[s * size..(s + 1) * size];
        ncde_simd::dispatch(FoldAll { fold: self, weights, rows, sums: scratch });
        let (sums, _) = scratch.as_chunks::<LANES>();
        let total = |k: usize, delayed: usize, o: usize, part: usize| -> f64 {
            sums[((k * 2 + delayed) * self.outputs + o) * 2 + part].iter().map(|&x| f64::from(x)).sum()
        };
        for (place, stored) in state.chunks_exact_mut(2 * self.doubles()).enumerate() {
            let (delayed, o) = (place / self.outputs, place % self.outputs);
            let (stored, _) = stored.as_chunks_mut::<2>();
            // Rounded after each row, so that rows one by one give the same bits.
            for (k, row) in row_weights[delayed].iter().enumerate() {
                let (weight, fade) = (f64::from(row.weight), f64::from(row.fade));
                stored[0] = pair(double(stored[0]) * fade + weight * total(k, delayed, o, 0));
                if let [_, late, age] = stored {
                    *age = pair((double(*age) + weight * double(*late)) * fade);
                    *late = pair(double(*late) * fade + weight * total(k, delayed, o, 1));
                }
            }
        }
    }

    /// Adds to each output what the sums of a span say; `totals` are the weights of all rows.
    pub(crate) fn read(&self, state: &[f32], totals: [f32; 2], out: &mut [f64]) {
        for (place, stored) in state.chunks_exact(2 * self.doubles()).enumerate() {
            let total = f64::from(totals[place / self.outputs]);
            if total > 0.0 {
                let (doubles, _) = stored.as_chunks::<2>();
                let age = doubles.get(2).map_or(0.0, |&age| double(age));
                out[place % self.outputs] += (double(doubles[0]) - age / total) / total;
            }
        }
    }
}

fn double([high, low]: [f32; 2]) -> f64 {
    f64::from(high) + f64::from(low)
}

fn pair(x: f64) -> [f32; 2] {
    [x as f32, (x - f64::from(x as f32)) as f32]
}

/// Responses of a span to a few rows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FoldRows<'a> {
    /// `[groups, q + 1, LANES]`.
    pub(crate) taps: &'a [f32],
    /// `[groups, CUTS, LANES]`.
    pub(crate) cuts: &'a [f32],
    /// The memories of each row, `[rows, q + 1, width]`.
    pub(crate) memories: &'a [f32],
    pub(crate) width: usize,
    /// For each group whether pooling is delayed (1).
    pub(crate) delayed: &'a [usize],
}

struct FoldAll<'a> {
    fold: &'a Fold,
    weights: &'a [f32],
    rows: FoldRows<'a>,
    /// `[rows, 2, outputs, 2, LANES]`: times and heights, late times.
    sums: &'a mut [f32],
}

impl Kernel for FoldAll<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        match (self.fold.height, self.fold.late) {
            (false, false) => self.sum::<S, false, false>(simd),
            (true, false) => self.sum::<S, true, false>(simd),
            (false, true) => self.sum::<S, false, true>(simd),
            (true, true) => self.sum::<S, true, true>(simd),
        }
    }
}

impl FoldAll<'_> {
    #[inline(always)]
    fn sum<S: Simd, const HEIGHT: bool, const LATE: bool>(self, simd: S) {
        let Self { fold, weights, rows, sums } = self;
        let (outputs, registers) = (fold.outputs, LANES / S::F32_LANES);
        let zero = simd.splat_f32s(0.0);
        let ((taps, _), (cuts, _)) = (S::as_simd_f32s(rows.taps), S::as_simd_f32s(rows.cuts));
        let ((weights, _), (sums, _)) = (S::as_simd_f32s(weights), S::as_mut_simd_f32s(sums));
        let groups = rows.delayed.len().max(1);
        let (taps_of, size) = (taps.len() / groups, rows.taps.len() / groups / LANES * rows.width);
        let per_group = CUTS * outputs * KINDS * registers;
        for (g, &delayed) in rows.delayed.iter().enumerate() {
            let taps = &taps[g * taps_of..(g + 1) * taps_of];
            let cuts = &cuts[g * CUTS * registers..(g + 1) * CUTS * registers];
            let weights = &weights[g * per_group..(g + 1) * per_group];
            for l in 0..registers {
                for (k, memory) in rows.memories.chunks_exact(size).enumerate() {
                    let r = response(simd, &taps[l..], registers, &memory[g..], rows.width);
                    let over: [S::f32s; CUTS] = std::array::from_fn(|j| simd.sub_f32s(r, cuts[j * registers + l]));
                    let above = over.map(|over| simd.less_than_f32s(zero, over));
                    for o in 0..outputs {
                        let place = ((k * 2 + delayed) * outputs + o) * 2 * registers + l;
                        let own = |j: usize, kind: usize| weights[((j * outputs + o) * KINDS + kind) * registers + l];
                        let mut sum = sums[place];
                        for j in 0..CUTS {
                            let weight = match HEIGHT {
                                true => simd.mul_add_e_f32s(own(j, 1), over[j], own(j, 0)),
                                false => own(j, 0),
                            };
                            sum = simd.add_f32s(sum, simd.select_f32s(above[j], weight, zero));
                        }
                        sums[place] = sum;
                        if LATE {
                            let add = |sum, j: usize| simd.add_f32s(sum, simd.select_f32s(above[j], own(j, 2), zero));
                            sums[place + registers] = (0..CUTS).fold(sums[place + registers], add);
                        }
                    }
                }
            }
        }
    }
}
