//! Power series of a tensor without constant, `f(s) = sum_{k=1}^N c_k s^k`, by Horner's rule, and the reverse pass.
//!
//! `R_N = c_N, R_k = c_k + s R_{k+1}, f(s) = s R_1`. Since `s` has no constant, `R_k` matters only up to level `N - k`: all of
//! them together are smaller than `s`, and are kept for the reverse pass. The logarithm has `c_k = (-1)^(k+1) / k`, the
//! exponential `1 / k!`, the inverse of `1 + s` has `(-1)^k`.

use crate::algebra::Shape;
use crate::algebra::product::{convolve, convolve_backward};
use ncde_simd::{Float, Number, Simd, kernel};

/// The coefficients `c_1, ..., c_N` of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Function {
    /// `log(1 + s)`.
    Log,
    /// `exp(s) - 1`.
    Exp,
    /// `1 / (1 + s) - 1`.
    Inverse,
}

impl Function {
    fn coefficient<T: Float>(self, k: usize) -> T {
        let sign = if k.is_multiple_of(2) { -1.0 } else { 1.0 };
        T::from_f64(match self {
            Self::Log => sign / k as f64,
            Self::Exp => 1.0 / (1..=k).map(|i| i as f64).product::<f64>(),
            Self::Inverse => -sign,
        })
    }
}

/// The scratch numbers of [`forward`]; [`backward`] needs twice as many.
pub(crate) fn scratch(shape: &Shape) -> usize {
    stage_start(shape, 0)
}

/// The numbers of levels `1..=m`, for `m` below the depth, including the padding before the next level.
fn stage_len(shape: &Shape, m: usize) -> usize {
    shape.level(m + 1).start
}

/// Where `R_k` starts in the scratch: `R_{N-1}` first, the longest last.
fn stage_start(shape: &Shape, k: usize) -> usize {
    (1..shape.depth() - k).map(|m| stage_len(shape, m)).sum()
}

/// `stages = R_1, ..., R_{N-1}`, for which level `N` of `s` is not needed.
#[inline(always)]
pub(crate) fn climb<S: Simd, E: Number>(simd: S, shape: &Shape, f: Function, s: &[E], stages: &mut [E]) {
    let depth = shape.depth();
    let mut previous: &[E] = &[];
    let mut rest = stages;
    for k in (1..depth).rev() {
        let (stage, tail) = rest.split_at_mut(stage_len(shape, depth - k));
        stage_forward(simd, shape, depth - k, s, E::splat(simd, f.coefficient(k + 1)), previous, stage);
        (previous, rest) = (stage, tail);
    }
}

/// `out = f(s)`; `stages` is left holding `R_1, ..., R_{N-1}`.
#[inline(always)]
pub(crate) fn forward<S: Simd, E: Number>(simd: S, shape: &Shape, f: Function, s: &[E], stages: &mut [E], out: &mut [E]) {
    climb(simd, shape, f, s, stages);
    let first = &stages[stage_start(shape, 1)..];
    stage_forward(simd, shape, shape.depth(), s, E::splat(simd, f.coefficient(1)), first, out);
}

kernel! {
    /// [`forward`] as an entry point.
    pub(crate) dispatch fn power_series<'a, S: Simd, T: crate::Float>(
        simd: S,
        shape: &'a Shape,
        f: Function,
        s: &'a [T],
        stages: &'a mut [T],
        out: &'a mut [T],
    ) {
        forward(simd, shape, f, s, stages, out);
    }
}

/// `out = s R`, levels `1..=m`, where `R` has the constant `r0` and levels `1..m`.
#[inline(always)]
fn stage_forward<S: Simd, E: Number>(simd: S, shape: &Shape, m: usize, s: &[E], r0: E, r: &[E], out: &mut [E]) {
    let end = shape.level(m).end;
    E::scale(simd, &mut out[..end], r0, &s[..end]);
    for n in 2..=m {
        convolve(simd, shape, n, s, r, &mut out[shape.level(n)]);
    }
}

/// `ds += d<g, f(s)>/ds`; level `N` of `s` is not needed. `stages` is what [`climb`] or [`forward`] left; `adjoints` is scratch of the same size.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "the letters of the equation")]
pub(crate) fn backward<S: Simd, E: Number>(
    simd: S,
    shape: &Shape,
    f: Function,
    s: &[E],
    stages: &[E],
    g: &[E],
    adjoints: &mut [E],
    ds: &mut [E],
) {
    let depth = shape.depth();
    let adjoints = &mut adjoints[..stages.len()];
    adjoints.fill(E::ZEROS);
    // f(s) = s R_1, then R_1 = c_1 + s R_2 and so on: the adjoint of R_k is complete when R_{k-1} has been undone.
    for k in 0..depth {
        let (below, stage) = adjoints.split_at_mut(stage_start(shape, k));
        let g = if k == 0 { g } else { stage };
        let at = stage_start(shape, k + 1);
        let (r, dr) = (&stages[at..stage_start(shape, k)], &mut below[at..]);
        stage_backward(simd, shape, depth - k, s, E::splat(simd, f.coefficient(k + 1)), r, g, ds, dr);
    }
}

/// The reverse of [`stage_forward`]: `ds` and `dr` are added to.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "the letters of the equation")]
fn stage_backward<S: Simd, E: Number>(
    simd: S,
    shape: &Shape,
    m: usize,
    s: &[E],
    r0: E,
    r: &[E],
    g: &[E],
    ds: &mut [E],
    dr: &mut [E],
) {
    let end = shape.level(m).end;
    E::axpy(simd, &mut ds[..end], r0, &g[..end]);
    for n in 2..=m {
        convolve_backward(simd, shape, n, s, r, &g[shape.level(n)], ds, dr);
    }
}
