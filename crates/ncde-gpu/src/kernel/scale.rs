//! `factor x`, number by number; also with a column of one number before it, and back; `factor (x - shift)` by columns; `x + y`.

use cubecl::prelude::*;

use crate::kernel::unit::unit_below;

/// Units: one for each `N` numbers.
#[cube(launch_unchecked)]
pub(crate) fn scale<N: Size>(x: &Array<Vector<f32, N>>, out: &mut Array<Vector<f32, N>>, factor: f32, units: usize) {
    if ABSOLUTE_POS < units {
        out[ABSOLUTE_POS] = x[ABSOLUTE_POS] * Vector::new(factor);
    }
}

/// `(first, factor x)` for rows `x` of `width` numbers. Units: `[rows, width + 1]`.
#[cube(launch_unchecked)]
pub(crate) fn prepend(x: &Array<f32>, out: &mut Array<f32>, first: f32, factor: f32, width: usize, units: usize) {
    let unit = unit_below(units);
    let row = unit / (width + 1);
    let c = unit % (width + 1);
    let mut value = first;
    if c > 0 {
        value = factor * x[row * width + c - 1];
    }
    out[unit] = value;
}

/// `factor x` for rows `(anything, x)`. Units: `[rows, width]`.
#[cube(launch_unchecked)]
pub(crate) fn behind(x: &Array<f32>, out: &mut Array<f32>, factor: f32, width: usize, units: usize) {
    let unit = unit_below(units);
    out[unit] = factor * x[unit / width * (width + 1) + unit % width + 1];
}

/// `factor (x - shift)`, each column with its own. Units: `[rows, width]`.
#[cube(launch_unchecked)]
pub(crate) fn by_columns(
    x: &Array<f32>,
    shift: &Array<f32>,
    factor: &Array<f32>,
    out: &mut Array<f32>,
    width: usize,
    units: usize,
    #[comptime] has_shift: bool,
) {
    let unit = unit_below(units);
    let mut value = x[unit];
    if comptime!(has_shift) {
        value -= shift[unit % width];
    }
    out[unit] = value * factor[unit % width];
}

/// `x + y` in the place of `x`. Units: one for each number.
#[cube(launch_unchecked)]
pub(crate) fn add(x: &mut Array<f32>, y: &Array<f32>, units: usize) {
    if ABSOLUTE_POS < units {
        x[ABSOLUTE_POS] += y[ABSOLUTE_POS];
    }
}
