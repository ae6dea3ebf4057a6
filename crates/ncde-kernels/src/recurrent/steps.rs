//! All steps of a few series forward, and one step of a stream.

use std::marker::PhantomData;

use ncde_simd::{Float, Kernel, Simd, dispatch_for};
use rayon::prelude::*;

use super::cells::{Equations, Gru, LANES, Lstm, Parts, Slstm};
use super::layout::{Layout, blocks, chunk, cut, part, set_row};
use super::{Cell, Input, Outputs, Recurrent};
use crate::neural::product::Panels;
use crate::pool::borrow;

/// The numbers of a group of each of `N` parts: 16 if it is whole; missing ones are zero. (Whether it is known to the compiler: copies of any length are calls.)
#[inline(always)]
pub(super) fn read<T: Float, const WHOLE: bool, const N: usize>(values: &[T], stride: usize, count: usize) -> Parts<T, N> {
    let mut parts = [[T::ZERO; LANES]; N];
    for n in 0..N {
        let values = &values[n * stride..];
        if WHOLE {
            parts[n].copy_from_slice(&values[..LANES]);
        } else {
            parts[n][..count].copy_from_slice(&values[..count]);
        }
    }
    parts
}

/// The way back.
#[inline(always)]
pub(super) fn write<T: Float, const WHOLE: bool, const N: usize>(
    parts: &Parts<T, N>,
    values: &mut [T],
    stride: usize,
    count: usize,
) {
    for n in 0..N {
        let values = &mut values[n * stride..];
        if WHOLE {
            values[..LANES].copy_from_slice(&parts[n]);
        } else {
            values[..count].copy_from_slice(&parts[n][..count]);
        }
    }
}

/// Some numbers of the states after a row and of what the reverse pass needs. `strides`: of `x`, of `u`, of the others.
#[inline(always)]
fn advance_group<S: Simd, T: Float, C: Equations<G, N, K>, const WHOLE: bool, const G: usize, const N: usize, const K: usize>(
    simd: S,
    (strides, count): ([usize; 3], usize),
    [x, u, before]: [&[T]; 3],
    [after, gates]: [&mut [T]; 2],
) {
    let (x, u) = (read::<T, WHOLE, G>(x, strides[0], count), read::<T, WHOLE, G>(u, strides[1], count));
    let (mut next, mut stored) = ([[T::ZERO; LANES]; N], [[T::ZERO; LANES]; K]);
    C::next(simd, [&x, &u], &read::<T, WHOLE, N>(before, strides[2], count), &mut next, &mut stored);
    write::<T, WHOLE, N>(&next, after, strides[2], count);
    write::<T, WHOLE, K>(&stored, gates, strides[2], count);
}

/// The same, whether the group is whole or not.
#[inline(always)]
fn advance<S: Simd, T: Float, C: Equations<G, N, K>, const G: usize, const N: usize, const K: usize>(
    simd: S,
    sizes: ([usize; 3], usize),
    from: [&[T]; 3],
    into: [&mut [T]; 2],
) {
    if sizes.1 == LANES {
        advance_group::<S, T, C, true, G, N, K>(simd, sizes, from, into);
    } else {
        advance_group::<S, T, C, false, G, N, K>(simd, sizes, from, into);
    }
}

/// All steps of some series.
struct Forward<'a, T: Float, C, const G: usize, const N: usize, const K: usize> {
    layout: Layout,
    /// `W` and `U`.
    panels: [&'a [Panels<T::Register>]; 2],
    length: usize,
    x: &'a [T],
    aside: Option<&'a [bool]>,
    h: &'a mut [T],
    /// States and gates, `[length, series, N + K, H]`.
    stored: &'a mut [T],
    cell: PhantomData<C>,
}

impl<T: Float, C: Equations<G, N, K>, const G: usize, const N: usize, const K: usize> Kernel for Forward<'_, T, C, G, N, K> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { layout, panels: [w, u_panels], length, x, aside, h: out, stored, .. } = self;
        let (hidden, of_row, inputs) = (layout.hidden(), layout.of_row(), layout.parts * layout.inputs);
        let rows = out.len() / (length * hidden);
        let (steps, width, first) = (chunk(rows, length), (N + K) * hidden, first::<T, C, G, N, K>(&layout));
        let mut h = Layout::augmented::<T>(rows, layout.state_row());
        let mut rows_of_x = Layout::augmented::<T>(steps * rows, layout.input_row());
        let (mut of_x, mut u) = (vec![T::ZERO; steps * rows * of_row], vec![T::ZERO; rows * of_row]);
        let (x_width, h_width) = (rows_of_x.len() / (steps * rows), h.len() / rows);
        let mut parents = vec![0; rows];
        for start in (0..length).step_by(steps) {
            let count = steps.min(length - start);
            for (i, row) in rows_of_x.chunks_exact_mut(x_width).take(count * rows).enumerate() {
                set_row(row, layout.input_row(), &x[(i % rows * length + start + i / rows) * inputs..][..inputs]);
            }
            layout.multiply_inputs(simd, w, count * rows, &rows_of_x, &mut of_x);
            for (t, of_x) in of_x.chunks_exact(rows * of_row).take(count).enumerate() {
                layout.multiply_states(simd, u_panels, rows, &h, &mut u);
                let (past, now) = stored.split_at_mut((start + t) * rows * width);
                for (r, stored) in now.chunks_exact_mut(width).take(rows).enumerate() {
                    let (of_x, u) = (&of_x[r * of_row..][..of_row], &u[r * of_row..][..of_row]);
                    let (before, row) = (state(past, &first, [parents[r], r, rows, width]), r * length + start + t);
                    let (after, gates) = stored.split_at_mut(N * hidden);
                    for i in 0..layout.groups() {
                        let [place, gate, count] = layout.group(i);
                        let sizes = ([layout.pad, layout.pad, hidden], count);
                        let from = [&of_x[gate..], &u[gate..], &before[place..]];
                        advance::<S, T, C, G, N, K>(simd, sizes, from, [&mut after[place..], &mut gates[place..]]);
                    }
                    out[row * hidden..][..hidden].copy_from_slice(&after[..hidden]);
                    if !aside.is_some_and(|aside| aside[row]) {
                        parents[r] = start + t + 1;
                        set_row(&mut h[r * h_width..][..h_width], layout.state_row(), &after[..hidden]);
                    }
                }
            }
        }
    }
}

/// The states of series `r` of `rows` before a row, in rows of `width`: `parent` is the step before it plus 1, or 0.
#[inline(always)]
pub(super) fn state<'a, T>(stored: &'a [T], first: &'a [T], [parent, r, rows, width]: [usize; 4]) -> &'a [T] {
    parent.checked_sub(1).map_or(first, |t| &stored[(t * rows + r) * width..][..first.len()])
}

/// One step of one series: `x` by gates, `u` by heads, nothing padded.
struct Push<'a, T, C, const G: usize, const N: usize, const K: usize> {
    layout: Layout,
    from: [&'a [T]; 3],
    into: [&'a mut [T]; 2],
    cell: PhantomData<C>,
}

impl<T: Float, C: Equations<G, N, K>, const G: usize, const N: usize, const K: usize> Kernel for Push<'_, T, C, G, N, K> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { layout, from: [x, u, before], into: [after, gates], .. } = self;
        let Layout { size, .. } = layout;
        for i in 0..layout.groups() {
            let [place, _, count] = layout.group(i);
            let gate = place / size * G * size + place % size;
            let (sizes, from) = (([layout.hidden(), size, layout.hidden()], count), [&x[place..], &u[gate..], &before[place..]]);
            advance::<S, T, C, G, N, K>(simd, sizes, from, [&mut after[place..], &mut gates[place..]]);
        }
    }
}

/// Calls a function for the equations of a cell, its gates, its states and what its reverse pass needs.
macro_rules! of_cell {
    ($cell:expr, $function:ident::<$t:ty>($($argument:expr),*)) => {
        match $cell {
            Cell::Lstm => $function::<$t, Lstm, 4, 2, 4>($($argument),*),
            Cell::Gru => $function::<$t, Gru, 3, 1, 4>($($argument),*),
            Cell::Slstm => $function::<$t, Slstm, 4, 4, 5>($($argument),*),
        }
    };
}
pub(super) use of_cell;

/// The state before the first row, `[S, heads, d]`.
pub(super) fn first<T: Float, C: Equations<G, N, K>, const G: usize, const N: usize, const K: usize>(layout: &Layout) -> Vec<T> {
    C::FIRST.iter().flat_map(|&value| std::iter::repeat_n(T::from_f64(value), layout.hidden())).collect()
}

/// As [`first`].
pub(super) fn first_of<T: Float>(spec: &Recurrent) -> Vec<T> {
    of_cell!(spec.cell, first::<T>(&Layout::new(spec)))
}

/// All states; the input has been checked.
pub(crate) fn forward<T: Float>(spec: &Recurrent, input: &Input<'_, T>) -> Outputs<T> {
    of_cell!(spec.cell, all::<T>(spec, input))
}

fn all<T: Float, C: Equations<G, N, K> + Sync, const G: usize, const N: usize, const K: usize>(
    spec: &Recurrent,
    input: &Input<'_, T>,
) -> Outputs<T> {
    let (&Input { batch, length, x, w, u, aside }, layout) = (input, Layout::new(spec));
    let (blocks, width) = (blocks(batch), length * layout.hidden());
    let (mut h, mut stored) = (vec![T::ZERO; batch * width], vec![T::ZERO; batch * (N + K) * width]);
    let (w, u) = (layout.input_panels(w), layout.state_panels(u));
    let parts = cut(&mut h, &blocks, width).into_par_iter().zip(cut(&mut stored, &blocks, (N + K) * width));
    blocks.par_iter().zip(parts).for_each(|(block, (h, stored))| {
        let (x, aside) = (part(x, block, x.len() / batch), aside.map(|aside| part(aside, block, length)));
        let (panels, cell) = ([&w[..], &u], PhantomData);
        dispatch_for::<T, _>(Forward::<T, C, G, N, K> { layout, panels, length, x, aside, h, stored, cell });
    });
    Outputs { h, stored }
}

/// One step of one series; sizes have been checked.
pub(crate) fn push<T: Float>(spec: &Recurrent, x: &[T], u: &[T], state: &mut [T]) {
    of_cell!(spec.cell, push_of::<T>(spec, x, u, state));
}

fn push_of<T: Float, C: Equations<G, N, K>, const G: usize, const N: usize, const K: usize>(
    spec: &Recurrent,
    x: &[T],
    u: &[T],
    state: &mut [T],
) {
    let mut after = borrow::<Vec<T>>();
    after.resize((N + K) * spec.hidden(), T::ZERO);
    let (next, gates) = after.split_at_mut(state.len());
    let (from, into) = ([x, u, &*state], [&mut *next, gates]);
    dispatch_for::<T, _>(Push::<T, C, G, N, K> { layout: Layout::new(spec), from, into, cell: PhantomData });
    state.copy_from_slice(next);
}
