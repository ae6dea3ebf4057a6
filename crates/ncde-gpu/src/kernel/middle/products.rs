//! Products of the flows of chunks: a unit has some columns of the product of a block in registers, and its cube has the generators in shared memory.
//!
//! ```text
//! P <- exp(M) P = P + W_1 + W_2 + ...,   W_0 = P,   W_j = M W_{j-1} / j,   column by column
//! ```
//!
//! Columns are independent: units wait for a generator, not for a term.

use cubecl::prelude::*;

use super::{CUBE, TEAM, finite_norm, largest, stages};
use crate::flow::Flow;
use crate::kernel::step::{SMALL, TERMS, overflow};
use crate::kernel::unit::{copy, cube_number, fill, zeros};
use crate::sizes::{Sizes, row_of};

/// Columns of a unit: each number of a generator that is read from shared memory serves all of them.
const COLUMNS: usize = 32 / TEAM;

/// Units of a block.
const UNITS: usize = TEAM / COLUMNS;

/// Blocks of a cube.
pub(crate) const BLOCKS: usize = CUBE / UNITS;

/// Rows of a generator, four numbers each.
const fn fours(b: usize) -> usize {
    b.div_ceil(4)
}

/// Fours of a generator in shared memory: blocks begin at other banks.
const fn apart(b: usize) -> usize {
    b * fours(b) + 1
}

/// Fours of all generators of a cube that a unit reads.
const fn per_unit(b: usize) -> usize {
    (BLOCKS * b * fours(b)).div_ceil(CUBE)
}

/// A unit's part of the generators of a step of the slab: four neighbouring numbers of `m[k, out]` at a time, zeros beyond the block and past the end of its series.
#[cube]
fn read<N: Size>(
    m: &Array<f32>,
    starts: &Array<usize>,
    limits: &Array<usize>,
    step: usize,
    sizes: &Sizes,
    next: &mut Array<Vector<f32, N>>,
    #[comptime] b: usize,
) {
    #[unroll]
    for i in 0..comptime!(per_unit(b)) {
        let out = (UNIT_POS as usize + comptime!(i * CUBE)) % comptime!(fours(b)) * 4;
        let mut four = Vector::<f32, N>::new(0.0);
        if step < limits[i] {
            let at = starts[i] + step * sizes.count * comptime!(b * b);
            #[unroll]
            for c in 0..4usize {
                if out + c < b {
                    four[c] = m[at + c];
                }
            }
        }
        next[i] = four;
    }
}

/// `acc = M w` for the columns of a unit.
#[cube]
fn multiply<N: Size>(
    tile: &SharedMemory<Vector<f32, N>>,
    at: usize,
    w: &Array<Vector<f32, N>>,
    acc: &mut Array<Vector<f32, N>>,
    #[comptime] b: usize,
) {
    fill(acc, Vector::<f32, N>::new(0.0), comptime!(COLUMNS * fours(b)));
    #[unroll]
    for k in 0..b {
        #[unroll]
        for o in 0..comptime!(fours(b)) {
            let four = tile[at + comptime!(k * fours(b) + o)];
            #[unroll]
            for c in 0..comptime!(COLUMNS) {
                let column = w[comptime!(c * fours(b) + k / 4)];
                acc[comptime!(c * fours(b) + o)] += four * Vector::<f32, N>::new(column[comptime!(k % 4)]);
            }
        }
    }
}

/// The chunk of a block, counted over all series, and its series. Every chunk but the last has a product; but the first, in reverse.
#[cube]
fn place_of(block: usize, sizes: &Sizes, #[comptime] back: bool) -> (usize, usize) {
    let at = min(block, sizes.units - 1) / sizes.count;
    let series = at / (sizes.chunks - 1);
    let mut chunk = at % (sizes.chunks - 1);
    if comptime!(back) {
        chunk += 1;
    }
    (series * sizes.chunks + chunk, series)
}

/// The products of the flows of every chunk but the last (the first, in reverse).
///
/// Blocks: `[batch, chunks - 1, blocks]`, some of them a cube.
#[cube(launch_unchecked)]
pub(crate) fn products<N: Size>(
    m: &Array<f32>,
    lengths: &Array<u32>,
    out: &mut Array<f32>,
    sizes: &Sizes,
    #[comptime] b: usize,
    #[comptime] flow: Flow,
    #[comptime] back: bool,
) {
    let cube = cube_number();
    let unit = UNIT_POS as usize;
    let numbers = comptime!(b * fours(b));
    let mut starts = Array::<usize>::new(comptime!(per_unit(b)));
    let mut limits = Array::<usize>::new(comptime!(per_unit(b)));
    #[unroll]
    for i in 0..comptime!(per_unit(b)) {
        let e = unit + comptime!(i * CUBE);
        let which = cube * comptime!(BLOCKS) + e / numbers;
        let (place, series) = place_of(which, sizes, back);
        let k = e % numbers / comptime!(fours(b));
        let first = (row_of(place, sizes) * sizes.count + which % sizes.count) * comptime!(b * b);
        starts[i] = first + k * b + e % comptime!(fours(b)) * 4;
        limits[i] = 0usize;
        let t_0 = place % sizes.chunks * sizes.chunk + sizes.first;
        let length = lengths[series] as usize;
        if e / numbers < comptime!(BLOCKS) && which < sizes.units && t_0 < length {
            limits[i] = length - t_0;
        }
    }
    let within = unit / comptime!(UNITS);
    let lane = unit % comptime!(UNITS);
    let which = cube * comptime!(BLOCKS) + within;
    let (place, _series) = place_of(which, sizes, back);
    let is_there = which < sizes.units;
    let to = (place * (b + sizes.columns) * sizes.count + which % sizes.count) * b;
    let is_begun = if comptime!(back) { sizes.first + sizes.steps < sizes.chunk } else { sizes.first > 0 };
    let mut x = Array::<Vector<f32, N>>::new(comptime!(COLUMNS * fours(b)));
    let mut w = Array::<Vector<f32, N>>::new(comptime!(COLUMNS * fours(b)));
    let mut acc = Array::<Vector<f32, N>>::new(comptime!(COLUMNS * fours(b)));
    #[unroll]
    for i in 0..comptime!(COLUMNS * fours(b)) {
        let column = lane * comptime!(COLUMNS) + comptime!(i / fours(b));
        let mut four = Vector::<f32, N>::new(0.0);
        #[unroll]
        for c in 0..4usize {
            let r = comptime!(i % fours(b) * 4 + c);
            let mut value = f32::new(0.0);
            if is_begun {
                if comptime!(r < b) {
                    if is_there && column < b {
                        value = out[to + column * sizes.count * b + r];
                    }
                }
            } else if r == column {
                value = f32::new(1.0);
            }
            four[c] = value;
        }
        x[i] = four;
    }
    let mut tile = SharedMemory::<Vector<f32, N>>::new(comptime!(2 * BLOCKS * apart(b)));
    let mut norms = SharedMemory::<f32>::new(comptime!(2 * CUBE));
    let mut next = Array::<Vector<f32, N>>::new(comptime!(per_unit(b)));
    let mut s = 0usize;
    if comptime!(back) {
        s = sizes.steps - 1;
    }
    let mut turn = 0usize;
    read(m, &starts, &limits, s, sizes, &mut next, b);
    for step in 0..sizes.steps {
        let cube_tile = turn * comptime!(BLOCKS * apart(b));
        #[unroll]
        for i in 0..comptime!(per_unit(b)) {
            let e = unit + comptime!(i * CUBE);
            if e < comptime!(BLOCKS * b * fours(b)) {
                tile[cube_tile + e / numbers * comptime!(apart(b)) + e % numbers] = next[i];
            }
        }
        sync_cube();
        // The generators of the next step are under way meanwhile.
        if comptime!(back) {
            s = max(s, 1) - 1;
        } else {
            s = min(step + 1, sizes.steps - 1);
        }
        read(m, &starts, &limits, s, sizes, &mut next, b);
        let at = cube_tile + within * comptime!(apart(b));
        if comptime!(!flow.exact) {
            multiply(&tile, at, &x, &mut acc, b);
            #[unroll]
            for i in 0..comptime!(COLUMNS * fours(b)) {
                x[i] += acc[i];
            }
        } else {
            let mut norm_of = f32::new(0.0);
            if lane < comptime!(fours(b)) {
                let mut sums = zeros(4usize);
                #[unroll]
                for k in 0..b {
                    let four = tile[at + comptime!(k * fours(b)) + lane];
                    #[unroll]
                    for c in 0..4usize {
                        sums[c] += f32::abs(four[c]);
                    }
                }
                norm_of = max(max(sums[0], sums[1]), max(sums[2], sums[3]));
            }
            norms[turn * CUBE + unit] = finite_norm(norm_of);
            sync_cube();
            let norm = largest(&norms, turn * CUBE);
            let stages = stages(norm);
            let part = 1.0 / f32::cast_from(stages);
            for _ in 0..stages {
                copy(&x, &mut w, comptime!(COLUMNS * fours(b)));
                let mut left = f32::new(1.0);
                let mut j = 1u32;
                while left > SMALL && j <= comptime!(TERMS as u32) {
                    let factor = part / f32::cast_from(j);
                    multiply(&tile, at, &w, &mut acc, b);
                    #[unroll]
                    for i in 0..comptime!(COLUMNS * fours(b)) {
                        w[i] = acc[i] * Vector::<f32, N>::new(factor);
                        x[i] += w[i];
                    }
                    left *= factor * norm;
                    j += 1u32;
                }
            }
            x[0] += Vector::<f32, N>::new(overflow(norm_of));
        }
        turn = 1 - turn;
    }
    #[unroll]
    for i in 0..comptime!(COLUMNS * fours(b)) {
        let column = lane * comptime!(COLUMNS) + comptime!(i / fours(b));
        let four = x[i];
        #[unroll]
        for c in 0..4usize {
            let r = comptime!(i % fours(b) * 4 + c);
            if comptime!(r < b) {
                if is_there && column < b {
                    out[to + column * sizes.count * b + r] = four[c];
                }
            }
        }
    }
}
