//! Block-diagonal structures, one series of the batch at a time, in chunks of time.
//!
//! Except for the steps themselves, everything is a matrix product over a chunk:
//!
//! ```text
//! Omega = lambda A,   dlambda = dOmega A^T,   dA += lambda^T dOmega
//! ```
//!
//! with `lambda` of `[steps, K]`, `A` of `[K, entries]` and `Omega` of `[steps, entries]`. Steps of different blocks do not see each
//! other, so that a chunk is done class by class (`lanes`, `diagonal`, `wide`). Memory: states, and a chunk of generators.
//! The way back is in `reverse`.

mod reverse;

use ncde_simd::{Float, Kernel, Number, Simd, dispatch_for, outlined};
use rayon::prelude::*;

use super::diagonal::Diagonal;
use super::lanes::Lanes;
use super::layout::{Class, Kind, Layout};
use super::taylor::{self, Degrees, Need, Series};
use super::wide::Wide;
use super::{Affine, Input, Recurrence, Transition};
use crate::error::row_is_finite;
use crate::pool;
use crate::product::Panels;
use crate::structure::Field;

pub(crate) use reverse::{Past, RunBack, Sums, Transposed, backward, total, zeros};

/// The generators of a chunk take about this many bytes, so that they stay in the first-level cache. With many coefficients chunks are longer,
/// since each chunk reads and writes all of `dA`, up to the two limits below.
const CHUNK_BYTES: usize = 48 << 10;
const MAX_CHUNK_STEPS: usize = 60;
const MAX_CHUNK_BYTES: usize = 3 << 17;

/// A multiple of this many steps fills whole tiles in all products.
const TILE_STEPS: usize = 12;

/// The parameters, rearranged once for a call.
#[derive(Debug)]
pub(crate) struct Prepared<R> {
    pub(crate) layout: Layout,
    field: Field,
    /// `A`, `[K, packed]`.
    packed: Vec<R>,
    panels: Panels<R>,
    /// A bound on the norm of each matrix.
    norms: Vec<f64>,
    pub(crate) degrees: &'static Degrees,
    transition: Transition,
    affine: Affine,
}

impl<T: Float, R: Number<Real = T>> Prepared<R> {
    pub(crate) fn new(recurrence: &Recurrence, a: &[T]) -> Self {
        let field = recurrence.field().clone();
        let layout = Layout::new::<R>(&field);
        let packed: Vec<R> = layout.pack(&field, a);
        let exp = recurrence.transition() == Transition::Exp;
        Self {
            panels: Panels::new(&packed, field.channels(), layout.packed),
            norms: if exp { (0..field.channels()).map(|k| field.norm(a, k)).collect() } else { Vec::new() },
            degrees: Degrees::of::<T>(),
            transition: recurrence.transition(),
            affine: recurrence.affine(),
            layout,
            field,
            packed,
        }
    }

    /// Whether an affine input enters the series.
    fn inside(&self) -> bool {
        self.transition == Transition::Exp && self.affine == Affine::Exact
    }

    /// The steps of a chunk.
    fn chunk_steps(&self) -> usize {
        let row = (self.layout.padded * size_of::<R>()).max(1);
        let most = (CHUNK_BYTES / row).max(self.field.channels()).min(MAX_CHUNK_STEPS).min((MAX_CHUNK_BYTES / row).max(1));
        if most < TILE_STEPS { most } else { most / TILE_STEPS * TILE_STEPS }
    }

    /// The terms that the steps of `lambda` need, from the norms of the matrices.
    fn series(&self, lambda: &[T], need: Need, norms: &mut Vec<f64>, series: &mut Vec<Series>) {
        norms.clear();
        series.clear();
        for lambda in lambda.chunks_exact(self.field.channels()) {
            let norm = lambda.iter().zip(&self.norms).map(|(l, n)| l.to_f64().abs() * n).sum();
            norms.push(norm);
            series.push(if self.transition == Transition::Euler { Series::EULER } else { self.degrees.series(norm, need) });
        }
    }
}

/// The inputs of the kernels of a chunk.
pub(crate) struct Chunk<'a, R> {
    /// `[steps, padded]`.
    pub(crate) omega: &'a [R],
    pub(crate) padded: usize,
    /// `[steps, columns, states]`.
    pub(crate) beta: Option<&'a [R]>,
    pub(crate) states: usize,
    pub(crate) columns: usize,
    pub(crate) steps: usize,
    /// For each step the terms of its series.
    pub(crate) series: &'a [Series],
    norms: &'a [f64],
    degrees: &'a Degrees,
    need: Need,
    /// Whether `beta` enters the series, or is added behind it.
    pub(crate) inside: bool,
}

impl<R> Chunk<'_, R> {
    /// Whether computing the norm of the generator itself is worth its cost.
    #[inline(always)]
    pub(crate) fn is_rough(&self, series: Series) -> bool {
        series.terms > taylor::SINGLE_STAGE_TERMS || series.stages > 1
    }

    /// The series of step `t`, knowing the norm of its generator.
    #[inline(always)]
    pub(crate) fn refine(&self, t: usize, norm: f64) -> Series {
        self.degrees.series(norm.min(self.norms[t]), self.need)
    }

    /// The series of step `t` with an even number of terms, knowing `||Omega||^2 ||Omega^2||^2`.
    #[inline(always)]
    pub(crate) fn refine_even(&self, t: usize, product: f64) -> Series {
        self.degrees.even(self.norms[t], product, self.need)
    }
}

/// The arrays of the reverse pass.
#[derive(Debug, Default)]
pub(crate) struct Reverse<R> {
    /// States before every step, `[steps, columns, states]`, and the gradient that arrives at the states after them.
    pub(crate) h: Vec<R>,
    pub(crate) gradient: Vec<R>,
    /// The gradient of the state after the last step, then of the one before the first, `[columns, states]`.
    pub(crate) carry: Vec<R>,
    /// `[steps, padded]` and `[steps, columns, states]`.
    pub(crate) d_omega: Vec<R>,
    pub(crate) d_beta: Vec<R>,
    /// Vectors within a step.
    pub(crate) trail: Vec<R>,
    pub(crate) z: Vec<R>,
}

/// Buffers of one thread.
#[derive(Debug, Default)]
pub(crate) struct Buffers<R: Number> {
    generated: Generated<R>,
    /// `[steps + 1, columns, states]`.
    h: Vec<R>,
    numbers: Vec<R::Real>,
    rows: Vec<R>,
    reverse: Reverse<R>,
}

/// The generators of a chunk, its affine input and its series.
#[derive(Debug, Default)]
struct Generated<R> {
    packed: Vec<R>,
    padded: Vec<R>,
    beta: Vec<R>,
    norms: Vec<f64>,
    series: Vec<Series>,
}

impl<R: Number> Generated<R> {
    /// The input of the kernels.
    fn chunk<'a>(&'a self, prepared: &'a Prepared<R>, piece: Piece<'_, R::Real>, need: Need) -> Chunk<'a, R> {
        let layout = &prepared.layout;
        Chunk {
            omega: if layout.is_direct() { &self.packed } else { &self.padded },
            padded: layout.padded,
            beta: piece.beta.map(|_| &self.beta[..]),
            states: layout.states,
            columns: piece.columns,
            steps: piece.steps,
            series: &self.series,
            norms: &self.norms,
            degrees: prepared.degrees,
            need,
            inside: prepared.inside(),
        }
    }
}

/// The first `n` registers of a buffer, which grows if needed.
fn at_least<R: Number>(buffer: &mut Vec<R>, n: usize) -> &mut [R] {
    if buffer.len() < n {
        buffer.resize(n, R::ZEROS);
    }
    &mut buffer[..n]
}

/// Consecutive steps of one series.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Piece<'a, T> {
    pub(crate) steps: usize,
    pub(crate) columns: usize,
    /// `[steps, K]`.
    pub(crate) lambda: &'a [T],
    /// `[steps, columns, H]`.
    pub(crate) beta: Option<&'a [T]>,
}

impl<'a, T> Piece<'a, T> {
    /// Steps `first` to `end` of series `b`.
    pub(crate) fn new(input: &Input<'a, T>, width: usize, hidden: usize, b: usize, first: usize, end: usize) -> Self {
        let (from, to) = (b * input.length + first, b * input.length + end);
        let state_len = input.columns * hidden;
        Self {
            steps: end - first,
            columns: input.columns,
            lambda: &input.coefficients[from * width..to * width],
            beta: input.affine.map(|affine| &affine[from * state_len..to * state_len]),
        }
    }

    fn part(&self, width: usize, state_len: usize, first: usize, end: usize) -> Self {
        Self {
            steps: end - first,
            columns: self.columns,
            lambda: &self.lambda[first * width..end * width],
            beta: self.beta.map(|beta| &beta[first * state_len..end * state_len]),
        }
    }
}

/// Computes the generators of a chunk and loads its affine input.
#[inline(always)]
fn generate<S: Simd, T: Float, R: Number<Real = T>>(
    simd: S,
    prepared: &Prepared<R>,
    piece: Piece<'_, T>,
    need: Need,
    generated: &mut Generated<R>,
) {
    outlined(
        simd,
        #[inline(always)]
        move || {
            let layout = &prepared.layout;
            let packed = at_least(&mut generated.packed, piece.steps * layout.packed);
            prepared.panels.multiply(simd, piece.lambda, packed);
            if !layout.is_direct() {
                layout.spread(packed, at_least(&mut generated.padded, piece.steps * layout.padded));
            }
            if let Some(beta) = piece.beta {
                load_rows(simd, layout, beta, prepared.field.hidden(), &mut generated.beta);
            }
            prepared.series(piece.lambda, need, &mut generated.norms, &mut generated.series);
        },
    );
}

/// States by rows of `hidden` numbers into rows of registers.
#[inline(always)]
fn load_rows<S: Simd, T: Float, R: Number<Real = T>>(simd: S, layout: &Layout, states: &[T], hidden: usize, out: &mut Vec<R>) {
    layout.load(simd, states, hidden, at_least(out, states.len() / hidden * layout.states));
}

/// The arguments of the forward steps of a class.
pub(crate) struct Forward<'a, R> {
    pub(crate) chunk: &'a Chunk<'a, R>,
    pub(crate) class: &'a Class,
    /// States before the first and after every step, `[steps + 1, columns, states]`.
    pub(crate) h: &'a mut [R],
    /// Vectors within a step.
    pub(crate) trail: &'a mut Vec<R>,
}

/// The arguments of the reverse of those steps.
pub(crate) struct Backward<'a, R> {
    pub(crate) chunk: &'a Chunk<'a, R>,
    pub(crate) class: &'a Class,
    pub(crate) reverse: &'a mut Reverse<R>,
}

/// All steps of a chunk for blocks of one kind, forward and in reverse.
pub(crate) trait Steps<R> {
    fn forward<S: Simd>(simd: S, pass: Forward<'_, R>);
    fn backward<S: Simd>(simd: S, pass: Backward<'_, R>);
}

/// A pass through a chunk, for whichever kind of blocks.
trait Pass<R> {
    fn run<K: Steps<R>, S: Simd>(self, simd: S);
}

impl<R> Pass<R> for Forward<'_, R> {
    #[inline(always)]
    fn run<K: Steps<R>, S: Simd>(self, simd: S) {
        outlined(
            simd,
            #[inline(always)]
            move || K::forward(simd, self),
        );
    }
}

impl<R> Pass<R> for Backward<'_, R> {
    #[inline(always)]
    fn run<K: Steps<R>, S: Simd>(self, simd: S) {
        outlined(
            simd,
            #[inline(always)]
            move || K::backward(simd, self),
        );
    }
}

/// Runs a pass with the kernel of a class.
#[inline(always)]
fn run_class<S: Simd, T: Float, R: Number<Real = T>>(simd: S, transition: Transition, class: &Class, pass: impl Pass<R>) {
    match (class.kind, class.b, class.g % 2) {
        (Kind::Wide, ..) => pass.run::<Wide, S>(simd),
        (_, 1, _) if transition == Transition::Exp => pass.run::<Diagonal, S>(simd),
        (_, 1, _) => pass.run::<Lanes<1, 1>, S>(simd),
        (_, 2, _) => pass.run::<Lanes<2, 1>, S>(simd),
        (_, 4, 0) if const { S::REGISTER_COUNT >= 32 } => pass.run::<Lanes<4, 2>, S>(simd),
        (_, 4, _) => pass.run::<Lanes<4, 1>, S>(simd),
        _ => pass.run::<Lanes<8, 1>, S>(simd),
    }
}

/// Steps forward through a piece of a series.
pub(crate) struct Run<'a, T, R: Number> {
    pub(crate) prepared: &'a Prepared<R>,
    pub(crate) piece: Piece<'a, T>,
    pub(crate) buffers: &'a mut Buffers<R>,
    /// The state before, then after, `[columns, H]`.
    pub(crate) state: &'a mut [T],
    /// The state after every step, `[steps, columns, H]`, if it is wanted.
    pub(crate) states: Option<&'a mut [T]>,
}

impl<T: Float, R: Number<Real = T>> Kernel for Run<'_, T, R> {
    /// Whether all those states are finite.
    type Output = bool;
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> bool {
        let Self { prepared, piece, buffers, state, mut states } = self;
        let mut finite = true;
        let (layout, hidden) = (&prepared.layout, prepared.field.hidden());
        let (state_len, registers) = (piece.columns * hidden, piece.columns * layout.states);
        let need = Need { derivatives: false, affine: piece.beta.is_some() && prepared.inside() };
        let most = prepared.chunk_steps();
        load_rows(simd, layout, state, hidden, &mut buffers.h);
        let mut first = 0;
        while first < piece.steps {
            let end = piece.steps.min(first + most);
            let part = piece.part(prepared.field.channels(), state_len, first, end);
            generate(simd, prepared, part, need, &mut buffers.generated);
            at_least(&mut buffers.h, (part.steps + 1) * registers);
            let chunk = buffers.generated.chunk(prepared, part, need);
            for class in &layout.classes {
                let pass = Forward { chunk: &chunk, class, h: &mut buffers.h, trail: &mut buffers.reverse.trail };
                run_class(simd, prepared.transition, class, pass);
            }
            if let Some(states) = &mut states {
                let out = &mut states[first * state_len..end * state_len];
                layout.store(simd, &buffers.h[registers..], hidden, out);
                finite &= row_is_finite(out);
            }
            buffers.h.copy_within(part.steps * registers..(part.steps + 1) * registers, 0);
            first = end;
        }
        layout.store(simd, &buffers.h, hidden, state);
        finite
    }
}

/// The states after each step: whether they are finite.
pub(crate) fn forward<T: Float>(recurrence: &Recurrence, input: &Input<'_, T>, states: &mut [T]) -> bool {
    let prepared = Prepared::<T::Register>::new(recurrence, input.a);
    let (hidden, width) = (recurrence.field().hidden(), recurrence.coefficients());
    let state_len = input.columns * hidden;
    let series = |(b, states): (usize, &mut [T])| {
        let buffers = &mut *pool::borrow::<Buffers<T::Register>>();
        let steps = input.steps(b);
        let piece = Piece::new(input, width, hidden, b, 0, steps);
        let mut state = input.initial[b * state_len..(b + 1) * state_len].to_vec();
        let (used, rest) = states.split_at_mut(steps * state_len);
        let finite = dispatch_for::<T, _>(Run { prepared: &prepared, piece, buffers, state: &mut state, states: Some(used) });
        rest.chunks_exact_mut(state_len).for_each(|row| row.copy_from_slice(&state));
        finite
    };
    states.par_chunks_exact_mut(input.length * state_len).enumerate().map(series).reduce(|| true, |a, b| a & b)
}
