//! The step everything is made of, `S <- exp(x) S` for an increment `x` in `R^d`, and its reverse pass.
//!
//! Level `k` of the product by Horner's rule: with `T_1 = S_1 + x/k` and `T_j = S_j + x/(k-j+1) ⊗ T_{j-1}`, the new level is
//! `T_k`. Cost about `d^N (d/(d-1))^2` multiply-adds instead of the `N d^N` of a product, and no exponential is formed.
//!
//! Multiplying from the left makes every inner loop run along contiguous words, `T_j[a, i] = S_j[a, i] + x_a T_{j-1}[i]`, at any
//! width. So a signature is computed from the path's end to its start; where it must grow forwards in time, the words are
//! mirrored instead ([`super::mirror`]).
//!
//! Chains start at level 2, where `T_2 = S_2 + P/(k-1) + Q/(k(k-1))` with `P = x ⊗ S_1` and `Q = x ⊗ x` shared by all levels.

use crate::Float;
use crate::algebra::Shape;
use crate::number::{Number, axpb, axpy};

/// How many numbers [`forward`] needs beside its arguments.
pub(crate) fn scratch(shape: &Shape) -> usize {
    2 * shape.width() * shape.width() + chain_len(shape)
}

/// How many numbers [`backward`] needs beside its arguments.
pub(crate) fn scratch_backward(shape: &Shape) -> usize {
    4 * shape.width() * shape.width() + 2 * chain_len(shape) + shape.width()
}

/// Levels `1..N`, which hold the chain `T_2, ..., T_{N-1}` of the top level.
fn chain_len(shape: &Shape) -> usize {
    shape.len() - shape.level_len(shape.depth())
}

#[inline(always)]
fn inverse<E: Number>(n: usize) -> E {
    E::splat(E::Real::from_f64(1.0 / n as f64))
}

/// `S <- exp(x) S`.
#[inline(always)]
pub(crate) fn forward<E: Number, const FUSED: bool>(shape: &Shape, s: &mut [E], x: &[E], scratch: &mut [E]) {
    let (d, depth) = (shape.width(), shape.depth());
    if depth > 1 {
        let (p, rest) = scratch.split_at_mut(d * d);
        let (q, chain) = rest.split_at_mut(d * d);
        outer(p, x, &s[..d]);
        outer(q, x, x);
        for k in (3..=depth).rev() {
            climb::<E, FUSED>(shape, k, s, x, p, q, chain);
            let t = &chain[shape.level(k - 1)];
            for (s, &x) in s[shape.level(k)].chunks_exact_mut(t.len()).zip(x) {
                axpy::<E, FUSED>(s, x, t);
            }
        }
        for ((s, &p), &q) in s[shape.level(2)].iter_mut().zip(&*p).zip(&*q) {
            *s = q.fma::<FUSED>(inverse(2), s.add(p));
        }
    }
    for (s, &x) in s[..d].iter_mut().zip(x) {
        *s = s.add(x);
    }
}

/// `out[a, i] = x_a y_i`.
#[inline(always)]
fn outer<E: Number>(out: &mut [E], x: &[E], y: &[E]) {
    for (out, &x) in out.chunks_exact_mut(y.len()).zip(x) {
        for (out, &y) in out.iter_mut().zip(y) {
            *out = x.mul(y);
        }
    }
}

/// `T_2, ..., T_{k-1}` of the chain of level `k >= 3`, each in its level's place.
#[inline(always)]
fn climb<E: Number, const FUSED: bool>(shape: &Shape, k: usize, s: &[E], x: &[E], p: &[E], q: &[E], chain: &mut [E]) {
    let (one, two) = (inverse::<E>(k - 1), inverse::<E>(k * (k - 1)));
    let level = shape.level(2);
    for (((t, &s), &p), &q) in chain[level.clone()].iter_mut().zip(&s[level]).zip(p).zip(q) {
        *t = q.fma::<FUSED>(two, p.fma::<FUSED>(one, s));
    }
    for j in 3..k {
        let level = shape.level(j);
        let (below, own) = chain.split_at_mut(level.start);
        let t = &below[shape.level(j - 1)];
        let factor = inverse::<E>(k - j + 1);
        let rows = own[..level.len()].chunks_exact_mut(t.len()).zip(s[level].chunks_exact(t.len()));
        for ((own, s), &x) in rows.zip(x) {
            axpb::<E, FUSED>(own, x.mul(factor), t, s);
        }
    }
}

/// The reverse of [`forward`]: `s` is the state before the step; `adjoint` comes as the gradient of the state after it and
/// leaves as the gradient of `s`; `dx` is overwritten.
#[inline(always)]
pub(crate) fn backward<E: Number, const FUSED: bool>(
    shape: &Shape,
    s: &[E],
    x: &[E],
    adjoint: &mut [E],
    dx: &mut [E],
    scratch: &mut [E],
) {
    let (d, depth) = (shape.width(), shape.depth());
    dx.copy_from_slice(&adjoint[..d]);
    if depth == 1 {
        return;
    }
    let (p, rest) = scratch.split_at_mut(d * d);
    let (q, rest) = rest.split_at_mut(d * d);
    let (dp, rest) = rest.split_at_mut(d * d);
    let (dq, rest) = rest.split_at_mut(d * d);
    let (scaled, rest) = rest.split_at_mut(d);
    let (chain, climbing) = rest.split_at_mut(chain_len(shape));
    outer(p, x, &s[..d]);
    outer(q, x, x);
    for ((&g, dp), dq) in adjoint[shape.level(2)].iter().zip(&mut *dp).zip(&mut *dq) {
        *dp = g;
        *dq = g.mul(inverse(2));
    }
    // Upwards, so that chain k reads its own level's gradient before higher chains add to it.
    for k in 3..=depth {
        climb::<E, FUSED>(shape, k, s, x, p, q, chain);
        let top = shape.level(k);
        descend::<E, FUSED>(&adjoint[top], x, &chain[shape.level(k - 1)], E::splat(E::Real::ONE), &mut climbing[shape.level(k - 1)], dx);
        for j in (3..k).rev() {
            let level = shape.level(j);
            let (below, own) = climbing.split_at_mut(level.start);
            let own = &own[..level.len()];
            add(&mut adjoint[level], own);
            let factor = inverse::<E>(k - j + 1);
            for (scaled, &x) in scaled.iter_mut().zip(x) {
                *scaled = x.mul(factor);
            }
            descend::<E, FUSED>(own, scaled, &chain[shape.level(j - 1)], factor, &mut below[shape.level(j - 1)], dx);
        }
        let own = &climbing[shape.level(2)];
        add(&mut adjoint[shape.level(2)], own);
        axpy::<E, FUSED>(dp, inverse(k - 1), own);
        axpy::<E, FUSED>(dq, inverse(k * (k - 1)), own);
    }
    for a in 0..d {
        let row = &dp[a * d..][..d];
        let mut sum = E::dot::<FUSED>(row, &s[..d]);
        for i in 0..d {
            sum = dq[a * d + i].add(dq[i * d + a]).fma::<FUSED>(x[i], sum);
        }
        dx[a] = dx[a].add(sum);
        axpy::<E, FUSED>(&mut adjoint[..d], x[a], row);
    }
}

/// From the gradient `g[a, i]` of `x_a T[i]`: `below[i] = sum_a x_a g[a, i]` and `dx_a += factor sum_i g[a, i] T[i]`.
#[inline(always)]
fn descend<E: Number, const FUSED: bool>(g: &[E], x: &[E], t: &[E], factor: E, below: &mut [E], dx: &mut [E]) {
    below.fill(E::zero());
    for ((g, &x), dx) in g.chunks_exact(t.len()).zip(x).zip(dx) {
        axpy::<E, FUSED>(below, x, g);
        *dx = E::dot::<FUSED>(g, t).fma::<FUSED>(factor, *dx);
    }
}

#[inline(always)]
fn add<E: Number>(y: &mut [E], x: &[E]) {
    for (y, &x) in y.iter_mut().zip(x) {
        *y = y.add(x);
    }
}
