//! Steps of small blocks side by side: every number is a register, one lane for each block.
//!
//! With `X = Omega / s`, `v = X h + c` and `c = beta / s`, Horner's rule sums the series of a stage in `m` products:
//!
//! ```text
//! s_m = v,   s_k = v + X s_{k+1} / (k+1),   h <- h + s_1
//! ```
//!
//! Reverse, from the gradient `g` of the new `h`:
//!
//! ```text
//! z_1 = g,   z_{k+1} = X^T z_k / (k+1),   dv = z_1 + ... + z_m,   dh = g + X^T dv,   dc = dv,
//! dX = dv h^T + sum_k z_k s_{k+1}^T / (k+1)
//! ```
//!
//! `U` registers of blocks are done at once: each product waits for the one before it, and two that do not know of each other fill the
//! time.

use ncde_simd::{Float, Kernel, Number, Simd};

use super::closed::{Chunk, Reverse};
use super::layout::Class;
use super::taylor::{INVERSE, Series};

/// State `r` of `U` registers of blocks.
type Vectors<R, const B: usize, const U: usize> = [[R; U]; B];

/// Entry `(r, c)` of `U` registers of blocks.
type Matrices<R, const B: usize, const U: usize> = [[[R; U]; B]; B];

/// All steps of a chunk, of the blocks of one class.
pub(crate) struct Forward<'a, R, const B: usize, const U: usize> {
    pub(crate) chunk: &'a Chunk<'a, R>,
    pub(crate) class: &'a Class,
    /// States before the first and after every step, `[steps + 1, columns, states]`.
    pub(crate) h: &'a mut [R],
}

/// The generators, from register `j` of each run on.
#[inline(always)]
fn generator<R: Number, const B: usize, const U: usize>(omega: &[R], g: usize, j: usize) -> Matrices<R, B, U> {
    let mut m = [[[R::zero(); U]; B]; B];
    for r in 0..B {
        for c in 0..B {
            m[r][c].copy_from_slice(&omega[(r * B + c) * g + j..][..U]);
        }
    }
    m
}

#[inline(always)]
fn gather<R: Number, const B: usize, const U: usize>(x: &[R], g: usize, j: usize) -> Vectors<R, B, U> {
    let mut out = [[R::zero(); U]; B];
    for r in 0..B {
        out[r].copy_from_slice(&x[r * g + j..][..U]);
    }
    out
}

#[inline(always)]
fn scatter<R: Number, const B: usize, const U: usize>(x: &mut [R], g: usize, j: usize, values: &Vectors<R, B, U>) {
    for r in 0..B {
        x[r * g + j..][..U].copy_from_slice(&values[r]);
    }
}

/// `B`; for large blocks, and where there are no registers, as a number that the compiler does not know: unrolled, such loops take
/// minutes to compile.
#[inline(always)]
fn size<S: Simd, const B: usize>() -> usize {
    if S::IS_SCALAR || B > 4 { std::hint::black_box(B) } else { B }
}

/// `M x`.
#[inline(always)]
fn apply<S: Simd, R: Number, const B: usize, const U: usize>(
    simd: S,
    m: &Matrices<R, B, U>,
    x: &Vectors<R, B, U>,
) -> Vectors<R, B, U> {
    let (b, mut out) = (size::<S, B>(), [[R::zero(); U]; B]);
    for r in 0..b {
        for u in 0..U {
            out[r][u] = m[r][0][u].times(simd, x[0][u]);
        }
    }
    for c in 1..b {
        for r in 0..b {
            for u in 0..U {
                out[r][u] = m[r][c][u].fma(simd, x[c][u], out[r][u]);
            }
        }
    }
    out
}

/// `M^T x`.
#[inline(always)]
fn apply_transposed<S: Simd, R: Number, const B: usize, const U: usize>(
    simd: S,
    m: &Matrices<R, B, U>,
    x: &Vectors<R, B, U>,
) -> Vectors<R, B, U> {
    let (b, mut out) = (size::<S, B>(), [[R::zero(); U]; B]);
    for c in 0..b {
        for u in 0..U {
            out[c][u] = m[0][c][u].times(simd, x[0][u]);
        }
    }
    for r in 1..b {
        for c in 0..b {
            for u in 0..U {
                out[c][u] = m[r][c][u].fma(simd, x[r][u], out[c][u]);
            }
        }
    }
    out
}

/// `a x + y`, `a` a number.
#[inline(always)]
fn combine<S: Simd, R: Number, const B: usize, const U: usize>(
    simd: S,
    a: R,
    x: &Vectors<R, B, U>,
    y: &Vectors<R, B, U>,
) -> Vectors<R, B, U> {
    let (b, mut out) = (size::<S, B>(), *y);
    for r in 0..b {
        for u in 0..U {
            out[r][u] = x[r][u].fma(simd, a, y[r][u]);
        }
    }
    out
}

/// `a x`.
#[inline(always)]
fn scaled<S: Simd, R: Number, const B: usize, const U: usize>(simd: S, a: R, x: &Vectors<R, B, U>) -> Vectors<R, B, U> {
    let (b, mut out) = (size::<S, B>(), *x);
    for r in 0..b {
        for u in 0..U {
            out[r][u] = x[r][u].times(simd, a);
        }
    }
    out
}

/// The largest Frobenius norm among the blocks.
#[inline(always)]
fn norm<S: Simd, T: Float, R: Number<Real = T>, const B: usize, const U: usize>(simd: S, m: &Matrices<R, B, U>) -> f64 {
    let mut sums = [R::zero(); U];
    for row in m {
        for x in row {
            for u in 0..U {
                sums[u] = x[u].fma(simd, x[u], sums[u]);
            }
        }
    }
    let mut largest = T::ZERO;
    for sum in sums {
        for l in 0..R::WIDTH {
            if sum.lane(l) > largest {
                largest = sum.lane(l);
            }
        }
    }
    largest.to_f64().sqrt()
}

#[inline(always)]
fn number<T: Float, R: Number<Real = T>>(x: f64) -> R {
    R::splat(T::from_f64(x))
}

impl<T: Float, R: Number<Real = T>, const B: usize, const U: usize> Kernel for Forward<'_, R, B, U> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { chunk, class, h } = self;
        let g = class.g;
        let each = chunk.columns * chunk.states;
        for t in 0..chunk.steps {
            let omega = &chunk.omega[t * chunk.padded + class.entry..][..class.entries()];
            let (before, after) = h[t * each..(t + 2) * each].split_at_mut(each);
            for j in (0..g).step_by(U) {
                let m: Matrices<R, B, U> = generator(omega, g, j);
                let mut series = chunk.series[t];
                if chunk.is_rough(series) {
                    series = chunk.refine(t, norm(simd, &m));
                }
                let part = part(series);
                for column in 0..chunk.columns {
                    let own = column * chunk.states + class.state..column * chunk.states + class.state + B * g;
                    let mut h: Vectors<R, B, U> = gather(&before[own.clone()], g, j);
                    let (mut inside, mut behind) = ([[R::zero(); U]; B], [[R::zero(); U]; B]);
                    if let Some(beta) = chunk.beta {
                        let beta = gather(&beta[t * each..(t + 1) * each][own.clone()], g, j);
                        if chunk.inside { inside = beta } else { behind = beta }
                    }
                    for _ in 0..series.stages {
                        h = stage(simd, &m, &h, &inside, (part, series.terms));
                    }
                    if chunk.beta.is_some() {
                        h = combine(simd, R::splat(T::ONE), &behind, &h);
                    }
                    if series.is_hopeless() {
                        h = [[number(f64::NAN); U]; B];
                    }
                    scatter(&mut after[own], g, j, &h);
                }
            }
        }
    }
}

/// `1 / s`.
#[inline(always)]
fn part(series: Series) -> f64 {
    if series.stages == 1 { 1.0 } else { 1.0 / series.stages as f64 }
}

#[inline(always)]
fn stage<S: Simd, T: Float, R: Number<Real = T>, const B: usize, const U: usize>(
    simd: S,
    m: &Matrices<R, B, U>,
    h: &Vectors<R, B, U>,
    beta: &Vectors<R, B, U>,
    (part, terms): (f64, usize),
) -> Vectors<R, B, U> {
    // v and s here are s times those above: one factor at the end.
    let v = combine(simd, R::splat(T::ONE), beta, &apply(simd, m, h));
    let mut s = v;
    for k in (1..terms).rev() {
        s = combine(simd, number(INVERSE[k + 1] * part), &apply(simd, m, &s), &v);
    }
    combine(simd, number(part), &s, h)
}

/// The reverse of [`Forward`].
pub(crate) struct Backward<'a, R, const B: usize, const U: usize> {
    pub(crate) chunk: &'a Chunk<'a, R>,
    pub(crate) class: &'a Class,
    pub(crate) reverse: &'a mut Reverse<R>,
}

impl<T: Float, R: Number<Real = T>, const B: usize, const U: usize> Kernel for Backward<'_, R, B, U> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { chunk, class, reverse } = self;
        let Reverse { h, gradient, carry, d_omega, d_beta, trail, .. } = reverse;
        let (g, one) = (class.g, R::splat(T::ONE));
        let each = chunk.columns * chunk.states;
        for t in (0..chunk.steps).rev() {
            let entries = t * chunk.padded + class.entry..t * chunk.padded + class.entry + class.entries();
            let omega = &chunk.omega[entries.clone()];
            let d_omega = &mut d_omega[entries];
            let row = t * each..(t + 1) * each;
            for j in (0..g).step_by(U) {
                let m: Matrices<R, B, U> = generator(omega, g, j);
                let mut series = chunk.series[t];
                if chunk.is_rough(series) {
                    series = chunk.refine(t, norm(simd, &m));
                }
                for column in 0..chunk.columns {
                    let own = column * chunk.states + class.state..column * chunk.states + class.state + B * g;
                    let h: Vectors<R, B, U> = gather(&h[row.clone()][own.clone()], g, j);
                    let arriving: Vectors<R, B, U> = gather(&gradient[row.clone()][own.clone()], g, j);
                    let mut z = combine(simd, one, &arriving, &gather(&carry[own.clone()], g, j));
                    // Without a series beta is just added.
                    let mut d = z;
                    let sums = Sums { d_omega: &mut *d_omega, g, j, add: column > 0 };
                    if series == Series::EULER {
                        sums.outer(simd, &[z, h]);
                        z = combine(simd, one, &apply_transposed(simd, &m, &z), &z);
                    } else {
                        let mut inside = [[R::zero(); U]; B];
                        if let (Some(beta), true) = (chunk.beta, chunk.inside) {
                            inside = gather(&beta[row.clone()][own.clone()], g, j);
                        }
                        let (dv, pairs);
                        (z, dv, pairs) = backward(simd, &m, (&h, &inside), &z, series, trail);
                        sums.outer(simd, pairs);
                        if chunk.inside {
                            d = dv;
                        }
                    }
                    if chunk.beta.is_some() {
                        scatter(&mut d_beta[row.clone()][own.clone()], g, j, &d);
                    }
                    scatter(&mut carry[own], g, j, &z);
                }
            }
        }
    }
}

/// Where the gradient of some generators goes.
struct Sums<'a, R> {
    d_omega: &'a mut [R],
    g: usize,
    j: usize,
    add: bool,
}

impl<R: Number> Sums<'_, R> {
    /// `dOmega = sum z x^T` over pairs of `z` and `x` that follow each other, or added to what is there.
    #[inline(always)]
    fn outer<S: Simd, const B: usize, const U: usize>(self, simd: S, pairs: &[Vectors<R, B, U>]) {
        let (Self { d_omega, g, j, add }, b) = (self, size::<S, B>());
        for r in 0..b {
            let mut sums = [[R::zero(); U]; B];
            if add {
                for c in 0..B {
                    sums[c].copy_from_slice(&d_omega[(r * B + c) * g + j..][..U]);
                }
            }
            for [z, x] in pairs.as_chunks::<2>().0 {
                for c in 0..b {
                    for u in 0..U {
                        sums[c][u] = z[r][u].fma(simd, x[c][u], sums[c][u]);
                    }
                }
            }
            for c in 0..B {
                d_omega[(r * B + c) * g + j..][..U].copy_from_slice(&sums[c]);
            }
        }
    }
}

/// A gradient of `h`, one of `beta`, and pairs whose products make up that of the generator.
type Reversed<'a, R, const B: usize, const U: usize> = (Vectors<R, B, U>, Vectors<R, B, U>, &'a [Vectors<R, B, U>]);

/// The reverse of all stages of a step.
#[inline(always)]
fn backward<'a, S: Simd, T: Float, R: Number<Real = T>, const B: usize, const U: usize>(
    simd: S,
    m: &Matrices<R, B, U>,
    (h, beta): (&Vectors<R, B, U>, &Vectors<R, B, U>),
    g: &Vectors<R, B, U>,
    series: Series,
    trail: &'a mut Vec<R>,
) -> Reversed<'a, R, B, U> {
    let Series { stages, terms } = series;
    let (one, part) = (R::splat(T::ONE), part(series));
    // For each stage the pairs (dv, h), (z_1, s_2), ..., (z_{m-1}, s_m): first the right ones, then the left ones.
    let needed = stages * terms * 2 * B * U;
    if trail.len() < needed {
        trail.resize(needed, R::zero());
    }
    let pairs = trail[..needed].as_chunks_mut::<U>().0.as_chunks_mut::<B>().0;
    let mut h = *h;
    for own in pairs.chunks_exact_mut(2 * terms) {
        own[1] = h;
        let v = combine(simd, one, beta, &apply(simd, m, &h));
        let mut s = v;
        for k in (1..terms).rev() {
            own[2 * k + 1] = s;
            s = combine(simd, number(INVERSE[k + 1] * part), &apply(simd, m, &s), &v);
        }
        h = combine(simd, number(part), &s, &h);
    }
    let (mut g, mut d) = (*g, [[R::zero(); U]; B]);
    for own in pairs.chunks_exact_mut(2 * terms).rev() {
        let mut z = scaled(simd, number(part), &g);
        let mut dv = z;
        for k in 1..terms {
            z = scaled(simd, number(INVERSE[k + 1] * part), &z);
            own[2 * k] = z;
            z = apply_transposed(simd, m, &z);
            dv = combine(simd, one, &z, &dv);
        }
        own[0] = dv;
        d = combine(simd, one, &dv, &d);
        g = combine(simd, one, &apply_transposed(simd, m, &dv), &g);
    }
    if stages == 0 {
        g = [[number(f64::NAN); U]; B];
    }
    (g, d, pairs)
}
