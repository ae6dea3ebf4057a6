//! Operations with one matrix `A^k`: `A^k v`, `(A^k)^T g`, and the gradient of `g . A^k v` in its parameters.
//!
//! The parameters are *effective* ones: those of a bounded Walsh-Hadamard diagonal have been through the hyperbolic tangent.

use ncde_simd::{Float, Number, Simd};

use super::{BlockOffset, Bound, Field, Structure};
use crate::hadamard;

impl Field {
    /// `out += A^k v`, or `out += (A^k)^T v`.
    #[inline(always)]
    pub(crate) fn apply<T: Float, S: Simd, const TRANSPOSED: bool>(
        &self,
        simd: S,
        a: &[T],
        k: usize,
        v: &[T],
        out: &mut [T],
        scratch: &mut [T],
    ) {
        let a = &a[self.channel(k)];
        match &self.structure {
            Structure::Dplr { hidden, rank } => {
                let (d, uw) = a.split_at(*hidden);
                let (u, w) = uw.split_at(hidden * rank);
                let (left, right) = if TRANSPOSED { (w, u) } else { (u, w) };
                add_product(simd, out, d, v);
                for (left, right) in left.chunks_exact(*hidden).zip(right.chunks_exact(*hidden)) {
                    T::axpy(simd, out, T::dot(simd, right, v), left);
                }
            }
            Structure::Sparse { pattern } => {
                for (&a, &(r, c)) in a.iter().zip(pattern.channel_entries(k)) {
                    let (to, from) = if TRANSPOSED { (c as usize, r as usize) } else { (r as usize, c as usize) };
                    out[to] = v[from].fma(simd, a, out[to]);
                }
            }
            Structure::WalshHadamard { hidden, .. } => {
                let scratch = &mut scratch[..*hidden];
                if TRANSPOSED {
                    scratch.copy_from_slice(v);
                    hadamard::transform(simd, scratch);
                    add_product(simd, out, a, scratch);
                } else {
                    scratch.fill(T::ZERO);
                    add_product(simd, scratch, a, v);
                    hadamard::transform(simd, scratch);
                    T::axpy(simd, out, T::ONE, scratch);
                }
            }
            Structure::Dense { .. } | Structure::Diagonal { .. } | Structure::Block { .. } | Structure::DiagonalDense { .. } => {
                for &BlockOffset { b, at, entry } in &self.blocks {
                    let (rows, v, out) = (a[entry..entry + b * b].chunks_exact(b), &v[at..at + b], &mut out[at..at + b]);
                    if TRANSPOSED {
                        for (row, &x) in rows.zip(v) {
                            T::axpy(simd, out, x, row);
                        }
                    } else {
                        for (row, out) in rows.zip(out) {
                            *out = T::dot(simd, row, v).plus(simd, *out);
                        }
                    }
                }
            }
        }
    }

    /// `da += d(g . A^k v) / dA^k`, in the parameters of channel `k`.
    #[inline(always)]
    pub(crate) fn outer<T: Float, S: Simd>(
        &self,
        simd: S,
        a: &[T],
        k: usize,
        [g, v]: [&[T]; 2],
        da: &mut [T],
        scratch: &mut [T],
    ) {
        let (a, da) = (&a[self.channel(k)], &mut da[self.channel(k)]);
        match &self.structure {
            Structure::Dplr { hidden, rank } => {
                let (u, w) = a[*hidden..].split_at(hidden * rank);
                let (dd, duv) = da.split_at_mut(*hidden);
                let (du, dw) = duv.split_at_mut(hidden * rank);
                add_product(simd, dd, g, v);
                for (u, dw) in u.chunks_exact(*hidden).zip(dw.chunks_exact_mut(*hidden)) {
                    T::axpy(simd, dw, T::dot(simd, u, g), v);
                }
                for (w, du) in w.chunks_exact(*hidden).zip(du.chunks_exact_mut(*hidden)) {
                    T::axpy(simd, du, T::dot(simd, w, v), g);
                }
            }
            Structure::Sparse { pattern } => {
                let entries = pattern.channel_entries(k);
                for (da, &(r, c)) in da.iter_mut().zip(entries) {
                    *da = g[r as usize].fma(simd, v[c as usize], *da);
                }
            }
            Structure::WalshHadamard { hidden, .. } => {
                let scratch = &mut scratch[..*hidden];
                scratch.copy_from_slice(g);
                hadamard::transform(simd, scratch);
                add_product(simd, da, scratch, v);
            }
            Structure::Dense { .. } | Structure::Diagonal { .. } | Structure::Block { .. } | Structure::DiagonalDense { .. } => {
                for &BlockOffset { b, at, entry } in &self.blocks {
                    for (da, &g) in da[entry..entry + b * b].chunks_exact_mut(b).zip(&g[at..at + b]) {
                        T::axpy(simd, da, g, &v[at..at + b]);
                    }
                }
            }
        }
    }

    /// A bound on the 2-norm of `A^k`.
    pub(crate) fn norm<T: Float>(&self, a: &[T], k: usize) -> f64 {
        let a = &a[self.channel(k)];
        let largest = |x: &[T]| x.iter().map(|x| x.to_f64().abs()).fold(0.0, f64::max);
        let length = |x: &[T]| x.iter().map(|x| x.to_f64() * x.to_f64()).sum::<f64>().sqrt();
        match &self.structure {
            Structure::Dplr { hidden, rank } => {
                let (u, v) = a[*hidden..].split_at(hidden * rank);
                let pairs = u.chunks_exact(*hidden).zip(v.chunks_exact(*hidden));
                largest(&a[..*hidden]) + pairs.map(|(u, v)| length(u) * length(v)).sum::<f64>()
            }
            Structure::Sparse { pattern } => {
                let mut values = vec![T::ZERO; pattern.places()];
                for (&a, &slot) in a.iter().zip(pattern.channel(k).1) {
                    values[slot as usize] = a;
                }
                pattern.norm(&values)
            }
            Structure::WalshHadamard { .. } => largest(a),
            Structure::Dense { .. } | Structure::Diagonal { .. } | Structure::Block { .. } | Structure::DiagonalDense { .. } => {
                self.blocks.iter().map(|block| block_norm(&a[block.entry..][..block.b * block.b], block.b)).fold(0.0, f64::max)
            }
        }
    }

    /// The parameters kernels compute with.
    pub(crate) fn effective<T: Float>(&self, a: &[T]) -> Vec<T> {
        if self.is_bounded() { a.iter().map(|x| T::from_f64(x.to_f64().tanh())).collect() } else { a.to_vec() }
    }

    /// The gradient of the parameters from that of the effective ones.
    pub(crate) fn effective_backward<T: Float>(&self, effective: &[T], gradient: &mut [T]) {
        if self.is_bounded() {
            for (g, &x) in gradient.iter_mut().zip(effective) {
                *g *= T::ONE - x * x;
            }
        }
    }

    fn is_bounded(&self) -> bool {
        matches!(self.structure, Structure::WalshHadamard { bound: Bound::Tanh, .. })
    }
}

/// `y += a x`, elementwise.
#[inline(always)]
pub(crate) fn add_product<T: Float, S: Simd>(simd: S, y: &mut [T], a: &[T], x: &[T]) {
    let ((y, y_rest), (a, a_rest), (x, x_rest)) = (T::split_mut::<S>(y), T::split::<S>(a), T::split::<S>(x));
    for ((y, &a), &x) in y.iter_mut().zip(a).zip(x) {
        *y = T::multiply_add(simd, a, x, *y);
    }
    for ((y, &a), &x) in y_rest.iter_mut().zip(a_rest).zip(x_rest) {
        *y = a.fma(simd, x, *y);
    }
}

/// `sqrt(||M||_1 ||M||_inf)`, a bound on the 2-norm of a matrix.
fn block_norm<T: Float>(m: &[T], b: usize) -> f64 {
    let row = |r: usize| m[r * b..(r + 1) * b].iter().map(|x| x.to_f64().abs()).sum();
    let column = |c: usize| m[c..].iter().step_by(b).map(|x| x.to_f64().abs()).sum();
    let largest = |sum: &dyn Fn(usize) -> f64| (0..b).map(sum).fold(0.0, f64::max);
    (largest(&row) * largest(&column)).sqrt()
}
