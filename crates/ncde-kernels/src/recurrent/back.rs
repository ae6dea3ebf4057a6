//! All steps of a few series back.
//!
//! ```text
//! du_t, dx_t, ds_{t-1} from the cell and ds_t,   dh_{t-1} += U du_t,   dU += (h_{t-1}, 1)^T du_t
//! ```
//!
//! About 128 rows at a time: one product gives what states brought to their gates, which then become `du` step by step, and one product more adds to `dU`.

use std::marker::PhantomData;

use ncde_simd::{Float, Kernel, Number, Simd, call, dispatch_for};
use rayon::prelude::*;

use super::cells::{Equations, Gru, LANES, Lstm, Parts, Slstm};
use super::steps::{Layout, blocks, cut, of_cell, part, read, write};
use super::{Cell, Gradients, Input, Recurrent};
use crate::chunks::add;
use crate::neural::product::{Outer, Panels, Rows, RowsMut, Sum};

/// About how many rows are computed again at once.
const CHUNK_ROWS: usize = 128;

struct Backward<'a, T: Float, C, const G: usize, const N: usize> {
    layout: Layout,
    /// `U`, and its transpose.
    panels: [&'a [Panels<T::Register>]; 2],
    length: usize,
    x: &'a [T],
    aside: Option<&'a [bool]>,
    states: &'a [T],
    gradient: &'a [T],
    dx: &'a mut [T],
    cell: PhantomData<C>,
}

/// The gradient in `U`, padded.
impl<T: Float, C: Equations<G, N>, const G: usize, const N: usize> Kernel for Backward<'_, T, C, G, N> {
    type Output = Vec<T>;
    #[inline(always)]
    fn run<S: Simd>(mut self, simd: S) -> Vec<T> {
        let (layout, length, hidden) = (self.layout, self.length, self.layout.hidden());
        let Layout { heads, size, pad, .. } = layout;
        let (augmented, of_row, of_head) = (layout.augmented(), layout.of_row(), layout.of_head());
        let rows = self.gradient.len() / (length * hidden);
        let (parents, first) = (self.parents(), layout.first::<T>(&C::FIRST));
        let steps = (CHUNK_ROWS / rows).clamp(1, length);
        let (mut h, mut u) = (layout.empty_h::<T>(steps * rows), vec![T::ZERO; steps * rows * of_row]);
        let (mut dh, mut carried) = (vec![T::ZERO; rows * heads * pad], vec![T::ZERO; rows * N * hidden]);
        let mut du = vec![T::ZERO; heads * (size + 1) * of_head];
        for start in (0..length).step_by(steps).rev() {
            let count = steps.min(length - start);
            for (i, h) in h.chunks_exact_mut(augmented).take(count * rows).enumerate() {
                let before = state(self.states, &first, parents[i % rows * length + start + i / rows]);
                layout.set_h(h, &before[..hidden]);
            }
            layout.multiply(simd, self.panels[0], count * rows, &h, &mut u);
            for (i, u) in u.chunks_exact_mut(rows * of_row).take(count).enumerate().rev() {
                for (r, (u, carried)) in u.chunks_exact_mut(of_row).zip(carried.chunks_exact_mut(N * hidden)).enumerate() {
                    let row = r * length + start + i;
                    self.retreat(row, state(self.states, &first, parents[row]), u, carried);
                }
                for (head, panels) in self.panels[1].iter().enumerate() {
                    let u = Rows { values: &u[head * of_head..], stride: of_row };
                    panels.multiply(simd, rows, u, RowsMut { values: &mut dh[head * pad..], stride: heads * pad });
                }
                for (carried, dh) in carried.chunks_exact_mut(N * hidden).zip(dh.chunks_exact(heads * pad)) {
                    let of_heads = carried[..hidden].chunks_exact_mut(size).zip(dh.chunks_exact(pad));
                    of_heads.for_each(|(carried, dh)| add(carried, dh));
                }
            }
            for (head, du) in du.chunks_exact_mut((size + 1) * of_head).enumerate() {
                let product = Outer {
                    a: Rows { values: &h[head * (size + 1)..], stride: augmented },
                    b: Rows { values: &u[head * of_head..], stride: of_row },
                    starts: &[(0, 0)],
                    count: count * rows,
                    shape: [size + 1, of_head / T::Register::WIDTH],
                    sum: Sum::Add,
                    c: RowsMut { values: du, stride: of_head },
                };
                call(simd, product);
            }
        }
        du
    }
}

impl<T: Float, C: Equations<G, N>, const G: usize, const N: usize> Backward<'_, T, C, G, N> {
    /// The row before each row of each series, plus 1; 0 where there is none.
    fn parents(&self) -> Vec<usize> {
        let rows = self.gradient.len() / self.layout.hidden();
        let mut last = 0;
        let parent = |row: usize| {
            let parent = if row % self.length == 0 { 0 } else { last };
            last = if self.aside.is_some_and(|aside| aside[row]) { parent } else { row + 1 };
            parent
        };
        (0..rows).map(parent).collect()
    }

    /// One row back: `u` becomes the gradient in it, `carried` that in the states before the row but for what comes through `u`.
    #[inline(always)]
    fn retreat(&mut self, row: usize, before: &[T], u: &mut [T], carried: &mut [T]) {
        let (layout, hidden) = (self.layout, self.layout.hidden());
        let (x, gradient) = (&self.x[row * G * hidden..][..G * hidden], &self.gradient[row * hidden..][..hidden]);
        let (dx, aside) = (&mut self.dx[row * G * hidden..][..G * hidden], self.aside.is_some_and(|aside| aside[row]));
        for i in 0..layout.groups() {
            let [place, of_u, count] = layout.group(i);
            let (mut x, mut du): (Parts<T, G>, Parts<T, G>) = (read(x, place, hidden, count), read(u, of_u, layout.pad, count));
            let (behind, [of_output]) = (read::<T, N>(carried, place, hidden, count), read(gradient, place, hidden, count));
            // Nothing follows a row aside.
            let mut ds = if aside { [[T::ZERO; LANES]; N] } else { behind };
            add(&mut ds[0], &of_output);
            C::reverse(&mut x, &mut du, &read(before, place, hidden, count), &mut ds);
            if aside {
                ds.iter_mut().zip(&behind).for_each(|(ds, behind)| add(ds, behind));
            }
            write(&ds, carried, place, hidden, count);
            write(&x, dx, place, hidden, count);
            write(&du, u, of_u, layout.pad, count);
        }
    }
}

/// The states before a row, `parent` being the row before it plus 1.
#[inline(always)]
fn state<'a, T>(states: &'a [T], first: &'a [T], parent: usize) -> &'a [T] {
    parent.checked_sub(1).map_or(first, |row| &states[row * first.len()..][..first.len()])
}

/// The gradients; the input has been checked.
pub(crate) fn backward<T: Float>(spec: &Recurrent, input: &Input<'_, T>, states: &[T], gradient: &[T]) -> Gradients<T> {
    of_cell!(spec.cell, all::<T>(spec, input, states, gradient))
}

fn all<T: Float, C: Equations<G, N>, const G: usize, const N: usize>(
    spec: &Recurrent,
    input: &Input<'_, T>,
    states: &[T],
    gradient: &[T],
) -> Gradients<T> {
    let (&Input { batch, length, x, u, aside }, layout) = (input, Layout::padded(spec));
    let (blocks, width, of_head) = (blocks(batch), length * layout.hidden(), layout.of_head());
    let (panels, back) = (layout.panels(u), layout.transposed(u));
    let mut dx = vec![T::ZERO; x.len()];
    let sums: Vec<Vec<T>> = blocks
        .par_iter()
        .zip(cut(&mut dx, &blocks, G * width))
        .map(|(block, dx)| {
            dispatch_for::<T, _>(Backward::<T, C, G, N> {
                layout,
                panels: [&panels, &back],
                length,
                x: part(x, block, G * width),
                aside: aside.map(|aside| part(aside, block, length)),
                states: part(states, block, N * width),
                gradient: part(gradient, block, width),
                dx,
                cell: PhantomData,
            })
        })
        .collect();
    // Blocks are added in their order, whatever the number of threads.
    let mut sum = vec![T::ZERO; layout.heads * (layout.size + 1) * of_head];
    sums.iter().for_each(|block| add(&mut sum, block));
    let u = sum.chunks_exact(layout.pad).flat_map(|gate| &gate[..layout.size]).copied().collect();
    Gradients { x: dx, u }
}
