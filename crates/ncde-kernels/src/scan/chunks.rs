//! Kernels over consecutive steps of one series, and the scan over chunks.

use ncde_simd::{Float, Kernel, Simd, dispatch_for};
use rayon::prelude::*;

use super::rows::{Advance, Gather, GatherBack, Retreat, along};
use super::{Gradients, Input, Numbers, Scan};
use crate::chunks::{carry, chunks, cut_mut};

/// `h_t = a_t h_{t-1} + b_t` from `start`, the state before the first of these steps.
struct Forward<'a, T> {
    numbers: Numbers,
    a: &'a [T],
    b: &'a [T],
    start: &'a [T],
    states: &'a mut [T],
}

impl<T: Float> Kernel for Forward<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { numbers, a, b, start, states } = self;
        let row = start.len();
        let mut before = start;
        for (t, (b, state)) in b.chunks_exact(row).zip(states.chunks_exact_mut(row)).enumerate() {
            along(simd, numbers, Advance, [of_step(a, t, row), before, b], [&mut *state]);
            before = state;
        }
    }
}

/// The row of a step, or that of all steps.
#[inline(always)]
fn of_step<T>(rows: &[T], t: usize, row: usize) -> &[T] {
    &rows[t * row % rows.len()..][..row]
}

/// The reverse pass; `r` goes from the gradient of the state after these steps to that of the state before them.
struct Backward<'a, T> {
    numbers: Numbers,
    a: &'a [T],
    /// The state before the first of these steps, and the states after each.
    start: &'a [T],
    states: &'a [T],
    gradient: &'a [T],
    r: &'a mut [T],
    da: &'a mut [T],
    db: &'a mut [T],
}

impl<T: Float> Kernel for Backward<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { numbers, a, start, states, gradient, r, da, db } = self;
        let row = start.len();
        for t in (0..states.len() / row).rev() {
            let step = t * row..(t + 1) * row;
            let before = if t == 0 { start } else { &states[step.start - row..step.start] };
            let at = step.start % da.len();
            let outputs = [&mut *r, &mut da[at..at + row], &mut db[step.clone()]];
            along(simd, numbers, Retreat, [&gradient[step], of_step(a, t, row), before], outputs);
        }
    }
}

/// The direction in which steps are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Forward,
    Reverse,
}

/// The state after some steps from zero, and the product of all `a`. In reverse, where `b` is the gradient: the gradient of the state before
/// them if that of the state after them is zero, and the product of all `conj(a)`.
struct Flow<'a, T> {
    numbers: Numbers,
    direction: Direction,
    a: &'a [T],
    b: &'a [T],
    row: usize,
}

impl<T: Float> Kernel for Flow<'_, T> {
    type Output = [Vec<T>; 2];
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> [Vec<T>; 2] {
        let Self { numbers, direction, a, b, row } = self;
        let (mut end, mut product) = (vec![T::ZERO; row], vec![T::ZERO; row]);
        product[..row / numbers.parts()].fill(T::ONE);
        let rows = b.chunks_exact(row).enumerate();
        match direction {
            Direction::Forward => {
                for (t, b) in rows {
                    along(simd, numbers, Gather, [of_step(a, t, row), b], [&mut end, &mut product]);
                }
            }
            Direction::Reverse => {
                for (t, w) in rows.rev() {
                    along(simd, numbers, GatherBack, [w, of_step(a, t, row)], [&mut end, &mut product]);
                }
            }
        }
        [end, product]
    }
}

impl Scan {
    /// The value each chunk starts with, from that of the first chunk of each series.
    fn starts<T: Float>(&self, direction: Direction, shape: [usize; 2], [a, b]: [&[&[T]]; 2], first: &[T]) -> Vec<Vec<T>> {
        let ([batch, length], numbers, row) = (shape, self.numbers, self.row());
        let size = self.plan(batch, length);
        let start = |series: usize| first[series * row..(series + 1) * row].to_vec();
        if size == length {
            return (0..batch).map(start).collect();
        }
        let flow = |(&a, &b): (&&[T], &&[T])| dispatch_for::<T, _>(Flow { numbers, direction, a, b, row });
        let flows: Vec<[Vec<T>; 2]> = a.par_iter().zip(b).map(flow).collect();
        let next = |i: usize, before: &Vec<T>| {
            let ([end, product], mut next) = (&flows[i], vec![T::ZERO; row]);
            dispatch_for::<T, _>(Forward { numbers, a: product, b: end, start: before, states: &mut next });
            next
        };
        let chunks = chunks(batch, size, |_| length);
        match direction {
            Direction::Forward => carry(&chunks, 0..chunks.len(), start, next),
            Direction::Reverse => carry(&chunks, (0..chunks.len()).rev(), start, next),
        }
    }

    /// An array by chunks of each series, of which the last may be shorter; one row for all steps is that of each chunk.
    fn cut<'a, T>(&self, [batch, length]: [usize; 2], values: &'a [T]) -> Vec<&'a [T]> {
        let (row, size) = (self.row(), self.plan(batch, length));
        if values.len() == row {
            return vec![values; batch * length.div_ceil(size)];
        }
        values.chunks_exact(length * row).flat_map(|series| series.chunks(size * row)).collect()
    }
}

/// The states after each step; the input has been checked.
pub(crate) fn forward<T: Float>(scan: &Scan, input: &Input<'_, T>) -> Vec<T> {
    let (row, numbers, shape) = (scan.row(), scan.numbers, [input.batch, input.length]);
    let (a, b) = (scan.cut(shape, input.a), scan.cut(shape, input.b));
    let starts = scan.starts(Direction::Forward, shape, [&a, &b], input.initial);
    let mut states = vec![T::ZERO; input.b.len()];
    let parts: Vec<_> = cut_mut(&mut states, [input.length, row], scan.plan(shape[0], shape[1]), |_| input.length).collect();
    let all = parts.into_par_iter().zip(&a).zip(&b).zip(&starts);
    all.for_each(|(((states, a), b), start)| dispatch_for::<T, _>(Forward { numbers, a, b, start, states }));
    states
}

/// The gradients; the input has been checked.
pub(crate) fn backward<T: Float>(scan: &Scan, input: &Input<'_, T>, states: &[T], gradient: &[T]) -> Gradients<T> {
    let (row, numbers, shape) = (scan.row(), scan.numbers, [input.batch, input.length]);
    let (a, w, h) = (scan.cut(shape, input.a), scan.cut(shape, gradient), scan.cut(shape, states));
    let mut carries = scan.starts(Direction::Reverse, shape, [&a, &w], &vec![T::ZERO; input.initial.len()]);
    let (per_series, size) = (w.len() / input.batch, scan.plan(shape[0], shape[1]));
    let is_shared = input.a.len() == row;
    let (mut da, mut db) = (vec![T::ZERO; if is_shared { w.len() * row } else { states.len() }], vec![T::ZERO; states.len()]);
    let by_chunks = |d| cut_mut(d, [input.length, row], size, |_| input.length).collect::<Vec<_>>();
    let dbs = by_chunks(&mut db);
    let das = if is_shared { da.chunks_exact_mut(row).collect() } else { by_chunks(&mut da) };
    carries.par_iter_mut().enumerate().zip(das).zip(dbs).for_each(|(((i, r), da), db)| {
        // The state before a chunk is the last of the chunk before it, or the initial one.
        let (b, first) = (i / per_series, i % per_series == 0);
        let start = if first { &input.initial[b * row..(b + 1) * row] } else { &h[i - 1][h[i - 1].len() - row..] };
        dispatch_for::<T, _>(Backward { numbers, a: a[i], start, states: h[i], gradient: w[i], r, da, db });
    });
    if is_shared {
        // Chunks are added in their order, whatever the number of threads.
        let mut sum = vec![T::ZERO; row];
        da.chunks_exact(row).for_each(|own| sum.iter_mut().zip(own).for_each(|(sum, &own)| *sum += own));
        da = sum;
    }
    let initial = carries.into_iter().step_by(per_series).flatten().collect();
    Gradients { a: da, b: db, initial }
}
