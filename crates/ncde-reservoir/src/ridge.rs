//! Ridge regression through the Gram matrix of the cases, with its exact leave-one-out error.
//!
//! ```text
//! K = X X^T,   G = (K + lambda I)^-1,   alpha = G Y,   w = X^T alpha,   fitted = Y - lambda alpha
//! left out:   c (Y - prediction)_g = (G_gg - c_g c_g^T / (lambda |c|^2))^-1 alpha_g          columns of X and Y have mean 0, the constant is free
//! ```
//!
//! `g` is a set of rows that are left out together: one case, or all rows of one series. `c` is the square root of the weight of each row: rows of `X` and `Y` have weighted
//! mean 0 and are multiplied with it; it is 1 where all rows count the same.

use std::ops::Range;

use crate::matrix::invert;

/// The fit with one penalty.
#[derive(Debug, Clone)]
pub struct Fit {
    /// `[n, outputs]`.
    pub alpha: Vec<f64>,
    /// The prediction of each case by a fit without it, `[n, outputs]`, relative to the mean of the targets.
    pub left_out: Vec<f64>,
    /// The mean squared error of these predictions, with the weights of rows.
    pub error: f64,
}

/// Fits targets `y`, `[n, outputs]`; none if the matrix is singular to rounding. The rows of a group are left out together; groups cover all rows in order. `roots` are the
/// square roots of the weights of rows, with which rows and targets are multiplied.
pub fn fit(k: &[f64], y: &[f64], groups: &[Range<usize>], roots: &[f64], lambda: f64) -> Option<Fit> {
    let n = groups.last().map_or(0, |group| group.end);
    let total: f64 = roots.iter().map(|root| root * root).sum();
    let outputs = y.len() / n.max(1);
    let mut inverse = k.to_vec();
    (0..n).for_each(|i| inverse[i * n + i] += lambda);
    if !invert(&mut inverse, n) {
        return None;
    }
    let lower = |i: usize| &inverse[i * n..i * n + i + 1];
    let alpha = multiply_inverse(&inverse, y, n);
    let mut left_out = y.to_vec();
    let mut error = 0.0;
    for group in groups {
        let (size, own) = (group.len(), &roots[group.clone()]);
        let mut block: Vec<f64> = own.iter().flat_map(|a| own.iter().map(move |b| -(a * b) / (lambda * total))).collect();
        for i in group.start..n {
            // Column j of the inverse begins at row j.
            let row = &lower(i)[group.start..group.end.min(i + 1)];
            for (a, &x) in row.iter().enumerate() {
                for (b, &y) in row[..a + 1].iter().enumerate() {
                    block[a * size + b] += x * y;
                }
            }
        }
        let residuals = solve_small(block, &alpha[group.start * outputs..group.end * outputs], size)?;
        error += residuals.iter().map(|r| r * r).sum::<f64>();
        let rows = left_out[group.start * outputs..group.end * outputs].chunks_exact_mut(outputs.max(1));
        for ((row, residuals), root) in rows.zip(residuals.chunks_exact(outputs.max(1))).zip(own) {
            row.iter_mut().zip(residuals).for_each(|(y, r)| *y = (*y - r) / root);
        }
    }
    error /= if total > 0.0 { total * outputs as f64 } else { 1.0 };
    error.is_finite().then_some(Fit { alpha, left_out, error })
}

/// Solves `A x = b` for a symmetric matrix given by its lower half, `b` `[n, outputs]`; none if it is singular to rounding.
fn solve_small(mut a: Vec<f64>, b: &[f64], n: usize) -> Option<Vec<f64>> {
    invert(&mut a, n).then(|| multiply_inverse(&a, b, n))
}

/// `L^-T L^-1 b`, where `inverse` holds `L^-1` row by row, `b` `[n, outputs]`.
fn multiply_inverse(inverse: &[f64], b: &[f64], n: usize) -> Vec<f64> {
    let outputs = b.len() / n.max(1);
    let (mut half, mut x) = (vec![0.0; b.len()], vec![0.0; b.len()]);
    let entries = |i: usize| inverse[i * n..i * n + i + 1].iter().enumerate();
    for i in 0..n {
        for (j, &entry) in entries(i) {
            for o in 0..outputs {
                half[i * outputs + o] += entry * b[j * outputs + o];
            }
        }
    }
    for i in 0..n {
        for (j, &entry) in entries(i) {
            for o in 0..outputs {
                x[j * outputs + o] += entry * half[i * outputs + o];
            }
        }
    }
    x
}
