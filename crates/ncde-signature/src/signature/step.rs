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
//!
//! No level but the last depends on the last one. So a step is [`advance`] (levels below `N`) and [`finish`] (level `N`), which
//! may wait; and a reverse pass never needs level `N` of a state. Likewise the last two levels, nearly all of the work, may wait for
//! several steps ([`advance_all_but`], [`finish_two`]): they are then read and written once, and `T_{N-1}` never is, as it is only needed
//! in registers. In lanes a third level waits with them ([`finish_three`]), whose numbers are then kept for a few words at a time.

use crate::algebra::Shape;
use ncde_simd::{Float, Number, Simd, Term, kernel};

/// The numbers of a chain: levels `1..N`.
pub(crate) fn chain_len(shape: &Shape) -> usize {
    shape.level(shape.depth()).start
}

/// The scratch numbers of [`advance`].
pub(crate) fn scratch(shape: &Shape) -> usize {
    2 * shape.width() * shape.width() + shape.width()
}

/// The scratch numbers of [`backward`].
pub(crate) fn scratch_backward(shape: &Shape) -> usize {
    2 * scratch(shape) + 2 * chain_len(shape)
}

/// `1 / n` for the factors of usual depths: a division in every chain of every step would take measurable time.
const INVERSES: [f64; 64] = {
    let mut table = [0.0; 64];
    let mut n = 1;
    while n < table.len() {
        table[n] = 1.0 / n as f64;
        n += 1;
    }
    table
};

#[inline(always)]
fn inverse<S: Simd, E: Number>(simd: S, n: usize) -> E {
    E::splat(simd, E::Real::from_f64(INVERSES.get(n).copied().unwrap_or_else(|| 1.0 / n as f64)))
}

/// Levels `1..N` of `S <- exp(x) S`; `chain` is left holding what [`finish`] needs for level `N`.
#[inline(always)]
pub(crate) fn advance<S: Simd, E: Number>(simd: S, shape: &Shape, s: &mut [E], x: &[E], scratch: &mut [E], chain: &mut [E]) {
    advance_all_but::<S, E, 1>(simd, shape, s, x, scratch, chain);
}

/// The least bytes of a row of words for which two levels wait: with shorter rows there would be more and shorter loops.
const MIN_ROW_BYTES: usize = 512;

/// The number of last levels that wait for several steps. A chain must have a level below them. Two levels wait if a row fills a few registers;
/// three wait in lanes only, and need free memory behind the stored part of a chain.
pub(crate) fn waiting<E: Number>(shape: &Shape) -> usize {
    let (depth, lanes) = (shape.depth(), E::WIDTH > 1);
    if lanes && depth >= 5 && shape.width() >= 2 {
        3
    } else if depth >= 4 && (lanes || shape.level(depth - 2).len() * size_of::<E>() >= MIN_ROW_BYTES) {
        2
    } else {
        1
    }
}

kernel! {
    /// All levels of `S <- exp(x) S` but the last `WAITING`; `chain` is left holding what [`finish_two`] or [`finish_three`] needs for those.
    pub(crate) call fn advance_all_but<'a, S: Simd, E: Number, const WAITING: usize>(
        simd: S,
        shape: &'a Shape,
        s: &'a mut [E],
        x: &'a [E],
        scratch: &'a mut [E],
        chain: &'a mut [E],
    ) {
        let (d, depth) = (shape.width(), shape.depth());
        if depth == 2 {
            // No chain shares P and Q: T_1 is all.
            E::axpb(simd, &mut chain[..d], inverse(simd, 2), x, &s[..d]);
        } else if depth > 2 {
            let (p, rest) = scratch.split_at_mut(d * d);
            let (q, rest) = rest.split_at_mut(d * d);
            let scaled = &mut rest[..d];
            outer(simd, p, x, &s[..d]);
            outer(simd, q, x, x);
            // Chain k writes levels below k only, so that the top one's last level survives the others.
            for k in (3..=depth).rev() {
                // A chain stops below the waiting levels; its last T is stored where T_{k-1} would be.
                let top = (k - 1).min(depth - WAITING);
                climb_to(simd, shape, [k, top, shape.level(k - 1).start], s, x, [p, q], scaled, chain);
                if k + WAITING <= depth {
                    E::add_outer(simd, &mut s[shape.level(k)], None, [x], [&chain[shape.level(k - 1)]]);
                }
            }
            let s = &mut s[shape.level(2)];
            E::axpy(simd, s, E::ONES, p);
            E::axpy(simd, s, inverse(simd, 2), q);
        }
        if depth > 1 {
            E::axpy(simd, &mut s[..d], E::ONES, x);
        }
    }
}

kernel! {
    /// Level `N` of one or several steps, the first one's `x` and chain first: several have the memory traffic of one, and the same sums.
    pub(crate) call fn finish<'a, S: Simd, E: Number, const STEPS: usize>(
        simd: S,
        shape: &'a Shape,
        s: &'a mut [E],
        x: [&'a [E]; STEPS],
        chains: [&'a [E]; STEPS],
    ) {
        let depth = shape.depth();
        if depth == 1 {
            for x in x {
                E::axpy(simd, &mut s[..x.len()], E::ONES, x);
            }
        } else {
            let mut t = chains;
            for t in &mut t {
                *t = &t[shape.level(depth - 1)];
            }
            E::add_outer(simd, &mut s[shape.level(depth)], None, x, t);
        }
    }
}

/// Levels `N-1` and `N` of several steps, the first one's `x` and chain first: the sums of one step after the other.
#[inline(always)]
pub(crate) fn finish_two<S: Simd, E: Number, const STEPS: usize>(
    simd: S,
    shape: &Shape,
    s: &mut [E],
    x: [&[E]; STEPS],
    chains: [&[E]; STEPS],
) {
    let (lower, top) = (shape.level(shape.depth() - 2), shape.level(shape.depth() - 1).start);
    let mut terms = [Term { x: x[0], t: &[], u: &[] }; STEPS];
    for ((term, x), chain) in terms.iter_mut().zip(x).zip(chains) {
        *term = Term { x, t: &chain[top..][..lower.len()], u: &chain[lower.clone()] };
    }
    add_two_levels(simd, shape, s, terms);
}

kernel! {
    call fn add_two_levels<'a, S: Simd, E: Number, const STEPS: usize>(
        simd: S,
        shape: &'a Shape,
        s: &'a mut [E],
        terms: [Term<'a, E>; STEPS],
    ) {
        let (below, last) = (shape.level(shape.depth() - 1), shape.level(shape.depth()));
        let (s, z) = s.split_at_mut(last.start);
        E::add_two(simd, [&mut z[..last.len()], &mut s[below]], inverse(simd, 2), terms, 0);
    }
}

/// The numbers of level `N-2` in a block, which stays in the first-level cache.
const BLOCK_WORDS: usize = 16;

kernel! {
    /// Levels `N-2` to `N` of several steps, the first one's `x` and chain first: the sums of one step after the other. The chains are overwritten.
    pub(crate) call fn finish_three<'a, S: Simd, E: Number, const STEPS: usize>(
        simd: S,
        shape: &'a Shape,
        s: &'a mut [E],
        x: [&'a [E]; STEPS],
        chains: [&'a mut [E]; STEPS],
    ) {
        let mut chains = chains;
        let level = |below: usize| shape.level(shape.depth() - below);
        let n = level(3).len();
        // T_{N-3} of the chains of N, N-1 and N-2, and behind the first two room for T_{N-2}.
        let [top, middle, low] = [1, 2, 3].map(|below| level(below).start);
        let (s, z) = s.split_at_mut(level(0).start);
        let (s, y) = s.split_at_mut(level(1).start);
        let w = &mut s[level(2)];
        for start in (0..n).step_by(BLOCK_WORDS) {
            let count = BLOCK_WORDS.min(n - start);
            for (a, w) in w.chunks_exact_mut(n).enumerate() {
                let w = &mut w[start..start + count];
                for (x, chain) in x.iter().zip(&mut chains) {
                    let (chain, rest) = chain.split_at_mut(top);
                    let (t, risen) = rest.split_at_mut(n);
                    E::axpb(simd, &mut risen[..count], x[a].times(simd, inverse(simd, 3)), &t[start..start + count], w);
                    let (chain, rest) = chain.split_at_mut(middle);
                    let (t, risen) = rest.split_at_mut(n);
                    E::axpb(simd, &mut risen[..count], x[a].times(simd, inverse(simd, 2)), &t[start..start + count], w);
                    E::axpy(simd, w, x[a], &chain[low + start..][..count]);
                }
                let mut terms = [Term { x: x[0], t: &[], u: &[] }; STEPS];
                for ((term, x), chain) in terms.iter_mut().zip(x).zip(&chains) {
                    *term = Term { x, t: &chain[top + n..][..count], u: &chain[middle + n..][..count] };
                }
                E::add_two(simd, [&mut z[..level(0).len()], &mut y[..level(1).len()]], inverse(simd, 2), terms, a * n + start);
            }
        }
    }
}

/// `S <- exp(x) S`.
#[inline(always)]
pub(crate) fn forward<S: Simd, E: Number>(simd: S, shape: &Shape, s: &mut [E], x: &[E], scratch: &mut [E], chain: &mut [E]) {
    advance(simd, shape, s, x, scratch, chain);
    finish(simd, shape, s, [x], [chain]);
}

/// `out[a, i] = x_a y_i`.
#[inline(always)]
fn outer<S: Simd, E: Number>(simd: S, out: &mut [E], x: &[E], y: &[E]) {
    for (out, &x) in out.chunks_exact_mut(y.len()).zip(x) {
        E::scale(simd, out, x, y);
    }
}

/// `T_2, ..., T_top` of the chain of level `k > top`, each in its level's place; `T_top` begins at `start`.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "the letters of the equation")]
fn climb_to<S: Simd, E: Number>(
    simd: S,
    shape: &Shape,
    [k, top, start]: [usize; 3],
    s: &[E],
    x: &[E],
    [p, q]: [&[E]; 2],
    scaled: &mut [E],
    chain: &mut [E],
) {
    let begin = |j: usize| if j == top { start } else { shape.level(j).start };
    let level = shape.level(2);
    let t = &mut chain[begin(2)..][..level.len()];
    E::axpb(simd, t, inverse(simd, k - 1), p, &s[level]);
    E::axpy(simd, t, inverse(simd, k * (k - 1)), q);
    for j in 3..=top {
        let level = shape.level(j);
        let (below, rest) = chain.split_at_mut(begin(j));
        let t = &below[shape.level(j - 1)];
        E::scale(simd, scaled, inverse(simd, k - j + 1), x);
        E::add_outer(simd, &mut rest[..level.len()], Some(&s[level]), [scaled], [t]);
    }
}

kernel! {
    /// The reverse of [`forward`]: `s` is the state before the step, levels below `N`; `adjoint` comes as the gradient of the state
    /// after it and leaves as that of `s`; `dx` is overwritten.
    pub(crate) call fn backward<'a, S: Simd, E: Number>(
        simd: S,
        shape: &'a Shape,
        s: &'a [E],
        x: &'a [E],
        adjoint: &'a mut [E],
        dx: &'a mut [E],
        scratch: &'a mut [E],
    ) {
        let (d, depth) = (shape.width(), shape.depth());
        dx.copy_from_slice(&adjoint[..d]);
        if depth == 1 {
            return;
        }
        let (chain, rest) = scratch.split_at_mut(chain_len(shape));
        let (climbing, rest) = rest.split_at_mut(chain_len(shape));
        let (p, rest) = rest.split_at_mut(d * d);
        let (q, rest) = rest.split_at_mut(d * d);
        let (dp, rest) = rest.split_at_mut(d * d);
        let (dq, rest) = rest.split_at_mut(d * d);
        let scaled = &mut rest[..d];
        dp.copy_from_slice(&adjoint[shape.level(2)]);
        E::scale(simd, dq, inverse(simd, 2), dp);
        if depth > 2 {
            outer(simd, p, x, &s[..d]);
            outer(simd, q, x, x);
        }
        // Upwards, so that chain k reads its own level's gradient before higher chains add to it.
        for k in 3..=depth {
            climb_to(simd, shape, [k, k - 1, shape.level(k - 1).start], s, x, [p, q], scaled, chain);
            let below = shape.level(k - 1);
            E::contract(simd, &adjoint[shape.level(k)], [x, &chain[below.clone()]], E::ONES, &mut climbing[below], dx);
            for j in (3..k).rev() {
                let (level, under) = (shape.level(j), shape.level(j - 1));
                let (below, rest) = climbing.split_at_mut(level.start);
                let d_level = &rest[..level.len()];
                E::axpy(simd, &mut adjoint[level], E::ONES, d_level);
                let factor: E = inverse(simd, k - j + 1);
                E::scale(simd, scaled, factor, x);
                E::contract(simd, d_level, [scaled, &chain[under.clone()]], factor, &mut below[under], dx);
            }
            let d_t2 = &climbing[shape.level(2)];
            E::axpy(simd, &mut adjoint[shape.level(2)], E::ONES, d_t2);
            E::axpy(simd, dp, inverse(simd, k - 1), d_t2);
            E::axpy(simd, dq, inverse(simd, k * (k - 1)), d_t2);
        }
        for a in 0..d {
            let row = &dp[a * d..][..d];
            let mut sum = E::dot(simd, row, &s[..d]);
            for i in 0..d {
                sum = dq[a * d + i].plus(simd, dq[i * d + a]).fma(simd, x[i], sum);
            }
            dx[a] = dx[a].plus(simd, sum);
            E::axpy(simd, &mut adjoint[..d], x[a], row);
        }
    }
}
