//! Several intervals computed together, one in each lane of a [`Number`]: gather, compute, scatter.
//!
//! Shorter intervals are padded at their end with zero increments, which change nothing: `exp(0) = 1`.

use crate::algebra::Shape;
use crate::signature::emit::{Emitter, Output};
use crate::signature::flow::{self, Backwards, Checkpoints, Increments, Seed, Track};
use crate::signature::{Interval, Paths};
use ncde_simd::{Float, Number, Simd, kernel};

/// The most lanes any [`Number`] has.
const MAX_WIDTH: usize = 16;

/// The memory of one thread, for one way through.
#[derive(Debug)]
pub(crate) struct Scratch<E> {
    pub(crate) increments: Vec<E>,
    pub(crate) track: Track<E>,
    pub(crate) emitter: Emitter<E>,
}

impl<E: Number> Scratch<E> {
    /// The numbers that [`new`](Self::new) allocates.
    pub(crate) fn workspace_len(output: &Output, layout: &Shape) -> usize {
        Track::<E>::workspace_len(layout) + Emitter::<E>::workspace_len(output, layout)
    }

    pub(crate) fn new(output: &Output, layout: &Shape) -> Self {
        Self { increments: Vec::new(), track: Track::new(layout), emitter: Emitter::new(output, layout) }
    }
}

/// `increments[t, channel].lane(l)` = the increment after observation `t` of the `l`-th interval.
#[inline(always)]
pub(crate) fn gather<S: Simd, E: Number>(simd: S, paths: &Paths<'_, E::Real>, intervals: &[Interval], increments: &mut Vec<E>) {
    let d = paths.channels();
    let steps = intervals.iter().map(Interval::steps).max().unwrap_or(0);
    let rows = |interval: &Interval| &paths.path(interval.path)[interval.start * d..(interval.end + 1) * d];
    if intervals.iter().all(|interval| interval.steps() == steps) {
        // Gathers the values, then overwrites them with their differences from the front.
        increments.resize((steps + 1) * d, E::ZEROS);
        let mut all: [&[E::Real]; MAX_WIDTH] = [&[]; MAX_WIDTH];
        for (row, interval) in all.iter_mut().zip(intervals) {
            *row = rows(interval);
        }
        E::gather(simd, &all[..intervals.len()], increments);
        let minus = E::splat(simd, -E::Real::ONE);
        for t in 0..steps {
            let (now, next) = increments[t * d..(t + 2) * d].split_at_mut(d);
            for (now, next) in now.iter_mut().zip(next) {
                *now = now.fma(simd, minus, *next);
            }
        }
        increments.truncate(steps * d);
        return;
    }
    increments.clear();
    increments.resize(steps * d, E::ZEROS);
    for (l, interval) in intervals.iter().enumerate() {
        let rows = rows(interval);
        for (x, (now, next)) in increments.iter_mut().zip(rows.iter().zip(&rows[d..])) {
            x.set_lane(l, *next - *now);
        }
    }
}

/// Writes lane `l` of `values` to `out`, as far as that goes.
#[inline(always)]
pub(crate) fn scatter<E: Number>(values: &[E], l: usize, out: &mut [E::Real]) {
    for (out, x) in out.iter_mut().zip(values) {
        *out = x.lane(l);
    }
}

/// The reverse of [`scatter`].
#[inline(always)]
pub(crate) fn load_lane<E: Number>(values: &[E::Real], l: usize, out: &mut [E]) {
    for (out, &x) in out.iter_mut().zip(values) {
        out.set_lane(l, x);
    }
}

kernel! {
    /// Outputs of intervals, `E::WIDTH` at a time; `out` is `[intervals, output]`.
    pub(crate) dispatch fn forward<'a, S: Simd, E: Number>(
        simd: S,
        output: &'a Output,
        layout: &'a Shape,
        paths: &'a Paths<'a, E::Real>,
        intervals: &'a [Interval],
        scratch: &'a mut Scratch<E>,
        out: &'a mut [E::Real],
    ) {
        let Scratch { increments, track, emitter } = scratch;
        for (intervals, out) in intervals.chunks(E::WIDTH).zip(out.chunks_mut(E::WIDTH * output.len())) {
            gather(simd, paths, intervals, increments);
            flow::forward(simd, layout, Increments { values: increments.as_slice(), order: Backwards }, track);
            emitter.emit(simd, output, layout, &track.state);
            for (l, out) in out.chunks_exact_mut(output.len()).enumerate() {
                scatter(&emitter.out, l, out);
            }
        }
    }
}

kernel! {
    /// The reverse pass of [`forward`], from the gradient of the outputs, `[intervals, output]`, to that of the increments, for each interval
    /// `[steps, channels]`.
    pub(crate) dispatch fn backward<'a, 'o, S: Simd, E: Number>(
        simd: S,
        output: &'a Output,
        layout: &'a Shape,
        paths: &'a Paths<'a, E::Real>,
        intervals: &'a [Interval],
        scratch: &'a mut Scratch<E>,
        gradient: &'a [E::Real],
        out: &'a mut [&'o mut [E::Real]],
    ) {
        let (d, len) = (paths.channels(), output.len());
        let Scratch { increments, emitter, .. } = scratch;
        let most = intervals.iter().map(Interval::steps).max().unwrap_or(0);
        let mut checkpoints = Checkpoints::new(layout, most);
        let mut dx = vec![E::ZEROS; most * d];
        let groups = intervals.chunks(E::WIDTH).zip(gradient.chunks(E::WIDTH * len)).zip(out.chunks_mut(E::WIDTH));
        for ((intervals, gradient), out) in groups {
            gather(simd, paths, intervals, increments);
            let last = increments.len() / d - 1;
            let x = Increments { values: increments.as_slice(), order: Backwards };
            let mut seed = LastStateSeed { output, layout, emitter, gradient, last };
            flow::backward(simd, layout, x, &mut checkpoints, &mut dx, &mut seed);
            for (l, out) in out.iter_mut().enumerate() {
                scatter(&dx, l, out);
            }
        }
    }
}

/// The gradient of the last state, where no other state has one.
struct LastStateSeed<'a, E: Number> {
    output: &'a Output,
    layout: &'a Shape,
    emitter: &'a mut Emitter<E>,
    gradient: &'a [E::Real],
    last: usize,
}

impl<E: Number> Seed<E> for LastStateSeed<'_, E> {
    #[inline(always)]
    fn add<S: Simd>(&mut self, simd: S, tau: usize, state: &[E], adjoint: &mut [E]) {
        if tau != self.last {
            return;
        }
        for (l, gradient) in self.gradient.chunks_exact(self.output.len()).enumerate() {
            load_lane(gradient, l, &mut self.emitter.out);
        }
        self.emitter.backward(simd, self.output, self.layout, state, adjoint);
    }
}
