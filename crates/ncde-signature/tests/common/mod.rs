//! Random paths and an obviously right signature.
#![allow(dead_code, clippy::unwrap_used, reason = "shared by several test files, none of which needs all of it")]

use ncde_signature::algebra::{Shape, words};

/// A small counter-based generator (splitmix64): the same numbers everywhere.
pub(crate) fn uniform(seed: u64, n: usize) -> Vec<f64> {
    let number = |i: usize| {
        let mut z = (seed << 32).wrapping_add(i as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
    };
    (0..n).map(number).collect()
}

/// A random walk, `[length, channels]`.
pub(crate) fn walk(seed: u64, length: usize, channels: usize) -> Vec<f64> {
    let mut values = uniform(seed, length * channels);
    for i in channels..values.len() {
        values[i] = values[i] * 0.7 + values[i - channels];
    }
    values
}

/// The signature word by word: one exponential `x_w / |w|!` an increment, products by summing over all cuts of a word.
pub(crate) fn naive_signature(path: &[f64], channels: usize, depth: usize) -> Vec<f64> {
    let shape = Shape::new(channels, depth).unwrap();
    let all: Vec<Vec<usize>> = words::all(&shape).collect();
    let place = |w: &[usize]| words::index(&shape, w).unwrap();
    let mut s = vec![0.0; shape.len()];
    for (now, next) in path.chunks(channels).zip(path[channels..].chunks(channels)) {
        let exp = |w: &[usize]| w.iter().enumerate().map(|(i, &a)| (next[a - 1] - now[a - 1]) / (i + 1) as f64).product::<f64>();
        let of = |s: &[f64], w: &[usize]| if w.is_empty() { 1.0 } else { s[place(w)] };
        s = all.iter().map(|w| (0..=w.len()).map(|cut| of(&s, &w[..cut]) * exp(&w[cut..])).sum()).collect();
    }
    s
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

/// Central differences of `f` at `x`, and the gradient `df` it should be.
#[track_caller]
pub(crate) fn assert_gradient(x: &[f64], df: &[f64], f: impl Fn(&[f64]) -> f64) {
    let mut at = x.to_vec();
    let numeric: Vec<f64> = (0..x.len())
        .map(|i| {
            let h = 1e-5;
            at[i] = x[i] + h;
            let up = f(&at);
            at[i] = x[i] - h;
            let down = f(&at);
            at[i] = x[i];
            (up - down) / (2.0 * h)
        })
        .collect();
    assert_close(&numeric, df, 2e-8);
}

pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}
