//! 64 rows by 64 rows at a time, forward and back.
//!
//! Every head of every series is a task of its own that sums nothing with others, so that results do not depend on threads.

use ncde_simd::{Float, Kernel, Number, Simd, call, dispatch_for};
use rayon::prelude::*;

use super::head::{BLOCK, HIDDEN, Head, turns};
use super::{Attention, Input, Outputs};
use crate::chunks::add;
use crate::neural::product::{Outer, Panels, Rows, RowsMut, Sum};

/// How many numbers of a row of scores are taken at once.
const LANES: usize = 16;

/// Blocks of rows in panels, as they are or transposed.
#[inline(always)]
fn panels<S: Simd, T: Float, const TRANSPOSED: bool>(simd: S, head: &Head<'_, T>, rows: &[T]) -> Vec<Panels<T::Register>> {
    let mut all = Vec::with_capacity(head.length.div_ceil(BLOCK));
    for block in 0..head.length.div_ceil(BLOCK) {
        let (range, mut panels) = (head.block(block), Panels::default());
        let rows = Rows { values: &rows[range.start * head.stride..], stride: head.stride };
        if TRANSPOSED {
            panels.transpose(simd, head.size, range.len(), rows);
        } else {
            panels.rows(range.len(), head.size, rows);
        }
        all.push(panels);
    }
    all
}

/// The largest number of a row.
#[inline(always)]
fn largest<T: Float>(row: &[T]) -> T {
    let mut most = [T::from_f64(HIDDEN); LANES];
    for lanes in row.as_chunks::<LANES>().0 {
        for l in 0..LANES {
            most[l] = if lanes[l] < most[l] { most[l] } else { lanes[l] };
        }
    }
    for half in [8, 4, 2, 1] {
        for l in 0..half {
            most[l] = if most[l + half] < most[l] { most[l] } else { most[l + half] };
        }
    }
    most[0]
}

/// `x <- exp(x - shift)`; returns the sum.
#[inline(always)]
fn raise<S: Simd, T: Float>(simd: S, row: &mut [T], shift: T) -> T {
    let mut sums = [T::ZERO; LANES];
    for lanes in row.as_chunks_mut::<LANES>().0 {
        for l in 0..LANES {
            lanes[l] = Float::exp(lanes[l] - shift);
            sums[l] += lanes[l];
        }
    }
    T::dot(simd, &sums, &[T::ONE; LANES])
}

/// `y`, `[length, d]`, then `z`.
struct Forward<'a, T> {
    head: Head<'a, T>,
    rows: &'a [T],
    stored: &'a mut [T],
}

impl<T: Float> Kernel for Forward<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { head, rows, stored } = self;
        let [mut q, mut k, v] = [0, 1, 2].map(|part| head.rows(rows, [part, 3]));
        head.turn(&mut q, T::ONE, head.scale());
        head.turn(&mut k, T::ONE, T::ONE);
        let (k, v) = (panels::<S, T, true>(simd, &head, &k), panels::<S, T, false>(simd, &head, &v));
        let (stride, (y, z)) = (head.stride, stored.split_at_mut(head.length * head.size));
        let (mut scores, mut part) = (vec![T::ZERO; BLOCK * BLOCK], vec![T::ZERO; BLOCK * stride]);
        for queries in 0..k.len() {
            let range = head.block(queries);
            let (mut most, mut sums) = ([T::from_f64(HIDDEN); BLOCK], [T::ZERO; BLOCK]);
            let mut seen = vec![T::ZERO; range.len() * stride];
            let q = Rows { values: &q[range.start * stride..], stride };
            for keys in head.first_block(queries)..=queries {
                k[keys].multiply(simd, range.len(), q, RowsMut { values: &mut scores, stride: BLOCK });
                head.hide([queries, keys], &mut scores);
                let (mut next, mut factors) = (most, [T::ZERO; BLOCK]);
                for (next, scores) in next.iter_mut().zip(scores.chunks_exact(BLOCK)).take(range.len()) {
                    let row = largest(scores);
                    *next = if row < *next { *next } else { row };
                }
                for i in 0..BLOCK {
                    factors[i] = Float::exp(most[i] - next[i]);
                }
                most = next;
                for (i, scores) in scores.chunks_exact_mut(BLOCK).take(range.len()).enumerate() {
                    sums[i] = sums[i] * factors[i] + raise(simd, scores, most[i]);
                }
                v[keys].multiply(
                    simd,
                    range.len(),
                    Rows { values: &scores, stride: BLOCK },
                    RowsMut { values: &mut part, stride },
                );
                for ((seen, part), &factor) in seen.chunks_exact_mut(stride).zip(part.chunks_exact(stride)).zip(&factors) {
                    seen.iter_mut().zip(part).for_each(|(seen, &part)| *seen = *seen * factor + part);
                }
            }
            for (i, t) in range.enumerate() {
                let (y, factor) = (&mut y[t * head.size..][..head.size], T::ONE / sums[i]);
                y.iter_mut().zip(&seen[i * stride..]).for_each(|(y, &seen)| *y = seen * factor);
                z[t] = most[i] + T::from_f64(sums[i].to_f64().ln());
            }
        }
    }
}

/// The gradients in `q'`, `k'` and `v`, `[3, length, stride]`.
struct Backward<'a, T> {
    head: Head<'a, T>,
    rows: &'a [T],
    stored: &'a [T],
    gradient: &'a [T],
}

impl<T: Float> Kernel for Backward<'_, T> {
    type Output = [Vec<T>; 3];
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> [Vec<T>; 3] {
        let Self { head, rows, stored, gradient } = self;
        let [mut q, mut k, v] = [0, 1, 2].map(|part| head.rows(rows, [part, 3]));
        head.turn(&mut q, T::ONE, head.scale());
        head.turn(&mut k, T::ONE, T::ONE);
        let (stride, w, (y, z)) = (head.stride, head.rows(gradient, [0, 1]), stored.split_at(head.length * head.size));
        let [k_across, v_across] = [&k, &v].map(|rows| panels::<S, T, true>(simd, &head, rows));
        let k = panels::<S, T, false>(simd, &head, &k);
        let [mut dq, mut dk, mut dv] = [0, 1, 2].map(|_| vec![T::ZERO; q.len()]);
        let (mut p, mut s, mut part) =
            (vec![T::ZERO; BLOCK * BLOCK], vec![T::ZERO; BLOCK * BLOCK], vec![T::ZERO; BLOCK * stride]);
        for queries in 0..k.len() {
            let range = head.block(queries);
            let (first, count) = (range.start * stride, range.len());
            let (q, w) = (Rows { values: &q[first..], stride }, Rows { values: &w[first..], stride });
            let mut seen = [T::ZERO; BLOCK];
            for (i, t) in range.clone().enumerate() {
                seen[i] = T::dot(simd, &w.values[i * stride..][..head.size], &y[t * head.size..][..head.size]);
            }
            for keys in head.first_block(queries)..=queries {
                k_across[keys].multiply(simd, count, q, RowsMut { values: &mut p, stride: BLOCK });
                head.hide([queries, keys], &mut p);
                v_across[keys].multiply(simd, count, w, RowsMut { values: &mut s, stride: BLOCK });
                let tiles = p.chunks_exact_mut(BLOCK).zip(s.chunks_exact_mut(BLOCK));
                for ((p, s), (&seen, &z)) in tiles.zip(seen.iter().zip(&z[range.clone()])) {
                    raise(simd, p, z);
                    s.iter_mut().zip(&*p).for_each(|(s, &p)| *s = p * (*s - seen));
                }
                let [p, s] = [&p, &s].map(|tile| Rows { values: tile, stride: BLOCK });
                let block = head.block(keys);
                let (place, shape) = (block.start * stride, [block.len(), stride / T::Register::WIDTH]);
                let outer =
                    |a, b, c| Outer { a, b, starts: &[(0, 0)], count, shape, sum: Sum::Add, c: RowsMut { values: c, stride } };
                call(simd, outer(p, w, &mut dv[place..]));
                call(simd, outer(s, q, &mut dk[place..]));
                k[keys].multiply(simd, count, s, RowsMut { values: &mut part, stride });
                add(&mut dq[first..first + count * stride], &part);
            }
        }
        head.turn(&mut dq, -T::ONE, head.scale());
        head.turn(&mut dk, -T::ONE, T::ONE);
        [dq, dk, dv]
    }
}

/// What every row sees; the input has been checked.
pub(crate) fn forward<T: Float>(spec: &Attention, input: &Input<'_, T>) -> Outputs<T> {
    let (of_head, width, length) = (input.length * (spec.size + 1), spec.heads * spec.size, input.length);
    let turns: Vec<_> = (0..input.batch).into_par_iter().map(|series| turns(input, series)).collect();
    let mut stored = vec![T::ZERO; input.batch * spec.heads * of_head];
    stored.par_chunks_exact_mut(of_head).enumerate().for_each(|(index, stored)| {
        dispatch_for::<T, _>(Forward { head: Head::new(spec, input, &turns, index), rows: input.rows, stored });
    });
    let mut y = vec![T::ZERO; input.batch * length * width];
    y.par_chunks_exact_mut(length * width).zip(stored.par_chunks_exact(spec.heads * of_head)).for_each(|(y, stored)| {
        for (head, stored) in stored.chunks_exact(of_head).enumerate() {
            for (y, row) in y.chunks_exact_mut(width).zip(stored.chunks_exact(spec.size)) {
                y[head * spec.size..][..spec.size].copy_from_slice(row);
            }
        }
    });
    Outputs { y, stored }
}

/// The gradient in the rows; the input has been checked.
pub(crate) fn backward<T: Float>(spec: &Attention, input: &Input<'_, T>, stored: &[T], gradient: &[T]) -> Vec<T> {
    let (of_head, width) = (input.length * (spec.size + 1), spec.heads * spec.size);
    let turns: Vec<_> = (0..input.batch).into_par_iter().map(|series| turns(input, series)).collect();
    let heads: Vec<[Vec<T>; 3]> = stored
        .par_chunks_exact(of_head)
        .enumerate()
        .map(|(index, stored)| {
            let head = Head::new(spec, input, &turns, index);
            dispatch_for::<T, _>(Backward { head, rows: input.rows, stored, gradient })
        })
        .collect();
    let mut rows = vec![T::ZERO; input.rows.len()];
    rows.par_chunks_exact_mut(input.length * 3 * width).zip(heads.par_chunks_exact(spec.heads)).for_each(|(rows, heads)| {
        for (head, of_head) in heads.iter().enumerate() {
            let stride = of_head[0].len() / input.length;
            for (part, numbers) in of_head.iter().enumerate() {
                for (row, numbers) in rows.chunks_exact_mut(3 * width).zip(numbers.chunks_exact(stride)) {
                    row[part * width + head * spec.size..][..spec.size].copy_from_slice(&numbers[..spec.size]);
                }
            }
        }
    });
    rows
}
