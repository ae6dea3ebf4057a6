//! A few intervals computed side by side, one per lane of a [`Number`]: gather, compute, scatter.
//!
//! With one lane this is simply one interval. Shorter neighbours are padded with zero increments at their end, which change
//! nothing: `exp(0) = 1`.

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
    /// How many numbers [`new`](Self::new) asks for.
    pub(crate) fn room(output: &Output, layout: &Shape) -> usize {
        Track::<E>::room(layout) + Emitter::<E>::room(output, layout)
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
        // The values first; differences then overwrite them from the front.
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
        let mut kept = Checkpoints::new(self.layout, most);
        let mut dx = vec![E::ZEROS; most * d];
        let groups = self.intervals.chunks(E::WIDTH).zip(self.gradient.chunks(E::WIDTH * len)).zip(self.out.chunks_mut(E::WIDTH));
        for ((intervals, gradient), out) in groups {
            gather(simd, self.paths, intervals, increments);
            let steps = increments.len() / d;
            let x = Increments { values: increments.as_slice(), order: Backwards };
            let mut seed = Last { output: self.output, layout: self.layout, emitter, gradient, last: steps - 1 };
            flow::backward(simd, self.layout, x, &mut kept, &mut dx, &mut seed);
            for (l, out) in out.iter_mut().enumerate() {
                for (out, dx) in out.iter_mut().zip(&dx) {
                    *out = dx.lane(l);
                }
            }
        }
    }
}

/// Only the last state has a gradient.
struct Last<'a, E: Number> {
    output: &'a Output,
    layout: &'a Shape,
    emitter: &'a mut Emitter<E>,
    gradient: &'a [E::Real],
    last: usize,
}

impl<E: Number> Seed<E> for Last<'_, E> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::{Basis, LieBasis};
    use ncde_simd::Lanes;
    use ncde_simd::everywhere;

    /// Owns what a kernel borrows, so that each instruction set gets its own.
    struct Case<'a, E: Number, const BACKWARD: bool> {
        output: &'a Output,
        paths: &'a Paths<'a, E::Real>,
        intervals: &'a [Interval],
    }

    impl<E: Number, const BACKWARD: bool> Kernel for Case<'_, E, BACKWARD> {
        type Output = Vec<E::Real>;
        #[inline(always)]
        fn run<S: Simd>(self, simd: S) -> Vec<E::Real> {
            let Self { output, paths, intervals } = self;
            let layout = &output.shape.aligned((64 / size_of::<E>()).max(1));
            let scratch = &mut Scratch::<E>::new(output, layout);
            if BACKWARD {
                let gradient = vec![E::Real::ONE; intervals.len() * output.len()];
                let mut all = vec![E::Real::ZERO; intervals.iter().map(Interval::steps).sum::<usize>() * paths.channels()];
                let mut out = crate::signature::stream::split(&mut all, intervals, paths.channels());
                Backward { output, layout, paths, intervals, scratch, gradient: &gradient, out: &mut out }.run(simd);
                all
            } else {
                let mut out = vec![E::Real::ZERO; intervals.len() * output.len()];
                Forward { output, layout, paths, intervals, scratch, out: &mut out }.run(simd);
                out
            }
        }
    }

    fn agree<T: Float>(all: &[Vec<T>], tolerance: f64) {
        assert!(all.len() > 1);
        let scale = all[0].iter().fold(1.0_f64, |m, x| m.max(x.to_f64().abs()));
        for other in &all[1..] {
            for (a, b) in all[0].iter().zip(other) {
                assert!((a.to_f64() - b.to_f64()).abs() <= tolerance * scale, "{a} {b}");
            }
        }
    }

    /// Odd widths leave registers part full; five intervals leave lanes empty; the lengths differ.
    #[test]
    fn every_instruction_set_gives_the_same() {
        for (d, depth) in [(1, 3), (2, 5), (3, 4), (4, 4), (5, 3), (9, 2), (17, 2), (3, 1)] {
            let lengths = [5, 2, 9, 3, 9];
            let x: Vec<f64> = (0..28 * d).map(|i| (i as f64 * 0.7).sin()).collect();
            let single: Vec<f32> = x.iter().map(|&x| x as f32).collect();
            let paths = Paths::ragged(&x, &lengths, d).unwrap();
            let singles = Paths::ragged(&single, &lengths, d).unwrap();
            let intervals = &paths.whole().unwrap()[..];
            let shape = Shape::new(d, depth).unwrap();
            for log in [None, Some(LieBasis::new(&shape, Basis::Lyndon).unwrap())] {
                let output = &Output { shape: shape.clone(), log };
                let paths = &paths;
                agree(&everywhere(|| Case::<f64, false> { output, paths, intervals }), 1e-13);
                agree(&everywhere(|| Case::<f64, true> { output, paths, intervals }), 1e-12);
                agree(&everywhere(|| Case::<Lanes<f64, 8>, false> { output, paths, intervals }), 1e-13);
                agree(&everywhere(|| Case::<Lanes<f64, 8>, true> { output, paths, intervals }), 1e-12);
                let paths = &singles;
                agree(&everywhere(|| Case::<f32, true> { output, paths, intervals }), 1e-4);
                agree(&everywhere(|| Case::<Lanes<f32, 16>, true> { output, paths, intervals }), 1e-4);
            }
        }
    }
}
