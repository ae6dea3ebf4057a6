//! Diagonal plus low rank: `Omega v = delta v + sum_k lambda_k u^k ((v^k)^T v)`, with `delta = sum_k lambda_k D^k` formed once a step.
//!
//! The gradient of `g . Omega v` is `du^k = lambda_k g (v . v^k)`, `dv^k = lambda_k v (g . u^k)`. Added at once, each product would read and
//! write all of `dA`. Instead `g`, `v` and their products with the vectors are stored until there are enough for a matrix product.

use std::sync::Arc;

use ncde_simd::{Float, Number, Simd};

use super::grams::{Grams, Norms};
use super::operator::{Operator, largest};
use super::rows;
use crate::structure::{Field, add_product};

/// The number of pairs that are added to `dA` together.
const PAIRS: usize = 24;

/// The generator of a step, and stored pairs of the steps after it whose gradients are not yet added.
#[derive(Debug)]
pub(crate) struct Dplr<T> {
    field: Field,
    rank: usize,
    lambda: Vec<T>,
    delta: Vec<T>,
    d_delta: Vec<T>,
    d_lambda: Vec<T>,
    /// Present if the series needs norms.
    grams: Option<Arc<Grams>>,
    pairs: Vec<f64>,
    /// `V^T v` of every product since the step began, `[products, channels, rank]`.
    projected: Vec<T>,
    scaled: Vec<T>,
    /// `g` and `v` of the stored pairs, `[pairs, H]`, with `lambda U^T g` and `lambda V^T v`, `[pairs, channels, rank]`.
    g: Vec<T>,
    v: Vec<T>,
    us: Vec<T>,
    vs: Vec<T>,
}

impl<T: Float> Dplr<T> {
    pub(crate) fn new(field: &Field, rank: usize, grams: Option<Arc<Grams>>) -> Self {
        let (hidden, d) = (field.hidden(), field.channels());
        Self {
            rank,
            lambda: vec![T::ZERO; d],
            delta: vec![T::ZERO; hidden],
            d_delta: vec![T::ZERO; hidden],
            d_lambda: vec![T::ZERO; d],
            grams,
            pairs: Vec::new(),
            projected: Vec::new(),
            scaled: vec![T::ZERO; rank],
            g: Vec::new(),
            v: Vec::new(),
            us: Vec::new(),
            vs: Vec::new(),
            field: field.clone(),
        }
    }

    /// Adds the gradients of all stored pairs to `da`.
    #[inline(always)]
    fn flush<S: Simd>(&mut self, simd: S, da: &mut [T]) {
        let (hidden, rank, factors) = (self.delta.len(), self.rank, self.lambda.len() * self.rank);
        for k in 0..self.lambda.len() {
            let (du, dv) = da[self.field.channel(k)][hidden..].split_at_mut(hidden * rank);
            rows::add_products(simd, &self.g, (&self.vs[k * rank..], factors), du, hidden);
            rows::add_products(simd, &self.v, (&self.us[k * rank..], factors), dv, hidden);
        }
        for stored in [&mut self.g, &mut self.v, &mut self.us, &mut self.vs] {
            stored.clear();
        }
    }
}

impl<T: Float> Operator<T> for Dplr<T> {
    #[inline(always)]
    fn set<S: Simd>(&mut self, simd: S, a: &[T], lambda: &[T]) {
        self.lambda.copy_from_slice(lambda);
        self.delta.fill(T::ZERO);
        for (k, &lambda) in lambda.iter().enumerate() {
            let d = &a[self.field.channel(k)][..self.delta.len()];
            T::axpy(simd, &mut self.delta, lambda, d);
        }
        self.d_delta.fill(T::ZERO);
        self.d_lambda.fill(T::ZERO);
        self.projected.clear();
    }

    fn norms(&mut self) -> Norms {
        let delta = largest(&self.delta);
        match &self.grams {
            Some(grams) => grams.norms(&self.lambda, delta, &mut self.pairs),
            None => Norms::of(f64::INFINITY),
        }
    }

    #[inline(always)]
    fn apply<S: Simd>(&mut self, simd: S, a: &[T], v: &[T], out: &mut [T]) {
        let (hidden, rank) = (v.len(), self.rank);
        out.fill(T::ZERO);
        add_product(simd, out, &self.delta, v);
        let mut at = self.projected.len();
        self.projected.resize(at + self.lambda.len() * rank, T::ZERO);
        for (k, &lambda) in self.lambda.iter().enumerate() {
            let (u, w) = a[self.field.channel(k)][hidden..].split_at(hidden * rank);
            let projected = &mut self.projected[at..at + rank];
            rows::dots(simd, w, v, projected);
            at += rank;
            self.scaled.iter_mut().zip(projected).for_each(|(scaled, x)| *scaled = *x * lambda);
            rows::add(simd, u, &self.scaled, out);
        }
    }

    #[inline(always)]
    fn reverse<S: Simd>(&mut self, simd: S, a: &[T], da: &mut [T], [g, v]: [&[T]; 2], out: &mut [T]) {
        let (hidden, rank) = (v.len(), self.rank);
        out.fill(T::ZERO);
        add_product(simd, out, &self.delta, g);
        add_product(simd, &mut self.d_delta, g, v);
        if self.g.len() >= PAIRS * hidden {
            self.flush(simd, da);
        }
        self.g.extend_from_slice(g);
        self.v.extend_from_slice(v);
        let (factors, stored) = (self.lambda.len() * rank, self.us.len());
        // `apply` left the projections of this vector last.
        self.vs.extend_from_slice(&self.projected[self.projected.len() - factors..]);
        self.projected.truncate(self.projected.len() - factors);
        self.us.resize(stored + factors, T::ZERO);
        for (k, &lambda) in self.lambda.iter().enumerate() {
            let channel = stored + k * rank..stored + (k + 1) * rank;
            let (u, w) = a[self.field.channel(k)][hidden..].split_at(hidden * rank);
            let (us, vs) = (&mut self.us[channel.clone()], &mut self.vs[channel]);
            rows::dots(simd, u, g, us);
            for (x, y) in vs.iter_mut().zip(&mut *us) {
                self.d_lambda[k] = x.fma(simd, *y, self.d_lambda[k]);
                *x *= lambda;
                *y *= lambda;
            }
            rows::add(simd, w, us, out);
        }
    }

    #[inline(always)]
    fn collect<S: Simd>(&mut self, simd: S, a: &[T], da: &mut [T], dlambda: &mut [T]) {
        let hidden = self.delta.len();
        for (k, &lambda) in self.lambda.iter().enumerate() {
            let channel = self.field.channel(k);
            dlambda[k] = T::dot(simd, &self.d_delta, &a[channel.clone()][..hidden]).plus(simd, self.d_lambda[k]);
            T::axpy(simd, &mut da[channel][..hidden], lambda, &self.d_delta);
        }
    }

    #[inline(always)]
    fn finish<S: Simd>(&mut self, simd: S, da: &mut [T]) {
        self.flush(simd, da);
    }
}
