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
/// Rows of a cube.
pub(crate) const ROWS: usize = 8;

/// Mean and factor of a row.
#[cube]
fn moments(shared: &mut SharedMemory<f32>, x: &Array<f32>, row: usize, width: usize, inside: bool, epsilon: f32) -> (f32, f32) {
    let lane = UNIT_POS as usize % TEAM;
    let turns = (width + comptime!(TEAM - 1)) / TEAM;
    let mut sum = f32::new(0.0);
    for turn in 0..turns {
        let c = turn * TEAM + lane;
        if inside && c < width {
            sum += x[row * width + c];
        }
    }
    let mean = total(shared, sum, TEAM) / f32::cast_from(width);
    let mut squares = f32::new(0.0);
    for turn in 0..turns {
        let c = turn * TEAM + lane;
        if inside && c < width {
            let own = x[row * width + c] - mean;
            squares += own * own;
        }
    }
    let factor = 1.0 / f32::sqrt(total(shared, squares, TEAM) / f32::cast_from(width) + epsilon);
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
    let cube = cube_number();
    let unit = UNIT_POS as usize;
    let row = cube * ROWS + unit / TEAM;
    let inside = row < rows;
    let mut shared = SharedMemory::<f32>::new(comptime!(TEAM * ROWS));
    let (mean, factor) = moments(&mut shared, x, row, width, inside, epsilon);
    let turns = (width + comptime!(TEAM - 1)) / TEAM;
    for turn in 0..turns {
        let c = turn * TEAM + unit % TEAM;
        if inside && c < width {
            let mut z = (x[row * width + c] - mean) * factor;
            if comptime!(affine) {
                z = z * gain[c] + offset[c];
            }
            y[row * width + c] = z;
        }
    }
}

/// `dx`, and for [`columns`] the mean and factor of each row. Cubes: as for [`norm_rows`].
#[cube(launch_unchecked)]
pub(crate) fn reverse(
    x: &Array<f32>,
    gain: &Array<f32>,
    dy: &Array<f32>,
    dx: &mut Array<f32>,
    kept: &mut Array<f32>,
    rows: usize,
    width: usize,
    epsilon: f32,
    #[comptime] affine: bool,
) {
    let cube = cube_number();
    let unit = UNIT_POS as usize;
    let row = cube * ROWS + unit / TEAM;
    let inside = row < rows;
    let mut shared = SharedMemory::<f32>::new(comptime!(TEAM * ROWS));
    let (mean, factor) = moments(&mut shared, x, row, width, inside, epsilon);
    let turns = (width + comptime!(TEAM - 1)) / TEAM;
    let mut sum = f32::new(0.0);
    let mut along = f32::new(0.0);
    for turn in 0..turns {
        let c = turn * TEAM + unit % TEAM;
        if inside && c < width {
            let mut g = dy[row * width + c];
            if comptime!(affine) {
                g *= gain[c];
            }
            sum += g;
            along += g * (x[row * width + c] - mean) * factor;
        }
    }
    let sum = total(&mut shared, sum, TEAM) / f32::cast_from(width);
    let along = total(&mut shared, along, TEAM) / f32::cast_from(width);
    for turn in 0..turns {
        let c = turn * TEAM + unit % TEAM;
        if inside && c < width {
            let mut g = dy[row * width + c];
            if comptime!(affine) {
                g *= gain[c];
            }
            let z = (x[row * width + c] - mean) * factor;
            dx[row * width + c] = factor * (g - sum - z * along);
        }
    }
    if inside && unit % TEAM == 0 {
        kept[row * 2] = mean;
        kept[row * 2 + 1] = factor;
    }
}

/// `dg` and `dc` of some rows: `[splits, 2, width]`. Units: `[splits, width]`.
#[cube(launch_unchecked)]
pub(crate) fn columns(
    x: &Array<f32>,
    dy: &Array<f32>,
    kept: &Array<f32>,
    out: &mut Array<f32>,
    rows: usize,
    width: usize,
    each: usize,
    units: usize,
) {
    let unit = unit_below(units);
    let c = unit % width;
    let split = unit / width;
    let mut of_gain = f32::new(0.0);
    let mut of_offset = f32::new(0.0);
    for row in split * each..min((split + 1) * each, rows) {
        let g = dy[row * width + c];
        of_gain += g * (x[row * width + c] - kept[row * 2]) * kept[row * 2 + 1];
        of_offset += g;
    }
    out[split * 2 * width + c] = of_gain;
    out[split * 2 * width + width + c] = of_offset;
}
