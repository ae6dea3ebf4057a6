//! Generators of short windows: against products of augmented matrices, their gradients against finite differences.
#![allow(clippy::unwrap_used, reason = "a test")]

use ncde_kernels::{Commutators, Float};
use ncde_reference::{assert_close, assert_gradient, dot, narrow, uniform, wide};

/// `[[M, v], [0, 0]]` of each block, one after the other, from a row.
fn augmented(of: &Commutators, row: &[f64]) -> Vec<Vec<f64>> {
    let (b, n) = (of.block, of.block + 1);
    let blocks = row.len() / of.block_numbers();
    let entry = |block: usize, e: usize| row[e * blocks + block];
    let matrix = |block: usize| {
        let mut out = vec![0.0; n * n];
        for i in 0..b {
            for j in 0..b {
                out[i * n + j] = entry(block, i * b + j);
            }
            if of.vectors {
                out[i * n + b] = entry(block, b * b + i);
            }
        }
        out
    };
    (0..blocks).map(matrix).collect()
}

fn multiply(n: usize, x: &[f64], y: &[f64]) -> Vec<f64> {
    let entry = |i: usize| (0..n).map(|k| x[i / n * n + k] * y[k * n + i % n]).sum();
    (0..n * n).map(entry).collect()
}

/// The formula, one matrix after the other.
fn naive(of: &Commutators, window: &[f64], numbers: usize) -> Vec<Vec<f64>> {
    let n = of.block + 1;
    let rows: Vec<Vec<Vec<f64>>> = window.chunks_exact(numbers).map(|row| augmented(of, row)).collect();
    let generator = |block: usize| {
        let (mut sum, mut out) = (vec![0.0; n * n], vec![0.0; n * n]);
        for row in &rows {
            let m = &row[block];
            let (mp, pm) = (multiply(n, m, &sum), multiply(n, &sum, m));
            for e in 0..n * n {
                out[e] += m[e] + of.factor * (mp[e] - pm[e]);
                sum[e] += m[e];
            }
        }
        out
    };
    (0..rows[0].len()).map(generator).collect()
}

fn cases() -> impl Iterator<Item = (Commutators, usize, usize)> {
    let sizes = [(1, 1), (1, 19), (2, 3), (3, 17), (4, 1), (4, 16), (5, 2), (8, 9)];
    sizes.into_iter().enumerate().flat_map(|(i, (block, blocks))| {
        [false, true].map(|vectors| {
            let of = Commutators { block, steps: 1 + (i + usize::from(vectors)) % 4, vectors, factor: 0.5 / (1.0 + i as f64) };
            (of, blocks * of.block_numbers(), [1, 3, 70][i % 3])
        })
    })
}

fn check<T: Float>(tolerance: f64) {
    for (i, (of, numbers, windows)) in cases().enumerate() {
        let matrices = uniform(i as u64, windows * of.steps * numbers);
        let seen = wide(&of.forward::<T>(numbers, &narrow(&matrices)).unwrap());
        for (seen, window) in seen.chunks_exact(numbers).zip(matrices.chunks_exact(of.steps * numbers)) {
            let wanted = naive(&of, window, numbers);
            assert_close(&format!("{of:?}"), &augmented(&of, seen).concat(), &wanted.concat(), tolerance);
        }
    }
}

#[test]
fn generators_are_those_of_the_formula() {
    check::<f64>(1e-13);
    check::<f32>(2e-5);
}

#[test]
fn gradients_are_finite_differences() {
    for (i, (of, numbers, windows)) in cases().filter(|(_, numbers, windows)| numbers * windows < 400).enumerate() {
        let matrices = uniform(i as u64 + 30, windows * of.steps * numbers);
        let weights = uniform(i as u64 + 60, windows * numbers);
        let gradient = of.backward(numbers, &matrices, &weights).unwrap();
        assert_gradient(&format!("{of:?}"), &matrices, &gradient, |matrices| {
            dot(&of.forward(numbers, matrices).unwrap(), &weights)
        });
    }
}

#[test]
fn sizes_that_do_not_fit_are_refused() {
    let of = Commutators { block: 2, steps: 3, vectors: true, factor: 0.5 };
    let message = |numbers, count| of.forward(numbers, &vec![0.0; count]).unwrap_err().to_string();
    assert!(message(7, 21).contains("blocks x 6"), "{}", message(7, 21));
    assert!(message(6, 19).contains("3 increments"), "{}", message(6, 19));
    assert!(message(0, 0).contains("can be 0"), "{}", message(0, 0));
    let error = of.backward(6, &[0.0; 18], &[0.0; 5]).unwrap_err().to_string();
    assert!(error.contains("one row a window"), "{error}");
}
