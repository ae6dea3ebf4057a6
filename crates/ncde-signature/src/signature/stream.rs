//! Every prefix of a path: row `t` of the result is the signature of the path up to observation `t + 1`, and the reverse pass.
//!
//! Time runs forwards, so the state is mirrored: `M(S_t exp(x)) = exp(x) M(S_t)`.

use rayon::prelude::*;

use crate::algebra::Shape;
use crate::algebra::basis::want;
use crate::signature::emit::Emitter;
use crate::signature::flow::{self, Checkpoints, Forwards, Increments, Seed};
use crate::signature::group::{Scratch, gather, load_lane, scatter};
use crate::signature::plan::{self, Layout};
use crate::signature::transform::{finite, finite_gradient};
use crate::signature::{Interval, Paths, Signature};
use crate::{Error, Float};
use ncde_simd::{Buffer, Number, Simd, kernel};

impl Signature {
    /// The results for every prefix of every path, one path after the other: `[sum of (length - 1), len]`.
    ///
    /// # Errors
    /// As for [`of`](Self::of).
    pub fn stream<T: Float>(&self, paths: &Paths<'_, T>) -> Result<Vec<T>, Error> {
        T::stream(self, paths)
    }

    pub(crate) fn stream_of<T: Float>(&self, paths: &Paths<'_, T>) -> Result<Vec<T>, Error> {
        self.check_channels(paths)?;
        let intervals = paths.whole()?;
        let mut out = self.shape().zeros(rows(&intervals), self.len(), "the stream")?;
        match plan::layout::<T>(intervals.len(), self.shape().len()) {
            Layout::Words => self.stream_forward::<T>(paths, &intervals, &mut out)?,
            Layout::Lanes => self.stream_forward::<T::Register>(paths, &intervals, &mut out)?,
        }
        finite(paths, out)
    }

    fn stream_forward<E: Number>(
        &self,
        paths: &Paths<'_, E::Real>,
        intervals: &[Interval],
        out: &mut [E::Real],
    ) -> Result<(), Error> {
        let layout = self.layout::<E>();
        self.check_workspace::<E>(Scratch::<E>::workspace_len(self.output(), &layout) + layout.len())?;
        let mut out = split_mut(out, intervals, self.len());
        intervals.par_chunks(E::WIDTH).zip(out.par_chunks_mut(E::WIDTH)).for_each_init(
            || Scratch::<E>::new(self.output(), &layout),
            |scratch, (intervals, out)| forward(self, &layout, paths, intervals, scratch, out),
        );
        Ok(())
    }

    /// The reverse pass of [`stream`](Self::stream): from the gradient of all rows that of the path's values.
    ///
    /// # Errors
    /// As for [`stream`](Self::stream), or if the gradient has the wrong size.
    pub fn stream_backward<T: Float>(&self, paths: &Paths<'_, T>, gradient: &[T]) -> Result<Vec<T>, Error> {
        T::stream_backward(self, paths, gradient)
    }

    pub(crate) fn stream_backward_of<T: Float>(&self, paths: &Paths<'_, T>, gradient: &[T]) -> Result<Vec<T>, Error> {
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
        for (interval, dx) in intervals.iter().zip(split_mut(&mut increments, &intervals, d)) {
            let rows = paths.rows(interval.path);
            add_increments(dx, &mut out[rows.start * d..rows.end * d], d);
        }
        finite_gradient(paths, gradient, out)
    }

    fn stream_reverse<E: Number>(
        &self,
        paths: &Paths<'_, E::Real>,
        intervals: &[Interval],
        gradient: &[E::Real],
        out: &mut [E::Real],
    ) -> Result<(), Error> {
        let steps = intervals.iter().map(Interval::steps).max().unwrap_or(0);
        let layout = self.layout::<E>();
        let scratch = Scratch::<E>::workspace_len(self.output(), &layout) + 2 * layout.len();
        self.check_workspace::<E>(Checkpoints::<E>::workspace_len(&layout, steps).saturating_add(scratch))?;
        let gradients = split(gradient, intervals.iter().map(|interval| interval.steps() * self.len()));
        let mut out = split_mut(out, intervals, paths.channels());
        let tasks = intervals.par_chunks(E::WIDTH).zip(gradients.par_chunks(E::WIDTH)).zip(out.par_chunks_mut(E::WIDTH));
        tasks.for_each_init(
            || Scratch::<E>::new(self.output(), &layout),
            |scratch, ((intervals, gradients), out)| backward(self, &layout, paths, intervals, scratch, gradients, out),
        );
        Ok(())
    }
}

fn rows(intervals: &[Interval]) -> usize {
    intervals.iter().map(Interval::steps).sum()
}

/// Consecutive parts of these lengths.
pub(crate) fn split<T>(mut all: &[T], lengths: impl Iterator<Item = usize>) -> Vec<&[T]> {
    lengths.filter_map(|length| all.split_off(..length)).collect()
}

/// The part of each interval in an array with `row` numbers for each step.
pub(crate) fn split_mut<'a, T>(mut all: &'a mut [T], intervals: &[Interval], row: usize) -> Vec<&'a mut [T]> {
    intervals.iter().filter_map(|interval| all.split_off_mut(..interval.steps() * row)).collect()
}

/// Adds the gradient of increments, `x_t = X_{t+1} - X_t`, to that of the values.
pub(crate) fn add_increments<T: Float>(dx: &[T], out: &mut [T], channels: usize) {
    for (i, &g) in dx.iter().enumerate() {
        out[i] -= g;
        out[i + channels] += g;
    }
}

kernel! {
    /// The outputs of one group; `out` has `[steps, output]` for each interval.
    dispatch fn forward<'a, 'o, S: Simd, E: Number>(
        simd: S,
        signature: &'a Signature,
        layout: &'a Shape,
        paths: &'a Paths<'a, E::Real>,
        intervals: &'a [Interval],
        scratch: &'a mut Scratch<E>,
        out: &'a mut [&'o mut [E::Real]],
    ) {
        let (output, mirror) = (signature.output(), signature.mirror());
        let Scratch { increments, track, emitter } = scratch;
        gather(simd, paths, intervals, increments);
        let mut unmirrored = Buffer::zeros(layout.len());
        track.state.fill(E::ZEROS);
        for (tau, x) in increments.chunks_exact(layout.width()).enumerate() {
            track.step(simd, layout, x);
            mirror.copy(layout, &track.state, &mut unmirrored);
            emitter.emit(simd, output, layout, &unmirrored);
            for (l, out) in out.iter_mut().enumerate() {
                if let Some(out) = out.get_mut(tau * output.len()..(tau + 1) * output.len()) {
                    scatter(&emitter.out, l, out);
                }
            }
        }
    }
}

kernel! {
    /// The reverse pass of [`forward`]; `out` has `[steps, channels]` for each interval.
    dispatch fn backward<'a, 'o, S: Simd, E: Number>(
        simd: S,
        signature: &'a Signature,
        layout: &'a Shape,
        paths: &'a Paths<'a, E::Real>,
        intervals: &'a [Interval],
        scratch: &'a mut Scratch<E>,
        gradients: &'a [&'a [E::Real]],
        out: &'a mut [&'o mut [E::Real]],
    ) {
        let Scratch { increments, emitter, .. } = scratch;
        gather(simd, paths, intervals, increments);
        let mut checkpoints = Checkpoints::new(layout, increments.len() / layout.width());
        let mut dx = vec![E::ZEROS; increments.len()];
        let x = Increments { values: increments.as_slice(), order: Forwards };
        let mut seed = StreamSeed {
            signature,
            layout,
            lower: &layout.lower(),
            emitter,
            gradients,
            unmirrored: Buffer::zeros(layout.len()),
            d_unmirrored: Buffer::zeros(layout.len()),
        };
        flow::backward(simd, layout, x, &mut checkpoints, &mut dx, &mut seed);
        for (l, out) in out.iter_mut().enumerate() {
            scatter(&dx, l, out);
        }
    }
}

/// The gradients of all states, for a stream.
struct StreamSeed<'a, E: Number> {
    signature: &'a Signature,
    layout: &'a Shape,
    lower: &'a Shape,
    emitter: &'a mut Emitter<E>,
    gradients: &'a [&'a [E::Real]],
    unmirrored: Buffer<E>,
    d_unmirrored: Buffer<E>,
}

impl<E: Number> Seed<E> for StreamSeed<'_, E> {
    #[inline(always)]
    fn add<S: Simd>(&mut self, simd: S, tau: usize, state: &[E], adjoint: &mut [E]) {
        let (output, mirror) = (self.signature.output(), self.signature.mirror());
        let rows = tau * output.len()..(tau + 1) * output.len();
        self.emitter.out.fill(E::ZEROS);
        for (l, gradient) in self.gradients.iter().enumerate() {
            load_lane(gradient.get(rows.clone()).unwrap_or(&[]), l, &mut self.emitter.out);
        }
        mirror.copy(self.lower, state, &mut self.unmirrored);
        self.d_unmirrored.fill(E::ZEROS);
        self.emitter.backward(simd, output, self.layout, &self.unmirrored, &mut self.d_unmirrored);
        mirror.add(simd, self.layout, &self.d_unmirrored, adjoint);
    }
}
