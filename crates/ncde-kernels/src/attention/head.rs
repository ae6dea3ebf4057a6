//! The rows of one head of one series, turned by their times, and what they see.

use ncde_simd::{Float, Number};

use super::{Attention, Input};

/// Rows of a tile.
pub(super) const BLOCK: usize = 64;

/// A score that is never seen: the exponential of its difference to any other is 0.
pub(super) const HIDDEN: f64 = -1e30;

/// One head of one series.
pub(super) struct Head<'a, T> {
    spec: Attention,
    pub(super) length: usize,
    /// `d`, and how far rows are apart.
    pub(super) size: usize,
    pub(super) stride: usize,
    /// Its series, and its place among all heads of a row.
    series: usize,
    head: usize,
    /// `cos` and `sin` of the angles of all rows, `[length, d / 2]`.
    turns: &'a [[Vec<T>; 2]],
    /// Rows before each that do not stand aside.
    numbers: Vec<usize>,
    aside: Option<&'a [bool]>,
}

/// `cos` and `sin` of the angles of the rows of each series, `[length, d / 2]`.
pub(super) fn turns<T: Float>(input: &Input<'_, T>, series: usize) -> [Vec<T>; 2] {
    let times = &input.times[series * input.length..][..input.length];
    let angles = || times.iter().flat_map(|time| input.rates.iter().map(move |rate| time * rate));
    [angles().map(|angle| T::from_f64(angle.cos())).collect(), angles().map(|angle| T::from_f64(angle.sin())).collect()]
}

impl<'a, T: Float> Head<'a, T> {
    /// The `index`-th of all heads of all series.
    pub(super) fn new(spec: &Attention, input: &Input<'a, T>, turns: &'a [[Vec<T>; 2]], index: usize) -> Self {
        let (series, length) = (index / spec.heads, input.length);
        let aside = input.aside.map(|aside| &aside[series * length..][..length]);
        let mut trunk = 0;
        let number = |i: usize| {
            let number = trunk;
            trunk += usize::from(!aside.is_some_and(|aside| aside[i]));
            number
        };
        let numbers = (0..length).map(number).collect();
        let stride = spec.size.next_multiple_of(T::Register::WIDTH);
        Self { spec: *spec, length, size: spec.size, stride, series, head: index % spec.heads, turns, numbers, aside }
    }

    /// Part `part` of `parts` of all rows of an array, `[batch, length, parts, heads, d]`, rows `stride` apart.
    pub(super) fn rows(&self, array: &[T], [part, parts]: [usize; 2]) -> Vec<T> {
        let mut rows = vec![T::ZERO; self.length * self.stride];
        for (t, row) in rows.chunks_exact_mut(self.stride).enumerate() {
            let place = ((self.series * self.length + t) * parts + part) * self.spec.heads + self.head;
            row[..self.size].copy_from_slice(&array[place * self.size..][..self.size]);
        }
        rows
    }

    /// Turns rows, or back with `sign` -1, and multiplies them.
    pub(super) fn turn(&self, rows: &mut [T], sign: T, factor: T) {
        let (half, [cos, sin]) = (self.size / 2, &self.turns[self.series]);
        let turns = cos.chunks_exact(half).zip(sin.chunks_exact(half));
        for (row, (cos, sin)) in rows.chunks_exact_mut(self.stride).zip(turns) {
            let (low, high) = row[..self.size].split_at_mut(half);
            for ((x, y), (&cos, &sin)) in low.iter_mut().zip(high).zip(cos.iter().zip(sin)) {
                (*x, *y) = (factor * (cos * *x - sign * sin * *y), factor * (sign * sin * *x + cos * *y));
            }
        }
    }

    /// `1 / sqrt(d)`.
    pub(super) fn scale(&self) -> T {
        T::from_f64((self.size as f64).powf(-0.5))
    }

    /// The rows of a block.
    pub(super) fn block(&self, block: usize) -> std::ops::Range<usize> {
        block * BLOCK..self.length.min((block + 1) * BLOCK)
    }

    /// The first block that a row of block `queries` sees.
    pub(super) fn first_block(&self, queries: usize) -> usize {
        let first = self.numbers[self.block(queries).start];
        (0..queries).find(|&keys| self.numbers[self.block(keys).end - 1] + self.spec.context > first).unwrap_or(queries)
    }

    /// Hides what rows of block `queries` do not see of block `keys`: scores, `[queries, BLOCK]`.
    pub(super) fn hide(&self, [queries, keys]: [usize; 2], scores: &mut [T]) {
        let (rows, columns) = (self.block(queries), self.block(keys));
        let near = self.numbers[rows.end - 1] - self.numbers[columns.start] < self.spec.context;
        let aside = self.aside.is_some_and(|aside| aside[columns.clone()].contains(&true));
        if keys < queries && near && !aside {
            return;
        }
        let hidden = T::from_f64(HIDDEN);
        for (i, scores) in rows.zip(scores.chunks_exact_mut(BLOCK)) {
            for (score, j) in scores.iter_mut().zip(columns.start..columns.start + BLOCK) {
                let before =
                    j < i && !self.aside.is_some_and(|aside| aside[j]) && self.numbers[i] - self.numbers[j] < self.spec.context;
                if j != i && !before {
                    *score = hidden;
                }
            }
        }
    }
}
