//! Bounds on the norms of a low-rank generator and of its square, from products of its vectors that are formed once.
//!
//! With `U` and `V` the vectors of all channels side by side and `M = sum_k lambda_k u^k (v^k)^T`,
//!
//! ```text
//! ||M||_F^2 = sum_kl lambda_k lambda_l <(u^k)^T u^l, (v^k)^T v^l>,
//! ||M^2||_F^2 = sum_pq c_p c_q <N_p, U^T U N_q V^T V>,   M^2 = sum_p c_p U N_p V^T,   c_p = lambda_k lambda_l,  p = (k, l)
//! ```
//!
//! where `N_p` has `(v^k)^T u^l` at `(k, l)` and its counterpart at `(l, k)`. Two quadratic forms: `d^2` and `(d (d+1) / 2)^2` products a
//! step, whatever `H`. Vectors drawn at random are nearly orthogonal, so that the square is far smaller than the square of the norm.

use std::sync::Arc;

use ncde_simd::{Float, Kernel, Number, Simd, dispatch};

use super::{Recurrence, Transition};
use crate::structure::Field;

/// A bound on `||Omega||` and one on `||Omega^2||`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Norms {
    pub(crate) first: f64,
    pub(crate) second: f64,
}

impl Norms {
    /// Where only the first is known.
    pub(crate) fn of(first: f64) -> Self {
        Self { first, second: first * first }
    }
}

/// The coefficients of the second form may cost as much as this many products with a generator.
const MAX_SETUP_PRODUCTS: usize = 64;

/// The relative rounding error of a sum of products, against the sum of their absolute values.
const ROUNDING: f64 = 1e-13;

/// The two quadratic forms.
#[derive(Debug)]
pub(crate) struct Grams {
    channels: usize,
    first: Vec<f64>,
    /// Only if it is cheap enough, see [`MAX_SETUP_PRODUCTS`].
    second: Option<Vec<f64>>,
}

/// All products of two sets of vectors.
struct Products<'a> {
    x: &'a [f64],
    y: &'a [f64],
    hidden: usize,
}

impl Kernel for Products<'_> {
    /// `x_i . y_j` at `(i, j)`.
    type Output = Vec<f64>;
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Vec<f64> {
        let mut out = Vec::with_capacity(self.x.len() / self.hidden * (self.y.len() / self.hidden));
        for x in self.x.chunks_exact(self.hidden) {
            for y in self.y.chunks_exact(self.hidden) {
                out.push(f64::dot(simd, x, y));
            }
        }
        out
    }
}

impl Grams {
    /// The forms of a recurrence, if its series needs norms.
    pub(crate) fn needed<T: Float>(recurrence: &Recurrence, rank: usize, a: &[T]) -> Option<Arc<Self>> {
        (recurrence.transition() == Transition::Exp).then(|| Arc::new(Self::new(recurrence.field(), rank, a)))
    }

    fn new<T: Float>(field: &Field, rank: usize, a: &[T]) -> Self {
        let (hidden, d) = (field.hidden(), field.channels());
        // All `u`, then all `v`, in twice the digits: channels may cancel.
        let vectors = |from: usize| -> Vec<f64> {
            let columns = (0..d).flat_map(|k| &a[field.channel(k)][hidden * (1 + from * rank)..][..hidden * rank]);
            columns.map(|x| x.to_f64()).collect()
        };
        let (u, v) = (vectors(0), vectors(1));
        let products = |x: &[f64], y: &[f64]| Square { r: rank, all: d * rank, entries: dispatch(Products { x, y, hidden }) };
        let (uu, vv) = (products(&u, &u), products(&v, &v));
        let pairs = d * (d + 1) / 2;
        let second = (pairs * pairs * rank * rank * rank <= MAX_SETUP_PRODUCTS * d * rank * hidden)
            .then(|| second(d, &uu, &vv, &products(&v, &u)));
        let first = (0..d * d).map(|kl| uu.dot(&vv, (kl / d, kl % d)));
        Self { channels: d, first: first.collect(), second }
    }

    /// Bounds for `diag(delta) + M`, where `delta` is the largest entry of the diagonal; `pairs` is working memory.
    pub(crate) fn norms<T: Float>(&self, lambda: &[T], delta: f64, pairs: &mut Vec<f64>) -> Norms {
        pairs.clear();
        pairs.extend(lambda.iter().map(|l| l.to_f64()));
        let m = form(&self.first, pairs).sqrt();
        let first = delta + m;
        let Some(second) = &self.second else {
            return Norms::of(first);
        };
        for k in 0..self.channels {
            for l in 0..=k {
                pairs.push(pairs[k] * pairs[l]);
            }
        }
        let square = form(second, &pairs[self.channels..]).sqrt();
        Norms { first, second: (delta * (delta + 2.0 * m) + square).min(first * first) }
    }
}

/// `c . Q c`, and a bound on its rounding error added.
fn form(q: &[f64], c: &[f64]) -> f64 {
    let (mut sum, mut size) = (0.0, 0.0);
    for (row, &c_row) in q.chunks_exact(c.len()).zip(c) {
        let (mut row_sum, mut row_size) = (0.0, 0.0);
        for (q, c) in row.iter().zip(c) {
            row_sum += q * c;
            row_size += (q * c).abs();
        }
        sum += c_row * row_sum;
        size += c_row.abs() * row_size;
    }
    sum.max(0.0) + ROUNDING * size
}

/// A matrix of `r x r` blocks, one for each pair of channels.
struct Square {
    r: usize,
    all: usize,
    entries: Vec<f64>,
}

impl Square {
    fn at(&self, (k, l): (usize, usize), (i, j): (usize, usize)) -> f64 {
        self.entries[(k * self.r + i) * self.all + l * self.r + j]
    }

    /// The places within a block.
    fn places(&self) -> impl Iterator<Item = (usize, usize)> {
        let r = self.r;
        (0..r * r).map(move |ij| (ij / r, ij % r))
    }

    /// The sum of products of a block's entries with another matrix's.
    fn dot(&self, other: &Self, block: (usize, usize)) -> f64 {
        self.places().map(|ij| self.at(block, ij) * other.at(block, ij)).sum()
    }

    /// `self += U^T U N V^T V`, where `N` has only a block at `(k, l)`, that of `vu`.
    fn add(&mut self, (k, l): (usize, usize), uu: &Self, vv: &Self, vu: &Self) {
        let (r, d) = (self.r, self.all / self.r);
        for m in 0..d {
            let mut left = vec![0.0; r * r];
            for (i, j) in self.places() {
                left[i * r + j] = (0..r).map(|x| uu.at((m, k), (i, x)) * vu.at((k, l), (x, j))).sum();
            }
            for (i, left) in left.chunks_exact(r).enumerate() {
                let row = &mut self.entries[(m * r + i) * self.all..][..self.all];
                for (j, left) in left.iter().enumerate() {
                    let right = &vv.entries[(l * r + j) * self.all..][..self.all];
                    row.iter_mut().zip(right).for_each(|(sum, right)| *sum += left * right);
                }
            }
        }
    }
}

/// The coefficients of the second form.
fn second(d: usize, uu: &Square, vv: &Square, vu: &Square) -> Vec<f64> {
    let pairs: Vec<(usize, usize)> = (0..d).flat_map(|k| (0..=k).map(move |l| (k, l))).collect();
    let both = |(k, l): (usize, usize)| [(k, l), (l, k)].into_iter().take(if k == l { 1 } else { 2 });
    let mut out = Vec::with_capacity(pairs.len() * pairs.len());
    for &q in &pairs {
        let mut image = Square { r: vu.r, all: vu.all, entries: vec![0.0; vu.entries.len()] };
        both(q).for_each(|block| image.add(block, uu, vv, vu));
        out.extend(pairs.iter().map(|&p| both(p).map(|block| vu.dot(&image, block)).sum::<f64>()));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Structure, Transition};

    fn multiply(n: usize, a: &[f64], b: &[f64]) -> Vec<f64> {
        (0..n * n).map(|i| (0..n).map(|k| a[i / n * n + k] * b[k * n + i % n]).sum()).collect()
    }

    fn frobenius(a: &[f64]) -> f64 {
        a.iter().map(|x| x * x).sum::<f64>().sqrt()
    }

    /// The 2-norm: `(M^T M)^(2^40)` keeps the largest of its eigenvalues only.
    fn norm_2(n: usize, a: &[f64]) -> f64 {
        let transposed: Vec<f64> = (0..n * n).map(|i| a[i % n * n + i / n]).collect();
        let (mut power, mut log, mut weight) = (multiply(n, &transposed, a), 0.0, 0.5);
        for _ in 0..40 {
            let size = frobenius(&power);
            log += weight * size.ln();
            weight *= 0.5;
            power.iter_mut().for_each(|x| *x /= size);
            power = multiply(n, &power, &power);
        }
        log.exp()
    }

    #[test]
    fn bounds_dominate_the_norms_and_are_exact_for_low_rank_alone() {
        for (seed, (hidden, rank, d)) in [(5, 1, 1), (9, 2, 3), (24, 4, 5), (40, 1, 6)].into_iter().enumerate() {
            let field = Field::new(Structure::Dplr { hidden, rank }, d).unwrap();
            let random = |i: usize| ((seed * 7919 + i) as f64 * 12.9898).sin() * 43758.5453 % 1.0;
            for diagonal in [0.0, 0.3, 4.0] {
                let channel_len = field.channel(0).len();
                let scale = |i: usize| if i % channel_len < hidden { diagonal } else { 1.0 };
                let a: Vec<f64> = (0..field.parameters()).map(|i| scale(i) * random(i)).collect();
                let lambda: Vec<f64> = (0..d).map(|k| random(k + 1_000_000)).collect();
                let grams = Grams::new(&field, rank, &a);
                assert!(grams.second.is_some());
                let dense = field.densify(&a).unwrap();
                let mut omega = vec![0.0; hidden * hidden];
                for (l, matrix) in lambda.iter().zip(dense.chunks_exact(hidden * hidden)) {
                    omega.iter_mut().zip(matrix).for_each(|(sum, x)| *sum += l * x);
                }
                let square = multiply(hidden, &omega, &omega);
                let delta = |r: usize| (0..d).map(|k| lambda[k] * a[field.channel(k)][r]).sum::<f64>().abs();
                let delta = (0..hidden).map(delta).fold(0.0, f64::max);
                let norms = grams.norms(&lambda, delta, &mut Vec::new());
                let right = [norm_2(hidden, &omega), norm_2(hidden, &square)];
                assert!(right[0] <= norms.first && right[1] <= norms.second, "{hidden} {rank} {d}: {right:?} but {norms:?}");
                if diagonal == 0.0 {
                    let right = [frobenius(&omega), frobenius(&square)];
                    assert!((norms.first / right[0] - 1.0).abs() < 1e-6, "{right:?} but {norms:?}");
                    assert!((norms.second / right[1] - 1.0).abs() < 1e-6, "{right:?} but {norms:?}");
                }
            }
        }
    }

    #[test]
    fn channels_that_cancel_do_not_hide_what_is_left() {
        let (hidden, rank) = (8, 2);
        let field = Field::new(Structure::Dplr { hidden, rank }, 2).unwrap();
        let channel_len = field.channel(0).len();
        let random = |i: usize| (i as f64 * 12.9898).sin();
        let a: Vec<f64> = (0..2 * channel_len)
            .map(|i| random(i % channel_len) + if i < channel_len { 0.0 } else { 1e-9 * random(i) })
            .collect();
        let grams = Grams::new(&field, rank, &a);
        let dense = field.densify(&a).unwrap();
        let difference: Vec<f64> = (0..hidden * hidden).map(|i| dense[i] - dense[hidden * hidden + i]).collect();
        let norms = grams.norms(&[1.0, -1.0], 1e-9, &mut Vec::new());
        assert!(norms.first >= norm_2(hidden, &difference) && norms.first < 1e-4, "{norms:?}");
    }

    #[test]
    fn only_a_series_asks_for_norms_and_only_few_channels_for_the_second_form() {
        let field = Field::new(Structure::Dplr { hidden: 4, rank: 2 }, 1).unwrap();
        let (a, recurrence) = (vec![0.5; field.parameters()], Recurrence::new(field));
        assert!(Grams::needed(&recurrence, 2, &a).is_some());
        assert!(Grams::needed(&recurrence.with_transition(Transition::Euler), 2, &a).is_none());
        let field = Field::new(Structure::Dplr { hidden: 4, rank: 2 }, 30).unwrap();
        let grams = Grams::new(&field, 2, &vec![0.5; field.parameters()]);
        assert!(grams.second.is_none());
        let norms = grams.norms(&[1.0; 30], 0.5, &mut Vec::new());
        assert!((norms.first - 60.5).abs() < 1e-3 && norms.second == norms.first * norms.first, "{norms:?}");
    }
}
