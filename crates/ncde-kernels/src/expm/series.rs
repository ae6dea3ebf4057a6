//! The exponential and its derivative by scaling, a Taylor polynomial, and squaring.
//!
//! ```text
//! exp(X) = exp(X / 2^s)^(2^s),   exp(Y) ~ T_m(Y) = sum_{k <= m} Y^k / k!
//! ```
//!
//! `T_m` is evaluated by Paterson and Stockmeyer: with `m = q r` and the powers up to `Y^q` it takes `q + r - 2` products. The degree is
//! the smallest with `||Y||^m / m!` below half a rounding unit, which serves the derivative too. Where even the highest needs halvings,
//! they are counted from the norms of the powers that are there, often far below the powers of `||Y||`, so that nearly nilpotent matrices
//! are not squared needlessly (the idea of Al-Mohy and Higham, SIAM J. Matrix Anal. Appl. 31, 2009).
//!
//! The derivative along `E` is the `e`-part of the exponential of `X + e E` with `e^2 = 0`: the same steps on pairs `(X, E)`, whose product
//! is `(X, E) (Y, F) = (X Y, X F + E Y)`.

use ncde_simd::{Float, Number, Simd};

use super::product::{Target, multiply};

/// Degrees `m = q r` and their `q`.
const DEGREES: [(usize, usize); 7] = [(1, 1), (2, 2), (4, 2), (6, 3), (9, 3), (12, 4), (16, 4)];

/// Matrices of one size, or pairs of them, and the memory to compute with them.
#[derive(Debug)]
pub(super) struct Workspace<T> {
    n: usize,
    /// 1 for matrices, 2 for pairs.
    parts: usize,
    /// Half a rounding unit of the number type.
    unit: f64,
    /// For each degree the largest size that it serves: `alpha^m / m! = unit`.
    reach: [f64; DEGREES.len()],
    /// `Y, Y^2, Y^3, Y^4`.
    powers: Vec<T>,
    sum: Vec<T>,
    next: Vec<T>,
}

impl<T: Float> Workspace<T> {
    pub(super) fn new(n: usize, parts: usize) -> Self {
        let size = parts * n * n;
        let zeros = |size| vec![T::ZERO; size];
        let unit = if T::from_f64(1.0 + 1e-9) == T::ONE { 0.5_f64.powi(24) } else { 0.5_f64.powi(53) };
        let reach = DEGREES.map(|(degree, _)| {
            let factorial = (1..=degree).fold(1.0, |product, k| product * k as f64);
            (unit * factorial).powf(1.0 / degree as f64)
        });
        Self { n, parts, unit, reach, powers: zeros(4 * size), sum: zeros(size), next: zeros(size) }
    }

    /// `exp(X)`, or that and its derivative for a pair; `x` holds one or both.
    #[inline(always)]
    pub(super) fn exp<S: Simd>(&mut self, simd: S, x: &[T]) -> &[T] {
        let size = self.parts * self.n * self.n;
        self.powers[..size].copy_from_slice(x);
        let ((degree, q), halvings) = self.plan(simd);
        self.polynomial(simd, degree, q);
        for _ in 0..halvings {
            self.square(simd);
        }
        &self.sum
    }

    /// The degree with its `q`, and the number of halvings. The powers up to `q` are there, halved.
    #[inline(always)]
    fn plan<S: Simd>(&mut self, simd: S) -> ((usize, usize), usize) {
        let norm = self.norm(1);
        // In f32 degree 9 is the last: the next costs as much as one squaring.
        let last = if self.unit > 1e-10 { 4 } else { DEGREES.len() - 1 };
        for (&(degree, q), &reach) in DEGREES[..=last].iter().zip(&self.reach) {
            if norm <= reach {
                self.raise(simd, q);
                return ((degree, q), 0);
            }
        }
        let (degree, q) = DEGREES[last];
        // Halved first where powers would overflow: those of 2^200, in f32 of 2^30, do not.
        let largest = if self.unit > 1e-10 { 30.0 } else { 200.0 };
        let early = (norm.log2() - largest).ceil().max(0.0) as usize;
        self.halve(early, 1);
        self.raise(simd, q);
        let late = self.remainder(degree, q);
        self.halve(late, q);
        ((degree, q), early + late)
    }

    /// How many halvings bring what is left out below the rounding unit, relative to `||Y||`: the term `m + i` is at most
    /// `||Y^i|| ||Y^q||^r / (m + i)!`, and its derivative `m + i` times as much.
    #[inline(always)]
    fn remainder(&self, degree: usize, q: usize) -> usize {
        let (first, last) = (self.norm(1).log2(), self.norm(q).log2());
        let mut factorial = (1..degree).fold(0.0, |sum, k| sum + (k as f64).log2());
        let mut halvings = 0.0_f64;
        for i in 1..=q {
            factorial += ((degree + i - 1) as f64).log2();
            let term = self.norm(i).log2() + last * (degree / q) as f64 - factorial - first - self.unit.log2();
            // A power that vanishes has no logarithm, and leaves nothing out.
            halvings = halvings.max((term / (degree + i - 1) as f64).ceil());
        }
        halvings as usize
    }

    /// `Y^2, ..., Y^q`.
    #[inline(always)]
    fn raise<S: Simd>(&mut self, simd: S, q: usize) {
        let size = self.parts * self.n * self.n;
        for k in 1..q {
            let (before, next) = self.powers.split_at_mut(k * size);
            multiply_parts(simd, self.n, &before[..size], &before[(k - 1) * size..], &mut next[..size]);
        }
    }

    /// `Y^k / 2^(k times)` for `k` up to `q`.
    #[inline(always)]
    fn halve(&mut self, times: usize, q: usize) {
        let size = self.parts * self.n * self.n;
        for (k, power) in self.powers.chunks_exact_mut(size).take(q).enumerate() {
            let factor = T::from_f64(0.5_f64.powi(((k + 1) * times) as i32));
            for x in power {
                *x *= factor;
            }
        }
    }

    /// `||Y^k||` of the matrix, not of what is along with it.
    #[inline(always)]
    fn norm(&self, k: usize) -> f64 {
        norm(self.n, &self.powers[(k - 1) * self.parts * self.n * self.n..][..self.n * self.n])
    }

    /// `sum = T_m(Y)` from the powers up to `q`.
    #[inline(always)]
    fn polynomial<S: Simd>(&mut self, simd: S, degree: usize, q: usize) {
        let size = self.parts * self.n * self.n;
        let mut factors = [1.0_f64; 17];
        for k in 1..=degree {
            factors[k] = factors[k - 1] / k as f64;
        }
        let powers = &self.powers;
        // The highest block first: c_m Y^q + c_{m-1} Y^{q-1} + ..., then Horner in Y^q.
        T::scale(simd, &mut self.sum, T::from_f64(factors[degree]), &powers[(q - 1) * size..q * size]);
        for block in (0..degree / q).rev() {
            if block + 1 < degree / q {
                multiply_parts(simd, self.n, &self.sum, &powers[(q - 1) * size..q * size], &mut self.next);
                std::mem::swap(&mut self.sum, &mut self.next);
            }
            for k in (1..q).rev() {
                let factor = T::from_f64(factors[block * q + k]);
                T::axpy(simd, &mut self.sum, factor, &powers[(k - 1) * size..k * size]);
            }
            let factor = T::from_f64(factors[block * q]);
            for i in 0..self.n {
                self.sum[i * self.n + i] += factor;
            }
        }
    }

    #[inline(always)]
    fn square<S: Simd>(&mut self, simd: S) {
        multiply_parts(simd, self.n, &self.sum, &self.sum, &mut self.next);
        std::mem::swap(&mut self.sum, &mut self.next);
    }
}

/// The largest sum of absolute values in a row.
pub(super) fn norm<T: Float>(n: usize, x: &[T]) -> f64 {
    x.chunks_exact(n).map(|row| row.iter().map(|x| x.to_f64().abs()).sum()).fold(0.0, f64::max)
}

/// `c = a b` for matrices, or for pairs.
#[inline(always)]
fn multiply_parts<T: Float, S: Simd>(simd: S, n: usize, a: &[T], b: &[T], c: &mut [T]) {
    let size = n * n;
    let (first, second) = c.split_at_mut(size);
    multiply(simd, n, &a[..size], &b[..size], first, Target::Set);
    if !second.is_empty() {
        multiply(simd, n, &a[..size], &b[size..2 * size], second, Target::Set);
        multiply(simd, n, &a[size..2 * size], &b[..size], second, Target::Add);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncde_simd::Scalar;

    /// Products are what is paid for: 0 for the first degree, 6 for the last, one for each squaring.
    #[test]
    fn degrees_grow_with_the_norm() {
        let plan = |size: f64| {
            let mut workspace = Workspace::<f64>::new(2, 1);
            workspace.powers[..4].copy_from_slice(&[size, 0.0, 0.0, -size]);
            let ((degree, q), halvings) = workspace.plan(Scalar);
            (degree, q + degree / q - 2 + halvings)
        };
        assert_eq!(plan(1e-17), (1, 0));
        assert_eq!(plan(1e-9), (2, 1));
        assert_eq!(plan(1e-4), (4, 2));
        assert_eq!(plan(5e-3), (6, 3));
        assert_eq!(plan(0.05), (9, 4));
        assert_eq!(plan(0.2), (12, 5));
        assert_eq!(plan(0.6), (16, 6));
        assert_eq!(plan(1.2), (16, 7));
        assert_eq!(plan(50.0), (16, 13));
    }

    /// A nilpotent matrix is its own series however large it is.
    #[test]
    fn nilpotent_matrices_are_not_squared() {
        let mut workspace = Workspace::<f64>::new(2, 1);
        workspace.powers[..4].copy_from_slice(&[0.0, 1e3, 0.0, 0.0]);
        assert_eq!(workspace.plan(Scalar).1, 0);
    }
}
