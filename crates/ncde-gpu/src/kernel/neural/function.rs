//! Activations `s` with `s'` and `s''`, and `tau` behind the last layer, four numbers at a time.
//!
//! | | `s(z)` | `s'(z)` | `s''(z)` |
//! | --- | --- | --- | --- |
//! | `SiLU`, `q = 1 / (1 + e^-z)` | `z q` | `q + s (1 - q)` | `q (1 - q) (2 + z (1 - 2q))` |
//! | `ReLU` | `max(z, 0)` | 1 if `z > 0`, else 0 | 0 |
//! | tanh | `t` | `1 - t^2` | `-2 t (1 - t^2)` |
//! | softplus | `ln(1 + e^z)`, less `ln 2` if shifted | `q` | `q (1 - q)` |
//! | identity | `z` | 1 | 0 |

use cubecl::prelude::*;

use crate::kernel::rows::activation::{self, Activation, sigmoid};
use crate::neural::Last;

/// `s(z)`, or its first or second derivative.
#[cube]
pub(crate) fn activate<N: Size>(
    z: Vector<f32, N>,
    #[comptime] function: Activation,
    #[comptime] derivative: usize,
) -> Vector<f32, N> {
    let mut y = z;
    #[unroll]
    for i in 0..4usize {
        y[i] = match derivative {
            0 => value(z[i], function),
            1 => slope(z[i], function),
            _ => bend(z[i], function),
        };
    }
    y
}

/// `tau(z)`.
#[cube]
pub(crate) fn finish<N: Size>(z: Vector<f32, N>, #[comptime] last: Last) -> Vector<f32, N> {
    let mut y = z;
    if comptime!(last == Last::Tanh) {
        #[unroll]
        for i in 0..4usize {
            y[i] = f32::tanh(z[i]);
        }
    }
    y
}

/// `tau'`, from `f = tau(z)`.
#[cube]
pub(crate) fn finish_slope<N: Size>(f: Vector<f32, N>, #[comptime] last: Last) -> Vector<f32, N> {
    let mut y = Vector::<f32, N>::new(1.0);
    if comptime!(last == Last::Tanh) {
        y = Vector::<f32, N>::new(1.0) - f * f;
    }
    y
}

#[cube]
fn value(z: f32, #[comptime] function: Activation) -> f32 {
    match function {
        // Unlike a maximum this leaves NaN as it is.
        Activation::Relu => select(z < 0.0, f32::new(0.0), z),
        _ => activation::value(z, function),
    }
}

#[cube]
fn slope(z: f32, #[comptime] function: Activation) -> f32 {
    match function {
        Activation::Silu => {
            let q = sigmoid(z);
            q + z * q * (1.0 - q)
        }
        _ => activation::slope(z, function),
    }
}

#[cube]
fn bend(z: f32, #[comptime] function: Activation) -> f32 {
    match function {
        Activation::Silu => {
            let q = sigmoid(z);
            q * (1.0 - q) * (2.0 + z * (1.0 - 2.0 * q))
        }
        Activation::Tanh => {
            let t = f32::tanh(z);
            -2.0 * t * (1.0 - t * t)
        }
        Activation::Softplus | Activation::ShiftedSoftplus => {
            let q = sigmoid(z);
            q * (1.0 - q)
        }
        _ => f32::new(0.0),
    }
}
