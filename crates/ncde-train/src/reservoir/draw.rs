//! What a reservoir begins with: random mixtures of channels, random functionals of memories, thresholds from training cases.
//!
//! ```text
//! contrast:  nine taps over a span, three of them 2, six -1: blind to levels          taps_i = sum_j k_j P_i(2 j / 8 - 1)
//! slope:     how fast such a response changes:  d/dt (w m) = (w A m + w B u) / theta
//! gaussian:  nine taps of a normal distribution: these see levels too
//! ```
//!
//! A mixture is a signed sum of 1 to 9 channels, small ones as likely as large ones. Thresholds are quantiles of responses of some training cases, at the places of the
//! golden ratio's sequence.

use ncde_reservoir::{CUTS, LANES, Responses, Scratch, Shape, legendre};
use rayon::prelude::*;

use super::rows::CaseRows;
use ncde_runtime::random::Stream;

/// Taps of a functional over its span.
const TAPS: usize = 9;
/// The most channels of a mixture.
const MAX_CHANNELS: usize = 9;
/// Training cases that thresholds are found from, and the most responses of each.
const SEEN_CASES: usize = 12;
const SEEN_ROWS: usize = 128;
/// Ways of drawing functionals; a family each.
pub(super) const FAMILIES: [&str; 3] = ["contrast", "slope", "gaussian"];

/// `W`, `[spans, width, groups]`: sums of some of the first `channels` numbers of a row.
pub(super) fn mixtures(shape: &Shape, width: usize, channels: usize, stream: &Stream) -> Vec<f32> {
    let groups = shape.groups();
    let mut mix = vec![0.0; shape.spans.len() * width * groups];
    let most = channels.min(MAX_CHANNELS);
    for place in 0..shape.spans.len() * groups {
        let own = stream.child(place as u64);
        let size = (own.uniform(0) * ((most + 1) as f64).log2()).exp2() as usize;
        for (i, channel) in own.child(0).permutation(channels).into_iter().take(size.clamp(1, most.max(1))).enumerate() {
            let sign = if own.uniform(1 + i as u64) < 0.5 { -1.0 } else { 1.0 };
            mix[(place / groups * width + channel) * groups + place % groups] = sign;
        }
    }
    mix
}

/// The functionals, `[spans, groups, q + 1, 16]`.
pub(super) fn functionals(shape: &Shape, stream: &Stream) -> Vec<f32> {
    let q = shape.order;
    let (a, b) = legendre::generator(q);
    let values: Vec<Vec<f64>> = (0..TAPS).map(|j| legendre::polynomials(q, 2.0 * j as f64 / (TAPS - 1) as f64 - 1.0)).collect();
    let contrasts = contrasts();
    let mut taps = Vec::new();
    for s in 0..shape.spans.len() {
        for (f, family) in shape.families.iter().enumerate() {
            let own = stream.child((s * FAMILIES.len() + f) as u64);
            let order = own.permutation(contrasts.len());
            for g in 0..family.groups {
                let functional = |lane: usize| -> Vec<f64> {
                    let place = g * LANES + lane;
                    let kernel: [f64; TAPS] = match f {
                        2 => std::array::from_fn(|j| own.child(1).normal((place * TAPS + j) as u64)),
                        _ => contrasts[order[place % contrasts.len()]],
                    };
                    let mut w: Vec<f64> = (0..q).map(|i| (0..TAPS).map(|j| kernel[j] * values[j][i]).sum()).collect();
                    w.push(0.0);
                    if f != 1 {
                        return w;
                    }
                    let mut slope: Vec<f64> = (0..q).map(|j| (0..q).map(|i| w[i] * a[i * q + j]).sum()).collect();
                    slope.push((0..q).map(|i| w[i] * b[i]).sum());
                    slope
                };
                let all: Vec<Vec<f64>> = (0..LANES).map(functional).collect();
                taps.extend((0..=q).flat_map(|i| all.iter().map(move |w| w[i] as f32)));
            }
        }
    }
    taps
}

/// All nine taps of which three are 2 and six -1.
fn contrasts() -> Vec<[f64; TAPS]> {
    let mut all = Vec::new();
    for i in 0..TAPS {
        for j in i + 1..TAPS {
            all.extend((j + 1..TAPS).map(|k| std::array::from_fn(|n| if n == i || n == j || n == k { 2.0 } else { -1.0 })));
        }
    }
    all
}

/// Thresholds, `[spans, groups, 4, 16]`, from some of these cases.
pub(super) fn thresholds(responses: &Responses, cases: &[CaseRows<'_>], stream: &Stream) -> Vec<f32> {
    let shape = responses.shape();
    let seen: Vec<&CaseRows<'_>> = stream.permutation(cases.len()).into_iter().take(SEEN_CASES).map(|i| &cases[i]).collect();
    let of_span = |s: usize| -> Vec<f32> {
        let mut scratch = Scratch::default();
        let all: Vec<Vec<Vec<[f32; LANES]>>> =
            seen.iter().map(|case| responses.responses(s, case.rows(), &mut scratch)).collect();
        let mut cuts = Vec::new();
        for g in 0..shape.groups() {
            let mut lanes = vec![Vec::new(); LANES];
            for rows in all.iter().map(|groups| &groups[g]) {
                for row in rows.iter().step_by(rows.len().div_ceil(SEEN_ROWS).max(1)) {
                    lanes.iter_mut().zip(row).for_each(|(lane, &r)| lane.push(r));
                }
            }
            lanes.iter_mut().for_each(|lane| lane.sort_by(f32::total_cmp));
            for cut in 0..CUTS {
                cuts.extend(lanes.iter().enumerate().map(|(l, lane)| {
                    let place = ((s * shape.groups() + g) * LANES + l) * CUTS + cut;
                    let share = ((place + 1) as f64 * 0.618_033_988_749_894_9).fract();
                    lane.get((share * lane.len() as f64) as usize).copied().unwrap_or(0.0)
                }));
            }
        }
        cuts
    };
    (0..shape.spans.len()).into_par_iter().flat_map_iter(of_span).collect()
}
