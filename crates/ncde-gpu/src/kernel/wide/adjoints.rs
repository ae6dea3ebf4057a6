//! What goes into and comes out of products of matrices, for the gradients of `h' = h + Omega h`.
//!
//! ```text
//! Omega = sum_k lambda_k A_k,   dA_k = sum (lambda_k v) h^T,   dlambda_k = v . A_k h
//! ```
//!
//! `h` is the state before a step, `v` the gradient in that after it. Rows are `[batch, length, columns]`, some of them at once, from `first` on.

use cubecl::prelude::*;

use crate::kernel::unit::{put_sum, unit_below};
use crate::sizes::Sizes;

/// `h` of each row: `[rows, b]`. Units: one for each number.
#[cube(launch_unchecked)]
pub(crate) fn before(
    initial: &Array<f32>,
    states: &Array<f32>,
    out: &mut Array<f32>,
    first: usize,
    sizes: &Sizes,
    #[comptime] b: usize,
) {
    let unit = unit_below(sizes.units);
    let row = first + unit / b;
    let column = row % sizes.columns;
    let step = row / sizes.columns;
    let t = step % sizes.length;
    let within = column * sizes.hidden + sizes.at + unit % b;
    let stride = sizes.columns * sizes.hidden;
    let mut value = initial[step / sizes.length * stride + within];
    if t > 0 {
        value = states[(step - 1) * stride + within];
    }
    out[unit] = value;
}

/// `lambda_k v` of each row: `[rows, channels, b]`. Units: one for each number.
#[cube(launch_unchecked)]
pub(crate) fn weighted(
    coefficients: &Array<f32>,
    adjoints: &Array<f32>,
    out: &mut Array<f32>,
    first: usize,
    sizes: &Sizes,
    #[comptime] b: usize,
) {
    let unit = unit_below(sizes.units);
    let row = first + unit / (sizes.width * b);
    let k = unit / b % sizes.width;
    let v = adjoints[row * sizes.hidden + sizes.at + unit % b];
    out[unit] = coefficients[row / sizes.columns * sizes.width + k] * v;
}

/// `dlambda_k`, from `A_k h` of each row, `[rows, channels, b]`. Units: `[rows / columns, channels]`.
#[cube(launch_unchecked)]
pub(crate) fn along(
    products: &Array<f32>,
    adjoints: &Array<f32>,
    d_coefficients: &mut Array<f32>,
    first: usize,
    add: u32,
    sizes: &Sizes,
    #[comptime] b: usize,
) {
    let unit = unit_below(sizes.units);
    let k = unit % sizes.width;
    let step = unit / sizes.width;
    let mut sum = f32::new(0.0);
    for column in 0..sizes.columns {
        let row = step * sizes.columns + column;
        let v = (first + row) * sizes.hidden + sizes.at;
        let product = (row * sizes.width + k) * b;
        for r in 0..b {
            sum += adjoints[v + r] * products[product + r];
        }
    }
    put_sum(sum, d_coefficients, (first / sizes.columns + step) * sizes.width + k, add == 1u32);
}
