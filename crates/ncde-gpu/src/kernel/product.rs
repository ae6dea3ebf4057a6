//! Products of matrices, by tiles in shared memory.
//!
//! ```text
//! out[i, j] = sum_k a[i, k] b[k, j] + bias[j],        sums[j] = sum_k b[k, j]
//! ```
//!
//! A cube of 16 x 16 units has a tile of the output, of 64 or 128 rows and columns; a unit has four rows of every 64 and four columns. It walks through `k` in steps of
//! 16: both operands come to shared memory in fours along the sides of the tile, while what comes next is already read to registers. Long sums are cut into splits that
//! other cubes have; [`total`](super::rows::sums::total) adds them, in order.

use cubecl::prelude::*;

use crate::kernel::unit::{cube_number, fill};

/// Units along each side of a cube.
pub(crate) const UNITS: usize = 16;
/// Rows or columns of a part of a tile: four for each unit.
pub(crate) const PART: usize = 4 * UNITS;
/// Steps of `k` that are in shared memory at once.
const DEEP: usize = 16;

/// What a launch needs to know; strides in numbers.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
pub(crate) struct Product {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) inner: usize,
    /// Steps of `k` of a split.
    pub(crate) per_split: usize,
    pub(crate) a_row: usize,
    pub(crate) a_inner: usize,
    pub(crate) b_inner: usize,
    pub(crate) b_column: usize,
    /// Numbers of a split of the output, and where among them the sums are.
    pub(crate) numbers: usize,
    pub(crate) sums: usize,
}

/// What a cube computes: a tile that begins at row `top` and column `first`, from steps `begin..end` of `k`.
#[derive(CubeType)]
pub(super) struct Tile {
    pub(super) top: usize,
    pub(super) first: usize,
    pub(super) split: usize,
    pub(super) begin: usize,
    pub(super) end: usize,
}

/// That of this cube, of so many rows and columns; a cube without work ends here.
#[cube]
pub(super) fn tile_of(of: &Product, #[comptime] rows: usize, #[comptime] columns: usize) -> Tile {
    let cube = cube_number();
    let across = (of.columns + comptime!(columns - 1)) / columns;
    let top = cube / across * rows;
    let first = cube % across * columns;
    if top >= of.rows {
        terminate!();
    }
    let split = CUBE_POS_Z as usize;
    let begin = split * of.per_split;
    let end = min(begin + of.per_split, of.inner);
    Tile { top, first, split, begin, end }
}

/// The place of number `e` of this cube among those along the side of a tile, and along `k`; neighbouring units read neighbouring numbers, whichever way the operand lies.
#[cube]
pub(super) fn place(
    #[comptime] first: usize,
    #[comptime] side: usize,
    #[comptime] deep: usize,
    #[comptime] by_rows: bool,
) -> (usize, usize) {
    let e = UNIT_POS as usize + first;
    let mut along = e % side;
    let mut k = e / side;
    if comptime!(by_rows) {
        along = e / deep;
        k = e % deep;
    }
    (along, k)
}

/// Cubes: tiles of `tall` and `broad` parts, row by row, in x and y; splits in z.
#[cube(launch_unchecked)]
pub(crate) fn multiply<N: Size>(
    a: &Array<f32>,
    b: &Array<f32>,
    bias: &Array<f32>,
    out: &mut Array<f32>,
    of: &Product,
    #[comptime] tall: usize,
    #[comptime] broad: usize,
    #[comptime] has_bias: bool,
    #[comptime] has_sums: bool,
    #[comptime] a_by_rows: bool,
    #[comptime] b_by_rows: bool,
) {
    let tile = tile_of(of, comptime!(PART * tall), comptime!(PART * broad));
    let (top, first, split) = (tile.top, tile.first, tile.split);
    let (begin, end) = (tile.begin, tile.end);
    let unit = UNIT_POS as usize;
    let y = unit / UNITS;
    let x = unit % UNITS;
    // A four more than is used, so that units that write one after the other ask other banks.
    let mut left = SharedMemory::<Vector<f32, N>>::new(comptime!(DEEP * (UNITS * tall + 1)));
    let mut right = SharedMemory::<Vector<f32, N>>::new(comptime!(DEEP * (UNITS * broad + 1)));
    let mut next_left = Array::<Vector<f32, N>>::new(tall);
    let mut next_right = Array::<Vector<f32, N>>::new(broad);
    let mut sum = Array::<Vector<f32, N>>::new(comptime!(4 * tall * broad));
    let mut sums = Array::<Vector<f32, N>>::new(broad);
    fill(&mut sum, Vector::<f32, N>::new(0.0), comptime!(4 * tall * broad));
    fill(&mut sums, Vector::<f32, N>::new(0.0), broad);
    fetch::<N>(a, &mut next_left, (top, of.rows), (begin, end), (of.a_row, of.a_inner), tall, a_by_rows);
    fetch::<N>(b, &mut next_right, (first, of.columns), (begin, end), (of.b_column, of.b_inner), broad, !b_by_rows);
    let turns = (end - begin + comptime!(DEEP - 1)) / DEEP;
    for turn in 0..turns {
        let from = begin + turn * DEEP;
        #[unroll]
        for part in 0..tall {
            let (side, k) = place(comptime!(part * UNITS * UNITS), comptime!(UNITS * tall), DEEP, a_by_rows);
            left[k * comptime!(UNITS * tall + 1) + side] = next_left[part];
        }
        #[unroll]
        for part in 0..broad {
            let (side, k) = place(comptime!(part * UNITS * UNITS), comptime!(UNITS * broad), DEEP, !b_by_rows);
            right[k * comptime!(UNITS * broad + 1) + side] = next_right[part];
        }
        sync_cube();
        let then = from + DEEP;
        fetch::<N>(a, &mut next_left, (top, of.rows), (then, end), (of.a_row, of.a_inner), tall, a_by_rows);
        fetch::<N>(b, &mut next_right, (first, of.columns), (then, end), (of.b_column, of.b_inner), broad, !b_by_rows);
        #[unroll]
        for k in 0..DEEP {
            let mut columns = Array::<Vector<f32, N>>::new(broad);
            #[unroll]
            for j in 0..broad {
                columns[j] = right[comptime!(k * (UNITS * broad + 1) + j * UNITS) + x];
                // Every unit adds what it has in registers; those of the first row keep it.
                if comptime!(has_sums) {
                    sums[j] += columns[j];
                }
            }
            #[unroll]
            for i in 0..tall {
                let four = left[comptime!(k * (UNITS * tall + 1) + i * UNITS) + y];
                #[unroll]
                for r in 0..4usize {
                    #[unroll]
                    for j in 0..broad {
                        sum[(i * 4 + r) * broad + j] += Vector::<f32, N>::new(four[r]) * columns[j];
                    }
                }
            }
        }
        sync_cube();
    }
    #[unroll]
    for i in 0..comptime!(4 * tall) {
        let row = top + y * 4 + comptime!(i / 4 * PART + i % 4);
        #[unroll]
        for j in 0..broad {
            let four = sum[i * broad + j];
            #[unroll]
            for c in 0..4usize {
                let column = first + x * 4 + comptime!(j * PART + c);
                if row < of.rows && column < of.columns {
                    let mut value = four[c];
                    if comptime!(has_bias) {
                        value += bias[column];
                    }
                    out[split * of.numbers + row * of.columns + column] = value;
                }
            }
        }
    }
    if comptime!(has_sums) {
        if top + y == 0 {
            #[unroll]
            for j in 0..broad {
                let four = sums[j];
                #[unroll]
                for c in 0..4usize {
                    let column = first + x * 4 + comptime!(j * PART + c);
                    if column < of.columns {
                        out[split * of.numbers + of.sums + column] = four[c];
                    }
                }
            }
        }
    }
}

/// The fours of this unit from memory; 0 outside the matrix. Ranges: where the tile begins and the matrix ends, along its side and along `k`; strides along both.
#[cube]
fn fetch<N: Size>(
    from: &Array<f32>,
    to: &mut Array<Vector<f32, N>>,
    sides: (usize, usize),
    inner: (usize, usize),
    strides: (usize, usize),
    #[comptime] parts: usize,
    #[comptime] by_rows: bool,
) {
    #[unroll]
    for part in 0..parts {
        let (side, k) = place(comptime!(part * UNITS * UNITS), comptime!(UNITS * parts), DEEP, by_rows);
        let mut four = Vector::<f32, N>::new(0.0);
        if inner.0 + k < inner.1 {
            #[unroll]
            for i in 0..4usize {
                let at = sides.0 + side * 4 + i;
                if at < sides.1 {
                    four[i] = from[at * strides.0 + (inner.0 + k) * strides.1];
                }
            }
        }
        to[part] = four;
    }
}
