//! `Omega h = sum_w lambda_w A^{w_n} ... A^{w_1} h` from the expanded log-signature, for any structure and depth `N`, no bracket formed.
//!
//! ```text
//! X_() = h,   X_{u i} = A^i X_u  for |u i| < N,   Omega h = sum_j A^j sum_u lambda_{u j} X_u
//! ```
//!
//! Cost: `d (1 + ... + d^(N-1))` products with one `A^k`, and one vector of memory for each word shorter than `N`.

use ncde_simd::{Float, Number, Simd, outlined};

use super::grams::Norms;
use super::operator::Operator;
use crate::structure::Field;

/// The generator of a Log-ODE window, from coefficients of words.
#[derive(Debug)]
pub(crate) struct Nested<T> {
    field: Field,
    /// For each length below the depth, the first word of that length among those vectors; one more at the end.
    levels: Vec<usize>,
    lambda: Vec<T>,
    d_lambda: Vec<T>,
    /// `X_u` and its gradient for all words `u` shorter than the depth.
    x: Vec<T>,
    dx: Vec<T>,
    sum: Vec<T>,
    scratch: Vec<T>,
    /// A bound on the norm of each `A^k`.
    norms: Vec<f64>,
}

impl<T: Float> Nested<T> {
    pub(crate) fn new(field: &Field, depth: usize, a: &[T]) -> Self {
        let (d, hidden) = (field.channels(), field.hidden());
        let mut levels = vec![0];
        let mut level = 1;
        for n in 0..depth {
            levels.push(levels[n] + level);
            level *= d;
        }
        let vectors = levels[depth];
        // Words of 1 to `depth` letters: one level further than the vectors, without the empty word.
        let words = vectors * d;
        Self {
            levels,
            lambda: vec![T::ZERO; words],
            d_lambda: vec![T::ZERO; words],
            x: vec![T::ZERO; vectors * hidden],
            dx: Vec::new(),
            sum: vec![T::ZERO; hidden],
            scratch: vec![T::ZERO; hidden],
            norms: (0..d).map(|k| field.norm(a, k)).collect(),
            field: field.clone(),
        }
    }

    /// `X_u` for all `u`.
    #[inline(always)]
    fn grow<S: Simd>(&mut self, simd: S, a: &[T], v: &[T]) {
        let (hidden, d) = (v.len(), self.field.channels());
        self.x[..hidden].copy_from_slice(v);
        let last = self.levels[self.levels.len() - 2];
        for u in 0..last {
            // The children of a vector follow each other, one level down.
            let (parents, children) = self.x.split_at_mut((u * d + 1) * hidden);
            for (i, child) in children.chunks_exact_mut(hidden).take(d).enumerate() {
                child.fill(T::ZERO);
                let parent = &parents[u * hidden..(u + 1) * hidden];
                apply::<T, S, false>(simd, (&self.field, a, i), parent, child, &mut self.scratch);
            }
        }
    }

    /// `sum_u lambda_{u j} X_u`.
    #[inline(always)]
    fn gather<S: Simd>(&mut self, simd: S, j: usize) {
        let (hidden, d) = (self.sum.len(), self.field.channels());
        self.sum.fill(T::ZERO);
        for (u, x) in self.x.chunks_exact(hidden).enumerate() {
            T::axpy(simd, &mut self.sum, self.lambda[u * d + j], x);
        }
    }
}

impl<T: Float> Operator<T> for Nested<T> {
    #[inline(always)]
    fn set<S: Simd>(&mut self, _: S, _: &[T], lambda: &[T]) {
        self.lambda.copy_from_slice(lambda);
        self.d_lambda.fill(T::ZERO);
    }

    fn norms(&mut self) -> Norms {
        let d = self.norms.len();
        // sum_w |lambda_w| prod ||A^{w_i}||, with the product of each word from that of the word without its last letter.
        let mut products = vec![1.0];
        let mut sum = 0.0;
        for (i, lambda) in self.lambda.iter().enumerate() {
            let product = products[i / d] * self.norms[i % d];
            sum += lambda.to_f64().abs() * product;
            if products.len() < self.x.len() / self.sum.len() {
                products.push(product);
            }
        }
        Norms::of(sum)
    }

    #[inline(always)]
    fn apply<S: Simd>(&mut self, simd: S, a: &[T], v: &[T], out: &mut [T]) {
        self.grow(simd, a, v);
        out.fill(T::ZERO);
        for j in 0..self.field.channels() {
            self.gather(simd, j);
            apply::<T, S, false>(simd, (&self.field, a, j), &self.sum, out, &mut self.scratch);
        }
    }

    #[inline(always)]
    fn reverse<S: Simd>(&mut self, simd: S, a: &[T], da: &mut [T], [g, v]: [&[T]; 2], out: &mut [T]) {
        let (hidden, d) = (v.len(), self.field.channels());
        self.grow(simd, a, v);
        self.dx.clear();
        self.dx.resize(self.x.len(), T::ZERO);
        for j in 0..d {
            self.gather(simd, j);
            outer(simd, (&self.field, a, j), [g, &self.sum], da, &mut self.scratch);
            self.sum.fill(T::ZERO);
            apply::<T, S, true>(simd, (&self.field, a, j), g, &mut self.sum, &mut self.scratch);
            for (u, (x, dx)) in self.x.chunks_exact(hidden).zip(self.dx.chunks_exact_mut(hidden)).enumerate() {
                self.d_lambda[u * d + j] += T::dot(simd, &self.sum, x);
                T::axpy(simd, dx, self.lambda[u * d + j], &self.sum);
            }
        }
        let last = self.levels[self.levels.len() - 2];
        for u in (0..last).rev() {
            let (parents, children) = self.dx.split_at_mut((u * d + 1) * hidden);
            let word = u * hidden..(u + 1) * hidden;
            for (i, child) in children.chunks_exact(hidden).take(d).enumerate() {
                outer(simd, (&self.field, a, i), [child, &self.x[word.clone()]], da, &mut self.scratch);
                apply::<T, S, true>(simd, (&self.field, a, i), child, &mut parents[word.clone()], &mut self.scratch);
            }
        }
        out.copy_from_slice(&self.dx[..hidden]);
    }

    #[inline(always)]
    fn collect<S: Simd>(&mut self, _: S, _: &[T], _: &mut [T], dlambda: &mut [T]) {
        dlambda.copy_from_slice(&self.d_lambda);
    }
}

/// A matrix `A^k`: its field, the parameters of all channels and `k`.
type Matrix<'a, T> = (&'a Field, &'a [T], usize);

/// [`Field::apply`], compiled once.
#[inline(always)]
fn apply<T: Float, S: Simd, const TRANSPOSED: bool>(simd: S, matrix: Matrix<'_, T>, v: &[T], out: &mut [T], scratch: &mut [T]) {
    let (field, a, k) = matrix;
    outlined(
        simd,
        #[inline(always)]
        move || field.apply::<T, S, TRANSPOSED>(simd, a, k, v, out, scratch),
    );
}

/// [`Field::outer`], compiled once.
#[inline(always)]
fn outer<T: Float, S: Simd>(simd: S, (field, a, k): Matrix<'_, T>, gv: [&[T]; 2], da: &mut [T], scratch: &mut [T]) {
    outlined(
        simd,
        #[inline(always)]
        move || field.outer(simd, a, k, gv, da, scratch),
    );
}
