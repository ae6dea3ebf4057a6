//! The largest singular value of a matrix, from above: `|A|^2 <= tr((A^T A)^m)^(1/m)`, with `m` doubled until it is sharp.
//!
//! Power iteration comes from below, and what stands in a bound must not. With `B` a power of `A^T A` scaled to trace 1, its largest
//! eigenvalue lies between `tr(B^2)` and 1, so one knows when to stop. O(n^3) a doubling, `n` the smaller side.

/// Stop when the bound on the logarithm is this close.
const CLOSE: f64 = 1e-10;

/// An upper bound, to ten digits, of the operator norm of `matrix`, `[rows, columns]`, in Euclidean norms.
///
/// ```
/// use ncde_solve::lip::operator_norm;
/// assert!((operator_norm(&[3.0, 0.0, 0.0, 4.0, 0.0, 0.0], 2, 3) - 5.0).abs() < 1e-9);
/// ```
pub fn operator_norm(matrix: &[f64], rows: usize, columns: usize) -> f64 {
    if let [entry] = matrix {
        return entry.abs();
    }
    let largest = matrix.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
    if largest == 0.0 || !largest.is_finite() {
        return if largest == 0.0 { 0.0 } else { f64::INFINITY };
    }
    let n = rows.min(columns);
    // The smaller of A A^T and A^T A.
    let at = |i: usize, k: usize| if rows <= columns { matrix[i * columns + k] } else { matrix[k * columns + i] } / largest;
    let mut power = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..n {
            power[i * n + j] = (0..rows.max(columns)).map(|k| at(i, k) * at(j, k)).sum();
        }
    }
    let (mut logarithm, mut m) = (scale(&mut power, n).ln(), 1.0);
    // 2^60 is far beyond what rounding lets through.
    for _ in 0..60 {
        power = square(&power, n);
        let trace = scale(&mut power, n);
        m *= 2.0;
        logarithm += trace.ln() / m;
        if -trace.ln() / m < CLOSE {
            break;
        }
    }
    // The slack covers rounding.
    largest * (0.5 * logarithm).exp() * (1.0 + 1e-12)
}

/// Divides by the trace, and returns it.
fn scale(matrix: &mut [f64], n: usize) -> f64 {
    let trace: f64 = (0..n).map(|i| matrix[i * n + i]).sum();
    for x in matrix {
        *x /= trace;
    }
    trace
}

fn square(matrix: &[f64], n: usize) -> Vec<f64> {
    let mut result = vec![0.0; n * n];
    for (row, result) in matrix.chunks_exact(n).zip(result.chunks_exact_mut(n)) {
        for (x, other) in row.iter().zip(matrix.chunks_exact(n)) {
            for (result, y) in result.iter_mut().zip(other) {
                *result += x * y;
            }
        }
    }
    result
}
