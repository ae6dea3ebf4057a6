//! All steps of a few series forward, and one step of a stream.
//!
//! `h` and what it brings to the gates lie by series and heads, whole groups of 16 numbers apart: `[series, heads, d + 1]` and `[series, heads, G, d']`.

use std::marker::PhantomData;
use std::ops::Range;

use ncde_simd::{Float, Kernel, Simd, dispatch_for};
use rayon::prelude::*;

use super::cells::{Equations, Gru, LANES, Lstm, Parts, Slstm};
use super::{Cell, Input, Outputs, Recurrent};
use crate::neural::product::{Panels, Rows, RowsMut};
use crate::pool::borrow;
use crate::shards::ranges;

/// A batch is cut into at least so many blocks where it can be, of at least and at most so many series.
const MIN_BLOCKS: usize = 4;
const MIN_SERIES: usize = 4;
const MAX_SERIES: usize = 16;

/// Blocks of series that go through time together. They follow from the batch alone, so that sums over blocks do not depend on threads.
pub(super) fn blocks(batch: usize) -> Vec<Range<usize>> {
    ranges(batch, batch.div_ceil(MIN_SERIES).min(MIN_BLOCKS).max(batch.div_ceil(MAX_SERIES)))
}

/// Where numbers lie.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout {
    pub(super) gates: usize,
    pub(super) states: usize,
    pub(super) heads: usize,
    /// `d`, and how far the gates of a head are apart in `u`.
    pub(super) size: usize,
    pub(super) pad: usize,
}

impl Layout {
    pub(super) fn padded(spec: &Recurrent) -> Self {
        Self { pad: spec.size.next_multiple_of(LANES), ..Self::tight(spec) }
    }

    fn tight(spec: &Recurrent) -> Self {
        let &Recurrent { cell, heads, size } = spec;
        Self { gates: cell.gates(), states: cell.states(), heads, size, pad: size }
    }

    /// The `h` of a series.
    pub(super) fn hidden(&self) -> usize {
        self.heads * self.size
    }

    /// Numbers of `h` and a 1 behind that of each head.
    pub(super) fn augmented(&self) -> usize {
        self.heads * (self.size + 1)
    }

    /// Numbers of `u` of a head.
    pub(super) fn of_head(&self) -> usize {
        self.gates * self.pad
    }

    /// Numbers of `u` of all heads.
    pub(super) fn of_row(&self) -> usize {
        self.heads * self.of_head()
    }

    /// `h` of `rows`, zeros with a 1 behind each head.
    pub(super) fn empty_h<T: Float>(&self, rows: usize) -> Vec<T> {
        let head = [vec![T::ZERO; self.size], vec![T::ONE]].concat();
        head.repeat(rows * self.heads)
    }

    /// `h` of a series between the ones.
    #[inline(always)]
    pub(super) fn set_h<T: Float>(&self, h: &mut [T], from: &[T]) {
        for (h, from) in h.chunks_exact_mut(self.size + 1).zip(from.chunks_exact(self.size)) {
            h[..self.size].copy_from_slice(from);
        }
    }

    /// The states before the first row, `[S, heads, d]`.
    pub(super) fn first<T: Float>(&self, values: &[f64]) -> Vec<T> {
        values.iter().flat_map(|&value| std::iter::repeat_n(T::from_f64(value), self.hidden())).collect()
    }

    /// `U` of each head in panels.
    pub(super) fn panels<T: Float>(&self, u: &[T]) -> Vec<Panels<T::Register>> {
        let pack = |u: &[T]| {
            let mut panels = Panels::default();
            panels.pack(self.size + 1, self.of_head(), |l, c| self.entry(u, l, c));
            panels
        };
        u.chunks_exact(u.len() / self.heads).map(pack).collect()
    }

    /// Their transposes, from padded columns to `h`.
    pub(super) fn transposed<T: Float>(&self, u: &[T]) -> Vec<Panels<T::Register>> {
        let pack = |u: &[T]| {
            let mut panels = Panels::default();
            panels.pack(self.of_head(), self.size, |c, l| self.entry(u, l, c));
            panels
        };
        u.chunks_exact(u.len() / self.heads).map(pack).collect()
    }

    /// Row `l` of the `U` of a head at padded column `c`.
    fn entry<T: Float>(&self, u: &[T], l: usize, c: usize) -> T {
        let (gate, j) = (c / self.pad, c % self.pad);
        if j < self.size { u[(l * self.gates + gate) * self.size + j] } else { T::ZERO }
    }

    /// `u = U^T (h, 1)` for so many rows.
    #[inline(always)]
    pub(super) fn multiply<T: Float, S: Simd>(&self, simd: S, panels: &[Panels<T::Register>], rows: usize, h: &[T], u: &mut [T]) {
        for (head, panels) in panels.iter().enumerate() {
            let h = Rows { values: &h[head * (self.size + 1)..], stride: self.augmented() };
            panels.multiply(simd, rows, h, RowsMut { values: &mut u[head * self.of_head()..], stride: self.of_row() });
        }
    }

    /// Where the groups of 16 numbers of a series start: in one part of `x` or of the states, in `u`, and how many numbers there are.
    #[inline(always)]
    pub(super) fn group(&self, i: usize) -> [usize; 3] {
        let per_head = self.size.div_ceil(LANES);
        let (head, j) = (i / per_head, i % per_head * LANES);
        [head * self.size + j, head * self.of_head() + j, LANES.min(self.size - j)]
    }

    /// How many such groups there are.
    #[inline(always)]
    pub(super) fn groups(&self) -> usize {
        self.heads * self.size.div_ceil(LANES)
    }
}

/// Up to 16 numbers of each of `N` parts; missing ones are zero.
#[inline(always)]
pub(super) fn read<T: Float, const N: usize>(values: &[T], first: usize, stride: usize, count: usize) -> Parts<T, N> {
    let mut parts = [[T::ZERO; LANES]; N];
    for n in 0..N {
        let values = &values[first + n * stride..][..count];
        match values.first_chunk() {
            Some(whole) => parts[n] = *whole,
            None => parts[n][..count].copy_from_slice(values),
        }
    }
    parts
}

/// The way back.
#[inline(always)]
pub(super) fn write<T: Float, const N: usize>(parts: &Parts<T, N>, values: &mut [T], first: usize, stride: usize, count: usize) {
    for n in 0..N {
        let values = &mut values[first + n * stride..][..count];
        match values.first_chunk_mut() {
            Some(whole) => *whole = parts[n],
            None => values.copy_from_slice(&parts[n][..count]),
        }
    }
}

/// The states of a series after a row, from what the row and the states before it bring.
#[inline(always)]
fn advance<T: Float, C: Equations<G, N>, const G: usize, const N: usize>(
    layout: Layout,
    [x, u, before]: [&[T]; 3],
    after: &mut [T],
) {
    let hidden = layout.hidden();
    for i in 0..layout.groups() {
        let [place, of_u, count] = layout.group(i);
        let (x, u) = (read::<T, G>(x, place, hidden, count), read::<T, G>(u, of_u, layout.pad, count));
        let mut next = [[T::ZERO; LANES]; N];
        C::next(&x, &u, &read(before, place, hidden, count), &mut next);
        write(&next, after, place, hidden, count);
    }
}

/// All steps of some series.
struct Forward<'a, T: Float, C, const G: usize, const N: usize> {
    layout: Layout,
    panels: &'a [Panels<T::Register>],
    length: usize,
    x: &'a [T],
    aside: Option<&'a [bool]>,
    h: &'a mut [T],
    states: &'a mut [T],
    cell: PhantomData<C>,
}

impl<T: Float, C: Equations<G, N>, const G: usize, const N: usize> Kernel for Forward<'_, T, C, G, N> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { layout, panels, length, x, aside, h: out, states, .. } = self;
        let (hidden, augmented, of_row) = (layout.hidden(), layout.augmented(), layout.of_row());
        let rows = out.len() / (length * hidden);
        let mut before = layout.first::<T>(&C::FIRST).repeat(rows);
        let (mut h, mut u) = (layout.empty_h::<T>(rows), vec![T::ZERO; rows * of_row]);
        for t in 0..length {
            layout.multiply(simd, panels, rows, &h, &mut u);
            let of_rows = before.chunks_exact_mut(N * hidden).zip(h.chunks_exact_mut(augmented)).zip(u.chunks_exact(of_row));
            for (r, ((before, h), u)) in of_rows.enumerate() {
                let row = r * length + t;
                let after = &mut states[row * N * hidden..][..N * hidden];
                advance::<T, C, G, N>(layout, [&x[row * G * hidden..][..G * hidden], u, before], after);
                out[row * hidden..][..hidden].copy_from_slice(&after[..hidden]);
                if !aside.is_some_and(|aside| aside[row]) {
                    before.copy_from_slice(after);
                    layout.set_h(h, &after[..hidden]);
                }
            }
        }
    }
}

/// One step of one series.
struct Push<'a, T, C, const G: usize, const N: usize> {
    layout: Layout,
    from: [&'a [T]; 3],
    after: &'a mut [T],
    cell: PhantomData<C>,
}

impl<T: Float, C: Equations<G, N>, const G: usize, const N: usize> Kernel for Push<'_, T, C, G, N> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        advance::<T, C, G, N>(self.layout, self.from, self.after);
    }
}

/// Calls a function for the equations of a cell, its gates and its states.
macro_rules! of_cell {
    ($cell:expr, $function:ident::<$t:ty>($($argument:expr),*)) => {
        match $cell {
            Cell::Lstm => $function::<$t, Lstm, 4, 2>($($argument),*),
            Cell::Gru => $function::<$t, Gru, 3, 1>($($argument),*),
            Cell::Slstm => $function::<$t, Slstm, 4, 4>($($argument),*),
        }
    };
}
pub(super) use of_cell;

/// The part of an array of a block of series, `width` numbers a series.
pub(super) fn part<'a, T>(values: &'a [T], block: &Range<usize>, width: usize) -> &'a [T] {
    &values[block.start * width..block.end * width]
}

/// The parts of all blocks, to write to.
pub(super) fn cut<'a, T>(mut values: &'a mut [T], blocks: &[Range<usize>], width: usize) -> Vec<&'a mut [T]> {
    blocks.iter().map(|block| values.split_off_mut(..block.len() * width).unwrap_or_default()).collect()
}

/// The state before the first row, `[S, heads, d]`.
pub(super) fn first<T: Float>(spec: &Recurrent) -> Vec<T> {
    fn of<T: Float, C: Equations<G, N>, const G: usize, const N: usize>(spec: &Recurrent) -> Vec<T> {
        Layout::tight(spec).first(&C::FIRST)
    }
    of_cell!(spec.cell, of::<T>(spec))
}

/// All states; the input has been checked.
pub(crate) fn forward<T: Float>(spec: &Recurrent, input: &Input<'_, T>) -> Outputs<T> {
    of_cell!(spec.cell, all::<T>(spec, input))
}

fn all<T: Float, C: Equations<G, N> + Sync, const G: usize, const N: usize>(
    spec: &Recurrent,
    input: &Input<'_, T>,
) -> Outputs<T> {
    let (&Input { batch, length, x, u, aside }, layout) = (input, Layout::padded(spec));
    let (blocks, width) = (blocks(batch), length * layout.hidden());
    let (mut h, mut states) = (vec![T::ZERO; batch * width], vec![T::ZERO; batch * N * width]);
    let panels = layout.panels(u);
    let parts = cut(&mut h, &blocks, width).into_par_iter().zip(cut(&mut states, &blocks, N * width));
    blocks.par_iter().zip(parts).for_each(|(block, (h, states))| {
        let (x, aside) = (part(x, block, G * width), aside.map(|aside| part(aside, block, length)));
        dispatch_for::<T, _>(Forward::<T, C, G, N> { layout, panels: &panels, length, x, aside, h, states, cell: PhantomData });
    });
    Outputs { h, states }
}

/// One step of one series; sizes have been checked.
pub(crate) fn push<T: Float>(spec: &Recurrent, x: &[T], u: &[T], state: &mut [T]) {
    of_cell!(spec.cell, push_of::<T>(spec, x, u, state));
}

fn push_of<T: Float, C: Equations<G, N>, const G: usize, const N: usize>(spec: &Recurrent, x: &[T], u: &[T], state: &mut [T]) {
    let mut after = borrow::<Vec<T>>();
    after.resize(state.len(), T::ZERO);
    let from = [x, u, &*state];
    dispatch_for::<T, _>(Push::<T, C, G, N> { layout: Layout::tight(spec), from, after: &mut after, cell: PhantomData });
    state.copy_from_slice(&after);
}
