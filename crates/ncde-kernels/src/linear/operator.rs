//! `Omega = sum_k lambda_k A^k` of structures that are not closed under products, as something that acts on vectors.
//!
//! | structure | what is formed for a step | `Omega v` |
//! | --- | --- | --- |
//! | DPLR (in `dplr`) | `delta = sum lambda_k D^k` | `delta v + U (lambda (V^T v))`, `U` and `V` of all channels side by side |
//! | sparse | the entries on the union of the masks | row by row |
//! | Walsh-Hadamard | `delta = sum lambda_k D^k` | transform of `delta v` |

use std::sync::Arc;

use ncde_simd::{Float, Number, Simd};

use super::grams::Norms;
use crate::hadamard;
use crate::structure::{Pattern, add_product};

/// A generator that acts on vectors and collects its gradient.
pub(crate) trait Operator<T: Float> {
    /// Sets the coefficients of a step.
    fn set<S: Simd>(&mut self, simd: S, a: &[T], lambda: &[T]);
    /// Bounds on the norms of `Omega` and its square.
    fn norms(&mut self) -> Norms;
    /// `out = Omega v`.
    fn apply<S: Simd>(&mut self, simd: S, a: &[T], v: &[T], out: &mut [T]);
    /// `out = Omega^T g`; the gradient of `g . Omega v` is added to `da`, or kept. The `v` are those of the last calls of
    /// [`apply`](Self::apply), the last one first.
    fn reverse<S: Simd>(&mut self, simd: S, a: &[T], da: &mut [T], gv: [&[T]; 2], out: &mut [T]);
    /// Ends a step: `dlambda` is its gradient; what was kept may be added to `da`.
    fn collect<S: Simd>(&mut self, simd: S, a: &[T], da: &mut [T], dlambda: &mut [T]);
    /// Ends a series: nothing is kept any longer.
    fn finish<S: Simd>(&mut self, _: S, _: &mut [T]) {}
}

/// Entries at fixed places.
#[derive(Debug)]
pub(crate) struct Sparse<T> {
    pattern: Arc<Pattern>,
    lambda: Vec<T>,
    values: Vec<T>,
    d_values: Vec<T>,
    norm: f64,
}

impl<T: Float> Sparse<T> {
    pub(crate) fn new(pattern: &Arc<Pattern>) -> Self {
        let places = pattern.places();
        Self {
            lambda: vec![T::ZERO; pattern.channels()],
            values: vec![T::ZERO; places],
            d_values: vec![T::ZERO; places],
            norm: 0.0,
            pattern: pattern.clone(),
        }
    }
}

impl<T: Float> Operator<T> for Sparse<T> {
    #[inline(always)]
    fn set<S: Simd>(&mut self, simd: S, a: &[T], lambda: &[T]) {
        self.lambda.copy_from_slice(lambda);
        self.values.fill(T::ZERO);
        self.d_values.fill(T::ZERO);
        for (k, &lambda) in lambda.iter().enumerate() {
            let (parameters, slots) = self.pattern.channel(k);
            for (&a, &slot) in a[parameters].iter().zip(slots) {
                let value = &mut self.values[slot as usize];
                *value = a.fma(simd, lambda, *value);
            }
        }
        self.norm = T::dot(simd, &self.values, &self.values).to_f64().sqrt();
    }

    fn norms(&mut self) -> Norms {
        Norms::of(self.norm)
    }

    #[inline(always)]
    fn apply<S: Simd>(&mut self, simd: S, _: &[T], v: &[T], out: &mut [T]) {
        for (r, out) in out.iter_mut().enumerate() {
            let (places, columns) = self.pattern.row(r);
            let mut sum = T::ZERO;
            for (&x, &c) in self.values[places].iter().zip(columns) {
                sum = x.fma(simd, v[c as usize], sum);
            }
            *out = sum;
        }
    }

    #[inline(always)]
    fn reverse<S: Simd>(&mut self, simd: S, _: &[T], _: &mut [T], [g, v]: [&[T]; 2], out: &mut [T]) {
        out.fill(T::ZERO);
        for (r, &g) in g.iter().enumerate() {
            let (places, columns) = self.pattern.row(r);
            for ((&x, d), &c) in self.values[places.clone()].iter().zip(&mut self.d_values[places]).zip(columns) {
                out[c as usize] = x.fma(simd, g, out[c as usize]);
                *d = v[c as usize].fma(simd, g, *d);
            }
        }
    }

    #[inline(always)]
    fn collect<S: Simd>(&mut self, simd: S, a: &[T], da: &mut [T], dlambda: &mut [T]) {
        for (k, &lambda) in self.lambda.iter().enumerate() {
            let (parameters, slots) = self.pattern.channel(k);
            let mut sum = T::ZERO;
            for ((&a, da), &slot) in a[parameters.clone()].iter().zip(&mut da[parameters]).zip(slots) {
                let d = self.d_values[slot as usize];
                sum = a.fma(simd, d, sum);
                *da = d.fma(simd, lambda, *da);
            }
            dlambda[k] = sum;
        }
    }
}

/// A Hadamard matrix times a diagonal.
#[derive(Debug)]
pub(crate) struct Hadamard<T> {
    lambda: Vec<T>,
    delta: Vec<T>,
    d_delta: Vec<T>,
    scratch: Vec<T>,
}

impl<T: Float> Hadamard<T> {
    pub(crate) fn new(hidden: usize, channels: usize) -> Self {
        let zeros = || vec![T::ZERO; hidden];
        Self { lambda: vec![T::ZERO; channels], delta: zeros(), d_delta: zeros(), scratch: zeros() }
    }
}

impl<T: Float> Operator<T> for Hadamard<T> {
    #[inline(always)]
    fn set<S: Simd>(&mut self, simd: S, a: &[T], lambda: &[T]) {
        self.lambda.copy_from_slice(lambda);
        self.delta.fill(T::ZERO);
        self.d_delta.fill(T::ZERO);
        for (&lambda, d) in lambda.iter().zip(a.chunks_exact(self.delta.len())) {
            T::axpy(simd, &mut self.delta, lambda, d);
        }
    }

    fn norms(&mut self) -> Norms {
        Norms::of(largest(&self.delta))
    }

    #[inline(always)]
    fn apply<S: Simd>(&mut self, simd: S, _: &[T], v: &[T], out: &mut [T]) {
        out.fill(T::ZERO);
        add_product(simd, out, &self.delta, v);
        hadamard::transform(simd, out);
    }

    #[inline(always)]
    fn reverse<S: Simd>(&mut self, simd: S, _: &[T], _: &mut [T], [g, v]: [&[T]; 2], out: &mut [T]) {
        self.scratch.copy_from_slice(g);
        hadamard::transform(simd, &mut self.scratch);
        add_product(simd, &mut self.d_delta, &self.scratch, v);
        out.fill(T::ZERO);
        add_product(simd, out, &self.delta, &self.scratch);
    }

    #[inline(always)]
    fn collect<S: Simd>(&mut self, simd: S, a: &[T], da: &mut [T], dlambda: &mut [T]) {
        let hidden = self.delta.len();
        let channels = a.chunks_exact(hidden).zip(da.chunks_exact_mut(hidden));
        for (((a, da), &lambda), dlambda) in channels.zip(&self.lambda).zip(dlambda) {
            *dlambda = T::dot(simd, &self.d_delta, a);
            T::axpy(simd, da, lambda, &self.d_delta);
        }
    }
}

/// The largest absolute value.
pub(crate) fn largest<T: Float>(x: &[T]) -> f64 {
    x.iter().fold(T::ZERO, |largest, x| if x.abs() > largest { x.abs() } else { largest }).to_f64()
}
