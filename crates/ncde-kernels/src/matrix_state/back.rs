//! All steps of a head back in time, chunk after chunk, and all heads of a batch.

use ncde_simd::{Float, Kernel, Number, Simd, call, dispatch_for};
use rayon::prelude::*;

use super::columns::{Columns, Step};
use super::heads::{Head, Workspace, parts, rows_by_head};
use super::pass::{Pass, Row, enter};
use super::{Decay, Gradients, Input, MatrixState, chunk};
use crate::error::row_is_finite;
use crate::pool::borrow;

/// The reverse pass of a head, and whether all gradients are finite.
struct Backward<'a, T: Float> {
    head: Head<'a, T>,
    workspace: &'a mut Workspace<T>,
    checkpoints: &'a [T],
    /// In all outputs of the batch, and in the last state of this head or empty.
    outputs: &'a [T],
    last: &'a [T],
    /// Rows of this head in the gradients of `w, a, c, k, q, v`.
    rows: [Vec<&'a mut [T]>; 6],
    initial: &'a mut [T],
}

impl<T: Float> Kernel for Backward<'_, T> {
    type Output = bool;
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> bool {
        let Self { head, workspace, checkpoints, outputs, last, rows: [mut dw, mut da, mut dc, mut dk, mut dq, mut dv], initial } =
            self;
        let (&MatrixState { keys, values, decay, delta, .. }, input) = (head.spec, head.input);
        let (shape, length, size) = ([keys, values], input.length, keys * values);
        let (chunk, mut check) = (chunk(values), T::ZERO);
        workspace.reset(head.spec, length);
        let Workspace { state, w, z, o, dw: all_dw, columns, square, .. } = workspace;
        enter(simd, shape, last, state, square);
        match last {
            [] => initial.fill(T::ZERO),
            _ => initial.copy_from_slice(last),
        }
        all_dw.resize(chunk * keys, T::ZERO);
        let room = (chunk.min(length) + 2) * values * keys.next_multiple_of(T::Register::WIDTH).min(2 * T::Register::WIDTH);
        if columns.len() < room {
            columns.reset(room);
        }
        let (states, u) = checkpoints.split_at((length - 1) / chunk * size);
        for first in (0..length).step_by(chunk).rev() {
            let steps = chunk.min(length - first);
            head.decays(first, &mut w[..(steps + 1) * keys]);
            let w = |i: usize| &w[i * keys..(i + 1) * keys];
            // `G` by keys, from the last step to the first: `dv` and `z`.
            let rows: Vec<Row<'_, T>> = (0..steps).rev().map(|i| head.back(first + i, outputs, w(i + 1))).collect();
            check += call(simd, Pass { keys, values, rows: &rows, state, u: z, o: &mut o[..steps * values] });
            for (dv, o) in dv[first..first + steps].iter_mut().rev().zip(o[..steps * values].chunks_exact(values)) {
                dv.copy_from_slice(o);
            }
            let z_of = |i: usize| if delta { &z[(steps - i) * values..][..values] } else { &[] };
            let numbers: Vec<Step<'_, T>> = (0..=steps).map(|i| head.step(first + i, outputs, u, [w(i), z_of(i)])).collect();
            let rows_of = first..first + steps;
            let of_delta = if delta { rows_of.clone() } else { 0..0 };
            check += call(
                simd,
                Columns {
                    keys,
                    values,
                    steps: &numbers,
                    start: if first == 0 { head.initial() } else { &states[(first / chunk - 1) * size..][..size] },
                    back: initial,
                    scratch: columns,
                    dw: all_dw,
                    gradients: [&mut da[of_delta.clone()], &mut dc[of_delta], &mut dk[rows_of.clone()], &mut dq[rows_of.clone()]],
                },
            );
            match decay {
                Decay::None => {}
                Decay::Scalar => {
                    for (dw, row) in dw[rows_of].iter_mut().zip(all_dw.chunks_exact(keys)) {
                        dw[0] = row.iter().copied().sum();
                        check += T::ZERO * dw[0];
                    }
                }
                Decay::Vector => {
                    dw[rows_of].iter_mut().zip(all_dw.chunks_exact(keys)).for_each(|(dw, row)| dw.copy_from_slice(row));
                }
            }
            if delta {
                z.copy_within(steps * values..(steps + 1) * values, 0);
            }
        }
        // From `G` of the first step to the gradient in the state before it.
        head.decays(0, &mut w[..keys]);
        let a = head.delta(input.a, 0);
        for (v, row) in initial.chunks_exact_mut(keys).enumerate() {
            row.iter_mut().zip(&*w).for_each(|(g, &w)| *g *= w);
            if delta {
                row.iter_mut().zip(a).for_each(|(g, &a)| *g += z[v] * a);
            }
        }
        check.is_finite() && row_is_finite(initial)
    }
}

/// The gradients, and whether they are finite; the sizes have been checked.
pub(crate) fn backward<T: Float>(
    spec: &MatrixState,
    input: &Input<'_, T>,
    checkpoints: &[T],
    [outputs, last]: [&[T]; 2],
) -> (Gradients<T>, bool) {
    let &Input { batch, length, .. } = input;
    let (heads, size) = (spec.heads, spec.keys * spec.values);
    let mut gradients = [input.w, input.a, input.c, input.k, input.q, input.v].map(|array| vec![T::ZERO; array.len()]);
    let mut initial = vec![T::ZERO; batch * spec.state()];
    let mut arrays = gradients.each_mut().map(|array| parts(array, batch).into_iter());
    let series: Vec<[&mut [T]; 6]> =
        (0..batch).map(|_| arrays.each_mut().map(|array| array.next().unwrap_or_default())).collect();
    let finite = series.into_par_iter().zip(parts(&mut initial, batch)).enumerate().map(|(b, (arrays, initial))| {
        let mut rows = arrays.map(|array| rows_by_head(array, length, heads).into_iter());
        let rows: Vec<[Vec<&mut [T]>; 6]> =
            (0..heads).map(|_| rows.each_mut().map(|rows| rows.next().unwrap_or_default())).collect();
        let finite = rows.into_par_iter().zip(parts(initial, heads)).enumerate().map(|(h, (rows, initial))| {
            let index = b * heads + h;
            let stored = checkpoints.len() / (batch * heads);
            dispatch_for::<T, _>(Backward {
                head: Head { spec, input, index },
                workspace: &mut borrow::<Workspace<T>>(),
                checkpoints: &checkpoints[index * stored..][..stored],
                outputs,
                last: if last.is_empty() { &[] } else { &last[index * size..][..size] },
                rows,
                initial,
            })
        });
        finite.reduce(|| true, |all, finite| all & finite)
    });
    let finite = finite.reduce(|| true, |all, finite| all & finite);
    let [w, a, c, k, q, v] = gradients;
    (Gradients { w, a, c, k, q, v, initial }, finite)
}
