//! A few vectors in shared memory times a matrix in global memory, in parts that are then added in order.
//!
//! ```text
//! parts[s, r, c] = sum over the k of piece s of x[r, k] w[k, c],   total[r, c] = sum_s parts[s, r, c]
//! ```
//!
//! A unit has four columns `c` of the matrix and a piece `s` of the sum, so that neighbouring units read neighbouring numbers; what it reads is used for all vectors `r`.

use cubecl::prelude::*;

use crate::neural::cut::{Cut, Sum};

/// Steps of four rows that a unit reads before it computes: all of them are on their way at once.
const DEEP: usize = 2;

/// Pieces of so few reads are not a loop.
const UNROLLED: usize = 4;

/// Vectors whose sums a unit has in registers; more go through the matrix again.
const VECTORS: usize = 8;

/// Which block of the matrix a column meets, and which vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Blocks {
    /// The whole matrix, all vectors.
    Whole,
    /// Columns in blocks of so many fours: block `j` of columns meets vector `j` alone.
    Columns(usize),
    /// Rows in blocks, each of so many fours of columns: column `c` of block `j` meets vector `j` alone.
    Rows(usize),
}

/// The parts. Vectors lie `stride` fours apart; the weight begins at `at`. All units of the cube take part, and wait afterwards.
#[cube]
pub(crate) fn parts<N: Size>(
    weights: &Array<Vector<f32, N>>,
    x: &SharedMemory<Vector<f32, N>>,
    out: &mut SharedMemory<Vector<f32, N>>,
    #[comptime] at: usize,
    #[comptime] stride: usize,
    #[comptime] blocks: Blocks,
    #[comptime] sum: Sum,
    #[comptime] cut: Cut,
) {
    let tasks = comptime!(sum.lanes * sum.splits);
    for task in range_stepped(UNIT_POS as usize, tasks, comptime!(cut.units)) {
        let lane = task % comptime!(sum.lanes);
        let split = task / comptime!(sum.lanes);
        #[unroll]
        for group in 0..comptime!(sum.vectors.div_ceil(VECTORS)) {
            let first = comptime!(group * VECTORS);
            let count = comptime!(VECTORS.min(sum.vectors - group * VECTORS));
            one::<N>(weights, x, out, lane, split, at, stride, blocks, sum, first, count);
        }
    }
    sync_cube();
}

/// The part of one unit for `count` vectors from `first` on.
#[cube]
fn one<N: Size>(
    weights: &Array<Vector<f32, N>>,
    x: &SharedMemory<Vector<f32, N>>,
    out: &mut SharedMemory<Vector<f32, N>>,
    lane: usize,
    split: usize,
    #[comptime] at: usize,
    #[comptime] stride: usize,
    #[comptime] blocks: Blocks,
    #[comptime] sum: Sum,
    #[comptime] first: usize,
    #[comptime] count: usize,
) {
    // Fours from one row of the matrix to the next, where this column begins, and its vector.
    let (mut column, mut vector) = (lane + at, lane * 0);
    let row = comptime!(match blocks {
        Blocks::Rows(columns) => columns,
        _ => sum.lanes,
    });
    let width = comptime!(match blocks {
        Blocks::Whole => sum.lanes,
        Blocks::Columns(width) | Blocks::Rows(width) => width,
    });
    if comptime!(blocks != Blocks::Whole) {
        vector = lane / width * stride;
    }
    if comptime!(matches!(blocks, Blocks::Rows(_))) {
        column = lane / width * comptime!(4 * sum.steps * width) + lane % width + at;
    }
    let mut sums = Array::<Vector<f32, N>>::new(count);
    #[unroll]
    for r in 0..count {
        sums[r] = Vector::<f32, N>::new(0.0);
    }
    let begin = split * comptime!(sum.each);
    let turns = comptime!(sum.each.div_ceil(DEEP));
    // Whether a unit may come to steps that are not its own.
    let ragged = comptime!(!sum.each.is_multiple_of(DEEP) || !sum.steps.is_multiple_of(sum.each));
    let end = min(begin + comptime!(sum.each), comptime!(sum.steps).runtime());
    #[unroll(turns <= UNROLLED)]
    for turn in 0..turns {
        let mut w = Array::<Vector<f32, N>>::new(comptime!(4 * DEEP));
        #[unroll]
        for i in 0..DEEP {
            let mut k = begin + turn * DEEP + i;
            if comptime!(ragged) {
                k = min(k, comptime!(sum.steps - 1).runtime());
            }
            #[unroll]
            for q in 0..4usize {
                w[i * 4 + q] = weights[column + (k * 4 + q) * row];
            }
        }
        #[unroll]
        for i in 0..DEEP {
            let k = begin + turn * DEEP + i;
            #[unroll]
            for r in 0..count {
                let mut four = Vector::<f32, N>::new(0.0);
                if comptime!(ragged) {
                    if k < end {
                        four = x[vector + comptime!((first + r) * stride) + k];
                    }
                } else {
                    four = x[vector + comptime!((first + r) * stride) + k];
                }
                #[unroll]
                for q in 0..4usize {
                    sums[r] += Vector::<f32, N>::new(four[q]) * w[i * 4 + q];
                }
            }
        }
    }
    #[unroll]
    for r in 0..count {
        out[(split * comptime!(sum.vectors) + comptime!(first + r)) * comptime!(sum.lanes) + lane] = sums[r];
    }
}

/// Result `e`, counted over vectors and columns, from its parts in order.
#[cube]
pub(crate) fn total<N: Size>(parts: &SharedMemory<Vector<f32, N>>, e: usize, #[comptime] sum: Sum) -> Vector<f32, N> {
    let mut all = parts[e];
    #[unroll]
    for s in 1..comptime!(sum.splits) {
        all += parts[e + comptime!(s * sum.results())];
    }
    all
}
