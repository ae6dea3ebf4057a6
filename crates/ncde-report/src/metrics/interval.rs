//! 95 % intervals: of a share of cases (Wilson), and of a mean over runs (Student).
//!
//! ```text
//! Wilson:   (p + z^2/2n +- z sqrt(p (1 - p)/n + z^2/4n^2)) / (1 + z^2/n)
//! Student:  m +- t_{n-1} s / sqrt(n)
//! ```
//!
//! Wilson's interval says how far an accuracy could be off because the test set is small; it never leaves 0 to 1.
//! Student's says how much the mean over seeds could be off because there are few of them.

use std::f64::consts::{FRAC_2_PI, FRAC_PI_2};

use serde::{Deserialize, Serialize};

use super::classification::mean;

/// The point that a standard normal variable exceeds with chance 2.5 %.
const Z: f64 = 1.959_963_984_540_054;

/// From `low` to `high`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Wilson's 95 % interval of a share: `correct` of `cases`. `None` without cases, or if more are correct than there are.
///
/// ```
/// let interval = ncde_report::metrics::wilson(8, 10).unwrap();
/// assert!((interval.low - 0.4901625).abs() < 1e-7 && (interval.high - 0.9433178).abs() < 1e-7);
/// ```
pub fn wilson(correct: u64, cases: u64) -> Option<Interval> {
    if cases == 0 || correct > cases {
        return None;
    }
    Some(wilson_of(correct as f64 / cases as f64, cases as f64))
}

/// Wilson's interval of the share `p` of `n` cases.
fn wilson_of(p: f64, n: f64) -> Interval {
    let shrink = 1.0 + Z * Z / n;
    let centre = (p + Z * Z / (2.0 * n)) / shrink;
    let half = Z * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt() / shrink;
    Interval { low: (centre - half).max(0.0), high: (centre + half).min(1.0) }
}

/// A 95 % interval of a share over several series, each with how many are right of how many: Wilson's, with the number of cases that would be as sure if they were
/// independent. `None` of fewer than two series.
///
/// ```text
/// p = sum r_i / sum n_i,   v = m / (m - 1) sum (r_i - p n_i)^2 / (sum n_i)^2 (t_{m-1} / z)^2,   cases = p (1 - p) / v
/// ```
///
/// ```
/// use ncde_report::metrics::{clustered, wilson};
/// // Ten labels of each of ten series, all alike within a series: as sure as ten cases, not as a hundred.
/// let series: Vec<(u64, u64)> = (0..10).map(|i| (if i < 8 { 10 } else { 0 }, 10)).collect();
/// let [by_series, naive] = [clustered(&series).unwrap(), wilson(80, 100).unwrap()];
/// assert!(by_series.low < 0.5 && by_series.high > 0.92 && naive.low > 0.7);
/// assert!(clustered(&series[..1]).is_none());
/// ```
pub fn clustered(series: &[(u64, u64)]) -> Option<Interval> {
    let series: Vec<(f64, f64)> = series.iter().filter(|(_, n)| *n > 0).map(|(r, n)| (*r as f64, *n as f64)).collect();
    let m = series.len();
    let (right, all) = series.iter().fold((0.0, 0.0), |(a, b), (r, n)| (a + r, b + n));
    if m < 2 || right > all {
        return None;
    }
    let p = right / all;
    let squares: f64 = series.iter().map(|(r, n)| (r - p * n) * (r - p * n)).sum();
    let factor = student(m - 1) / Z;
    let variance = m as f64 / (m - 1) as f64 * squares / (all * all) * factor * factor;
    // All right, or all wrong: nothing is seen of how they vary, and a series counts as one.
    let cases = if variance > 0.0 { (p * (1.0 - p) / variance).clamp(1.0, all) } else { m as f64 };
    Some(wilson_of(p, cases))
}

/// The mean of a few values, and how sure it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// Their mean.
    pub mean: f64,
    /// Half the width of the 95 % interval of the mean; `None` of a single value.
    pub half: Option<f64>,
}

/// The mean of finite values with its 95 % interval; `None` without values or if one is not finite.
///
/// ```
/// let spread = ncde_report::metrics::spread(&[0.90, 0.92, 0.94]).unwrap();
/// assert!((spread.mean - 0.92).abs() < 1e-12);
/// assert!((spread.half.unwrap() - 4.3026527 * 0.02 / 3.0_f64.sqrt()).abs() < 1e-8);
/// ```
pub fn spread(values: &[f64]) -> Option<Spread> {
    let count = values.len();
    let centre = mean(values.iter().copied()).filter(|mean| mean.is_finite())?;
    let half = (count > 1).then(|| {
        let squares: f64 = values.iter().map(|value| (value - centre) * (value - centre)).sum();
        student(count - 1) * (squares / (count - 1) as f64).sqrt() / (count as f64).sqrt()
    });
    Some(Spread { mean: centre, half })
}

/// The point that `|t|` with `freedom >= 1` degrees of freedom exceeds with chance 5 %, by bisection.
fn student(freedom: usize) -> f64 {
    let (mut low, mut high) = (0.0, FRAC_PI_2);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if within(middle, freedom) < 0.95 { low = middle } else { high = middle }
    }
    low.tan() * (freedom as f64).sqrt()
}

/// The chance of `|t| < sqrt(freedom) tan(angle)`: a finite sum in powers of the cosine (Abramowitz and Stegun, 26.7.3-4).
fn within(angle: f64, freedom: usize) -> f64 {
    let (sine, cosine) = angle.sin_cos();
    let odd = freedom % 2 == 1;
    let (mut term, mut sum) = if odd { (cosine, 0.0) } else { (1.0, 0.0) };
    // Exponents 1, 3, ... or 0, 2, ..., up to freedom - 2.
    let mut power = usize::from(odd);
    while power + 2 <= freedom {
        sum += term;
        term *= (power + 1) as f64 / (power + 2) as f64 * cosine * cosine;
        power += 2;
    }
    if odd { FRAC_2_PI * (angle + sine * sum) } else { sine * sum }
}
