//! The tensor product, `(ab)_n = sum_{i + j = n} a_i ⊗ b_j`, and its reverse pass.
//!
//! Arguments are levels `1..=N` with the constants `a_0`, `b_0` apart. Cost `N d^N`; nothing is allocated.

use crate::algebra::Shape;
use ncde_simd::{Number, Simd, kernel};

/// `out = a b`.
#[inline(always)]
pub(crate) fn multiply<S: Simd, E: Number>(simd: S, shape: &Shape, (a0, a): (E, &[E]), (b0, b): (E, &[E]), out: &mut [E]) {
    E::scale(simd, out, b0, a);
    E::axpy(simd, out, a0, b);
    for n in 2..=shape.depth() {
        convolve(simd, shape, n, a, b, &mut out[shape.level(n)]);
    }
}

/// `da += d<g, ab>/da` and `db += d<g, ab>/db`, constants held fixed.
#[inline(always)]
pub(crate) fn multiply_backward<S: Simd, E: Number>(
    simd: S,
    shape: &Shape,
    (a0, a): (E, &[E]),
    (b0, b): (E, &[E]),
    g: &[E],
    da: &mut [E],
    db: &mut [E],
) {
    E::axpy(simd, da, b0, g);
    E::axpy(simd, db, a0, g);
    for n in 2..=shape.depth() {
        convolve_backward(simd, shape, n, a, b, &g[shape.level(n)], da, db);
    }
}

kernel! {
    /// `out += sum_{0 < i < n} a_i ⊗ b_{n-i}`, level `n` alone.
    pub(crate) call fn convolve<'a, S: Simd, E: Number>(
        simd: S,
        shape: &'a Shape,
        n: usize,
        a: &'a [E],
        b: &'a [E],
        out: &'a mut [E],
    ) {
        for i in 1..n {
            let b = &b[shape.level(n - i)];
            for (out, &a) in out.chunks_exact_mut(b.len()).zip(&a[shape.level(i)]) {
                E::axpy(simd, out, a, b);
            }
        }
    }
}

kernel! {
    /// The reverse of [`convolve`], given the gradient `g` of its level `n`.
    #[expect(clippy::too_many_arguments, reason = "the letters of the equation")]
    pub(crate) call fn convolve_backward<'a, S: Simd, E: Number>(
        simd: S,
        shape: &'a Shape,
        n: usize,
        a: &'a [E],
        b: &'a [E],
        g: &'a [E],
        da: &'a mut [E],
        db: &'a mut [E],
    ) {
        for i in 1..n {
            let (level_a, level_b) = (shape.level(i), shape.level(n - i));
            let (b, db) = (&b[level_b.clone()], &mut db[level_b]);
            for ((g, &a), da) in g.chunks_exact(b.len()).zip(&a[level_a.clone()]).zip(&mut da[level_a]) {
                *da = da.plus(simd, E::dot(simd, g, b));
                E::axpy(simd, db, a, g);
            }
        }
    }
}
