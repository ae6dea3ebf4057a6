//! Products of matrices on tensor cores, of rounded numbers:
//!
//! ```text
//! out[i, j] = sum_k round(a[i, k]) round(b[k, j]) + bias[j],        sums[j] = sum_k round(b[k, j])
//! ```
//!
//! The same tiles and splits as [`super::product`], and sums in `f32`; numbers are rounded on their way to shared memory. A cube of eight planes, four along the rows of a tile and two along its columns, each with
//! pieces of 16 x 16 of it.

use cubecl::cmma::{Matrix, MatrixIdent, MatrixLayout};
use cubecl::prelude::*;

use super::product::{PART, Product, place, tile_of};

/// Units of a cube.
pub(crate) const UNITS: usize = 256;
/// The side of a piece.
const SIDE: usize = 16;
/// Units of a plane, and planes along the rows and the columns of a tile.
pub(crate) const PLANE: usize = 32;
const DOWN: usize = 4;
const ALONG: usize = 2;
/// Steps of `k` that are in shared memory at once.
const DEEP: usize = 16;
/// Rows of shared memory lie so much farther apart than they are long: it spreads columns over banks, and every row begins where a piece may.
const PAD: usize = 8;

/// Cubes: tiles of `tall` and `broad` parts, row by row, in x and y; splits in z. `step`: the steps of `k` of a piece.
#[cube(launch_unchecked)]
pub(crate) fn multiply<E: Float>(
    a: &Array<f32>,
    b: &Array<f32>,
    bias: &Array<f32>,
    out: &mut Array<f32>,
    of: &Product,
    #[comptime] tall: usize,
    #[comptime] broad: usize,
    #[comptime] step: usize,
    #[comptime] has_bias: bool,
    #[comptime] has_sums: bool,
    #[comptime] a_by_rows: bool,
    #[comptime] b_by_rows: bool,
) {
    let columns = comptime!(PART * broad);
    let tile = tile_of(of, comptime!(PART * tall), columns);
    let (top, first, split) = (tile.top, tile.first, tile.split);
    let (begin, end) = (tile.begin, tile.end);
    let unit = UNIT_POS as usize;
    let plane = unit / PLANE;
    let mut left = SharedMemory::<E>::new(comptime!(DEEP * (PART * tall + PAD)));
    let mut right = SharedMemory::<E>::new(comptime!(DEEP * (PART * broad + PAD)));
    let mut next_left = Array::<f32>::new(comptime!(DEEP * PART * tall / UNITS));
    let mut next_right = Array::<f32>::new(comptime!(DEEP * PART * broad / UNITS));
    // Pieces of a plane: `down` rows of them, `along` in each.
    let down = comptime!(PART * tall / SIDE / DOWN);
    let along = comptime!(PART * broad / SIDE / ALONG);
    let mut sum = Sequence::<Matrix<f32>>::new();
    #[unroll]
    for _ in 0..comptime!(down * along) {
        sum.push(Matrix::<f32>::from_value(MatrixIdent::Accumulator, SIDE, SIDE, step, MatrixLayout::Undefined, 0.0));
    }
    let mut column_sum = f32::new(0.0);
    let upper = plane / ALONG * comptime!(PART * tall / DOWN);
    let lefter = plane % ALONG * comptime!(PART * broad / ALONG);
    fetch(a, &mut next_left, (top, of.rows), (begin, end), (of.a_row, of.a_inner), tall, a_by_rows);
    fetch(b, &mut next_right, (first, of.columns), (begin, end), (of.b_column, of.b_inner), broad, !b_by_rows);
    let turns = (end - begin + comptime!(DEEP - 1)) / DEEP;
    for turn in 0..turns {
        store(&next_left, &mut left, tall, a_by_rows);
        store(&next_right, &mut right, broad, !b_by_rows);
        sync_cube();
        let then = begin + (turn + 1) * DEEP;
        fetch(a, &mut next_left, (top, of.rows), (then, end), (of.a_row, of.a_inner), tall, a_by_rows);
        fetch(b, &mut next_right, (first, of.columns), (then, end), (of.b_column, of.b_inner), broad, !b_by_rows);
        if comptime!(has_sums) {
            if top == 0 && unit < columns {
                #[unroll]
                for k in 0..DEEP {
                    column_sum += f32::cast_from(right[comptime!(k * (PART * broad + PAD)) + unit]);
                }
            }
        }
        #[unroll]
        for k in 0..comptime!(DEEP / step) {
            let mut pieces = Sequence::<Matrix<E>>::new();
            #[unroll]
            for j in 0..along {
                let at = comptime!(k * step * (PART * broad + PAD) + j * SIDE) + lefter;
                pieces.push(Matrix::<E>::from_slice(
                    MatrixIdent::B,
                    SIDE,
                    SIDE,
                    step,
                    MatrixLayout::RowMajor,
                    &right.slice(at, comptime!(DEEP * (PART * broad + PAD))),
                    comptime!((PART * broad + PAD) as u32),
                ));
            }
            #[unroll]
            for i in 0..down {
                let at = comptime!(k * step * (PART * tall + PAD) + i * SIDE) + upper;
                let piece = Matrix::<E>::from_slice(
                    MatrixIdent::A,
                    SIDE,
                    SIDE,
                    step,
                    MatrixLayout::ColMajor,
                    &left.slice(at, comptime!(DEEP * (PART * tall + PAD))),
                    comptime!((PART * tall + PAD) as u32),
                );
                #[unroll]
                for j in 0..along {
                    let accumulator = sum.index(comptime!(i * along + j));
                    cubecl::cmma::execute::<E, E, f32, f32>(&piece, pieces.index(j), accumulator, accumulator);
                }
            }
        }
        sync_cube();
    }
    let mut staged = SharedMemory::<f32>::new(comptime!(UNITS / PLANE * SIDE * SIDE));
    let piece_at = plane * comptime!(SIDE * SIDE);
    #[unroll]
    for i in 0..down {
        #[unroll]
        for j in 0..along {
            cubecl::cmma::store(
                &mut staged.slice_mut(piece_at, piece_at + comptime!(SIDE * SIDE)),
                sum.index(comptime!(i * along + j)),
                comptime!(SIDE as u32),
                MatrixLayout::RowMajor,
            );
            sync_cube();
            #[unroll]
            for turn in 0..comptime!(SIDE * SIDE / PLANE) {
                let e = unit % PLANE + comptime!(turn * PLANE);
                let row = top + upper + comptime!(i * SIDE) + e / SIDE;
                let column = first + lefter + comptime!(j * SIDE) + e % SIDE;
                if row < of.rows && column < of.columns {
                    let mut value = staged[piece_at + e];
                    if comptime!(has_bias) {
                        value += bias[column];
                    }
                    out[split * of.numbers + row * of.columns + column] = value;
                }
            }
            sync_cube();
        }
    }
    if comptime!(has_sums) {
        if top == 0 && unit < columns && first + unit < of.columns {
            out[split * of.numbers + of.sums + first + unit] = column_sum;
        }
    }
}

/// The numbers of this unit from memory; 0 outside the matrix. Ranges: where the tile begins and the matrix ends, along its side and along `k`; strides along both.
#[cube]
fn fetch(
    from: &Array<f32>,
    to: &mut Array<f32>,
    sides: (usize, usize),
    inner: (usize, usize),
    strides: (usize, usize),
    #[comptime] parts: usize,
    #[comptime] by_rows: bool,
) {
    #[unroll]
    for e in 0..comptime!(DEEP * PART * parts / UNITS) {
        let (side, k) = place(comptime!(e * UNITS), comptime!(PART * parts), DEEP, by_rows);
        let mut number = f32::new(0.0);
        if inner.0 + k < inner.1 && sides.0 + side < sides.1 {
            number = from[(sides.0 + side) * strides.0 + (inner.0 + k) * strides.1];
        }
        to[e] = number;
    }
}

/// Rounded, to their places in shared memory.
#[cube]
fn store<E: Float>(from: &Array<f32>, to: &mut SharedMemory<E>, #[comptime] parts: usize, #[comptime] by_rows: bool) {
    #[unroll]
    for e in 0..comptime!(DEEP * PART * parts / UNITS) {
        let (side, k) = place(comptime!(e * UNITS), comptime!(PART * parts), DEEP, by_rows);
        to[k * comptime!(PART * parts + PAD) + side] = E::cast_from(from[e]);
    }
}
