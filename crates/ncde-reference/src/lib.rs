//! Reference implementations and random cases for the tests of other crates.
//!
//! Kernels on processors and GPUs are compared with recurrences of full matrices in `f64`, one step after another, and with the same for
//! scans, permutations and neural solves; [`mutation`] makes broken files for tests of readers. It is a crate so that it is compiled and
//! optimised once.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "only tests use this crate, and a panic fails the test"
)]

pub mod matrix;
pub mod matrix_state;
pub mod model;
pub mod mutation;
pub mod neural;
pub mod permutation;
pub mod reference;
pub mod scan;

/// A small counter-based generator (splitmix64): the same numbers everywhere, between -0.5 and 0.5.
pub fn uniform(seed: u64, n: usize) -> Vec<f64> {
    let number = |i: usize| {
        let mut z = (seed << 32).wrapping_add(i as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
    };
    (0..n).map(number).collect()
}

/// Normal numbers of mean 0 and the given standard deviation.
pub fn normal(seed: u64, n: usize, deviation: f64) -> Vec<f64> {
    let u = uniform(seed, 2 * n);
    let number = |u: &[f64]| (-2.0 * (1.0 - (u[0] + 0.5)).ln()).sqrt() * (std::f64::consts::TAU * u[1]).cos();
    u.chunks_exact(2).map(|u| deviation * number(u)).collect()
}

/// Runs `f` in a pool of `threads` threads.
pub fn on_threads<R: Send>(threads: usize, f: impl FnOnce() -> R + Send) -> R {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(f)
}

/// `factor x`.
pub fn scaled(x: &[f64], factor: f64) -> Vec<f64> {
    x.iter().map(|x| factor * x).collect()
}

pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

pub fn largest(x: &[f64]) -> f64 {
    x.iter().fold(0.0, |m, x| if x.is_nan() { f64::NAN } else { m.max(x.abs()) })
}

/// The largest difference, relative to the largest number of `right`.
pub fn distance(seen: &[f64], right: &[f64]) -> f64 {
    assert_eq!(seen.len(), right.len(), "lengths differ");
    let scale = largest(right).max(f64::MIN_POSITIVE);
    seen.iter().zip(right).map(|(x, y)| (x - y).abs() / scale).fold(0.0, |m, e| if e.is_nan() { f64::NAN } else { m.max(e) })
}

#[track_caller]
pub fn assert_close(what: &str, seen: &[f64], right: &[f64], tolerance: f64) {
    let error = distance(seen, right);
    assert!(error <= tolerance, "{what}: differ by {error:e}, allowed {tolerance:e}");
}

/// Central differences of `f` at `x` against the gradient `df`.
#[track_caller]
pub fn assert_gradient(what: &str, x: &[f64], df: &[f64], f: impl Fn(&[f64]) -> f64) {
    let step = 1e-5;
    let mut at = x.to_vec();
    let mut numeric = Vec::with_capacity(x.len());
    for i in 0..x.len() {
        at[i] = x[i] + step;
        let up = f(&at);
        at[i] = x[i] - step;
        numeric.push((up - f(&at)) / (2.0 * step));
        at[i] = x[i];
    }
    assert_close(what, df, &numeric, 2e-8);
}

pub fn wide<T: ncde_kernels::Float>(x: &[T]) -> Vec<f64> {
    x.iter().map(|x| x.to_f64()).collect()
}

pub fn narrow<T: ncde_kernels::Float>(x: &[f64]) -> Vec<T> {
    x.iter().map(|&x| T::from_f64(x)).collect()
}
