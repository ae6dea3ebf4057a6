//! Pools, memories and moments against a naive computation in f64, with all rows at hand.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use ncde_reservoir::{Changes, ChangesScratch, Family, FourierScratch, Pooling, SlidingFourier, legendre};

use crate::common::{Reservoir, Series};

/// `m` after a gap in units of the span, in which the signal goes from `x[0]` to `x[1]`: Taylor series of short steps.
fn moved(q: usize, gap: f64, m: &[f64], x: [f64; 2]) -> Vec<f64> {
    let (a, b) = legendre::generator(q);
    // The generator of (m, x, slope of x), in time of the span.
    let apply = |y: &[f64]| -> Vec<f64> {
        let row = |i: usize| (0..q).map(|j| a[i * q + j] * y[j]).sum::<f64>() + b[i] * y[q];
        (0..q).map(row).chain([y[q + 1], 0.0]).collect()
    };
    let steps = (gap * (q * q) as f64).ceil().max(1.0);
    let mut y: Vec<f64> = m.iter().copied().chain([x[0], (x[1] - x[0]) / gap]).collect();
    for _ in 0..steps as usize {
        let mut term = y.clone();
        for n in 1..30 {
            term = apply(&term).iter().map(|z| z * gap / steps / f64::from(n)).collect();
            y.iter_mut().zip(&term).for_each(|(y, z)| *y += z);
        }
    }
    y.truncate(q);
    y
}

/// The memory of a signal after each row.
fn memories(q: usize, span: f64, series: &Series, signal: &[f64]) -> Vec<Vec<f64>> {
    let mut all: Vec<Vec<f64>> = Vec::new();
    for k in 0..series.len() {
        all.push(match all.last() {
            None => (0..q).map(|i| if i == 0 { signal[0] } else { 0.0 }).collect(),
            Some(m) => moved(q, series.gaps[k] / span, m, [signal[k - 1], signal[k]]),
        });
    }
    all
}

/// The final weight and the gap of each row: gaps after `delay`, where old rows have faded once rows fill the horizon.
struct Weights {
    /// After each row.
    total: Vec<f64>,
    gap: Vec<f64>,
    fade: Vec<f64>,
}

fn weights(series: &Series, delay: f64) -> Weights {
    let mut all = Weights { total: Vec::new(), gap: Vec::new(), fade: Vec::new() };
    let mut total = 0.0;
    for k in 0..series.len() {
        let gap = if k == 0 { 0.0 } else { series.gaps[k].min((series.since[k] - delay).max(0.0)).min(1.0) };
        let fade = if total + gap <= 1.0 || total == 0.0 { 1.0 } else { (1.0 - gap) / total };
        total = f64::min(total + gap, 1.0);
        all.total.push(total);
        all.gap.push(gap);
        all.fade.push(fade);
    }
    all
}

/// One way of pooling a response above a threshold.
fn pooled(r: &[f64], cut: f64, weights: &Weights, pool: Pooling) -> f64 {
    let n = r.len();
    // What is left of row k at the end.
    let left = |k: usize| weights.fade[k + 1..].iter().product::<f64>();
    let (share, height): (f64, f64) = (0..n)
        .filter(|&k| r[k] > cut)
        .fold((0.0, 0.0), |(share, sum), k| (share + weights.gap[k] * left(k), sum + weights.gap[k] * left(k) * (r[k] - cut)));
    let total = weights.total[n - 1];
    let per = |x: f64, y: f64| if y > 0.0 { x / y } else { 0.0 };
    // The age of row k at the end: each later row adds its gap, and then fades what there is of ages.
    let age = |k: usize| weights.gap[k + 1..].iter().sum::<f64>();
    let ages = || (0..n).filter(|&k| r[k] > cut).map(|k| weights.gap[k] * left(k) * age(k)).sum::<f64>();
    match pool {
        Pooling::Share => per(share, total),
        Pooling::Mean => per(height, share),
        Pooling::Longest => {
            let (mut run, mut longest) = (0.0, 0.0_f64);
            for k in 0..n {
                run = if r[k] > cut { run * weights.fade[k] + weights.gap[k] } else { 0.0 };
                longest = (longest * weights.fade[k]).max(run);
            }
            per(longest, total).min(1.0)
        }
        Pooling::Height => per(height, total),
        Pooling::Late => per(share - per(ages(), total), total),
        Pooling::Place => {
            let ages = ages();
            if share > 0.0 { (1.0 - per(per(ages, share), total)).max(0.0) } else { 0.0 }
        }
        Pooling::Competing => unreachable!("it has no thresholds"),
    }
}

/// How often each response of a group is the largest and the smallest, and how high and low then, `[4, 16]`.
fn competing(r: &[Vec<f64>], cuts: &[f32], weights: &Weights) -> Vec<f64> {
    let floor = f64::from(cuts.iter().fold(0.0_f32, |most, cut| most.max(cut.abs()))) / 1024.0;
    let (n, mut sums) = (r[0].len(), vec![0.0; 64]);
    for k in 0..n {
        let left = weights.gap[k] * weights.fade[k + 1..].iter().product::<f64>();
        for (side, sign) in [1.0, -1.0].into_iter().enumerate() {
            let most = r.iter().map(|r| sign * r[k]).fold(f64::NEG_INFINITY, f64::max);
            if most > floor {
                let lane = r.iter().position(|r| sign * r[k] >= most - floor).unwrap();
                sums[side * 16 + lane] += left;
                sums[(2 + side) * 16 + lane] += left * sign * r[lane][k];
            }
        }
    }
    let total = weights.total[n - 1];
    sums.iter().map(|sum| if total > 0.0 { sum / total } else { 0.0 }).collect()
}

fn naive(reservoir: &Reservoir, series: &Series) -> Vec<f64> {
    let (shape, n, c) = (&reservoir.shape, series.len(), reservoir.channels);
    let (groups, q) = (shape.groups(), shape.order);
    let value = |k: usize, i: usize| f64::from(series.values[k * c + i]);
    let mut out = Vec::new();
    let mut first = 0;
    for family in &shape.families {
        for &pool in &family.pools {
            for (s, &span) in shape.spans.iter().enumerate() {
                for g in 0..family.groups {
                    let weights = weights(series, if g % 2 == 1 { span.min(shape.delay) } else { 0.0 });
                    let place = s * groups + first + g;
                    let mix = |i: usize| f64::from(reservoir.mix[(s * c + i) * groups + first + g]);
                    let signal: Vec<f64> = (0..n).map(|k| (0..c).map(|i| mix(i) * value(k, i)).sum()).collect();
                    let memories = memories(q, span, series, &signal);
                    let responses: Vec<Vec<f64>> = (0..16)
                        .map(|lane| {
                            let tap = |i: usize| f64::from(reservoir.taps[(place * (q + 1) + i) * 16 + lane]);
                            (0..n).map(|k| (0..q).map(|i| tap(i) * memories[k][i]).sum::<f64>() + tap(q) * signal[k]).collect()
                        })
                        .collect();
                    if pool == Pooling::Competing {
                        out.extend(competing(&responses, &reservoir.cuts[place * 64..][..64], &weights));
                        continue;
                    }
                    for cut in 0..4 {
                        let cut = |lane: usize| f64::from(reservoir.cuts[(place * 4 + cut) * 16 + lane]);
                        out.extend((0..16).map(|lane| pooled(&responses[lane], cut(lane), &weights, pool)));
                    }
                }
            }
        }
        first += family.groups;
    }
    let (summary, weights) = (&reservoir.summary, weights(series, 0.0));
    let of = |span: f64, i: usize| memories(summary.order, span, series, &(0..n).map(|k| value(k, i)).collect::<Vec<_>>());
    for &span in &summary.spans {
        let all: Vec<_> = (0..c).map(|i| of(span, i)).collect();
        out.extend((0..summary.order).flat_map(|j| all.iter().map(move |memory| memory[n - 1][j])));
    }
    out.extend((0..c).map(|i| value(n - 1, i)));
    let left = |k: usize| weights.gap[k] * weights.fade[k + 1..].iter().product::<f64>();
    let total = weights.total[n - 1];
    let mean =
        |x: &dyn Fn(usize) -> f64| if total > 0.0 { (0..n).map(|k| left(k) * x(k)).sum::<f64>() / total } else { x(n - 1) };
    let longest: Vec<_> = (0..c).map(|i| of(summary.spans[summary.spans.len() - 1], i)).collect();
    out.extend((0..summary.order * c).map(|p| mean(&|k| longest[p % c][k][p / c])));
    for i in 0..c {
        let (mut most, mut least, mut variation) = (value(0, i), value(0, i), 0.0);
        for k in 0..n {
            let fade = weights.fade[k];
            if fade < 1.0 {
                // The mean up to here.
                let left = |j: usize| weights.gap[j] * weights.fade[j + 1..=k].iter().product::<f64>();
                let mean = (0..=k).map(|j| left(j) * value(j, i)).sum::<f64>() / weights.total[k];
                (most, least) = (mean + (most - mean) * fade, mean + (least - mean) * fade);
            }
            (most, least) = (most.max(value(k, i)), least.min(value(k, i)));
            variation = variation * fade + (value(k, i) - value(k.max(1) - 1, i)).abs();
        }
        let middle = mean(&|k| value(k, i));
        let deviation = mean(&|k| (value(k, i) - middle).powi(2)).sqrt();
        out.extend([middle, deviation, if total > 0.0 { variation / total } else { 0.0 }, most, least]);
    }
    out.push(series.since[n - 1].min(1.0));
    out
}

/// Some features may stand at another side of a threshold by rounding; none do here.
fn check(reservoir: &Reservoir, series: &Series, what: &str) {
    let (seen, wanted) = (reservoir.features(series), naive(reservoir, series));
    assert_eq!(seen.len(), wanted.len());
    for (i, (seen, wanted)) in seen.iter().zip(&wanted).enumerate() {
        let error = (f64::from(*seen) - wanted).abs();
        assert!(error < 1e-4 * (1.0 + wanted.abs()), "{what}, feature {i} of {}: {seen} {wanted}", reservoir.shape.features());
    }
    assert!(seen.iter().all(|x| x.is_finite()));
}

#[test]
fn features_are_those_of_a_naive_computation() {
    for (order, channels) in [(1, 1), (4, 3), (9, 2)] {
        let reservoir = Reservoir::new(order, channels, &[0.05, 0.4, 1.5], 3);
        // One row, two, within the horizon, and some horizons long.
        for (rows, gap) in [(1, 0.1), (2, 0.1), (13, 0.05), (70, 0.03), (90, 0.06)] {
            check(&reservoir, &Series::new(rows, channels, gap, 5 + rows as u64), &format!("order {order}, {rows} rows"));
        }
    }
}

#[test]
fn gaps_longer_than_the_horizon_are_gaps() {
    let reservoir = Reservoir::new(5, 2, &[0.2, 0.9], 8);
    let mut series = Series::new(20, 2, 0.1, 2);
    for place in [1, 9, 19] {
        series.gaps[place] = 3.7;
    }
    let series = Series::at(series.gaps, series.values);
    check(&reservoir, &series, "long gaps");
    // Right after such a gap nothing is left of what was before it, but the memory.
    let cut = Series::at(series.gaps[..10].to_vec(), series.values[..20].to_vec());
    let shares = reservoir.shape.spans.len() * 3 * 64;
    assert!(reservoir.features(&cut)[..shares].iter().all(|&share| share == 0.0 || share == 1.0));
    check(&reservoir, &cut, "after a long gap");
}

/// Memories of changes are memories less the present value, and a level, however high, is no part of them.
#[test]
fn memories_of_changes_are_memories_about_the_present() {
    for (order, channels, level) in [(1, 1, 0.0), (5, 3, 1e6), (12, 17, -1e9)] {
        let spans = vec![0.07, 0.9];
        let series = Series::new(60, channels, 0.02, 8);
        let changes = Changes::new(order, spans.clone(), channels);
        let (mut state, mut scratch, mut out) = (vec![0.0; changes.state()], ChangesScratch::default(), Vec::new());
        let x = |t: usize, c: usize| level + f64::from(series.values[t * channels + c]);
        for t in 1..series.len() {
            changes.push(&mut state, series.gaps[t], (0..channels).map(|c| (x(t, c) - x(t - 1, c)) as f32), &mut scratch);
        }
        changes.read(&state, &mut out);
        assert_eq!(out.len(), changes.features());
        let mut place = 0;
        for &span in &spans {
            let of = |c: usize| {
                let signal: Vec<f64> = (0..series.len()).map(|t| f64::from(series.values[t * channels + c])).collect();
                let last = signal[signal.len() - 1];
                let mut m = memories(order, span, &series, &signal).pop().unwrap();
                m[0] -= last;
                m
            };
            let wanted: Vec<Vec<f64>> = (0..channels).map(of).collect();
            for i in 0..order {
                for m in &wanted {
                    let seen = f64::from(out[place]);
                    assert!((seen - m[i]).abs() < 2e-4 * (1.0 + m[i].abs()), "order {order}, {i}: {seen} {}", m[i]);
                    place += 1;
                }
            }
        }
    }
}

/// A sliding Fourier coefficient is the integral of `e^{lambda (t - s)} dx(s)`, whatever the gaps.
#[test]
fn sliding_fourier_coefficients_are_integrals_over_increments() {
    let (channels, rates) = (3, vec![[0.5, 4.0], [2.0, 0.0], [1e-7, 1e-6]]);
    let series = Series::new(40, channels, 0.1, 9);
    let fourier = SlidingFourier::new(rates.clone(), channels);
    let (mut state, mut scratch) = (vec![0.0; fourier.state()], FourierScratch::default());
    let change = |t: usize, c: usize| series.values[t * channels + c] - series.values[(t - 1) * channels + c];
    for t in 1..series.len() {
        fourier.push(&mut state, series.gaps[t], &(0..channels).map(|c| change(t, c)), &mut scratch);
    }
    let end = series.since[series.len() - 1];
    for (k, [a, w]) in rates.into_iter().enumerate() {
        for c in 0..channels {
            let (mut sum, pieces) = ([0.0; 2], 400);
            for t in 1..series.len() {
                for piece in 0..pieces {
                    let back = end - series.since[t] + series.gaps[t] * (f64::from(piece) + 0.5) / f64::from(pieces);
                    let size = (-a * back).exp() * f64::from(change(t, c)) / f64::from(pieces);
                    sum = [sum[0] + size * (w * back).cos(), sum[1] + size * (w * back).sin()];
                }
            }
            for part in 0..2 {
                let seen = f64::from(state[(2 * k + part) * channels + c]);
                assert!((seen - sum[part]).abs() < 1e-4, "{a} {w}: {seen} {}", sum[part]);
            }
        }
    }
}

/// What is constant is nobody's, and of responses that are equal the first counts: rounding decides nothing.
#[test]
fn rounding_does_not_decide_who_competes() {
    let mut reservoir = Reservoir::new(6, 1, &[0.2, 0.7], 3);
    reservoir.shape.families = vec![Family { groups: 2, pools: vec![Pooling::Competing] }];
    let (width, groups) = (7 * 16, 2 * 2);
    reservoir.mix = vec![1.0; groups];
    // Lanes 2 and 9 are alike but for their last bits; no lane sees a level.
    for taps in reservoir.taps.chunks_exact_mut(width) {
        taps[..16].fill(0.0);
        taps[6 * 16..].fill(0.0);
        for row in taps.chunks_exact_mut(16) {
            row[2] *= 9.0;
            row[9] = row[2] * (1.0 + 8.0 * f32::EPSILON);
        }
    }
    let gaps = vec![0.01; 60];
    let level = reservoir.features(&Series::at(gaps.clone(), vec![0.3; 60]));
    assert!(level[..groups * 64].iter().all(|&x| x == 0.0), "{:?}", &level[..64]);
    let wave: Vec<f32> = (0..60).map(|t| (0.3 * t as f32).sin()).collect();
    let seen = reservoir.features(&Series::at(gaps, wave));
    let of = |lane: usize| (0..groups).map(|g| seen[g * 64 + lane] + seen[g * 64 + 16 + lane]).sum::<f32>();
    assert!(of(9) == 0.0 && of(2) > 0.5, "{} {}", of(2), of(9));
}
