//! Power series of a tensor without constant, `f(s) = sum_{k=1}^N c_k s^k`, by Horner's rule, and the reverse pass.
//!
//! `R_N = c_N, R_k = c_k + s R_{k+1}, f(s) = s R_1`. Since `s` has no constant, `R_k` matters only up to level `N - k`: all of
//! them together are smaller than `s`, and are kept for the reverse pass. The logarithm has `c_k = (-1)^(k+1) / k`, the
//! exponential `1 / k!`, the inverse of `1 + s` has `(-1)^k`.

use crate::Float;
use crate::algebra::Shape;
use crate::algebra::product::{convolve, convolve_backward};
use crate::number::{Number, axpy};

/// The coefficients `c_1, ..., c_N` of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Series {
    /// `log(1 + s)`.
    Log,
    /// `exp(s) - 1`.
    Exp,
    /// `1 / (1 + s) - 1`.
    Inverse,
}

impl Series {
    fn coefficient<T: Float>(self, k: usize) -> T {
        let sign = if k.is_multiple_of(2) { -1.0 } else { 1.0 };
        T::from_f64(match self {
            Self::Log => sign / k as f64,
            Self::Exp => 1.0 / (1..=k).map(|i| i as f64).product::<f64>(),
            Self::Inverse => -sign,
        })
    }
}

/// How many numbers [`forward`] needs beside its arguments, and [`backward`] twice.
pub(crate) fn scratch(shape: &Shape) -> usize {
    stage_start(shape, 0)
}

/// Where `R_k` starts in the scratch: `R_{N-1}` first, the longest last.
fn stage_start(shape: &Shape, k: usize) -> usize {
    (1..shape.depth() - k).map(|m| shape.level(m).end).sum()
}

/// `out = f(s)`; `stages` is left holding `R_1, ..., R_{N-1}`.
#[inline(always)]
pub(crate) fn forward<E: Number, const FUSED: bool>(shape: &Shape, f: Series, s: &[E], stages: &mut [E], out: &mut [E]) {
    let depth = shape.depth();
    let c = |k| E::splat(f.coefficient(k));
    let mut previous: &[E] = &[];
    let mut rest = stages;
    for k in (1..depth).rev() {
        let (stage, tail) = rest.split_at_mut(shape.level(depth - k).end);
        stage_forward::<E, FUSED>(shape, depth - k, s, c(k + 1), previous, stage);
        (previous, rest) = (stage, tail);
    }
    stage_forward::<E, FUSED>(shape, depth, s, c(1), previous, out);
}

/// `out = s R`, levels `1..=m`, where `R` has the constant `r0` and levels `1..m`.
#[inline(always)]
fn stage_forward<E: Number, const FUSED: bool>(shape: &Shape, m: usize, s: &[E], r0: E, r: &[E], out: &mut [E]) {
    for (out, &s) in out.iter_mut().zip(&s[..shape.level(m).end]) {
        *out = s.mul(r0);
    }
    for n in 2..=m {
        convolve::<E, FUSED>(shape, n, s, r, &mut out[shape.level(n)]);
    }
}

/// `ds += d<g, f(s)>/ds`. `stages` is what [`forward`] left; `adjoints` is scratch of the same size.
#[inline(always)]
pub(crate) fn backward<E: Number, const FUSED: bool>(
    shape: &Shape,
    f: Series,
    s: &[E],
    stages: &[E],
    g: &[E],
    adjoints: &mut [E],
    ds: &mut [E],
) {
    let depth = shape.depth();
    let c = |k| E::splat(f.coefficient(k));
    let adjoints = &mut adjoints[..stages.len()];
    adjoints.fill(E::zero());
    // f(s) = s R_1, then R_1 = c_1 + s R_2 and so on: the adjoint of R_k is complete when R_{k-1} has been undone.
    let mut of = |k: usize, g: Option<&[E]>, adjoints: &mut [E]| {
        let m = depth - k;
        let (below, own) = adjoints.split_at_mut(stage_start(shape, k));
        let g = g.unwrap_or(own);
        let at = stage_start(shape, k + 1);
        stage_backward::<E, FUSED>(shape, m, s, c(k + 1), &stages[at..stage_start(shape, k)], g, ds, &mut below[at..]);
    };
    of(0, Some(g), adjoints);
    for k in 1..depth {
        of(k, None, adjoints);
    }
}

/// The reverse of [`stage_forward`]: `ds` and `dr` are added to.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "the letters of the equation")]
fn stage_backward<E: Number, const FUSED: bool>(
    shape: &Shape,
    m: usize,
    s: &[E],
    r0: E,
    r: &[E],
    g: &[E],
    ds: &mut [E],
    dr: &mut [E],
) {
    axpy::<E, FUSED>(&mut ds[..shape.level(m).end], r0, g);
    for n in 2..=m {
        convolve_backward::<E, FUSED>(shape, n, s, r, &g[shape.level(n)], ds, dr);
    }
}
