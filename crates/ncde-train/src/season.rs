//! Statistics of the training part for naive forecasts: means, mean absolute differences, and the period of a season.
//!
//! ```text
//! y = x - (a + b t),     r_l = mean (y_t y_{t-l}) / mean y_t^2,     period = the first l at which r has a peak nearly as high as its highest, and that comes again at 2 l
//! ```

use ncde_data::Dataset;
use ncde_runtime::{Baseline, Forecast};
use rayon::prelude::*;

use super::slots::Slots;

/// A period is searched for in the last slots of so many series.
const SLOTS: usize = 8192;
const SERIES: usize = 16;
/// A series must contain at least so many periods.
const PERIODS: usize = 3;
/// The smallest height of a peak, its smallest rise above the lowest point before it, and its smallest share of the highest peak.
const PEAK: f64 = 0.3;
const RISE: f64 = 0.2;
const NEARLY: f64 = 0.9;
/// What is left of a peak at twice its lag: a season keeps its beat, where cycles of changing length and random walks lose it.
const AGAIN: f64 = 0.75;

/// The statistics of these cases.
pub(super) fn baseline(data: &Dataset, train: &[usize], forecast: &Forecast) -> Baseline {
    let channels = data.channels.len();
    let series: Vec<(Slots, usize)> = train.iter().map(|&i| (Slots::new(&data.cases[i].times, forecast), i)).collect();
    let period = period(data, &series, forecast);
    let back = period.unwrap_or(1);
    let of = |c: usize| {
        let (mut sum, mut count, mut moved, mut pairs) = (0.0, 0_usize, 0.0, 0_usize);
        for (slots, i) in &series {
            let value = |t: usize| data.cases[*i].values[t * channels + c];
            for t in 0..data.cases[*i].len() {
                let x = value(t);
                if x.is_nan() {
                    continue;
                }
                sum += x;
                count += 1;
                let before = slots.slot(t).checked_sub(back).and_then(|slot| slots.find(slot)).map(value);
                if let Some(before) = before.filter(|x| !x.is_nan()) {
                    moved += (x - before).abs();
                    pairs += 1;
                }
            }
        }
        (sum / count.max(1) as f64, moved / pairs.max(1) as f64)
    };
    let targets = forecast.width(channels);
    let (means, scales) = (0..targets).into_par_iter().map(|target| of(forecast.channel(target))).unzip();
    Baseline { period, means, scales }
}

/// The period in slots, if series have one.
fn period(data: &Dataset, series: &[(Slots, usize)], forecast: &Forecast) -> Option<usize> {
    let channels = data.channels.len();
    let signals: Vec<Vec<f64>> = series
        .iter()
        .take(SERIES)
        .flat_map(|(slots, i)| (0..forecast.width(channels)).map(move |target| (slots, *i, forecast.channel(target))))
        .filter_map(|(slots, i, c)| level(dense(&data.cases[i].values, channels, c, slots)))
        .collect();
    let longest = signals.iter().map(Vec::len).max()?;
    let correlation: Vec<f64> = (0..=2 * longest / PERIODS).into_par_iter().map(|lag| mean_product(&signals, lag)).collect();
    peak(&correlation).map(|near| refined(&signals, longest * 4 / 5, near))
}

/// The last slots of a channel; NaN where a slot is empty.
fn dense(values: &[f64], channels: usize, c: usize, slots: &Slots) -> Vec<f64> {
    let length = values.len() / channels.max(1);
    let Some(last) = length.checked_sub(1).map(|last| slots.slot(last)) else { return Vec::new() };
    let first = (last + 1).saturating_sub(SLOTS);
    let mut all = vec![f64::NAN; last + 1 - first];
    for t in (0..length).rev().take_while(|&t| slots.slot(t) >= first) {
        all[slots.slot(t) - first] = values[t * channels + c];
    }
    all
}

/// Removes the linear trend and divides by the deviation; missing values become 0. None if the channel does not vary.
fn level(mut values: Vec<f64>) -> Option<Vec<f64>> {
    let known = || values.iter().enumerate().filter(|(_, x)| !x.is_nan()).map(|(t, &x)| (t as f64, x));
    let n = known().count() as f64;
    if n < 8.0 {
        return None;
    }
    let (t_mean, x_mean) = (known().map(|(t, _)| t).sum::<f64>() / n, known().map(|(_, x)| x).sum::<f64>() / n);
    let spread: f64 = known().map(|(t, _)| (t - t_mean).powi(2)).sum();
    let slope = known().map(|(t, x)| (t - t_mean) * (x - x_mean)).sum::<f64>() / spread.max(1e-300);
    let rest = |t: f64, x: f64| x - x_mean - slope * (t - t_mean);
    let deviation = (known().map(|(t, x)| rest(t, x).powi(2)).sum::<f64>() / n).sqrt();
    let size = known().map(|(_, x)| x.abs()).fold(0.0, f64::max);
    if !(deviation.is_finite() && deviation > 1e-9 * size) {
        return None;
    }
    for (t, x) in values.iter_mut().enumerate() {
        *x = if x.is_nan() { 0.0 } else { rest(t as f64, *x) / deviation };
    }
    Some(values)
}

/// The mean product of values that are `lag` slots apart.
fn mean_product(signals: &[Vec<f64>], lag: usize) -> f64 {
    let (mut sum, mut count) = (0.0, 0_usize);
    for signal in signals.iter().filter(|signal| signal.len() > lag) {
        let pairs = signal[lag..].iter().zip(signal).filter(|(a, b)| **a != 0.0 && **b != 0.0);
        let (own, pairs) = pairs.fold((0.0, 0), |(sum, count), (a, b)| (sum + a * b, count + 1));
        sum += own;
        count += pairs;
    }
    sum / count.max(1) as f64
}

/// The first peak, in the first half of the lags, that is nearly as high as the highest one.
fn peak(r: &[f64]) -> Option<usize> {
    let mut lowest = f64::INFINITY;
    let mut peaks = Vec::new();
    for lag in 1..r.len() / 2 {
        let again = || r[2 * lag - 1..].iter().take(3).copied().fold(f64::NEG_INFINITY, f64::max);
        let is_peak = lag > 1 && r[lag] > r[lag - 1] && r[lag] >= r[lag + 1] && r[lag] >= PEAK && r[lag] - lowest >= RISE;
        if is_peak && again() >= AGAIN * r[lag] {
            peaks.push(lag);
        }
        lowest = lowest.min(r[lag]);
    }
    let highest = peaks.iter().map(|&lag| r[lag]).fold(0.0, f64::max);
    let first = *peaks.iter().find(|&&lag| r[lag] >= NEARLY * highest)?;
    // Noise makes several peaks of one.
    (first..=(first + first / 5).min(r.len() - 1)).max_by(|&a, &b| r[a].total_cmp(&r[b]).then(b.cmp(&a)))
}

/// Refines a period to one slot by the correlation at its multiples, where an error of one slot is several.
fn refined(signals: &[Vec<f64>], longest: usize, near: usize) -> usize {
    let about = near / 50 + 1;
    let multiples = longest / (near + about);
    if multiples < 2 || about >= near {
        return near;
    }
    let height = |lag: usize| (1..=multiples).map(|k| mean_product(signals, k * lag)).sum::<f64>();
    let all: Vec<(usize, f64)> = (near - about..=near + about).into_par_iter().map(|lag| (lag, height(lag))).collect();
    all.into_iter().max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0))).map_or(near, |(lag, _)| lag)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncde_data::{Case, Targets};
    use ncde_runtime::random::Stream;

    fn data(length: usize, value: impl Fn(f64) -> f64, keep: impl Fn(usize) -> bool) -> Dataset {
        let times: Vec<usize> = (0..length).filter(|&t| keep(t)).collect();
        let case = Case {
            id: "a".into(),
            values: times.iter().map(|&t| value(t as f64)).collect(),
            times: times.iter().map(|&t| t as f64).collect(),
            statics: vec![],
        };
        let channels = vec!["x".into()];
        Dataset { channels, cases: vec![case], targets: Targets::None, ..crate::demo::turns(0).subset(&[]) }
    }

    #[test]
    fn periods_are_found_through_trend_noise_and_gaps_and_nowhere_else() {
        let noise = Stream::new(4, 0);
        let grid = Forecast { step: Some(1.0), grid: true, ..Forecast::one(1) };
        let seasonal = |period: f64, loud: f64| {
            move |t: f64| 0.02 * t + (std::f64::consts::TAU * t / period).sin() + loud * noise.normal(t as u64)
        };
        for (period, loud) in [(24, 0.1), (24, 0.5), (7, 0.3), (168, 0.2), (12, 0.0)] {
            let all = data(2000, seasonal(f64::from(period), loud), |_| true);
            assert_eq!(baseline(&all, &[0], &Forecast::one(1)).period, Some(period as usize), "{period} {loud}");
            let gaps = data(2000, seasonal(f64::from(period), loud), |t| t % 11 != 3);
            assert_eq!(baseline(&gaps, &[0], &grid).period, Some(period as usize), "{period} {loud} with gaps");
        }
        // Noise, a walk, a line, a constant.
        let steps: Vec<f64> = (0..2000)
            .scan(0.0, |x, t| {
                *x = 0.9 * *x + noise.normal(t);
                Some(*x)
            })
            .collect();
        for value in [&|t: f64| noise.normal(t as u64), &|t: f64| steps[t as usize], &|t: f64| 3.0 * t, &|_: f64| 5.0]
            as [&dyn Fn(f64) -> f64; 4]
        {
            assert_eq!(baseline(&data(2000, value, |_| true), &[0], &Forecast::one(1)).period, None);
        }
    }

    #[test]
    fn scales_are_those_of_the_naive_forecast() {
        let line = baseline(&data(100, |t| 3.0 * t, |_| true), &[0], &Forecast::one(1));
        assert_eq!((line.means[0], line.scales[0]), (148.5, 3.0));
        let saw = baseline(&data(400, |t| t % 5.0 + 0.1 * t, |_| true), &[0], &Forecast::one(1));
        assert_eq!(saw.period, Some(5));
        assert!((saw.scales[0] - 0.5).abs() < 1e-9);
    }
}
