//! Gradients of weights and biases, from the rows that stages have stored.
//!
//! ```text
//! W_l' += x_{l-1}^T z_l' + sum_j t_{l-1}^j^T u_l^j'   b_l' += z_l'
//! ```
//!
//! The rows of a slot, or of several, are one sum of outer products a layer. In the last layer the j-th tangent belongs to the j-th
//! block of columns alone.

use std::ops::Range;

use ncde_simd::{Buffer, Float, Kernel, Number, Simd, call, outlined};

use super::method::MAX_STAGES;
use super::product::{Outer, Rows, RowsMut, Sum};
use super::reverse::Adjoint;
use super::tape::{Directions, Sizes, Tape};

/// Gradients of weights, `[inputs, padded outputs]`, and biases.
#[derive(Debug, Default)]
pub(crate) struct Weights<T> {
    pub(crate) weight: Vec<Buffer<T>>,
    pub(crate) bias: Vec<Buffer<T>>,
}

impl<T: Float> Weights<T> {
    pub(crate) fn reset(&mut self, sizes: &Sizes) {
        let outputs = sizes.widths[1..].iter().copied().chain([sizes.outputs]);
        let layers = sizes.inputs.len();
        self.weight.resize_with(layers, Buffer::default);
        self.bias.resize_with(layers, Buffer::default);
        for (l, n) in outputs.enumerate() {
            self.weight[l].reset(sizes.inputs[l] * n);
            self.bias[l].reset(n);
        }
    }
}

/// The rows of a slot whose gradients are added.
#[derive(Debug, Clone)]
pub(crate) enum SlotRows {
    All,
    Values,
    /// The tangents of these channels.
    Tangents(Range<usize>),
}

/// Adds the weight gradients of some slots.
pub(crate) struct Collect<'a, T: Float> {
    pub(crate) sizes: &'a Sizes,
    pub(crate) slots: Range<usize>,
    pub(crate) rows_of_slot: SlotRows,
    pub(crate) tape: &'a Tape<T>,
    pub(crate) adjoint: &'a Adjoint<T>,
    pub(crate) weights: &'a mut Weights<T>,
}

impl<T: Float> Kernel for Collect<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(mut self, simd: S) {
        let &Sizes { b, d, tangents, rows, outputs, h, .. } = self.sizes;
        let (first, count, top) = (self.slots.start, self.slots.len(), self.sizes.top());
        let together = 1 + tangents.min(1);
        let mut starts = [(0, 0); 2 * MAX_STAGES];
        for l in 0..top {
            let (n, m) = (self.sizes.widths[l], self.sizes.widths[l + 1]);
            match &self.rows_of_slot {
                SlotRows::All => self.layer(simd, l, 0..m, &[(first * rows * n, first * rows * m)], count * rows),
                SlotRows::Values => {
                    for (start, slot) in starts.iter_mut().zip(self.slots.clone()) {
                        *start = (slot * rows * n, slot * rows * m);
                    }
                    self.layer(simd, l, 0..m, &starts[..count], b);
                }
                SlotRows::Tangents(channels) => {
                    let (at, len) = (first * rows + b, channels.len());
                    self.layer(simd, l, 0..m, &[(at * n, at * m)], len * b);
                }
            }
        }
        let n = self.sizes.widths[top];
        let last = |slot: usize, part: usize, j: usize| (together * slot + part) * b * outputs + j * h;
        match self.rows_of_slot.clone() {
            SlotRows::All if tangents == 0 => {
                self.layer(simd, top, 0..outputs, &[(first * b * n, first * b * outputs)], count * b);
            }
            SlotRows::All if self.sizes.directions == Directions::States => {
                for (start, slot) in starts.iter_mut().zip(self.slots.clone()) {
                    *start = (slot * rows * n, last(slot, 0, 0));
                }
                self.layer(simd, top, 0..outputs, &starts[..count], b);
                for j in 0..d {
                    for (start, slot) in starts.iter_mut().zip(self.slots.clone()) {
                        *start = ((slot * d + j) * b * n, last(slot, 1, j));
                    }
                    self.product(simd, &self.tape.w, top, j * h..(j + 1) * h, &starts[..count], b);
                }
            }
            SlotRows::All => {
                for j in 0..d {
                    // The values' rows, and those of the j-th tangent, in every slot.
                    for (start, slot) in starts.chunks_exact_mut(2).zip(self.slots.clone()) {
                        start[0] = (slot * rows * n, last(slot, 0, j));
                        start[1] = ((slot * rows + (1 + j) * b) * n, last(slot, 1, j));
                    }
                    self.layer(simd, top, j * h..(j + 1) * h, &starts[..2 * count], b);
                }
            }
            SlotRows::Values => {
                for (start, slot) in starts.iter_mut().zip(self.slots.clone()) {
                    *start = (slot * rows * n, last(slot, 0, 0));
                }
                self.layer(simd, top, 0..outputs, &starts[..count], b);
            }
            SlotRows::Tangents(channels) => {
                for (row, j) in channels.enumerate() {
                    let start = ((first * rows + (1 + row) * b) * n, last(first, 1, j));
                    self.layer(simd, top, j * h..(j + 1) * h, &[start], b);
                }
            }
        }
        if !matches!(self.rows_of_slot, SlotRows::Tangents(_)) {
            self.biases(simd);
        }
    }
}

impl<T: Float> Collect<'_, T> {
    /// Some columns of the gradient of one weight, from `count` rows of each start.
    #[inline(always)]
    fn layer<S: Simd>(&mut self, simd: S, l: usize, columns: Range<usize>, starts: &[(usize, usize)], count: usize) {
        self.product(simd, &self.tape.x[l], l, columns, starts, count);
    }

    /// As [`layer`](Self::layer), from rows of another array.
    #[inline(always)]
    fn product<S: Simd>(&mut self, simd: S, x: &[T], l: usize, columns: Range<usize>, starts: &[(usize, usize)], count: usize) {
        let top = self.sizes.top();
        let a = Rows { values: x, stride: self.sizes.widths[l] };
        let (z, stride) =
            if l == top { (&self.adjoint.last, self.sizes.outputs) } else { (&self.adjoint.z[l + 1], self.sizes.widths[l + 1]) };
        let c = RowsMut { values: &mut self.weights.weight[l][columns.start..], stride };
        // The starts of rows of the last layer include the first column; other layers use all columns.
        let shape = [self.sizes.inputs[l], columns.len() / T::Register::WIDTH];
        call(simd, Outer { a, b: Rows { values: z, stride }, starts, count, shape, sum: Sum::Add, c });
    }

    #[inline(always)]
    fn biases<S: Simd>(&mut self, simd: S) {
        let &Sizes { b, tangents, rows, outputs, .. } = self.sizes;
        let top = self.sizes.top();
        for slot in self.slots.clone() {
            for l in 0..top {
                let m = self.sizes.widths[l + 1];
                let rows = &self.adjoint.z[l + 1][slot * rows * m..][..b * m];
                add_rows(simd, rows, &mut self.weights.bias[l]);
            }
            let start = (1 + tangents.min(1)) * slot * b * outputs;
            add_rows(simd, &self.adjoint.last[start..][..b * outputs], &mut self.weights.bias[top]);
        }
    }
}

/// Adds rows up.
#[inline(always)]
fn add_rows<S: Simd, T: Float>(simd: S, rows: &[T], sum: &mut [T]) {
    outlined(
        simd,
        #[inline(always)]
        move || {
            for row in rows.chunks_exact(sum.len()) {
                for (sum, &x) in sum.iter_mut().zip(row) {
                    *sum += x;
                }
            }
        },
    );
}
