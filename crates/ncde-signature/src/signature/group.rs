//! Several intervals computed together, one in each lane of a [`Number`]: gather, compute, scatter.
//!
//! Shorter intervals are padded at their end with zero increments, which change nothing: `exp(0) = 1`.

use crate::algebra::Shape;
use crate::signature::emit::{Emitter, Output};
use crate::signature::flow::{self, Backwards, Checkpoints, Increments, Seed, Track};
use crate::signature::{Interval, Paths};
use ncde_simd::Float;
use ncde_simd::Number;
use ncde_simd::{Kernel, Simd};

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

/// Outputs of intervals, `E::WIDTH` at a time.
pub(crate) struct Forward<'a, E: Number> {
    pub(crate) output: &'a Output,
    pub(crate) layout: &'a Shape,
    pub(crate) paths: &'a Paths<'a, E::Real>,
    pub(crate) intervals: &'a [Interval],
    pub(crate) scratch: &'a mut Scratch<E>,
    /// `[intervals, output]`.
    pub(crate) out: &'a mut [E::Real],
}

impl<E: Number> Kernel for Forward<'_, E> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Scratch { increments, track, emitter } = self.scratch;
        for (intervals, out) in self.intervals.chunks(E::WIDTH).zip(self.out.chunks_mut(E::WIDTH * self.output.len())) {
            gather(simd, self.paths, intervals, increments);
            let x = Increments { values: increments.as_slice(), order: Backwards };
            flow::forward(simd, self.layout, x, track);
            emitter.emit(simd, self.output, self.layout, &track.state);
            for (l, out) in out.chunks_exact_mut(self.output.len()).enumerate() {
                for (out, x) in out.iter_mut().zip(&emitter.out) {
                    *out = x.lane(l);
                }
            }
        }
    }
}

/// The reverse pass of [`Forward`].
pub(crate) struct Backward<'a, 'o, E: Number> {
    pub(crate) output: &'a Output,
    pub(crate) layout: &'a Shape,
    pub(crate) paths: &'a Paths<'a, E::Real>,
    pub(crate) intervals: &'a [Interval],
    pub(crate) scratch: &'a mut Scratch<E>,
    /// `[intervals, output]`: the gradient of the outputs.
    pub(crate) gradient: &'a [E::Real],
    /// For each interval `[steps, channels]`: the gradient of its increments.
    pub(crate) out: &'a mut [&'o mut [E::Real]],
}

impl<E: Number> Kernel for Backward<'_, '_, E> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let (d, len) = (self.paths.channels(), self.output.len());
        let Scratch { increments, emitter, .. } = self.scratch;
        let most = self.intervals.iter().map(Interval::steps).max().unwrap_or(0);
        let mut checkpoints = Checkpoints::new(self.layout, most);
        let mut dx = vec![E::ZEROS; most * d];
        let groups = self.intervals.chunks(E::WIDTH).zip(self.gradient.chunks(E::WIDTH * len)).zip(self.out.chunks_mut(E::WIDTH));
        for ((intervals, gradient), out) in groups {
            gather(simd, self.paths, intervals, increments);
            let steps = increments.len() / d;
            let x = Increments { values: increments.as_slice(), order: Backwards };
            let mut seed = LastStateSeed { output: self.output, layout: self.layout, emitter, gradient, last: steps - 1 };
            flow::backward(simd, self.layout, x, &mut checkpoints, &mut dx, &mut seed);
            for (l, out) in out.iter_mut().enumerate() {
                for (out, dx) in out.iter_mut().zip(&dx) {
                    *out = dx.lane(l);
                }
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
            for (out, &g) in self.emitter.out.iter_mut().zip(gradient) {
                out.set_lane(l, g);
            }
        }
        self.emitter.backward(simd, self.output, self.layout, state, adjoint);
    }
}
