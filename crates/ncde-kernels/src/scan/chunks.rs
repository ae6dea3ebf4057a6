//! Kernels over consecutive steps of one series, and the three phases of the scan over chunks.

use ncde_simd::{Float, Kernel, Simd, dispatch_for};
use rayon::prelude::*;

use super::rows::{advance, gather, gather_back, retreat};
use super::{Gradients, Input, Numbers, Scan};

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
        let rows = a.chunks_exact(row).zip(b.chunks_exact(row));
        for ((a, b), state) in rows.zip(states.chunks_exact_mut(row)) {
            advance(simd, numbers, [a, before, b], state);
            before = state;
        }
    }
}

/// The product of all `a` and the last state from zero.
struct Ends<'a, T> {
    numbers: Numbers,
    a: &'a [T],
    b: &'a [T],
    /// The state, then the product.
    ends: &'a mut [T],
}

impl<T: Float> Kernel for Ends<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { numbers, a, b, ends } = self;
        let row = ends.len() / 2;
        let (h, p) = ends.split_at_mut(row);
        one(numbers, p);
        for (a, b) in a.chunks_exact(row).zip(b.chunks_exact(row)) {
            gather(simd, numbers, [a, b], [&mut *h, &mut *p]);
        }
    }
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
        for t in (0..a.len() / row).rev() {
            let step = t * row..(t + 1) * row;
            let before = if t == 0 { start } else { &states[step.start - row..step.start] };
            let outputs = [&mut *r, &mut da[step.clone()], &mut db[step.clone()]];
            retreat(simd, numbers, [&gradient[step.clone()], &a[step], before], outputs);
        }
    }
}

/// The product of all `conj(a)`, and the gradient of the first state if that of the last one is zero.
struct EndsBack<'a, T> {
    numbers: Numbers,
    a: &'a [T],
    gradient: &'a [T],
    /// The gradient of the first state, then the product.
    ends: &'a mut [T],
}

impl<T: Float> Kernel for EndsBack<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { numbers, a, gradient, ends } = self;
        let row = ends.len() / 2;
        let (r, p) = ends.split_at_mut(row);
        one(numbers, p);
        for (a, w) in a.chunks_exact(row).zip(gradient.chunks_exact(row)).rev() {
            gather_back(simd, numbers, [w, a], [&mut *r, &mut *p]);
        }
    }
}

/// The order in which chunks are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    FirstToLast,
    LastToFirst,
}

/// `carry <- product carry + end` over all chunks of one series; each end is replaced by the carry into its chunk.
struct Carry<'a, T> {
    numbers: Numbers,
    order: Order,
    carry: &'a mut [T],
    ends: &'a mut [T],
}

impl<T: Float> Kernel for Carry<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { numbers, order, carry, ends } = self;
        let row = carry.len();
        let chunks = ends.len() / (2 * row);
        let mut next = vec![T::ZERO; row];
        for i in 0..chunks {
            let i = if order == Order::FirstToLast { i } else { chunks - 1 - i };
            let (end, product) = ends[2 * i * row..2 * (i + 1) * row].split_at_mut(row);
            advance(simd, numbers, [product, carry, end], &mut next);
            end.copy_from_slice(carry);
            carry.copy_from_slice(&next);
        }
    }
}

/// A row of ones.
#[inline(always)]
fn one<T: Float>(numbers: Numbers, row: &mut [T]) {
    let width = row.len() / numbers.parts();
    row[..width].fill(T::ONE);
    row[width..].fill(T::ZERO);
}

/// The states after each step; the input has been checked.
pub(crate) fn forward<T: Float>(scan: &Scan, input: &Input<'_, T>) -> Vec<T> {
    let (row, numbers) = (scan.row(), scan.numbers);
    let &Input { batch, length, a, b, initial } = input;
    let series = length * row;
    let chunk = scan.plan(batch, length) * row;
    let mut states = vec![T::ZERO; batch * series];
    if chunk == series {
        let all = states.par_chunks_exact_mut(series).zip(a.par_chunks_exact(series)).zip(b.par_chunks_exact(series));
        all.zip(initial.par_chunks_exact(row))
            .for_each(|(((states, a), b), start)| dispatch_for::<T, _>(Forward { numbers, a, b, start, states }));
        return states;
    }
    let chunks = series.div_ceil(chunk);
    let mut ends = vec![T::ZERO; batch * chunks * 2 * row];
    let pieces = |values| cut(values, series, chunk);
    let (a, b) = (pieces(a), pieces(b));
    let all = ends.par_chunks_exact_mut(2 * row).zip(&a).zip(&b);
    all.for_each(|((ends, a), b)| dispatch_for::<T, _>(Ends { numbers, a, b, ends }));
    let mut carry = initial.to_vec();
    let all = ends.par_chunks_exact_mut(chunks * 2 * row).zip(carry.par_chunks_exact_mut(row));
    all.for_each(|(ends, carry)| dispatch_for::<T, _>(Carry { numbers, order: Order::FirstToLast, carry, ends }));
    let all = cut_mut(&mut states, series, chunk).into_par_iter().zip(&a).zip(&b).zip(ends.par_chunks_exact(2 * row));
    all.for_each(|(((states, a), b), ends)| dispatch_for::<T, _>(Forward { numbers, a, b, start: &ends[..row], states }));
    states
}

/// The gradients; the input has been checked.
pub(crate) fn backward<T: Float>(scan: &Scan, input: &Input<'_, T>, states: &[T], gradient: &[T]) -> Gradients<T> {
    let (row, numbers) = (scan.row(), scan.numbers);
    let &Input { batch, length, a, initial, .. } = input;
    let series = length * row;
    let chunk = scan.plan(batch, length) * row;
    let chunks = series.div_ceil(chunk);
    let (mut da, mut db) = (vec![T::ZERO; batch * series], vec![T::ZERO; batch * series]);
    let mut carry = vec![T::ZERO; batch * row];
    let mut ends = vec![T::ZERO; batch * chunks * 2 * row];
    let pieces = |values| cut(values, series, chunk);
    let (a, w, h) = (pieces(a), pieces(gradient), pieces(states));
    if chunks > 1 {
        let all = ends.par_chunks_exact_mut(2 * row).zip(&a).zip(&w);
        all.for_each(|((ends, a), gradient)| dispatch_for::<T, _>(EndsBack { numbers, a, gradient, ends }));
        let all = ends.par_chunks_exact_mut(chunks * 2 * row).zip(carry.par_chunks_exact_mut(row));
        all.for_each(|(ends, carry)| dispatch_for::<T, _>(Carry { numbers, order: Order::LastToFirst, carry, ends }));
    }
    let (das, dbs) = (cut_mut(&mut da, series, chunk), cut_mut(&mut db, series, chunk));
    let all = ends.par_chunks_exact_mut(2 * row).enumerate().zip(das).zip(dbs);
    all.for_each(|(((i, ends), da), db)| {
        // The state before a chunk is the last of the chunk before it, or the initial one.
        let (b, first) = (i / chunks, i % chunks == 0);
        let start = if first { &initial[b * row..(b + 1) * row] } else { &h[i - 1][h[i - 1].len() - row..] };
        dispatch_for::<T, _>(Backward { numbers, a: a[i], start, states: h[i], gradient: w[i], r: &mut ends[..row], da, db });
    });
    let initial = ends.chunks_exact(chunks * 2 * row).flat_map(|ends| &ends[..row]).copied().collect();
    Gradients { a: da, b: db, initial }
}

/// Chunks of each series; the last one of a series may be shorter.
fn cut<T>(values: &[T], series: usize, chunk: usize) -> Vec<&[T]> {
    values.chunks_exact(series).flat_map(|series| series.chunks(chunk)).collect()
}

/// As [`cut`], to write to.
pub(crate) fn cut_mut<T>(values: &mut [T], series: usize, chunk: usize) -> Vec<&mut [T]> {
    values.chunks_exact_mut(series).flat_map(|series| series.chunks_mut(chunk)).collect()
}
