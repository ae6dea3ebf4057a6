//! Rows of series to other places of them:
//!
//! ```text
//! y_t = x_{t + first}, 0 where there is none,        y = (first, x_0, x_1, ...)
//! ```

use cubecl::prelude::*;

use crate::kernel::unit::unit_below;

/// A series has `from` vectors in `x` and `to` in `y`. Units: one for each vector of `y`.
#[cube(launch_unchecked)]
pub(crate) fn move_rows<N: Size>(
    x: &Array<Vector<f32, N>>,
    y: &mut Array<Vector<f32, N>>,
    from: usize,
    to: usize,
    first: i32,
    units: usize,
) {
    let unit = unit_below(units);
    let at = (unit % to) as i32 + first;
    let mut value = Vector::new(f32::new(0.0));
    if at >= 0 && (at as usize) < from {
        value = x[unit / to * from + at as usize];
    }
    y[unit] = value;
}

/// A series has `from` vectors in `x`, of which `width` are a row. Units: one for each vector of `y`.
#[cube(launch_unchecked)]
pub(crate) fn join_rows<N: Size>(
    first: &Array<Vector<f32, N>>,
    x: &Array<Vector<f32, N>>,
    y: &mut Array<Vector<f32, N>>,
    from: usize,
    width: usize,
    units: usize,
) {
    let unit = unit_below(units);
    let series = unit / (from + width);
    let at = unit % (from + width);
    let mut value = first[series * width + at % width];
    if at >= width {
        value = x[series * from + at - width];
    }
    y[unit] = value;
}
