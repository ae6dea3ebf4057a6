//! `y = s(x)` for each number, or `y = u sigmoid(v)` for rows `(u, v)`; and `dx = s'(x) dy`.

use cubecl::prelude::*;

use crate::kernel::unit::unit_below;

/// What becomes of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Activation {
    /// `u sigmoid(v)`, the first and the second half of a row.
    Glu,
    /// `x sigmoid(x)`.
    Silu,
    /// `max(x, 0)`.
    Relu,
    /// `tanh x`.
    Tanh,
    /// `ln(1 + e^x)`.
    Softplus,
    /// `ln(1 + e^x) - ln 2`.
    ShiftedSoftplus,
    /// `x`.
    Identity,
}

#[cube]
pub(crate) fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + f32::exp(-x))
}

#[cube]
pub(crate) fn softplus(x: f32) -> f32 {
    max(x, 0.0) + f32::log1p(f32::exp(-f32::abs(x)))
}

/// `s(x)` of the functions of one number.
#[cube]
pub(crate) fn value(x: f32, #[comptime] function: Activation) -> f32 {
    match function {
        Activation::Silu => x * sigmoid(x),
        Activation::Relu => max(x, 0.0),
        Activation::Tanh => f32::tanh(x),
        Activation::Softplus => softplus(x),
        Activation::ShiftedSoftplus => softplus(x) - comptime!(std::f32::consts::LN_2),
        _ => x,
    }
}

/// `s'(x)`.
#[cube]
pub(crate) fn slope(x: f32, #[comptime] function: Activation) -> f32 {
    match function {
        Activation::Silu => {
            let s = sigmoid(x);
            s * (1.0 + x * (1.0 - s))
        }
        Activation::Relu => select(x <= 0.0, f32::new(0.0), f32::new(1.0)),
        Activation::Tanh => {
            let t = f32::tanh(x);
            1.0 - t * t
        }
        Activation::Softplus | Activation::ShiftedSoftplus => sigmoid(x),
        _ => f32::new(1.0),
    }
}

/// Units: one for each number that comes out; rows of it have `width` numbers.
#[cube(launch_unchecked)]
pub(crate) fn apply(x: &Array<f32>, y: &mut Array<f32>, width: usize, units: usize, #[comptime] function: Activation) {
    let unit = unit_below(units);
    if comptime!(function == Activation::Glu) {
        let at = unit / width * 2 * width + unit % width;
        y[unit] = x[at] * sigmoid(x[at + width]);
    } else {
        y[unit] = value(x[unit], function);
    }
}

/// Units: as for [`apply`].
#[cube(launch_unchecked)]
pub(crate) fn reverse(
    x: &Array<f32>,
    dy: &Array<f32>,
    dx: &mut Array<f32>,
    width: usize,
    units: usize,
    #[comptime] function: Activation,
) {
    let unit = unit_below(units);
    if comptime!(function == Activation::Glu) {
        let at = unit / width * 2 * width + unit % width;
        let s = sigmoid(x[at + width]);
        dx[at] = dy[unit] * s;
        dx[at + width] = dy[unit] * x[at] * s * (1.0 - s);
    } else {
        dx[unit] = dy[unit] * slope(x[unit], function);
    }
}
