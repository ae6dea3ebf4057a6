//! The series of a stage two powers at a time, for small blocks of large norm.
//!
//! With `X = Omega / s` and `v = X h + c` as in `lanes`, and `Y = X^2` formed once a step,
//!
//! ```text
//! exp(X) h + phi_1(X) c = h + q_0,   q_j = v + X v / (2j+2) + Y q_{j+1} / ((2j+2) (2j+3)),   q_{m/2-1} = v + X v / m
//! ```
//!
//! so that `m` terms take `m / 2 + 1` products instead of `m`. Reverse, from the gradient `g` of the new `h`, `u = X v`:
//!
//! ```text
//! dq_0 = g,   dq_{j+1} = Y^T dq_j / ((2j+2) (2j+3)),   du = sum_j dq_j / (2j+2),   dv = X^T du + sum_j dq_j,   dh = g + X^T dv,
//! dY = sum_j dq_j q_{j+1}^T / ((2j+2) (2j+3)),   dX = du v^T + dv h^T + dY X^T + X^T dY
//! ```

use ncde_simd::{Float, Number, Simd};

use super::small::{
    Matrices, Vectors, apply, apply_onto, apply_transposed, apply_transposed_onto, combine, number, product, scaled, size,
};
use super::taylor::{INVERSE, Series};

/// A generator and its square, neither divided by `s`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Powers<'a, R, const B: usize, const U: usize> {
    pub(crate) first: &'a Matrices<R, B, U>,
    pub(crate) second: &'a Matrices<R, B, U>,
}

/// `s / (2j+2)` and `s^2 / ((2j+2) (2j+3))`, where `s` is the part of the generator that a stage takes.
#[inline(always)]
fn factors<S: Simd, T: Float, R: Number<Real = T>>(simd: S, part: f64, j: usize) -> (R, R) {
    let one = INVERSE[2 * j + 2] * part;
    (number(simd, one), number(simd, one * INVERSE[2 * j + 3] * part))
}

/// One stage: the new `h`. With `STORE` the second vectors of the pairs `(dv, h)`, `(du, v)` and `(dq_j, q_{j+1})` are stored.
#[inline(always)]
pub(crate) fn stage<S: Simd, T: Float, R: Number<Real = T>, const B: usize, const U: usize, const STORE: bool>(
    simd: S,
    powers: Powers<'_, R, B, U>,
    (h, beta): (&Vectors<R, B, U>, &Vectors<R, B, U>),
    series: Series,
    [first, second]: [&mut [Vectors<R, B, U>]; 2],
) -> Vectors<R, B, U> {
    let (pairs, part) = (series.terms / 2, series.part());
    // v and q here are s times those above: one factor at the end.
    let v = apply_onto(simd, (R::ONES, powers.first, h), beta);
    if STORE {
        (first[1], first[3]) = (*h, v);
    }
    let u = apply(simd, powers.first, &v);
    let mut q = combine(simd, factors(simd, part, pairs - 1).0, &u, &v);
    for j in (0..pairs - 1).rev() {
        if STORE {
            second[2 * j + 1] = q;
        }
        let (one, two) = factors(simd, part, j);
        q = apply_onto(simd, (two, powers.second, &q), &combine(simd, one, &u, &v));
    }
    combine(simd, number(simd, part), &q, h)
}

/// The results of [`backward`].
pub(crate) struct Reversed<'a, R, const B: usize, const U: usize> {
    /// The gradients of `h` and `beta`.
    pub(crate) h: Vectors<R, B, U>,
    pub(crate) beta: Vectors<R, B, U>,
    /// Pairs whose products make up the gradient of the generator, and that of its square.
    pub(crate) first: &'a [Vectors<R, B, U>],
    pub(crate) second: &'a [Vectors<R, B, U>],
}

/// The reverse of all stages of a step.
#[inline(always)]
pub(crate) fn backward<'a, S: Simd, T: Float, R: Number<Real = T>, const B: usize, const U: usize>(
    simd: S,
    powers: Powers<'_, R, B, U>,
    (h, beta): (&Vectors<R, B, U>, &Vectors<R, B, U>),
    g: &Vectors<R, B, U>,
    series: Series,
    trail: &'a mut Vec<R>,
) -> Reversed<'a, R, B, U> {
    let (stages, pairs, part) = (series.stages, series.terms / 2, series.part());
    let one = R::ONES;
    // For each stage its pairs: first the second vectors, then the first ones.
    let needed = stages * (pairs + 1) * 2 * B * U;
    if trail.len() < needed {
        trail.resize(needed, R::ZEROS);
    }
    let vectors = trail[..needed].as_chunks_mut::<U>().0.as_chunks_mut::<B>().0;
    let (first, second) = vectors.split_at_mut(stages * 4);
    let pair_len = 2 * (pairs - 1);
    let mut h = *h;
    for stage in 0..stages {
        let (first, second) = (&mut first[4 * stage..][..4], &mut second[pair_len * stage..][..pair_len]);
        h = self::stage::<S, T, R, B, U, true>(simd, powers, (&h, beta), series, [first, second]);
    }
    let (mut g, mut d) = (*g, const { [[R::ZEROS; U]; B] });
    for stage in (0..stages).rev() {
        let (first, second) = (&mut first[4 * stage..][..4], &mut second[pair_len * stage..][..pair_len]);
        let mut dq = scaled(simd, number(simd, part), &g);
        let mut dv = dq;
        let mut du = scaled(simd, factors(simd, part, 0).0, &dq);
        for j in 0..pairs - 1 {
            dq = scaled(simd, factors(simd, part, j).1, &dq);
            second[2 * j] = dq;
            dq = apply_transposed(simd, powers.second, &dq);
            dv = combine(simd, one, &dq, &dv);
            du = combine(simd, factors(simd, part, j + 1).0, &dq, &du);
        }
        first[2] = du;
        dv = apply_transposed_onto(simd, powers.first, &du, &dv);
        first[0] = dv;
        d = combine(simd, one, &dv, &d);
        g = apply_transposed_onto(simd, powers.first, &dv, &g);
    }
    Reversed { h: g, beta: d, first, second }
}

/// Row `r` of `dY X^T + X^T dY` added to `sums`, for `Y = X^2`.
#[inline(always)]
pub(crate) fn add_through_square<S: Simd, R: Number, const B: usize, const U: usize>(
    simd: S,
    x: &Matrices<R, B, U>,
    dy: &Matrices<R, B, U>,
    r: usize,
    sums: &mut [[R; U]; B],
) {
    product::<S, _, B>(
        simd,
        #[inline(always)]
        move || {
            for k in 0..size::<S, B>() {
                for c in 0..B {
                    for u in 0..U {
                        sums[c][u] = dy[r][k][u].fma(simd, x[c][k][u], sums[c][u]);
                        sums[c][u] = x[k][r][u].fma(simd, dy[k][c][u], sums[c][u]);
                    }
                }
            }
        },
    );
}
