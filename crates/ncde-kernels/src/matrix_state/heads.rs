//! All steps of a head forward, chunk after chunk, and all heads of a batch. Every series and head is a task of its own that sums nothing with others, so
//! that results do not depend on threads.

use ncde_simd::{Buffer, Float, Kernel, Simd, call, dispatch_for};
use rayon::prelude::*;

use super::columns::Step;
use super::pass::{Pass, Row, enter, leave, tiled};
use super::{Decay, Input, MatrixState, Outputs, chunk};
use crate::pool::borrow;

/// One head of one series.
#[derive(Clone, Copy)]
pub(super) struct Head<'a, T> {
    pub(super) spec: &'a MatrixState,
    pub(super) input: &'a Input<'a, T>,
    /// Its row of an array with a row for each series and head.
    pub(super) index: usize,
}

impl<'a, T: Float> Head<'a, T> {
    /// The numbers of a step, in an array of `[batch, length, heads, width]`.
    #[inline(always)]
    pub(super) fn row(&self, array: &'a [T], t: usize, width: usize) -> &'a [T] {
        let (heads, length) = (self.spec.heads, self.input.length);
        let row = (self.index / heads * length + t) * heads + self.index % heads;
        &array[row * width..][..width]
    }

    /// The keys of a step of `a` or `c`: empty without delta, and those of the last step after it.
    #[inline(always)]
    pub(super) fn delta(&self, array: &'a [T], t: usize) -> &'a [T] {
        if self.spec.delta { self.row(array, t.min(self.input.length - 1), self.spec.keys) } else { &[] }
    }

    /// `w` of the steps from `first` on, `[steps, K]`; 1 after the last step.
    #[inline(always)]
    pub(super) fn decays(&self, first: usize, out: &mut [T]) {
        for (i, out) in out.chunks_exact_mut(self.spec.keys).enumerate() {
            let t = first + i;
            match self.spec.decay {
                Decay::Scalar if t < self.input.length => out.fill(self.row(self.input.w, t, 1)[0]),
                Decay::Vector if t < self.input.length => out.copy_from_slice(self.row(self.input.w, t, self.spec.keys)),
                _ => out.fill(T::ONE),
            }
        }
    }

    /// A step of `S`.
    #[inline(always)]
    fn forward<'b>(&self, t: usize, w: &'b [T]) -> Row<'b, T>
    where
        'a: 'b,
    {
        let &Input { a, c, k, q, v, .. } = self.input;
        let (k, q) = (self.row(k, t, self.spec.keys), self.row(q, t, self.spec.keys));
        Row { w, c: self.delta(c, t), k, q, r: self.delta(a, t + 1), v: self.row(v, t, self.spec.values) }
    }

    /// A step of `G`, from the gradients in the outputs and `w` of the step after it.
    #[inline(always)]
    pub(super) fn back<'b>(&self, t: usize, outputs: &'a [T], w: &'b [T]) -> Row<'b, T>
    where
        'a: 'b,
    {
        let &Input { a, c, k, q, .. } = self.input;
        let (k, q) = (self.row(k, t, self.spec.keys), self.row(q, t, self.spec.keys));
        Row { w, c: self.delta(a, t + 1), k: q, q: k, r: self.delta(c, t), v: self.row(outputs, t, self.spec.values) }
    }

    /// A step for the gradients in `K` numbers, or what there is of the step after the last.
    #[inline(always)]
    pub(super) fn step<'b>(&self, t: usize, outputs: &'a [T], u: &'a [T], [w, z]: [&'b [T]; 2]) -> Step<'b, T>
    where
        'a: 'b,
    {
        let &Input { a, c, k, q, v, length, .. } = self.input;
        let (t, keys, values) = (t.min(length - 1), self.spec.keys, self.spec.values);
        let (k, q) = (self.row(k, t, keys), self.row(q, t, keys));
        let (v, gradient) = (self.row(v, t, values), self.row(outputs, t, values));
        let u = if self.spec.delta { &u[t * values..][..values] } else { &[] };
        Step { w, a: self.delta(a, t), c: self.delta(c, t), k, q, v, gradient, u, z }
    }

    /// `S_0`, `[V, K]`, or empty.
    #[inline(always)]
    pub(super) fn initial(&self) -> &'a [T] {
        let size = self.spec.values * self.spec.keys;
        if self.input.initial.is_empty() { &[] } else { &self.input.initial[self.index * size..][..size] }
    }
}

/// Working memory of a head.
#[derive(Debug, Default)]
pub(super) struct Workspace<T: Float> {
    /// `S`, or `G` by keys.
    pub(super) state: Buffer<T>,
    /// `w` of the steps of a chunk and of the one after it.
    pub(super) w: Vec<T>,
    /// `u`, `z` and outputs of a [`Pass`].
    u: Vec<T>,
    pub(super) z: Vec<T>,
    pub(super) o: Vec<T>,
    pub(super) dw: Vec<T>,
    /// For [`Columns`].
    pub(super) columns: Buffer<T>,
    /// For transposes.
    pub(super) square: Vec<T::Register>,
}

impl<T: Float> Workspace<T> {
    #[inline(always)]
    pub(super) fn reset(&mut self, spec: &MatrixState, length: usize) {
        let (&MatrixState { keys, values, delta, .. }, steps) = (spec, chunk(spec.values).min(length));
        let u = if delta { (steps + 1) * values } else { 0 };
        self.state.reset(tiled::<T>(keys, values));
        for (numbers, size) in
            [(&mut self.w, (steps + 1) * keys), (&mut self.u, u), (&mut self.z, u), (&mut self.o, steps * values)]
        {
            numbers.clear();
            numbers.resize(size, T::ZERO);
        }
    }
}

/// The forward pass of a head, and whether all outputs are finite.
struct Forward<'a, T: Float> {
    head: Head<'a, T>,
    workspace: &'a mut Workspace<T>,
    outputs: Vec<&'a mut [T]>,
    last: &'a mut [T],
    /// Empty if no reverse pass follows.
    checkpoints: &'a mut [T],
}

impl<T: Float> Kernel for Forward<'_, T> {
    type Output = bool;
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> bool {
        let Self { head, workspace, mut outputs, last, checkpoints } = self;
        let (&MatrixState { keys, values, delta, .. }, input) = (head.spec, head.input);
        let (shape, length, chunk) = ([keys, values], input.length, chunk(values));
        let mut check = T::ZERO;
        workspace.reset(head.spec, length);
        let Workspace { state, w, u, z, o, square, .. } = workspace;
        enter(simd, shape, head.initial(), state, square);
        let stored = !checkpoints.is_empty();
        let (states, all_u) = checkpoints.split_at_mut(if stored { (length - 1) / chunk * keys * values } else { 0 });
        if delta {
            // The first `u`: a step that leaves the state as it is.
            w[..keys].fill(T::ONE);
            let still = Row { v: &z[..values], r: head.delta(input.a, 0), ..head.forward(0, &w[..keys]) };
            call(simd, Pass { keys, values, rows: &[still], state, u: &mut u[..2 * values], o: &mut o[..values] });
            u.copy_within(values..2 * values, 0);
        }
        for first in (0..length).step_by(chunk) {
            let steps = chunk.min(length - first);
            if stored && first > 0 {
                leave(simd, shape, state, &mut states[(first / chunk - 1) * keys * values..][..keys * values], square);
            }
            head.decays(first, &mut w[..steps * keys]);
            let rows: Vec<Row<'_, T>> =
                w[..steps * keys].chunks_exact(keys).enumerate().map(|(i, w)| head.forward(first + i, w)).collect();
            check += call(simd, Pass { keys, values, rows: &rows, state, u, o: &mut o[..steps * values] });
            for (out, o) in outputs[first..].iter_mut().zip(o[..steps * values].chunks_exact(values)) {
                out.copy_from_slice(o);
            }
            if delta {
                if stored {
                    all_u[first * values..][..steps * values].copy_from_slice(&u[..steps * values]);
                }
                u.copy_within(steps * values..(steps + 1) * values, 0);
            }
        }
        leave(simd, shape, state, last, square);
        check.is_finite()
    }
}

/// The parts of an array of each of `count` series or heads, of which there are none if it is empty.
pub(super) fn parts<T: Send>(values: &mut [T], count: usize) -> Vec<&mut [T]> {
    match values.len() / count {
        0 => (0..count).map(|_| Default::default()).collect(),
        size => values.chunks_exact_mut(size).collect(),
    }
}

/// The rows of each head in an array of `[length, heads, width]`.
pub(super) fn rows_by_head<T>(values: &mut [T], length: usize, heads: usize) -> Vec<Vec<&mut [T]>> {
    let mut by_head: Vec<Vec<&mut [T]>> = (0..heads).map(|_| Vec::with_capacity(length)).collect();
    let width = values.len() / (length * heads);
    if width > 0 {
        for step in values.chunks_exact_mut(heads * width) {
            step.chunks_exact_mut(width).zip(&mut by_head).for_each(|(row, head)| head.push(row));
        }
    }
    by_head
}

/// All outputs, and whether they are finite; the sizes have been checked.
pub(crate) fn forward<T: Float>(spec: &MatrixState, input: &Input<'_, T>) -> (Outputs<T>, bool) {
    let (&Input { batch, length, .. }, heads) = (input, spec.heads);
    let mut outputs = vec![T::ZERO; input.v.len()];
    let mut last = vec![T::ZERO; batch * spec.state()];
    let mut checkpoints = vec![T::ZERO; spec.checkpoints(batch, length)];
    let series = parts(&mut outputs, batch).into_par_iter().zip(parts(&mut last, batch)).zip(parts(&mut checkpoints, batch));
    let finite = series.enumerate().map(|(b, ((outputs, last), checkpoints))| {
        let rows = rows_by_head(outputs, length, heads);
        let of_heads = rows.into_par_iter().zip(parts(last, heads)).zip(parts(checkpoints, heads)).enumerate();
        let finite = of_heads.map(|(h, ((outputs, last), checkpoints))| {
            let head = Head { spec, input, index: b * heads + h };
            dispatch_for::<T, _>(Forward { head, workspace: &mut borrow::<Workspace<T>>(), outputs, last, checkpoints })
        });
        finite.reduce(|| true, |all, finite| all & finite)
    });
    let finite = finite.reduce(|| true, |all, finite| all & finite);
    (Outputs { outputs, last, checkpoints }, finite)
}

/// One step of one series, and whether all outputs are finite; the sizes have been checked.
pub(crate) fn push<T: Float>(spec: &MatrixState, input: &Input<'_, T>, output: &mut [T], next: &mut [T]) -> bool {
    let mut workspace = borrow::<Workspace<T>>();
    let heads = output.chunks_exact_mut(spec.values).zip(next.chunks_exact_mut(spec.keys * spec.values)).enumerate();
    heads.fold(true, |finite, (index, (output, last))| {
        let (head, workspace) = (Head { spec, input, index }, &mut *workspace);
        finite & dispatch_for::<T, _>(Forward { head, workspace, outputs: vec![output], last, checkpoints: &mut [] })
    })
}
