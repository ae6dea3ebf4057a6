//! Where numbers lie, and the weights in the order in which products read them.
//!
//! Rows are series after series in blocks that go through time together. What they bring to the gates lies by heads, every gate whole groups of 16 numbers apart:
//! `[rows, heads, G, d']`. Behind the `n` numbers of a row lies a 1 for the bias, behind the `d` of a GRU's head another.

use std::ops::Range;

use ncde_simd::{Float, Simd};

use super::cells::LANES;
use super::{Cell, Recurrent};
use crate::neural::product::{Panels, Rows, RowsMut};
use crate::shards::ranges;

/// A batch is cut into at least so many blocks where it can be, of at least and at most so many series.
const MIN_BLOCKS: usize = 2;
const MIN_SERIES: usize = 4;
const MAX_SERIES: usize = 16;

/// About how many rows are taken to their gates, and to gradients of weights, at once.
const CHUNK_ROWS: usize = 128;

/// Blocks of series that go through time together. They follow from the batch alone, so that sums over blocks do not depend on threads.
pub(super) fn blocks(batch: usize) -> Vec<Range<usize>> {
    ranges(batch, batch.div_ceil(MIN_SERIES).min(MIN_BLOCKS).max(batch.div_ceil(MAX_SERIES)))
}

/// The part of an array of a block of series, `width` numbers a series.
pub(super) fn part<'a, T>(values: &'a [T], block: &Range<usize>, width: usize) -> &'a [T] {
    &values[block.start * width..block.end * width]
}

/// The parts of all blocks, to write to.
pub(super) fn cut<'a, T>(mut values: &'a mut [T], blocks: &[Range<usize>], width: usize) -> Vec<&'a mut [T]> {
    blocks.iter().map(|block| values.split_off_mut(..block.len() * width).unwrap_or_default()).collect()
}

/// How many steps of so many series are a chunk.
pub(super) fn chunk(series: usize, length: usize) -> usize {
    (CHUNK_ROWS / series).clamp(1, length)
}

/// The sizes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout {
    pub(super) gates: usize,
    pub(super) parts: usize,
    /// `n`: the numbers of a part of a row.
    pub(super) inputs: usize,
    pub(super) heads: usize,
    /// `d`, and how far gates are apart.
    pub(super) size: usize,
    pub(super) pad: usize,
    /// The rows of `U` of a head.
    pub(super) of_state: usize,
}

impl Layout {
    pub(super) fn new(spec: &Recurrent) -> Self {
        let &Recurrent { cell, inputs, heads, size } = spec;
        let of_state = size + usize::from(cell == Cell::Gru);
        Self { gates: cell.gates(), parts: cell.parts(), inputs, heads, size, pad: size.next_multiple_of(LANES), of_state }
    }

    /// `H`.
    pub(super) fn hidden(&self) -> usize {
        self.heads * self.size
    }

    /// Numbers of the gates of a head, of all heads, and of a head's gates that read the same part of a row.
    pub(super) fn of_head(&self) -> usize {
        self.gates * self.pad
    }

    pub(super) fn of_row(&self) -> usize {
        self.heads * self.of_head()
    }

    pub(super) fn of_part(&self) -> usize {
        self.of_head() / self.parts
    }

    /// So many rows of `count` parts of `width` numbers, zeros with ones behind them if there is a bias.
    pub(super) fn augmented<T: Float>(rows: usize, [count, width, biases]: [usize; 3]) -> Vec<T> {
        [vec![T::ZERO; width], vec![T::ONE; biases]].concat().repeat(rows * count)
    }

    /// Sizes of the states of a row for [`augmented`](Self::augmented), and of its inputs.
    pub(super) fn state_row(&self) -> [usize; 3] {
        [self.heads, self.size, self.of_state - self.size]
    }

    pub(super) fn input_row(&self) -> [usize; 3] {
        [self.parts, self.inputs, 1]
    }

    /// `W` for the gates of each head that read a part of a row, `[heads, parts]`.
    pub(super) fn input_panels<T: Float>(&self, w: &[T]) -> Vec<Panels<T::Register>> {
        let of = |head: usize, part: usize| {
            let mut panels = Panels::default();
            panels.pack(self.inputs + 1, self.of_part(), |l, c| self.input(w, l, head, part * self.of_part() + c));
            panels
        };
        (0..self.heads * self.parts).map(|i| of(i / self.parts, i % self.parts)).collect()
    }

    /// From gates of all heads back to each part of a row.
    pub(super) fn input_back<T: Float>(&self, w: &[T]) -> Vec<Panels<T::Register>> {
        let of = |part: usize| {
            let mut panels = Panels::default();
            let entry = |c: usize, l: usize| {
                let (head, c) = (c / self.of_head(), c % self.of_head());
                if c / self.of_part() == part { self.input(w, l, head, c) } else { T::ZERO }
            };
            panels.pack(self.of_row(), self.inputs, entry);
            panels
        };
        (0..self.parts).map(of).collect()
    }

    /// `U` of each head.
    pub(super) fn state_panels<T: Float>(&self, u: &[T]) -> Vec<Panels<T::Register>> {
        let of = |u: &[T]| {
            let mut panels = Panels::default();
            panels.pack(self.of_state, self.of_head(), |l, c| self.state(u, l, c));
            panels
        };
        u.chunks_exact(u.len() / self.heads).map(of).collect()
    }

    /// From the gates of each head back to its states.
    pub(super) fn state_back<T: Float>(&self, u: &[T]) -> Vec<Panels<T::Register>> {
        let of = |u: &[T]| {
            let mut panels = Panels::default();
            panels.pack(self.of_head(), self.size, |c, l| self.state(u, l, c));
            panels
        };
        u.chunks_exact(u.len() / self.heads).map(of).collect()
    }

    /// Row `l` of `W` at column `c` of the gates of a head.
    fn input<T: Float>(&self, w: &[T], l: usize, head: usize, c: usize) -> T {
        let (gate, j) = (c / self.pad, c % self.pad);
        if j < self.size { w[(l * self.gates + gate) * self.hidden() + head * self.size + j] } else { T::ZERO }
    }

    /// Row `l` of the `U` of a head at column `c` of its gates.
    fn state<T: Float>(&self, u: &[T], l: usize, c: usize) -> T {
        let (gate, j) = (c / self.pad, c % self.pad);
        if j < self.size { u[(l * self.gates + gate) * self.size + j] } else { T::ZERO }
    }

    /// What rows bring to their gates.
    #[inline(always)]
    pub(super) fn multiply_inputs<T: Float, S: Simd>(
        &self,
        simd: S,
        panels: &[Panels<T::Register>],
        rows: usize,
        x: &[T],
        gates: &mut [T],
    ) {
        for (i, panels) in panels.iter().enumerate() {
            let x = Rows { values: &x[i % self.parts * (self.inputs + 1)..], stride: self.parts * (self.inputs + 1) };
            let gates = &mut gates[i * self.of_part()..];
            panels.multiply(simd, rows, x, RowsMut { values: gates, stride: self.of_row() });
        }
    }

    /// What states bring to the gates.
    #[inline(always)]
    pub(super) fn multiply_states<T: Float, S: Simd>(
        &self,
        simd: S,
        panels: &[Panels<T::Register>],
        rows: usize,
        h: &[T],
        gates: &mut [T],
    ) {
        for (head, panels) in panels.iter().enumerate() {
            let h = Rows { values: &h[head * self.of_state..], stride: self.heads * self.of_state };
            let gates = &mut gates[head * self.of_head()..];
            panels.multiply(simd, rows, h, RowsMut { values: gates, stride: self.of_row() });
        }
    }

    /// Where the `i`-th group of at most 16 numbers starts: in one part of the states, in the gates, and how many numbers it has.
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

/// Copies the numbers of a row between its ones.
#[inline(always)]
pub(super) fn set_row<T: Float>(row: &mut [T], [_, width, biases]: [usize; 3], from: &[T]) {
    for (row, from) in row.chunks_exact_mut(width + biases).zip(from.chunks_exact(width)) {
        row[..width].copy_from_slice(from);
    }
}
