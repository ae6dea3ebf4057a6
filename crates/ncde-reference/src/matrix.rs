//! Square matrices, row by row, the plain way.

/// `A B`.
pub fn multiply(n: usize, a: &[f64], b: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; n * n];
    for (a, out) in a.chunks_exact(n).zip(out.chunks_exact_mut(n)) {
        for (&a, b) in a.iter().zip(b.chunks_exact(n)) {
            if a != 0.0 {
                for (out, b) in out.iter_mut().zip(b) {
                    *out += a * b;
                }
            }
        }
    }
    out
}

/// `A v`.
pub fn apply(n: usize, a: &[f64], v: &[f64]) -> Vec<f64> {
    a.chunks_exact(n).map(|row| super::dot(row, v)).collect()
}

pub fn identity(n: usize) -> Vec<f64> {
    (0..n * n).map(|i| if i / n == i % n { 1.0 } else { 0.0 }).collect()
}

pub fn transposed(n: usize, a: &[f64]) -> Vec<f64> {
    (0..n * n).map(|i| a[i % n * n + i / n]).collect()
}

/// `QP - PQ`: the matrix that goes with the Lie element `[P, Q]`.
pub fn commutator(n: usize, p: &[f64], q: &[f64]) -> Vec<f64> {
    multiply(n, q, p).iter().zip(multiply(n, p, q)).map(|(x, y)| x - y).collect()
}

/// The largest sum of absolute values in a row.
pub fn norm(n: usize, a: &[f64]) -> f64 {
    a.chunks_exact(n).map(|row| row.iter().map(|x| x.abs()).sum()).fold(0.0, f64::max)
}

/// The 2-norm, by the power method.
pub fn norm_2(n: usize, a: &[f64]) -> f64 {
    let at = transposed(n, a);
    let mut v: Vec<f64> = super::uniform(999, n);
    let mut size = 0.0;
    for _ in 0..60 {
        v = apply(n, &at, &apply(n, a, &v));
        size = super::dot(&v, &v).sqrt();
        if size == 0.0 {
            return 0.0;
        }
        v = super::scaled(&v, 1.0 / size);
    }
    size.sqrt()
}

/// The exponential: halved until the norm is below 1/4, its series, squared back.
pub fn exponential(n: usize, x: &[f64]) -> Vec<f64> {
    let halvings = (norm(n, x) * 4.0).log2().ceil().max(0.0) as i32;
    let x = super::scaled(x, 0.5_f64.powi(halvings));
    let mut sum = identity(n);
    // Horner: 1 + x (1 + x / 2 (1 + x / 3 (...))).
    for j in (1..=18).rev() {
        sum = super::scaled(&multiply(n, &x, &sum), 1.0 / f64::from(j));
        for i in 0..n {
            sum[i * n + i] += 1.0;
        }
    }
    for _ in 0..halvings {
        sum = multiply(n, &sum, &sum);
    }
    sum
}

/// The derivative of the exponential at `x` along `e`: the upper right block of `exp [[x, e], [0, x]]`.
pub fn derivative(n: usize, x: &[f64], e: &[f64]) -> Vec<f64> {
    let size = norm(n, e);
    if size == 0.0 {
        return vec![0.0; n * n];
    }
    let mut both = vec![0.0; 4 * n * n];
    for r in 0..n {
        for c in 0..n {
            both[r * 2 * n + c] = x[r * n + c];
            both[(n + r) * 2 * n + n + c] = x[r * n + c];
            both[r * 2 * n + n + c] = e[r * n + c] / size;
        }
    }
    let both = exponential(2 * n, &both);
    (0..n * n).map(|i| size * both[i / n * 2 * n + n + i % n]).collect()
}
