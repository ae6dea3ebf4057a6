//! What is moved, number by number: coefficients of a slab and their gradient, parameters to the places of a matrix and back.

use cubecl::prelude::*;

use crate::kernel::unit::unit_below;

/// Coefficients of the steps of a slab, `[batch, steps, width]`; 0 past the end of a series, where they may be anything. Units: as many.
#[cube(launch_unchecked)]
pub(crate) fn slab(
    all: &Array<f32>,
    lengths: &Array<u32>,
    out: &mut Array<f32>,
    length: usize,
    first: usize,
    steps: usize,
    width: usize,
    units: usize,
) {
    let unit = unit_below(units);
    let row = unit / width;
    let (series, t) = (row / steps, first + row % steps);
    let mut value = f32::new(0.0);
    if t < lengths[series] as usize {
        value = all[(series * length + t) * width + unit % width];
    }
    out[unit] = value;
}

/// And to their places. Units: as for [`slab`].
#[cube(launch_unchecked)]
pub(crate) fn unslab(
    values: &Array<f32>,
    all: &mut Array<f32>,
    length: usize,
    first: usize,
    steps: usize,
    width: usize,
    units: usize,
) {
    let unit = ABSOLUTE_POS;
    if unit < units {
        let row = unit / width;
        all[(row / steps * length + first + row % steps) * width + unit % width] = values[unit];
    }
}

/// Zeros. Units: one for each number.
#[cube(launch_unchecked)]
pub(crate) fn zero(out: &mut Array<f32>, units: usize) {
    if ABSOLUTE_POS < units {
        out[ABSOLUTE_POS] = f32::new(0.0);
    }
}

/// `out[to] = x`, no place twice. Units: one for each number.
#[cube(launch_unchecked)]
pub(crate) fn scatter(x: &Array<f32>, to: &Array<u32>, out: &mut Array<f32>, units: usize) {
    if ABSOLUTE_POS < units {
        let place = to[ABSOLUTE_POS] as usize;
        out[place] = x[ABSOLUTE_POS];
    }
}

/// Rows of `x` at some places: `out_r = x_{from_r}`. Units: `[rows, width]`.
#[cube(launch_unchecked)]
pub(crate) fn gather(x: &Array<f32>, from: &Array<u32>, out: &mut Array<f32>, width: usize, units: usize) {
    let unit = unit_below(units);
    out[unit] = x[from[unit / width] as usize * width + unit % width];
}
