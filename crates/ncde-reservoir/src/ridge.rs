//! Ridge regression: through the Gram matrix of the cases with its exact leave-one-out error, or iteratively where there are many cases.
//!
//! ```text
//! K = X X^T,   G = (K + lambda I)^-1,   alpha = G Y,   w = X^T alpha,   fitted = Y - lambda alpha
//! left out:   c (Y - prediction)_g = (G_gg - c_g c_g^T / (lambda |c|^2))^-1 alpha_g          columns of X and Y have mean 0, the constant is free
//! ```
//!
//! `g` is a set of rows that are left out together: one case, or all rows of one series. `c` is the square root of the weight of each row: rows of `X` and `Y` have weighted
//! mean 0 and are multiplied with it; it is 1 where all rows count the same.

use std::ops::Range;

use ncde_simd::{Number, Simd, kernel};
use rayon::prelude::*;

/// `X X^T` of `n` rows, `[n, n]`.
pub fn products(x: &[f32], n: usize) -> Vec<f64> {
    let features = x.len() / n.max(1);
    let row = |i: usize| &x[i * features..(i + 1) * features];
    let mut k = vec![0.0; n * n];
    k.par_chunks_mut(n.max(1)).enumerate().for_each(|(i, out)| {
        let mut j = 0;
        while j <= i {
            let count = (i + 1 - j).min(4);
            let rows = [row(j), row(j + 1.min(count - 1)), row(j + 2.min(count - 1)), row(j + 3.min(count - 1))];
            let sums = dots(row(i), rows);
            out[j..j + count].copy_from_slice(&sums[..count]);
            j += count;
        }
    });
    for i in 0..n {
        for j in 0..i {
            k[j * n + i] = k[i * n + j];
        }
    }
    k
}

kernel! {
    /// Four inner products of rows. Partial sums of 512 numbers are in `f32`, their sum in `f64`.
    dispatch fn dots<'a, S: Simd>(simd: S, row: &'a [f32], others: [&'a [f32]; 4]) -> [f64; 4] {
        let mut sums = [0.0; 4];
        for from in (0..row.len()).step_by(512) {
            let to = row.len().min(from + 512);
            let (x, rest) = S::as_simd_f32s(&row[from..to]);
            let tail = to - rest.len();
            let mut partial = [simd.splat_f32s(0.0); 4];
            let [a, b, c, d] = others.map(|row| S::as_simd_f32s(&row[from..to]).0);
            for (l, &x) in x.iter().enumerate() {
                partial[0] = simd.mul_add_e_f32s(x, a[l], partial[0]);
                partial[1] = simd.mul_add_e_f32s(x, b[l], partial[1]);
                partial[2] = simd.mul_add_e_f32s(x, c[l], partial[2]);
                partial[3] = simd.mul_add_e_f32s(x, d[l], partial[3]);
            }
            for m in 0..4 {
                let ends: f32 = rest.iter().zip(&others[m][tail..to]).map(|(x, y)| x * y).sum();
                sums[m] += f64::from(simd.reduce_sum_f32s(partial[m]) + ends);
            }
        }
        sums
    }
}

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

/// The rows are summed in this many parts, so that results do not depend on the number of threads.
const PARTS: usize = 16;

/// The weights `[features, outputs]` that minimise `|X w - Y|^2 + lambda |w|^2`, by conjugate gradients on the normal equations: for so many rows
/// that the Gram matrix would be too large.
pub fn descend(x: &[f32], y: &[f64], n: usize, lambda: f64) -> Vec<f64> {
    let (features, outputs) = (x.len() / n.max(1), y.len() / n.max(1));
    let per_output = |v: &[f64], o: usize| v.iter().skip(o).step_by(outputs).map(|x| x * x).sum::<f64>();
    let size = n.div_ceil(PARTS).max(1);
    // X v, and X^T v: v by output, as rows of X are long.
    let apply = |v: &[f64]| -> Vec<f64> {
        let columns: Vec<Vec<f32>> =
            (0..outputs).map(|o| v.iter().skip(o).step_by(outputs).map(|&x| x as f32).collect()).collect();
        x.par_chunks(features.max(1)).flat_map_iter(|row| inner_products(row, &columns)).collect()
    };
    let transposed = |v: &[f64]| -> Vec<f64> {
        let part = |(rows, v): (&[f32], &[f64])| transposed_product(rows, v, features, outputs);
        let parts: Vec<Vec<f32>> = x.par_chunks(size * features.max(1)).zip(v.par_chunks(size * outputs)).map(part).collect();
        let mut sum = vec![0.0; features * outputs];
        for part in parts {
            for (o, column) in part.chunks_exact(features.max(1)).enumerate() {
                column.iter().enumerate().for_each(|(f, &x)| sum[f * outputs + o] += f64::from(x));
            }
        }
        sum
    };
    let mut w = vec![0.0; features * outputs];
    let mut rest = y.to_vec();
    let mut slope = transposed(&rest);
    let mut direction = slope.clone();
    let mut sizes: Vec<f64> = (0..outputs).map(|o| per_output(&slope, o)).collect();
    let first = sizes.clone();
    for _ in 0..MAX_ITERATIONS {
        if sizes.iter().zip(&first).all(|(now, first)| *now <= TOLERANCE * TOLERANCE * first) {
            break;
        }
        let image = apply(&direction);
        let steps: Vec<f64> = (0..outputs)
            .map(|o| {
                let bend = per_output(&image, o) + lambda * per_output(&direction, o);
                if bend > 0.0 { sizes[o] / bend } else { 0.0 }
            })
            .collect();
        w.iter_mut().zip(&direction).enumerate().for_each(|(i, (w, d))| *w += steps[i % outputs] * d);
        rest.iter_mut().zip(&image).enumerate().for_each(|(i, (r, q))| *r -= steps[i % outputs] * q);
        slope = transposed(&rest);
        slope.iter_mut().zip(&w).for_each(|(s, w)| *s -= lambda * w);
        let next: Vec<f64> = (0..outputs).map(|o| per_output(&slope, o)).collect();
        let turn: Vec<f64> = next.iter().zip(&sizes).map(|(next, now)| if *now > 0.0 { next / now } else { 0.0 }).collect();
        direction.iter_mut().zip(&slope).enumerate().for_each(|(i, (d, s))| *d = s + turn[i % outputs] * *d);
        sizes = next;
    }
    w
}

/// Conjugate gradients stop when the gradient has shrunk by this factor, or after [`MAX_ITERATIONS`].
const TOLERANCE: f64 = 1e-4;
const MAX_ITERATIONS: usize = 300;

kernel! {
    /// The inner products of a row with several columns.
    dispatch fn inner_products<'a, S: Simd>(simd: S, row: &'a [f32], columns: &'a [Vec<f32>]) -> Vec<f64> {
        let mut sums = Vec::with_capacity(columns.len());
        for column in columns {
            sums.push(f64::from(f32::dot(simd, row, column)));
        }
        sums
    }
}

kernel! {
    /// `X^T v` for a part of the rows, `[outputs, features]`.
    dispatch fn transposed_product<'a, S: Simd>(simd: S, rows: &'a [f32], v: &'a [f64], features: usize, outputs: usize) -> Vec<f32> {
        let mut sums = vec![0.0; features * outputs];
        for (row, v) in rows.chunks_exact(features.max(1)).zip(v.chunks_exact(outputs.max(1))) {
            for (sum, &v) in sums.chunks_exact_mut(features.max(1)).zip(v) {
                f32::axpy(simd, sum, v as f32, row);
            }
        }
        sums
    }
}

/// The lower Cholesky factor of a symmetric matrix in place; the upper half keeps old values. Returns `false` if the matrix is not positive
/// definite to rounding.
#[inline(always)]
fn factor_with<S: Simd>(simd: S, a: &mut [f64], n: usize) -> bool {
    for i in 0..n {
        let (done, row) = a.split_at_mut(i * n);
        let row = &mut row[..n];
        for j in 0..i {
            let other = &done[j * n..j * n + j + 1];
            row[j] = (row[j] - f64::dot(simd, &row[..j], &other[..j])) / other[j];
        }
        let rest = row[i] - f64::dot(simd, &row[..i], &row[..i]);
        if rest.is_nan() || rest <= 0.0 {
            return false;
        }
        row[i] = rest.sqrt();
    }
    true
}

kernel! {
    /// [`factor_with`] the widest instructions.
    pub(crate) dispatch fn factor<'a, S: Simd>(simd: S, a: &'a mut [f64], n: usize) -> bool {
        factor_with(simd, a, n)
    }
}

kernel! {
    /// The inverse of the Cholesky factor, in place.
    dispatch fn invert<'a, S: Simd>(simd: S, a: &'a mut [f64], n: usize) -> bool {
        if !factor_with(simd, a, n) {
            return false;
        }
        // Row i of the inverse: -1/L_ii sum_j L_ij (row j of the inverse), then 1/L_ii.
        let mut sum = vec![0.0; n];
        for i in 0..n {
            let (done, row) = a.split_at_mut(i * n);
            let row = &mut row[..i + 1];
            sum[..i].fill(0.0);
            for j in 0..i {
                f64::axpy(simd, &mut sum[..j + 1], row[j], &done[j * n..j * n + j + 1]);
            }
            let pivot = 1.0 / row[i];
            row[..i].iter_mut().zip(&sum).for_each(|(x, sum)| *x = -sum * pivot);
            row[i] = pivot;
        }
        true
    }
}
