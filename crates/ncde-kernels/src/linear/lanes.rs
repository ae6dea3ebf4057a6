//! Steps of small blocks: every entry is a register, with one lane for each block.
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
//! `U` registers of blocks are computed together: each product depends on the one before it, and independent ones hide its latency.

use ncde_simd::{Float, Number, Simd};

use super::closed::{Backward, Chunk, Forward, Reverse, Steps};
use super::even::{self, Powers, add_through_square};
use super::small::{
    self, Matrices, Vectors, apply_onto, apply_transposed, apply_transposed_onto, combine, gather, generator, largest, number,
    product, scaled, scatter, size, square,
};
use super::taylor::{INVERSE, Series};

/// Blocks of size `B`, `U` registers of them at once.
pub(crate) struct Lanes<const B: usize, const U: usize>;

impl<T: Float, R: Number<Real = T>, const B: usize, const U: usize> Steps<R> for Lanes<B, U> {
    #[inline(always)]
    fn forward<S: Simd>(simd: S, pass: Forward<'_, R>) {
        let Forward { chunk, class, h, .. } = pass;
        let g = class.g;
        let state_len = chunk.columns * chunk.states;
        for t in 0..chunk.steps {
            let omega = &chunk.omega[t * chunk.padded + class.entry..][..class.entries()];
            let (before, after) = h[t * state_len..(t + 2) * state_len].split_at_mut(state_len);
            for j in (0..g).step_by(U) {
                let m: Matrices<R, B, U> = generator(omega, g, j);
                let (series, second) = choose(simd, chunk, t, &m);
                for column in 0..chunk.columns {
                    let states = column * chunk.states + class.state..column * chunk.states + class.state + B * g;
                    let mut h: Vectors<R, B, U> = gather(&before[states.clone()], g, j);
                    let (mut inside, mut behind) = (const { [[R::ZEROS; U]; B] }, const { [[R::ZEROS; U]; B] });
                    if let Some(beta) = chunk.beta {
                        let beta = gather(&beta[t * state_len..(t + 1) * state_len][states.clone()], g, j);
                        if chunk.inside { inside = beta } else { behind = beta }
                    }
                    for _ in 0..series.stages {
                        h = match &second {
                            None => stage::<S, T, R, B, U, false>(simd, &m, (&h, &inside), series, &mut []),
                            Some(second) => {
                                let powers = Powers { first: &m, second };
                                even::stage::<S, T, R, B, U, false>(simd, powers, (&h, &inside), series, [&mut [], &mut []])
                            }
                        };
                    }
                    if chunk.beta.is_some() {
                        h = combine(simd, R::ONES, &behind, &h);
                    }
                    if series.is_hopeless() {
                        h = [[number(simd, f64::NAN); U]; B];
                    }
                    scatter(&mut after[states], g, j, &h);
                }
            }
        }
    }

    #[inline(always)]
    fn backward<S: Simd>(simd: S, pass: Backward<'_, R>) {
        let Backward { chunk, class, reverse } = pass;
        let Reverse { h, gradient, carry, d_omega, d_beta, trail, .. } = reverse;
        let (g, one) = (class.g, R::ONES);
        let state_len = chunk.columns * chunk.states;
        for t in (0..chunk.steps).rev() {
            let entries = t * chunk.padded + class.entry..t * chunk.padded + class.entry + class.entries();
            let omega = &chunk.omega[entries.clone()];
            let d_omega = &mut d_omega[entries];
            let row = t * state_len..(t + 1) * state_len;
            for j in (0..g).step_by(U) {
                let m: Matrices<R, B, U> = generator(omega, g, j);
                let (series, second) = choose(simd, chunk, t, &m);
                for column in 0..chunk.columns {
                    let states = column * chunk.states + class.state..column * chunk.states + class.state + B * g;
                    let h: Vectors<R, B, U> = gather(&h[row.clone()][states.clone()], g, j);
                    let arriving: Vectors<R, B, U> = gather(&gradient[row.clone()][states.clone()], g, j);
                    let mut z = combine(simd, one, &arriving, &gather(&carry[states.clone()], g, j));
                    // Without a series beta is just added.
                    let mut d = z;
                    let sums = Sums { d_omega: &mut *d_omega, g, j, add: column > 0 };
                    if series == Series::EULER {
                        sums.outer(simd, &[z, h]);
                        z = apply_transposed_onto(simd, &m, &z, &z);
                    } else {
                        let mut inside = const { [[R::ZEROS; U]; B] };
                        if let (Some(beta), true) = (chunk.beta, chunk.inside) {
                            inside = gather(&beta[row.clone()][states.clone()], g, j);
                        }
                        let dv;
                        if let Some(second) = &second {
                            let powers = Powers { first: &m, second };
                            let reversed = even::backward(simd, powers, (&h, &inside), &z, series, trail);
                            sums.through_square(simd, &m, reversed.first, reversed.second);
                            (z, dv) = (reversed.h, reversed.beta);
                        } else {
                            let pairs;
                            (z, dv, pairs) = stages_backward(simd, &m, (&h, &inside), &z, series, trail);
                            sums.outer(simd, pairs);
                        }
                        if chunk.inside {
                            d = dv;
                        }
                    }
                    if chunk.beta.is_some() {
                        scatter(&mut d_beta[row.clone()][states.clone()], g, j, &d);
                    }
                    scatter(&mut carry[states], g, j, &z);
                }
            }
        }
    }
}

/// The series of step `t`; for large generators, of which the square is worth having, with their squares.
#[inline(always)]
fn choose<S: Simd, T: Float, R: Number<Real = T>, const B: usize, const U: usize>(
    simd: S,
    chunk: &Chunk<'_, R>,
    t: usize,
    m: &Matrices<R, B, U>,
) -> (Series, Option<Matrices<R, B, U>>) {
    let rough = chunk.series[t];
    // Single numbers come here for one term only.
    if B == 1 || !chunk.is_rough(rough) {
        return (rough, None);
    }
    let squares = small::squares(simd, m);
    if !rough.is_worth_a_square(B) {
        return (chunk.refine(t, largest(&squares).sqrt()), None);
    }
    let second = square(simd, m);
    let mut product = small::squares(simd, &second);
    for u in 0..U {
        product[u] = product[u].times(simd, squares[u]);
    }
    (chunk.refine_even(t, largest(&product)), Some(second))
}

/// One stage: the new `h`. With `STORE` the second vectors of the pairs `(dv, h)`, `(z_1, s_2)`, ..., `(z_{m-1}, s_m)` are stored.
#[inline(always)]
fn stage<S: Simd, T: Float, R: Number<Real = T>, const B: usize, const U: usize, const STORE: bool>(
    simd: S,
    m: &Matrices<R, B, U>,
    (h, beta): (&Vectors<R, B, U>, &Vectors<R, B, U>),
    series: Series,
    pairs: &mut [Vectors<R, B, U>],
) -> Vectors<R, B, U> {
    let part = series.part();
    if STORE {
        pairs[1] = *h;
    }
    // v and s here are s times those above: one factor at the end.
    let v = apply_onto(simd, (R::ONES, m, h), beta);
    let mut s = v;
    for k in (1..series.terms).rev() {
        if STORE {
            pairs[2 * k + 1] = s;
        }
        s = apply_onto(simd, (number(simd, INVERSE[k + 1] * part), m, &s), &v);
    }
    combine(simd, number(simd, part), &s, h)
}

/// The output of the gradient of some generators.
struct Sums<'a, R> {
    d_omega: &'a mut [R],
    g: usize,
    j: usize,
    add: bool,
}

impl<R: Number> Sums<'_, R> {
    /// `dOmega = sum z x^T` over pairs of `z` and `x` that follow each other, or added to what is there.
    #[inline(always)]
    fn outer<S: Simd, const B: usize, const U: usize>(mut self, simd: S, pairs: &[Vectors<R, B, U>]) {
        for r in 0..size::<S, B>() {
            let mut sums = self.start(r);
            add_outer(simd, pairs, r, &mut sums);
            self.finish(r, &sums);
        }
    }

    /// As [`outer`](Self::outer), plus the gradient through the square of the generators, which is given by pairs too.
    #[inline(always)]
    fn through_square<S: Simd, const B: usize, const U: usize>(
        mut self,
        simd: S,
        m: &Matrices<R, B, U>,
        pairs: &[Vectors<R, B, U>],
        of_square: &[Vectors<R, B, U>],
    ) {
        let mut square = const { [[[R::ZEROS; U]; B]; B] };
        for r in 0..size::<S, B>() {
            add_outer(simd, of_square, r, &mut square[r]);
        }
        for r in 0..size::<S, B>() {
            let mut sums = self.start(r);
            add_outer(simd, pairs, r, &mut sums);
            add_through_square(simd, m, &square, r, &mut sums);
            self.finish(r, &sums);
        }
    }

    /// Row `r` of the gradient so far, or zero.
    #[inline(always)]
    fn start<const B: usize, const U: usize>(&self, r: usize) -> [[R; U]; B] {
        let mut sums = const { [[R::ZEROS; U]; B] };
        if self.add {
            for c in 0..B {
                sums[c].copy_from_slice(&self.d_omega[(r * B + c) * self.g + self.j..][..U]);
            }
        }
        sums
    }

    #[inline(always)]
    fn finish<const B: usize, const U: usize>(&mut self, r: usize, sums: &[[R; U]; B]) {
        for c in 0..B {
            self.d_omega[(r * B + c) * self.g + self.j..][..U].copy_from_slice(&sums[c]);
        }
    }
}

/// Row `r` of `sum z x^T`, over pairs of `z` and `x` that follow each other, added to `sums`.
#[inline(always)]
fn add_outer<S: Simd, R: Number, const B: usize, const U: usize>(
    simd: S,
    pairs: &[Vectors<R, B, U>],
    r: usize,
    sums: &mut [[R; U]; B],
) {
    product::<S, _, B>(
        simd,
        #[inline(always)]
        move || {
            let mut row = *sums;
            for [z, x] in pairs.as_chunks::<2>().0 {
                for c in 0..B {
                    for u in 0..U {
                        row[c][u] = z[r][u].fma(simd, x[c][u], row[c][u]);
                    }
                }
            }
            *sums = row;
        },
    );
}

/// A gradient of `h`, one of `beta`, and pairs whose products make up that of the generator.
type Reversed<'a, R, const B: usize, const U: usize> = (Vectors<R, B, U>, Vectors<R, B, U>, &'a [Vectors<R, B, U>]);

/// The reverse of all stages of a step.
#[inline(always)]
fn stages_backward<'a, S: Simd, T: Float, R: Number<Real = T>, const B: usize, const U: usize>(
    simd: S,
    m: &Matrices<R, B, U>,
    (h, beta): (&Vectors<R, B, U>, &Vectors<R, B, U>),
    g: &Vectors<R, B, U>,
    series: Series,
    trail: &'a mut Vec<R>,
) -> Reversed<'a, R, B, U> {
    let Series { stages, terms } = series;
    let (one, part) = (R::ONES, series.part());
    // For each stage its pairs: first the second vectors, then the first ones.
    let needed = stages * terms * 2 * B * U;
    if trail.len() < needed {
        trail.resize(needed, R::ZEROS);
    }
    let pairs = trail[..needed].as_chunks_mut::<U>().0.as_chunks_mut::<B>().0;
    let mut h = *h;
    for stage in pairs.chunks_exact_mut(2 * terms) {
        h = self::stage::<S, T, R, B, U, true>(simd, m, (&h, beta), series, stage);
    }
    let (mut g, mut d) = (*g, const { [[R::ZEROS; U]; B] });
    for stage in pairs.chunks_exact_mut(2 * terms).rev() {
        let mut z = scaled(simd, number(simd, part), &g);
        let mut dv = z;
        for k in 1..terms {
            z = scaled(simd, number(simd, INVERSE[k + 1] * part), &z);
            stage[2 * k] = z;
            z = apply_transposed(simd, m, &z);
            dv = combine(simd, one, &z, &dv);
        }
        stage[0] = dv;
        d = combine(simd, one, &dv, &d);
        g = apply_transposed_onto(simd, m, &dv, &g);
    }
    if stages == 0 {
        g = [[number(simd, f64::NAN); U]; B];
    }
    (g, d, pairs)
}
