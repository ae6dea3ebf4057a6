//! Random numbers, comparisons, and a problem with a known solution.
#![allow(dead_code, clippy::unwrap_used, reason = "shared by several test files, none of which needs all of it")]

use ncde_signature::path::{AtObservations, Linear, Series};
use ncde_solve::field::VectorField;
use ncde_solve::scalar::Scalar;

/// Numbers uniform in `[-1/2, 1/2)`, a function of seed and place (splitmix64).
pub(crate) fn uniform(seed: u64, n: usize) -> Vec<f64> {
    let number = |i: usize| {
        let mut z = (seed << 32).wrapping_add(i as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
    };
    (0..n).map(number).collect()
}

/// Normal numbers.
pub(crate) fn normal(seed: u64, n: usize) -> Vec<f64> {
    let number = |u: &[f64]| (-2.0 * (1.0 - (u[0] + 0.5)).ln()).sqrt() * (std::f64::consts::TAU * u[1]).cos();
    uniform(seed, 2 * n).chunks(2).map(number).collect()
}

/// The largest difference, relative to the largest value (at least 1).
pub(crate) fn distance(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len(), "lengths differ");
    let scale = a.iter().fold(1.0_f64, |m, x| m.max(x.abs()));
    a.iter().zip(b).map(|(x, y)| (x - y).abs() / scale).fold(0.0, |m, e| if e.is_nan() { f64::NAN } else { m.max(e) })
}

#[track_caller]
pub(crate) fn assert_close(a: &[f64], b: &[f64], tolerance: f64) {
    let error = distance(a, b);
    assert!(error <= tolerance, "differ by {error:e}, allowed {tolerance:e}");
}

/// Central differences of `f` at `x`.
pub(crate) fn differences(x: &[f64], f: impl Fn(&[f64]) -> f64) -> Vec<f64> {
    let mut at = x.to_vec();
    (0..x.len())
        .map(|i| {
            let h = 1e-5;
            at[i] = x[i] + h;
            let up = f(&at);
            at[i] = x[i] - h;
            let down = f(&at);
            at[i] = x[i];
            (up - down) / (2.0 * h)
        })
        .collect()
}

/// The slope of the line nearest to points `(x, y)`.
pub(crate) fn slope(points: &[(f64, f64)]) -> f64 {
    let n = points.len() as f64;
    let (x, y) = points.iter().fold((0.0, 0.0), |(x, y), p| (x + p.0 / n, y + p.1 / n));
    let (above, below) = points.iter().fold((0.0, 0.0), |(a, b), p| (a + (p.0 - x) * (p.1 - y), b + (p.0 - x) * (p.0 - x)));
    above / below
}

/// `u' = u (1 - u)`, `v' = c u v`: with `c = 1`, `u = u_0 e^t / s` and `v = v_0 s`, where `s = 1 - u_0 + u_0 e^t`.
pub(crate) struct Logistic;

impl VectorField for Logistic {
    fn channels(&self) -> usize {
        1
    }

    fn hidden(&self) -> usize {
        2
    }

    fn parameters(&self) -> usize {
        1
    }

    fn eval<N: Scalar>(&self, c: &[N], h: &[N], out: &mut [N]) {
        out[0] = h[0] * (N::of(1.0) - h[0]);
        out[1] = c[0] * h[0] * h[1];
    }
}

impl Logistic {
    pub(crate) fn exact(t: f64) -> [f64; 2] {
        let s = 0.9 + 0.1 * t.exp();
        [0.1 * t.exp() / s, s]
    }

    pub(crate) const START: [f64; 2] = [0.1, 1.0];
}

/// A linear path through `[length, channels]` at equal times in `[0, end]`.
pub(crate) fn polygon(values: Vec<f64>, channels: usize, end: f64) -> Linear<f64, AtObservations> {
    let n = values.len() / channels;
    let times = (0..n).map(|i| end * i as f64 / (n - 1) as f64).collect();
    Linear::new(&Series::new(times, values, channels).unwrap().complete().unwrap()).unwrap()
}
