//! Sums: over the rows of splits, then over splits, always in the same order; and of squares.

use cubecl::prelude::*;

use crate::kernel::team::over_lanes;
use crate::kernel::unit::{cube_below, cube_number, unit_below};

/// Units of a cube of [`squares`].
pub(crate) const TEAM: usize = 256;
/// Entries that a cube of [`total`] sums, and units for each.
pub(crate) const SUMS: usize = 32;
/// See there.
pub(crate) const LANES: usize = 8;

/// The sum over the rows of a split: `[splits, width]`. Units: as many.
#[cube(launch_unchecked)]
pub(crate) fn rows(x: &Array<f32>, out: &mut Array<f32>, rows: usize, width: usize, per_split: usize, units: usize) {
    let unit = unit_below(units);
    let c = unit % width;
    let split = unit / width;
    let mut sum = f32::new(0.0);
    for row in split * per_split..min((split + 1) * per_split, rows) {
        sum += x[row * width + c];
    }
    out[unit] = sum;
}

/// The sum over splits of `[splits, numbers]`, and a bias of `width` numbers that repeats. Cubes: one for 32 numbers.
#[cube(launch_unchecked)]
pub(crate) fn total(
    parts: &Array<f32>,
    bias: &Array<f32>,
    out: &mut Array<f32>,
    splits: usize,
    numbers: usize,
    width: usize,
    #[comptime] has_bias: bool,
) {
    let cube = cube_number();
    let unit = UNIT_POS as usize;
    let at = cube * SUMS + unit % SUMS;
    let mut total = over_lanes(parts, at, numbers, splits, at < numbers, SUMS, LANES);
    if unit < SUMS && at < numbers {
        if comptime!(has_bias) {
            total += bias[at % width];
        }
        out[at] = total;
    }
}

/// Cubes that share the squares of one buffer.
pub(crate) const SHARED: usize = 16;

/// The sums of squares of several buffers, `[buffers, 16]`; so many buffers came before. Cubes: 16 in x, one for each buffer in y.
#[cube(launch_unchecked)]
pub(crate) fn squares(x: &Sequence<Array<f32>>, out: &mut Array<f32>, before: usize, #[comptime] count: usize) {
    let unit = UNIT_POS as usize;
    let which = CUBE_POS_Y as usize;
    let part = CUBE_POS_X as usize;
    let mut sum = f32::new(0.0);
    #[unroll]
    for i in 0..count {
        if which == i {
            let buffer = x.index(i);
            let numbers = buffer.len();
            for at in range_stepped(part * TEAM + unit, numbers, comptime!(TEAM * SHARED)) {
                sum += buffer[at] * buffer[at];
            }
        }
    }
    let total = halved(sum);
    if unit == 0 {
        out[(before + which) * SHARED + part] = total;
    }
}

/// The sum over the units of a cube of [`TEAM`], by halves: the same order whoever is first.
#[cube]
fn halved(value: f32) -> f32 {
    let unit = UNIT_POS as usize;
    let mut shared = SharedMemory::<f32>::new(TEAM);
    shared[unit] = value;
    sync_cube();
    #[unroll]
    for i in 0..8u32 {
        let half = comptime!(TEAM >> (i + 1));
        if unit < half {
            let other = shared[unit + half];
            shared[unit] += other;
        }
        sync_cube();
    }
    shared[0]
}

/// What gradients are multiplied with so that their norm is at most `most` (no limit if 0), the loss, and the sum of squares: three numbers. The first is -1 where one of the others is no number, so
/// that nothing is changed. One cube of [`TEAM`].
#[cube(launch_unchecked)]
pub(crate) fn limit(loss: &Array<f32>, squares: &Array<f32>, out: &mut Array<f32>, count: usize, most: f32) {
    let unit = UNIT_POS as usize;
    let mut sum = f32::new(0.0);
    for at in range_stepped(unit, count, TEAM) {
        sum += squares[at];
    }
    let total = halved(sum);
    if unit == 0 {
        let mut factor = f32::new(1.0);
        let norm = f32::sqrt(total);
        if most > 0.0 && norm > most {
            factor = most / norm;
        }
        // Of NaN no comparison holds.
        let largest = f32::new(f32::MAX);
        if !(f32::abs(loss[0]) <= largest && total <= largest) {
            factor = f32::new(-1.0);
        }
        out[0] = factor;
        out[1] = loss[0];
        out[2] = total;
    }
}

/// The mean over the first rows of each series of `[batch, places, width]`. Cubes: `[batch, width / 32]`.
#[cube(launch_unchecked)]
pub(crate) fn means(x: &Array<f32>, lengths: &Array<u32>, out: &mut Array<f32>, places: usize, width: usize, cubes: usize) {
    let cube = cube_below(cubes);
    let across = (width + comptime!(SUMS - 1)) / SUMS;
    let unit = UNIT_POS as usize;
    let column = cube % across * SUMS + unit % SUMS;
    let series = cube / across;
    let length = lengths[series] as usize;
    let total = over_lanes(x, series * places * width + column, width, length, column < width, SUMS, LANES);
    if unit < SUMS && column < width {
        out[series * width + column] = total / f32::cast_from(length);
    }
}

/// The gradient in the rows: a share of that of the mean, 0 past the end of a series. Units: `[batch, places, width]`.
#[cube(launch_unchecked)]
pub(crate) fn means_back(dy: &Array<f32>, lengths: &Array<u32>, dx: &mut Array<f32>, places: usize, width: usize, units: usize) {
    let unit = unit_below(units);
    let row = unit / width;
    let series = row / places;
    let length = lengths[series] as usize;
    let mut value = f32::new(0.0);
    if row % places < length {
        value = dy[series * width + unit % width] / f32::cast_from(length);
    }
    dx[unit] = value;
}
