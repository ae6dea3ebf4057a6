//! Rows of mean 0 and variance 1.
//!
//! ```text
//! y = g z + c,   z = f (x - mean x),   f = 1 / sqrt(var x + e)
//! dx = f (g dy - mean(g dy) - z mean(g dy z)),   dg = sum_rows z dy,   dc = sum_rows dy
//! ```
//!
//! A row has 32 units of a cube, which sum over themselves in shared memory.

use cubecl::prelude::*;

use crate::kernel::team::total;
use crate::kernel::unit::{cube_number, unit_below};

/// Units of a row.
pub(crate) const TEAM: usize = 32;
/// Distances are multiplied with this before they are squared: 2^-40, so that the squares of states that have grown to 1e31 fit in `f32`.
const SCALE: f32 = 1.0 / (1_u64 << 40) as f32;
/// Rows of a cube.
pub(crate) const ROWS: usize = 8;

/// The row of a unit.
#[derive(CubeType)]
struct Row {
    number: usize,
    /// Where it begins, and the end of its columns for this unit: none beyond the last row.
    at: usize,
    end: usize,
    lane: usize,
}

#[cube]
fn row_of(rows: usize, width: usize) -> Row {
    let number = cube_number() * ROWS + UNIT_POS as usize / TEAM;
    let mut end = width;
    if number >= rows {
        end = 0usize.runtime();
    }
    let at = number * width;
    let lane = UNIT_POS as usize % TEAM;
    Row { number, at, end, lane }
}

/// Mean and factor of a row.
#[cube]
fn moments(shared: &mut SharedMemory<f32>, x: &Array<f32>, of: &Row, width: usize, epsilon: f32) -> (f32, f32) {
    let mut sum = f32::new(0.0);
    for c in range_stepped(of.lane, of.end, TEAM) {
        sum += x[of.at + c];
    }
    let mean = total(shared, sum, TEAM) / f32::cast_from(width);
    let mut squares = f32::new(0.0);
    for c in range_stepped(of.lane, of.end, TEAM) {
        let deviation = (x[of.at + c] - mean) * SCALE;
        squares += deviation * deviation;
    }
    let factor = SCALE / f32::sqrt(total(shared, squares, TEAM) / f32::cast_from(width) + epsilon * SCALE * SCALE);
    (mean, factor)
}

/// Cubes: one for 8 rows.
#[cube(launch_unchecked)]
pub(crate) fn norm_rows(
    x: &Array<f32>,
    gain: &Array<f32>,
    offset: &Array<f32>,
    y: &mut Array<f32>,
    rows: usize,
    width: usize,
    epsilon: f32,
    #[comptime] affine: bool,
) {
    let of = row_of(rows, width);
    let mut shared = SharedMemory::<f32>::new(comptime!(TEAM * ROWS));
    let (mean, factor) = moments(&mut shared, x, &of, width, epsilon);
    for c in range_stepped(of.lane, of.end, TEAM) {
        let mut z = (x[of.at + c] - mean) * factor;
        if comptime!(affine) {
            z = z * gain[c] + offset[c];
        }
        y[of.at + c] = z;
    }
}

/// `dx`, and for [`columns`] the mean and factor of each row. Cubes: as for [`norm_rows`].
#[cube(launch_unchecked)]
pub(crate) fn reverse(
    x: &Array<f32>,
    gain: &Array<f32>,
    dy: &Array<f32>,
    dx: &mut Array<f32>,
    row_moments: &mut Array<f32>,
    rows: usize,
    width: usize,
    epsilon: f32,
    #[comptime] affine: bool,
) {
    let of = row_of(rows, width);
    let mut shared = SharedMemory::<f32>::new(comptime!(TEAM * ROWS));
    let (mean, factor) = moments(&mut shared, x, &of, width, epsilon);
    let mut sum = f32::new(0.0);
    let mut along = f32::new(0.0);
    for c in range_stepped(of.lane, of.end, TEAM) {
        let mut g = dy[of.at + c];
        if comptime!(affine) {
            g *= gain[c];
        }
        sum += g;
        along += g * (x[of.at + c] - mean) * factor;
    }
    let sum = total(&mut shared, sum, TEAM) / f32::cast_from(width);
    let along = total(&mut shared, along, TEAM) / f32::cast_from(width);
    for c in range_stepped(of.lane, of.end, TEAM) {
        let mut g = dy[of.at + c];
        if comptime!(affine) {
            g *= gain[c];
        }
        let z = (x[of.at + c] - mean) * factor;
        dx[of.at + c] = factor * (g - sum - z * along);
    }
    if of.number < rows && of.lane == 0 {
        row_moments[of.number * 2] = mean;
        row_moments[of.number * 2 + 1] = factor;
    }
}

/// `dg` and `dc` of some rows: `[splits, 2, width]`. Units: `[splits, width]`.
#[cube(launch_unchecked)]
pub(crate) fn columns(
    x: &Array<f32>,
    dy: &Array<f32>,
    row_moments: &Array<f32>,
    out: &mut Array<f32>,
    rows: usize,
    width: usize,
    per_split: usize,
    units: usize,
) {
    let unit = unit_below(units);
    let c = unit % width;
    let split = unit / width;
    let mut of_gain = f32::new(0.0);
    let mut of_offset = f32::new(0.0);
    for row in split * per_split..min((split + 1) * per_split, rows) {
        let g = dy[row * width + c];
        of_gain += g * (x[row * width + c] - row_moments[row * 2]) * row_moments[row * 2 + 1];
        of_offset += g;
    }
    out[split * 2 * width + c] = of_gain;
    out[split * 2 * width + width + c] = of_offset;
}
