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

use ncde_simd::{Float, Kernel, Number, Simd};

use super::closed::{Chunk, Reverse};
use super::layout::Class;
use super::taylor::Series;

/// All steps of a chunk, of the blocks of one class.
pub(crate) struct Forward<'a, R, const B: usize> {
    pub(crate) chunk: &'a Chunk<'a, R>,
    pub(crate) class: &'a Class,
    /// States before the first and after every step, `[steps + 1, columns, states]`.
    pub(crate) h: &'a mut [R],
}

/// The generator of `W` blocks: `m[r][c]`.
#[inline(always)]
fn generator<R: Number, const B: usize>(omega: &[R], g: usize, j: usize) -> [[R; B]; B] {
    let mut m = [[R::zero(); B]; B];
    for r in 0..B {
        for c in 0..B {
            m[r][c] = omega[(r * B + c) * g + j];
        }
    }
    m
}

#[inline(always)]
fn gather<R: Number, const B: usize>(x: &[R], g: usize, j: usize) -> [R; B] {
    let mut out = [R::zero(); B];
    for r in 0..B {
        out[r] = x[r * g + j];
    }
    out
}

#[inline(always)]
fn scatter<R: Number, const B: usize>(x: &mut [R], g: usize, j: usize, values: [R; B]) {
    for r in 0..B {
        x[r * g + j] = values[r];
    }
}

/// `B`; where there are no registers, as a number that the compiler does not know: unrolled loops over single numbers take minutes.
#[inline(always)]
fn size<S: Simd, const B: usize>() -> usize {
    if S::IS_SCALAR { std::hint::black_box(B) } else { B }
}

/// `M x`.
#[inline(always)]
fn apply<S: Simd, R: Number, const B: usize>(simd: S, m: &[[R; B]; B], x: &[R; B]) -> [R; B] {
    let (b, mut out) = (size::<S, B>(), [R::zero(); B]);
    for r in 0..b {
        out[r] = m[r][0].times(simd, x[0]);
    }
    for c in 1..b {
        for r in 0..b {
            out[r] = m[r][c].fma(simd, x[c], out[r]);
        }
    }
    out
}

/// `M^T x`.
#[inline(always)]
fn apply_transposed<S: Simd, R: Number, const B: usize>(simd: S, m: &[[R; B]; B], x: &[R; B]) -> [R; B] {
    let (b, mut out) = (size::<S, B>(), [R::zero(); B]);
    for c in 0..b {
        out[c] = m[0][c].times(simd, x[0]);
    }
    for r in 1..b {
        for c in 0..b {
            out[c] = m[r][c].fma(simd, x[r], out[c]);
        }
    }
    out
}

/// `a x + y`, `a` a number.
#[inline(always)]
fn combine<S: Simd, R: Number, const B: usize>(simd: S, a: R, x: [R; B], y: [R; B]) -> [R; B] {
    let (b, mut out) = (size::<S, B>(), y);
    for r in 0..b {
        out[r] = x[r].fma(simd, a, y[r]);
    }
    out
}

/// The largest Frobenius norm among the blocks.
#[inline(always)]
fn norm<S: Simd, T: Float, R: Number<Real = T>, const B: usize>(simd: S, m: &[[R; B]; B]) -> f64 {
    let mut sum = R::zero();
    for row in m {
        for &x in row {
            sum = x.fma(simd, x, sum);
        }
    }
    let mut largest = T::ZERO;
    for l in 0..R::WIDTH {
        if sum.lane(l) > largest {
            largest = sum.lane(l);
        }
    }
    largest.to_f64().sqrt()
}

#[inline(always)]
fn number<T: Float, R: Number<Real = T>>(x: f64) -> R {
    R::splat(T::from_f64(x))
}

impl<T: Float, R: Number<Real = T>, const B: usize> Kernel for Forward<'_, R, B> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { chunk, class, h } = self;
        let g = class.g;
        let each = chunk.columns * chunk.states;
        for t in 0..chunk.steps {
            let omega = &chunk.omega[t * chunk.padded + class.entry..][..class.entries()];
            let (before, after) = h[t * each..(t + 2) * each].split_at_mut(each);
            for j in 0..g {
                let m: [[R; B]; B] = generator(omega, g, j);
                let mut series = chunk.series[t];
                if chunk.is_rough(series) {
                    series = chunk.refine(t, norm(simd, &m));
                }
                for column in 0..chunk.columns {
                    let own = column * chunk.states + class.state..column * chunk.states + class.state + B * g;
                    let mut h = gather(&before[own.clone()], g, j);
                    let (mut inside, mut behind) = ([R::zero(); B], [R::zero(); B]);
                    if let Some(beta) = chunk.beta {
                        let beta = gather(&beta[t * each..(t + 1) * each][own.clone()], g, j);
                        if chunk.inside { inside = beta } else { behind = beta }
                    }
                    for _ in 0..series.stages {
                        h = stage(simd, &m, h, inside, series);
                    }
                    if chunk.beta.is_some() {
                        h = combine(simd, R::splat(T::ONE), behind, h);
                    }
                    if series.is_hopeless() {
                        h = [number(f64::NAN); B];
                    }
                    scatter(&mut after[own], g, j, h);
                }
            }
        }
    }
}

#[inline(always)]
fn stage<S: Simd, T: Float, R: Number<Real = T>, const B: usize>(
    simd: S,
    m: &[[R; B]; B],
    h: [R; B],
    beta: [R; B],
    Series { stages, terms }: Series,
) -> [R; B] {
    // v and s here are s times those above: one factor at the end.
    let v = combine(simd, R::splat(T::ONE), beta, apply(simd, m, &h));
    let mut s = v;
    for k in (1..terms).rev() {
        let factor = number(1.0 / ((k + 1) * stages) as f64);
        s = combine(simd, factor, apply(simd, m, &s), v);
    }
    combine(simd, number(1.0 / stages as f64), s, h)
}

/// The reverse of [`Forward`].
pub(crate) struct Backward<'a, R, const B: usize> {
    pub(crate) chunk: &'a Chunk<'a, R>,
    pub(crate) class: &'a Class,
    pub(crate) reverse: &'a mut Reverse<R>,
}

impl<T: Float, R: Number<Real = T>, const B: usize> Kernel for Backward<'_, R, B> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { chunk, class, reverse } = self;
        let Reverse { h, gradient, carry, d_omega, d_beta, trail, .. } = reverse;
        let g = class.g;
        let each = chunk.columns * chunk.states;
        for t in (0..chunk.steps).rev() {
            let entries = t * chunk.padded + class.entry..t * chunk.padded + class.entry + class.entries();
            let omega = &chunk.omega[entries.clone()];
            let d_omega = &mut d_omega[entries];
            let row = t * each..(t + 1) * each;
            for j in 0..g {
                let m: [[R; B]; B] = generator(omega, g, j);
                let mut series = chunk.series[t];
                if chunk.is_rough(series) {
                    series = chunk.refine(t, norm(simd, &m));
                }
                let mut dm = [[R::zero(); B]; B];
                for column in 0..chunk.columns {
                    let own = column * chunk.states + class.state..column * chunk.states + class.state + B * g;
                    let h: [R; B] = gather(&h[row.clone()][own.clone()], g, j);
                    let mut z: [R; B] = gather(&carry[own.clone()], g, j);
                    let more: [R; B] = gather(&gradient[row.clone()][own.clone()], g, j);
                    z = combine(simd, R::splat(T::ONE), more, z);
                    let mut d = [R::zero(); B];
                    let mut inside = [R::zero(); B];
                    if let (Some(beta), true) = (chunk.beta, chunk.inside) {
                        inside = gather(&beta[row.clone()][own.clone()], g, j);
                    }
                    if series == Series::EULER {
                        outer(simd, &mut dm, R::splat(T::ONE), &z, &h);
                        d = z;
                        z = combine(simd, R::splat(T::ONE), apply_transposed(simd, &m, &z), z);
                    } else {
                        let behind = z;
                        z = backward(simd, (&m, &mut dm), (h, inside), (z, &mut d), series, trail);
                        if !chunk.inside {
                            d = behind;
                        }
                    }
                    if chunk.beta.is_some() {
                        scatter(&mut d_beta[row.clone()][own.clone()], g, j, d);
                    }
                    scatter(&mut carry[own], g, j, z);
                }
                for r in 0..B {
                    for c in 0..B {
                        d_omega[(r * B + c) * g + j] = dm[r][c];
                    }
                }
            }
        }
    }
}

/// `dm += a z x^T`.
#[inline(always)]
fn outer<S: Simd, R: Number, const B: usize>(simd: S, dm: &mut [[R; B]; B], a: R, z: &[R; B], x: &[R; B]) {
    let b = size::<S, B>();
    for r in 0..b {
        let z = z[r].times(simd, a);
        for c in 0..b {
            dm[r][c] = z.fma(simd, x[c], dm[r][c]);
        }
    }
}

/// The reverse of all stages of a step: returns the gradient of `h`, adds to `dm` and to `d`, that of `beta`.
#[inline(always)]
fn backward<S: Simd, T: Float, R: Number<Real = T>, const B: usize>(
    simd: S,
    (m, dm): (&[[R; B]; B], &mut [[R; B]; B]),
    (h, beta): ([R; B], [R; B]),
    (g, d): ([R; B], &mut [R; B]),
    series: Series,
    trail: &mut Vec<R>,
) -> [R; B] {
    let Series { stages, terms } = series;
    let one = R::splat(T::ONE);
    let part: R = number(1.0 / stages as f64);
    // For each stage h and s_2, ..., s_m (times s, as in `stage`).
    let needed = stages * terms * B;
    if trail.len() < needed {
        trail.resize(needed, R::zero());
    }
    let mut h = h;
    for own in trail[..needed].chunks_exact_mut(terms * B) {
        own[..B].copy_from_slice(&h);
        let v = combine(simd, one, beta, apply(simd, m, &h));
        let mut s = v;
        for k in (1..terms).rev() {
            own[k * B..(k + 1) * B].copy_from_slice(&s);
            s = combine(simd, number(1.0 / ((k + 1) * stages) as f64), apply(simd, m, &s), v);
        }
        h = combine(simd, part, s, h);
    }
    let mut g = g;
    for own in trail[..needed].chunks_exact(terms * B).rev() {
        let mut z = combine(simd, part, g, [R::zero(); B]);
        let mut dv = z;
        for k in 1..terms {
            let factor: R = number(1.0 / ((k + 1) * stages) as f64);
            let s: [R; B] = gather(&own[k * B..(k + 1) * B], 1, 0);
            outer(simd, dm, factor, &z, &s);
            z = combine(simd, factor, apply_transposed(simd, m, &z), [R::zero(); B]);
            dv = combine(simd, one, z, dv);
        }
        let h: [R; B] = gather(&own[..B], 1, 0);
        outer(simd, dm, one, &dv, &h);
        *d = combine(simd, one, dv, *d);
        g = combine(simd, one, apply_transposed(simd, m, &dv), g);
    }
    if stages == 0 { [number(f64::NAN); B] } else { g }
}
