//! All steps of a few series back.
//!
//! ```text
//! dx_t, du_t, ds_{t-1} from the cell and ds_t,   dh_{t-1} += U du_t,   of chunks of rows: dU += h_{t-1}^T du_t,   dW += rows^T dx_t,   drows = W dx_t
//! ```

use std::marker::PhantomData;

use ncde_simd::{Float, Kernel, Number, Simd, call, dispatch_for};
use rayon::prelude::*;

use super::cells::{Equations, Gru, LANES, Lstm, Slstm};
use super::layout::{Layout, blocks, chunk, cut, part, set_row};
use super::steps::{first, of_cell, read, state, write};
use super::{Cell, Gradients, Input, Recurrent};
use crate::chunks::add;
use crate::neural::product::{Outer, Panels, Rows, RowsMut, Sum};

struct Backward<'a, T: Float, C, const G: usize, const N: usize, const K: usize> {
    layout: Layout,
    /// The transposes of `W` and `U`.
    panels: [&'a [Panels<T::Register>]; 2],
    length: usize,
    x: &'a [T],
    aside: Option<&'a [bool]>,
    stored: &'a [T],
    gradient: &'a [T],
    dx: &'a mut [T],
    cell: PhantomData<C>,
}

/// The gradients in `W` and `U` by heads, columns padded.
impl<T: Float, C: Equations<G, N, K>, const G: usize, const N: usize, const K: usize> Kernel for Backward<'_, T, C, G, N, K> {
    type Output = [Vec<T>; 2];
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> [Vec<T>; 2] {
        let (layout, length, hidden) = (self.layout, self.length, self.layout.hidden());
        let Layout { parts, inputs, heads, size, pad, of_state, .. } = layout;
        let (of_row, of_head, of_part, wide) =
            (layout.of_row(), layout.of_head(), layout.of_part(), inputs.next_multiple_of(LANES));
        let rows = self.gradient.len() / (length * hidden);
        let (parents, first) = (self.parents(), first::<T, C, G, N, K>(&layout));
        let (steps, zeros) = (chunk(rows, length), |count: usize| vec![T::ZERO; count]);
        let mut h = Layout::augmented::<T>(steps * rows, layout.state_row());
        let mut x = Layout::augmented::<T>(steps * rows, layout.input_row());
        let (x_width, h_width, width) = (parts * (inputs + 1), heads * of_state, (N + K) * hidden);
        // Gradients in what states and rows brought: of a sum they are the same.
        let (mut du, mut of_x) = (zeros(steps * rows * of_row), zeros(if C::SUMS { 0 } else { steps * rows * of_row }));
        let (mut dh, mut carried, mut of_rows) =
            (zeros(rows * heads * pad), zeros(rows * N * hidden), zeros(steps * rows * wide));
        let (mut of_w, mut of_u) = (zeros(heads * parts * (inputs + 1) * of_part), zeros(heads * of_state * of_head));
        for start in (0..length).step_by(steps).rev() {
            let count = steps.min(length - start);
            // Rows of a chunk are step after step, those outside series after series.
            let row_of = |i: usize| i % rows * length + start + i / rows;
            for (i, (h, x)) in h.chunks_exact_mut(h_width).zip(x.chunks_exact_mut(x_width)).take(count * rows).enumerate() {
                let before = state(self.stored, &first, [parents[row_of(i)], i % rows, rows, width]);
                set_row(h, layout.state_row(), &before[..hidden]);
                set_row(x, layout.input_row(), &self.x[row_of(i) * parts * inputs..][..parts * inputs]);
            }
            for t in (0..count).rev() {
                let places = t * rows * of_row..(t + 1) * rows * of_row;
                for (r, carried) in carried.chunks_exact_mut(N * hidden).enumerate() {
                    let (row, first_gate) = (r * length + start + t, places.start + r * of_row);
                    let of_x = if C::SUMS { &mut [][..] } else { &mut of_x[first_gate..][..of_row] };
                    let du = &mut du[first_gate..][..of_row];
                    let before = state(self.stored, &first, [parents[row], r, rows, width]);
                    let gates = &self.stored[((start + t) * rows + r) * width..][N * hidden..width];
                    self.retreat(simd, row, [gates, before], carried, [of_x, du]);
                }
                for (head, panels) in self.panels[1].iter().enumerate() {
                    let du = Rows { values: &du[places.clone()][head * of_head..], stride: of_row };
                    panels.multiply(simd, rows, du, RowsMut { values: &mut dh[head * pad..], stride: heads * pad });
                }
                for (carried, dh) in carried.chunks_exact_mut(N * hidden).zip(dh.chunks_exact(heads * pad)) {
                    let of_heads = carried[..hidden].chunks_exact_mut(size).zip(dh.chunks_exact(pad));
                    of_heads.for_each(|(carried, dh)| add(carried, dh));
                }
            }
            let (count, of_x) = (count * rows, if C::SUMS { &du } else { &of_x });
            for (head, sum) in of_u.chunks_exact_mut(of_state * of_head).enumerate() {
                let (h, du) = (
                    Rows { values: &h[head * of_state..], stride: h_width },
                    Rows { values: &du[head * of_head..], stride: of_row },
                );
                add_outer(simd, count, h, du, sum, [of_state, of_head]);
            }
            for (i, sum) in of_w.chunks_exact_mut((inputs + 1) * of_part).enumerate() {
                let x = Rows { values: &x[i % parts * (inputs + 1)..], stride: x_width };
                add_outer(simd, count, x, Rows { values: &of_x[i * of_part..], stride: of_row }, sum, [inputs + 1, of_part]);
            }
            for (part, panels) in self.panels[0].iter().enumerate() {
                panels.multiply(
                    simd,
                    count,
                    Rows { values: of_x, stride: of_row },
                    RowsMut { values: &mut of_rows, stride: wide },
                );
                for (i, of_row) in of_rows.chunks_exact(wide).take(count).enumerate() {
                    self.dx[(row_of(i) * parts + part) * inputs..][..inputs].copy_from_slice(&of_row[..inputs]);
                }
            }
        }
        [of_w, of_u]
    }
}

/// `C += A^T B` of so many rows; `C` is `[rows, columns]`.
#[inline(always)]
fn add_outer<S: Simd, T: Float>(
    simd: S,
    count: usize,
    a: Rows<'_, T>,
    b: Rows<'_, T>,
    sum: &mut [T],
    [rows, columns]: [usize; 2],
) {
    let (shape, c) = ([rows, columns / T::Register::WIDTH], RowsMut { values: sum, stride: columns });
    call(simd, Outer { a, b, starts: &[(0, 0)], count, shape, sum: Sum::Add, c });
}

impl<T: Float, C: Equations<G, N, K>, const G: usize, const N: usize, const K: usize> Backward<'_, T, C, G, N, K> {
    /// The step before each row of each series, plus 1; 0 where there is none.
    fn parents(&self) -> Vec<usize> {
        let rows = self.gradient.len() / self.layout.hidden();
        let mut last = 0;
        let parent = |row: usize| {
            let parent = if row.is_multiple_of(self.length) { 0 } else { last };
            last = if self.aside.is_some_and(|aside| aside[row]) { parent } else { row % self.length + 1 };
            parent
        };
        (0..rows).map(parent).collect()
    }

    /// One row back: `carried` becomes the gradient in the states before the row but for what comes through `u`.
    #[inline(always)]
    fn retreat<S: Simd>(&self, simd: S, row: usize, [gates, before]: [&[T]; 2], carried: &mut [T], [x, u]: [&mut [T]; 2]) {
        let (layout, hidden) = (self.layout, self.layout.hidden());
        let gradient = &self.gradient[row * hidden..][..hidden];
        let aside = self.aside.is_some_and(|aside| aside[row]);
        for i in 0..layout.groups() {
            let [place, gate, count] = layout.group(i);
            let sizes = [hidden, layout.pad, count];
            let from = [&gates[place..], &before[place..], &gradient[place..]];
            let into = [if C::SUMS { &mut [][..] } else { &mut x[gate..] }, &mut u[gate..]];
            if count == LANES {
                retreat_group::<S, T, C, true, G, N, K>(simd, (sizes, aside), from, &mut carried[place..], into);
            } else {
                retreat_group::<S, T, C, false, G, N, K>(simd, (sizes, aside), from, &mut carried[place..], into);
            }
        }
    }
}

/// Some numbers of a row back.
#[inline(always)]
fn retreat_group<S: Simd, T: Float, C: Equations<G, N, K>, const WHOLE: bool, const G: usize, const N: usize, const K: usize>(
    simd: S,
    ([hidden, pad, count], aside): ([usize; 3], bool),
    [gates, before, gradient]: [&[T]; 3],
    carried: &mut [T],
    [x, u]: [&mut [T]; 2],
) {
    let (gates, before) = (read::<T, WHOLE, K>(gates, hidden, count), read::<T, WHOLE, N>(before, hidden, count));
    let (behind, [of_output]) = (read::<T, WHOLE, N>(carried, hidden, count), read::<T, WHOLE, 1>(gradient, hidden, count));
    // Nothing follows a row aside.
    let mut ds = if aside { [[T::ZERO; LANES]; N] } else { behind };
    add(&mut ds[0], &of_output);
    let (mut dx, mut du) = ([[T::ZERO; LANES]; G], [[T::ZERO; LANES]; G]);
    C::reverse(simd, &gates, &before, &mut ds, [&mut dx, &mut du]);
    if aside {
        ds.iter_mut().zip(&behind).for_each(|(ds, behind)| add(ds, behind));
    }
    write::<T, WHOLE, N>(&ds, carried, hidden, count);
    if C::SUMS {
        write::<T, WHOLE, G>(&dx, u, pad, count);
    } else {
        write::<T, WHOLE, G>(&dx, x, pad, count);
        write::<T, WHOLE, G>(&du, u, pad, count);
    }
}

/// The gradients; the input has been checked.
pub(crate) fn backward<T: Float>(spec: &Recurrent, input: &Input<'_, T>, stored: &[T], gradient: &[T]) -> Gradients<T> {
    of_cell!(spec.cell, all::<T>(spec, input, stored, gradient))
}

fn all<T: Float, C: Equations<G, N, K>, const G: usize, const N: usize, const K: usize>(
    spec: &Recurrent,
    input: &Input<'_, T>,
    stored: &[T],
    gradient: &[T],
) -> Gradients<T> {
    let (&Input { batch, length, x, w, u, aside }, layout) = (input, Layout::new(spec));
    let (blocks, width) = (blocks(batch), length * layout.hidden());
    let (w_back, u_back) = (layout.input_back(w), layout.state_back(u));
    let mut dx = vec![T::ZERO; x.len()];
    let sums: Vec<[Vec<T>; 2]> = blocks
        .par_iter()
        .zip(cut(&mut dx, &blocks, x.len() / batch))
        .map(|(block, dx)| {
            dispatch_for::<T, _>(Backward::<T, C, G, N, K> {
                layout,
                panels: [&w_back, &u_back],
                length,
                x: part(x, block, x.len() / batch),
                aside: aside.map(|aside| part(aside, block, length)),
                stored: part(stored, block, (N + K) * width),
                gradient: part(gradient, block, width),
                dx,
                cell: PhantomData,
            })
        })
        .collect();
    // Blocks are added in their order, whatever the number of threads.
    let total = |i: usize| {
        let mut blocks = sums.iter().map(|sums| &sums[i]);
        let mut total = blocks.next().cloned().unwrap_or_default();
        blocks.for_each(|block| add(&mut total, block));
        total
    };
    let (of_w, of_u) = (total(0), total(1));
    let mut dw = vec![T::ZERO; w.len()];
    let per_part = layout.gates / layout.parts;
    for (i, gate) in of_w.chunks_exact(layout.pad).enumerate() {
        let (l, of_part) = (i / per_part % (layout.inputs + 1), i / per_part / (layout.inputs + 1));
        let gate_of_row = of_part % layout.parts * per_part + i % per_part;
        let place = (l * layout.gates + gate_of_row) * layout.hidden() + of_part / layout.parts * layout.size;
        dw[place..place + layout.size].copy_from_slice(&gate[..layout.size]);
    }
    let du = of_u.chunks_exact(layout.pad).flat_map(|gate| &gate[..layout.size]).copied().collect();
    Gradients { x: dx, w: dw, u: du }
}
