//! `exp(Omega) h + phi_1(Omega) beta` by products with Omega, forward and reverse, one series of the batch at a time.
//!
//! In each of `s` stages, with `X = Omega / s` and `c = beta / s`,
//!
//! ```text
//! w_1 = X h + c,   w_j = X w_{j-1} / j,   h <- h + w_1 + ... + w_m
//! ```
//!
//! is the truncated series of both terms at once. Reverse, from the gradient `g` of the new `h`:
//!
//! ```text
//! z_m = g,   z_{j-1} = g + X^T z_j / j,   dh = g + X^T z_1,   dc = z_1,   dX = z_1 h^T + sum_{j > 1} z_j w_{j-1}^T / j
//! ```

use ncde_simd::{Float, Kernel, Number, Simd, call, dispatch_for};
use rayon::prelude::*;

use super::dplr::Dplr;
use super::grams::Grams;
use super::input::poison;
use super::nested::Nested;
use super::operator::{Hadamard, Operator, Sparse};
use super::plan::{self, Rows, Shard};
use super::taylor::{Degrees, Need, Series};
use super::{Affine, Contraction, Gradients, Input, Recurrence, Transition};
use crate::chunks::add;
use crate::error::all_finite;
use crate::shards::shards;
use crate::structure::Structure;

/// The vectors of a step.
#[derive(Debug)]
pub(crate) struct Scratch<T> {
    hidden: usize,
    /// `h, w_1, ..., w_m` of each stage, then the state after the last.
    trail: Vec<T>,
    z: Vec<T>,
    next: Vec<T>,
    degrees: &'static Degrees,
}

impl<T: Float> Scratch<T> {
    pub(crate) fn new(hidden: usize) -> Self {
        let zeros = || vec![T::ZERO; hidden];
        Self { hidden, trail: Vec::new(), z: zeros(), next: zeros(), degrees: Degrees::of::<T>() }
    }

    /// `H`.
    pub(crate) fn hidden(&self) -> usize {
        self.hidden
    }
}

/// The transition of a step, without its operator.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Step {
    pub(crate) transition: Transition,
    pub(crate) affine: Affine,
}

impl Step {
    #[inline(always)]
    fn series<T: Float>(self, operator: &mut impl Operator<T>, degrees: &Degrees, need: Need) -> Series {
        match self.transition {
            Transition::Euler => Series::EULER,
            Transition::Exp => degrees.of_powers(operator.norms(), need),
        }
    }

    /// Whether `beta` enters the series.
    fn inside(self) -> bool {
        self.transition == Transition::Exp && self.affine == Affine::Exact
    }

    /// One step of one state. The operator has been set.
    #[inline(always)]
    pub(crate) fn forward<T: Float, S: Simd, O: Operator<T>>(
        self,
        simd: S,
        a: &[T],
        operator: &mut O,
        h: &mut [T],
        beta: Option<&[T]>,
        scratch: &mut Scratch<T>,
    ) {
        call(simd, Trail { step: self, a, operator, h, beta, scratch: &mut *scratch, derivatives: false });
        let end = scratch.trail.len() - scratch.hidden;
        h.copy_from_slice(&scratch.trail[end..]);
    }

    /// Reverse of [`forward`](Self::forward): `g` goes from the gradient of the new state to that of `h`.
    #[inline(always)]
    fn backward<T: Float, S: Simd, O: Operator<T>>(
        self,
        simd: S,
        (a, da): (&[T], &mut [T]),
        operator: &mut O,
        (h, beta): (&[T], Option<&[T]>),
        (g, mut dbeta): (&mut [T], Option<&mut [T]>),
        scratch: &mut Scratch<T>,
    ) {
        let trail = Trail { step: self, a, operator: &mut *operator, h, beta, scratch: &mut *scratch, derivatives: true };
        let Series { stages, terms } = call(simd, trail);
        let Scratch { hidden, trail, z, next, .. } = scratch;
        let hidden = *hidden;
        let part = T::from_f64(1.0 / stages as f64);
        if let Some(dbeta) = &mut dbeta {
            if self.inside() { dbeta.fill(T::ZERO) } else { dbeta.copy_from_slice(g) }
        }
        for stage in (0..stages).rev() {
            let trail_of_stage = &trail[stage * (terms + 1) * hidden..][..(terms + 1) * hidden];
            z.copy_from_slice(g);
            for j in (1..=terms).rev() {
                // z = z_j, and of X = Omega / s there is the part 1 / (s j).
                scale(simd, z, part * T::from_f64(1.0 / j as f64));
                if let (1, Some(dbeta), true) = (j, &mut dbeta, self.inside()) {
                    T::axpy(simd, dbeta, T::ONE, z);
                }
                operator.reverse(simd, a, da, [z, &trail_of_stage[(j - 1) * hidden..j * hidden]], next);
                T::axpy(simd, next, T::ONE, g);
                std::mem::swap(z, next);
            }
            g.copy_from_slice(z);
        }
        if stages == 0 {
            g.fill(T::from_f64(f64::NAN));
        }
    }
}

/// Fills the trail of the scratch memory: `h, w_1, ..., w_m` of every stage, then the new state. The operator has been set. A function of
/// its own, as all passes have it in common.
struct Trail<'a, T, O> {
    step: Step,
    a: &'a [T],
    operator: &'a mut O,
    h: &'a [T],
    beta: Option<&'a [T]>,
    scratch: &'a mut Scratch<T>,
    derivatives: bool,
}

impl<T: Float, O: Operator<T>> Kernel for Trail<'_, T, O> {
    type Output = Series;
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Series {
        let Self { step, a, operator, h, beta, scratch, derivatives } = self;
        let need = Need { derivatives, affine: beta.is_some() && step.inside() };
        let series = step.series(operator, scratch.degrees, need);
        let (hidden, Series { stages, terms }) = (scratch.hidden, series);
        let part = T::from_f64(1.0 / stages as f64);
        scratch.trail.resize(((terms + 1) * stages + 1) * hidden, T::ZERO);
        scratch.trail[..hidden].copy_from_slice(h);
        for stage in 0..stages {
            let trail_of_stage = &mut scratch.trail[stage * (terms + 1) * hidden..][..(terms + 2) * hidden];
            let (trail_of_stage, next) = trail_of_stage.split_at_mut((terms + 1) * hidden);
            for j in 1..=terms {
                let (before, w) = trail_of_stage.split_at_mut(j * hidden);
                let w = &mut w[..hidden];
                operator.apply(simd, a, &before[(j - 1) * hidden..], w);
                if let (1, Some(beta), true) = (j, beta, step.inside()) {
                    T::axpy(simd, w, T::ONE, beta);
                }
                scale(simd, w, part * T::from_f64(1.0 / j as f64));
            }
            next.fill(T::ZERO);
            // The smallest terms first.
            for w in trail_of_stage.chunks_exact(hidden).rev() {
                T::axpy(simd, next, T::ONE, w);
            }
        }
        if series.is_hopeless() {
            scratch.trail.fill(T::from_f64(f64::NAN));
        }
        if let (Some(beta), false) = (beta, step.inside()) {
            let end = scratch.trail.len() - hidden;
            T::axpy(simd, &mut scratch.trail[end..], T::ONE, beta);
        }
        series
    }
}

#[inline(always)]
fn scale<T: Float, S: Simd>(simd: S, x: &mut [T], factor: T) {
    let factors = T::broadcast(simd, factor);
    let (x, rest) = T::split_mut::<S>(x);
    for x in x {
        *x = T::times(simd, *x, factors);
    }
    for x in rest {
        *x *= factor;
    }
}

/// All steps of one series.
struct SeriesRun<'a, 'i, T, O> {
    recurrence: &'a Recurrence,
    input: &'a Input<'i, T>,
    a: &'a [T],
    operator: &'a mut O,
    scratch: &'a mut Scratch<T>,
    b: usize,
}

struct Forward<'a, 'i, T, O> {
    series: SeriesRun<'a, 'i, T, O>,
    states: &'a mut [T],
}

impl<T: Float, O: Operator<T>> Kernel for Forward<'_, '_, T, O> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let SeriesRun { recurrence, input, a, operator, scratch, b } = self.series;
        let (state, width) = (input.columns * scratch.hidden, recurrence.coefficients());
        let step = recurrence.step();
        let mut h = input.initial[b * state..(b + 1) * state].to_vec();
        for (t, out) in self.states.chunks_exact_mut(state).enumerate() {
            if t < input.steps(b) {
                let row = b * input.length + t;
                operator.set(simd, a, &input.coefficients[row * width..(row + 1) * width]);
                let beta = input.affine.map(|affine| &affine[row * state..(row + 1) * state]);
                for (c, h) in h.chunks_exact_mut(scratch.hidden).enumerate() {
                    let beta = beta.map(|beta| &beta[c * h.len()..(c + 1) * h.len()]);
                    step.forward(simd, a, operator, h, beta, scratch);
                }
            }
            out.copy_from_slice(&h);
        }
    }
}

struct Backward<'a, 'i, T, O> {
    series: SeriesRun<'a, 'i, T, O>,
    states: &'a [T],
    gradient: &'a [T],
    da: &'a mut [T],
    out: Rows<'a, T>,
}

impl<T: Float, O: Operator<T>> Kernel for Backward<'_, '_, T, O> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let SeriesRun { recurrence, input, a, operator, scratch, b } = self.series;
        let (hidden, width) = (scratch.hidden, recurrence.coefficients());
        let state = input.columns * hidden;
        let step = recurrence.step();
        let (mut out, da) = (self.out, self.da);
        let mut unused = vec![T::ZERO; if out.coefficients.is_some() { 0 } else { width }];
        let first = b * input.length;
        let g = &mut *out.initial;
        g.fill(T::ZERO);
        for t in (0..input.length).rev() {
            let row = (first + t) * state..(first + t + 1) * state;
            T::axpy(simd, g, T::ONE, &self.gradient[row.clone()]);
            if t >= input.steps(b) {
                continue;
            }
            operator.set(simd, a, &input.coefficients[(first + t) * width..(first + t + 1) * width]);
            let before =
                if t == 0 { &input.initial[b * state..(b + 1) * state] } else { &self.states[row.start - state..row.start] };
            for c in 0..input.columns {
                let column = c * hidden..(c + 1) * hidden;
                let beta = input.affine.map(|affine| &affine[row.clone()][column.clone()]);
                let dbeta = out.affine.as_deref_mut().map(|affine| &mut affine[t * state..(t + 1) * state][column.clone()]);
                let (h, g) = (&before[column.clone()], &mut g[column.clone()]);
                step.backward(simd, (a, &mut *da), operator, (h, beta), (g, dbeta), scratch);
            }
            let lambda = match &mut out.coefficients {
                Some(all) => &mut all[t * width..(t + 1) * width],
                None => &mut unused[..],
            };
            operator.collect(simd, a, da, lambda);
        }
        operator.finish(simd, da);
    }
}

/// Calls a generic function with a fresh operator of the recurrence's structure.
macro_rules! with_operator {
    ($recurrence:expr, $a:expr, $call:ident($($arg:expr),*)) => {{
        let field = $recurrence.field();
        match ($recurrence.contraction(), field.structure()) {
            (Contraction::Words { depth }, _) => $call(&|| Nested::new(field, depth, $a), $($arg),*),
            (_, Structure::Dplr { rank, .. }) => {
                let grams = Grams::needed($recurrence, *rank, $a);
                $call(&|| Dplr::new(field, *rank, grams.clone()), $($arg),*)
            }
            (_, Structure::Sparse { pattern }) => $call(&|| Sparse::new(pattern), $($arg),*),
            (_, Structure::WalshHadamard { hidden, .. }) => $call(&|| Hadamard::new(*hidden, field.channels()), $($arg),*),
            // One letter a word: the same sum over channels.
            (_, Structure::Dense { .. } | Structure::Diagonal { .. } | Structure::Block { .. } | Structure::DiagonalDense { .. }) => {
                $call(&|| Nested::new(field, 1, $a), $($arg),*)
            }
        }
    }};
}

/// The states after each step: whether they are finite.
pub(crate) fn forward<T: Float>(recurrence: &Recurrence, input: &Input<'_, T>, states: &mut [T]) -> bool {
    let a = recurrence.field().effective(input.a);
    with_operator!(recurrence, &a, forward_with(recurrence, input, &a, states));
    all_finite(states)
}

fn forward_with<T: Float, O: Operator<T> + Send>(
    operator: &(impl Fn() -> O + Sync),
    recurrence: &Recurrence,
    input: &Input<'_, T>,
    a: &[T],
    states: &mut [T],
) {
    let hidden = recurrence.field().hidden();
    let workspace = || (operator(), Scratch::new(hidden));
    let series = states.par_chunks_exact_mut(input.length * input.columns * hidden).enumerate();
    series.for_each_init(workspace, |(operator, scratch), (b, states)| {
        let series = SeriesRun { recurrence, input, a, operator, scratch, b };
        dispatch_for::<T, _>(Forward { series, states });
    });
}

/// The gradients.
pub(crate) fn backward<T: Float>(
    recurrence: &Recurrence,
    input: &Input<'_, T>,
    states: &[T],
    gradient: &[T],
    gradients: &mut Gradients<T>,
) {
    let a = recurrence.field().effective(input.a);
    with_operator!(recurrence, &a, backward_with(recurrence, input, &a, [states, gradient], gradients));
    if !all_finite(&gradients.coefficients) {
        poison(&mut gradients.a);
    }
    recurrence.field().effective_backward(&a, &mut gradients.a);
}

fn backward_with<T: Float, O: Operator<T> + Send>(
    operator: &(impl Fn() -> O + Sync),
    recurrence: &Recurrence,
    input: &Input<'_, T>,
    a: &[T],
    [states, gradient]: [&[T]; 2],
    gradients: &mut Gradients<T>,
) {
    let hidden = recurrence.field().hidden();
    let shards = shards(input.batch, size_of_val(a));
    let sums = plan::rows(recurrence, input, &shards, gradients, &|Shard { first, rows }| {
        let (mut operator, mut scratch, mut da) = (operator(), Scratch::new(hidden), vec![T::ZERO; a.len()]);
        for (i, out) in rows.into_iter().enumerate() {
            let b = first + i;
            let series = SeriesRun { recurrence, input, a, operator: &mut operator, scratch: &mut scratch, b };
            dispatch_for::<T, _>(Backward { series, states, gradient, da: &mut da, out });
        }
        da
    });
    gradients.a.fill(T::ZERO);
    for part in sums {
        add(&mut gradients.a, &part);
    }
}
