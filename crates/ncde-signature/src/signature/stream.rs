//! Every prefix: row `t` of the result is the signature of the path up to observation `t + 1`, and the reverse pass.
//!
//! Time runs forwards, so the state is mirrored: `M(S_t exp(x)) = exp(x) M(S_t)`.

use rayon::prelude::*;

use crate::algebra::basis::want;
use crate::number::Number;
use crate::signature::flow::{self, Checkpoints, Forwards, Increments};
use crate::signature::group::{self, Pass, Scratch, emit, emit_backward};
use crate::signature::plan::{self, Layout};
use crate::signature::transform::finite;
use crate::signature::{Interval, Paths, Signature};
use crate::simd::{Kernel, dispatch};
use crate::{Error, Float};

impl Signature {
    /// Of every prefix of every path, one path after the other: `[sum of (length - 1), len]`.
    ///
    /// # Errors
    /// As for [`of`](Self::of).
    pub fn stream<T: Float>(&self, paths: &Paths<'_, T>) -> Result<Vec<T>, Error> {
        self.check_channels(paths)?;
        let intervals = paths.whole()?;
        let mut out = self.shape().zeros(rows(&intervals), self.len(), "the stream")?;
        match plan::layout::<T>(intervals.len(), self.shape().len()) {
            Layout::Words => self.stream_forward::<T>(paths, &intervals, &mut out)?,
            Layout::Lanes => self.stream_forward::<T::Register>(paths, &intervals, &mut out)?,
        }
        finite(paths, out)
    }

    fn stream_forward<E: Number>(&self, paths: &Paths<'_, E::Real>, intervals: &[Interval], out: &mut [E::Real]) -> Result<(), Error> {
        self.room::<E>(4 * self.shape().len())?;
        let mut out = split(out, intervals, self.len());
        intervals.par_chunks(E::WIDTH).zip(out.par_chunks_mut(E::WIDTH)).for_each_init(
            || Scratch::<E>::new(self.output(), Pass::Forward),
            |scratch, (intervals, out)| dispatch(Forward { signature: self, paths, intervals, scratch, out }),
        );
        Ok(())
    }

    /// The reverse pass of [`stream`](Self::stream): from the gradient of all rows that of the path's values.
    ///
    /// # Errors
    /// As for [`stream`](Self::stream), or if the gradient has the wrong size.
    pub fn stream_backward<T: Float>(&self, paths: &Paths<'_, T>, gradient: &[T]) -> Result<Vec<T>, Error> {
        self.check_channels(paths)?;
        let intervals = paths.whole()?;
        want("reverse pass of a stream", "the gradient", gradient.len(), rows(&intervals) * self.len())?;
        let d = paths.channels();
        let mut increments = vec![T::ZERO; rows(&intervals) * d];
        match plan::layout::<T>(intervals.len(), self.shape().len()) {
            Layout::Words => self.stream_reverse::<T>(paths, &intervals, gradient, &mut increments)?,
            Layout::Lanes => self.stream_reverse::<T::Register>(paths, &intervals, gradient, &mut increments)?,
        }
        let mut out = vec![T::ZERO; paths.values().len()];
        for (interval, dx) in intervals.iter().zip(split(&mut increments, &intervals, d)) {
            let rows = paths.rows(interval.path);
            add_increments(dx, &mut out[rows.start * d..rows.end * d], d);
        }
        finite(paths, out)
    }

    fn stream_reverse<E: Number>(
        &self,
        paths: &Paths<'_, E::Real>,
        intervals: &[Interval],
        mut gradient: &[E::Real],
        out: &mut [E::Real],
    ) -> Result<(), Error> {
        let steps = intervals.iter().map(Interval::steps).max().unwrap_or(0);
        self.room::<E>((flow::kept_states(steps) + 6) * self.shape().len())?;
        let mut gradients = Vec::with_capacity(intervals.len());
        for interval in intervals {
            let (own, rest) = gradient.split_at(interval.steps() * self.len());
            gradients.push(own);
            gradient = rest;
        }
        let mut out = split(out, intervals, paths.channels());
        let tasks = intervals.par_chunks(E::WIDTH).zip(gradients.par_chunks(E::WIDTH)).zip(out.par_chunks_mut(E::WIDTH));
        tasks.for_each_init(
            || Scratch::<E>::new(self.output(), Pass::Backward),
            |scratch, ((intervals, gradients), out)| dispatch(Backward { signature: self, paths, intervals, scratch, gradients, out }),
        );
        Ok(())
    }
}

fn rows(intervals: &[Interval]) -> usize {
    intervals.iter().map(Interval::steps).sum()
}

/// The part of each interval in an array of `row` numbers a step.
pub(crate) fn split<'a, T>(mut all: &'a mut [T], intervals: &[Interval], row: usize) -> Vec<&'a mut [T]> {
    let mut parts = Vec::with_capacity(intervals.len());
    for interval in intervals {
        let (own, rest) = all.split_at_mut(interval.steps() * row);
        parts.push(own);
        all = rest;
    }
    parts
}

/// Adds the gradient of increments, `x_t = X_{t+1} - X_t`, to that of the values.
pub(crate) fn add_increments<T: Float>(dx: &[T], out: &mut [T], channels: usize) {
    for (i, &g) in dx.iter().enumerate() {
        out[i] -= g;
        out[i + channels] += g;
    }
}

struct Forward<'a, 'o, E: Number> {
    signature: &'a Signature,
    paths: &'a Paths<'a, E::Real>,
    intervals: &'a [Interval],
    scratch: &'a mut Scratch<E>,
    out: &'a mut [&'o mut [E::Real]],
}

impl<E: Number> Kernel for Forward<'_, '_, E> {
    type Output = ();
    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let (output, mirror) = (self.signature.output(), self.signature.mirror());
        let (shape, len) = (&output.shape, output.len());
        let (increments, state, memory, _, mut emitting) = self.scratch.parts();
        group::gather(self.paths, self.intervals, increments);
        let x = Increments { values: increments.as_slice(), order: Forwards };
        let mut usual = vec![E::zero(); shape.len()];
        flow::forward::<E, _, FUSED>(shape, x, state, memory, |tau, state| {
            mirror.copy(shape, state, &mut usual);
            emit::<E, FUSED>(output, &usual, &mut emitting);
            for (l, out) in self.out.iter_mut().enumerate() {
                if let Some(out) = out.get_mut(tau * len..(tau + 1) * len) {
                    for (out, x) in out.iter_mut().zip(&*emitting.out) {
                        *out = x.lane(l);
                    }
                }
            }
        });
    }
}

struct Backward<'a, 'o, E: Number> {
    signature: &'a Signature,
    paths: &'a Paths<'a, E::Real>,
    intervals: &'a [Interval],
    scratch: &'a mut Scratch<E>,
    gradients: &'a [&'a [E::Real]],
    out: &'a mut [&'o mut [E::Real]],
}

impl<E: Number> Kernel for Backward<'_, '_, E> {
    type Output = ();
    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let (output, mirror) = (self.signature.output(), self.signature.mirror());
        let (shape, len) = (&output.shape, output.len());
        let (increments, _, memory, adjoint, mut emitting) = self.scratch.parts();
        group::gather(self.paths, self.intervals, increments);
        let steps = increments.len() / shape.width();
        let mut kept = Checkpoints::new(shape, steps);
        let mut dx = vec![E::zero(); increments.len()];
        let (mut usual, mut of_usual) = (vec![E::zero(); shape.len()], vec![E::zero(); shape.len()]);
        let x = Increments { values: increments.as_slice(), order: Forwards };
        flow::backward::<E, _, FUSED>(shape, x, &mut kept, adjoint, &mut dx, memory, |tau, state, adjoint| {
            emitting.out.fill(E::zero());
            for (l, gradient) in self.gradients.iter().enumerate() {
                for (out, &g) in emitting.out.iter_mut().zip(gradient.get(tau * len..(tau + 1) * len).unwrap_or(&[])) {
                    out.set_lane(l, g);
                }
            }
            mirror.copy(shape, state, &mut usual);
            of_usual.fill(E::zero());
            emit_backward::<E, FUSED>(output, &usual, &mut emitting, &mut of_usual);
            mirror.add(shape, &of_usual, adjoint);
        });
        for (l, out) in self.out.iter_mut().enumerate() {
            for (out, dx) in out.iter_mut().zip(&dx) {
                *out = dx.lane(l);
            }
        }
    }
}
