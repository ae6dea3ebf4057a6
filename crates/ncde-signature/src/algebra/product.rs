//! The tensor product, `(ab)_n = sum_{i + j = n} a_i ⊗ b_j`, and its reverse pass.
//!
//! Arguments are levels `1..=N` with the constants `a_0`, `b_0` apart. Cost `N d^N`; nothing is allocated.

use crate::algebra::Shape;
use crate::number::{Number, axpy};

/// `out = a b`.
#[inline(always)]
pub(crate) fn multiply<E: Number, const FUSED: bool>(shape: &Shape, (a0, a): (E, &[E]), (b0, b): (E, &[E]), out: &mut [E]) {
    for ((out, &a), &b) in out.iter_mut().zip(a).zip(b) {
        *out = a.fma::<FUSED>(b0, a0.mul(b));
    }
    for n in 2..=shape.depth() {
        convolve::<E, FUSED>(shape, n, a, b, &mut out[shape.level(n)]);
    }
}

/// `da += d<g, ab>/da` and `db += d<g, ab>/db`, constants held fixed.
#[inline(always)]
pub(crate) fn multiply_backward<E: Number, const FUSED: bool>(
    shape: &Shape,
    (a0, a): (E, &[E]),
    (b0, b): (E, &[E]),
    g: &[E],
    da: &mut [E],
    db: &mut [E],
) {
    axpy::<E, FUSED>(da, b0, g);
    axpy::<E, FUSED>(db, a0, g);
    for n in 2..=shape.depth() {
        convolve_backward::<E, FUSED>(shape, n, a, b, &g[shape.level(n)], da, db);
    }
}

/// `out += sum_{0 < i < n} a_i ⊗ b_{n-i}`, level `n` alone.
#[inline(always)]
pub(crate) fn convolve<E: Number, const FUSED: bool>(shape: &Shape, n: usize, a: &[E], b: &[E], out: &mut [E]) {
    for i in 1..n {
        let b = &b[shape.level(n - i)];
        for (out, &a) in out.chunks_exact_mut(b.len()).zip(&a[shape.level(i)]) {
            axpy::<E, FUSED>(out, a, b);
        }
    }
}

/// The reverse of [`convolve`], given the gradient `g` of its level `n`.
#[inline(always)]
pub(crate) fn convolve_backward<E: Number, const FUSED: bool>(
    shape: &Shape,
    n: usize,
    a: &[E],
    b: &[E],
    g: &[E],
    da: &mut [E],
    db: &mut [E],
) {
    for i in 1..n {
        let (of_a, of_b) = (shape.level(i), shape.level(n - i));
        let (b, db) = (&b[of_b.clone()], &mut db[of_b]);
        for ((g, &a), da) in g.chunks_exact(b.len()).zip(&a[of_a.clone()]).zip(&mut da[of_a]) {
            *da = da.add(E::dot::<FUSED>(g, b));
            axpy::<E, FUSED>(db, a, g);
        }
    }
}
