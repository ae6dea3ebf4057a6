//! Weights in fours, as they are and transposed, and gradients of parameters from products of matrices.
//!
//! ```text
//! dW_l = sum over evaluations of x_l^T z_l' + sum_j t_l^j^T u_l^j',   db_l = sum over evaluations of z_l'
//! ```

use cubecl::prelude::*;

use crate::kernel::unit::{put_sum, unit_below};
use crate::neural::shape::Shape;

/// Fours of all weights, then of biases, zeros where there are none; weights alone where they are transposed. Units: one for each four.
#[cube(launch_unchecked)]
pub(crate) fn pack<N: Size>(
    from: &Array<f32>,
    to: &mut Array<Vector<f32, N>>,
    units: usize,
    #[comptime] shape: Shape,
    #[comptime] transposed: bool,
) {
    let unit = unit_below(units);
    let mut four = Vector::<f32, N>::new(0.0);
    #[unroll]
    for l in 0..comptime!(shape.top + 1) {
        let begin = comptime!(shape.weight(l));
        if unit >= begin && unit < comptime!(shape.weight(l + 1)) {
            let across = comptime!(if transposed { shape.inputs(l) } else { shape.outputs(l) });
            let row = (unit - begin) / across;
            let column = (unit - begin) % across * 4;
            #[unroll]
            for i in 0..4usize {
                if comptime!(transposed) {
                    four[i] = number(from, column + i, row, l, shape);
                } else {
                    four[i] = number(from, row, column + i, l, shape);
                }
            }
        }
        let begin = comptime!(shape.weights() + shape.output(l));
        if unit >= begin && unit < comptime!(shape.weights() + shape.output(l + 1)) {
            #[unroll]
            for i in 0..4usize {
                // The bias is the row behind the last one.
                let o = (unit - begin) * 4 + i;
                if is_real(o, l, shape) {
                    four[i] = from[comptime!(shape.parameter(l) + shape.size(l) * shape.numbers(l)) + flat(o, l, shape)];
                }
            }
        }
    }
    to[unit] = four;
}

/// An entry of a padded weight.
#[cube]
fn number(from: &Array<f32>, k: usize, o: usize, #[comptime] l: usize, #[comptime] shape: Shape) -> f32 {
    let mut value = f32::new(0.0);
    if k < comptime!(shape.size(l)) && is_real(o, l, shape) {
        value = from[comptime!(shape.parameter(l)) + k * comptime!(shape.numbers(l)) + flat(o, l, shape)];
    }
    value
}

/// Whether a padded output of layer `l` is one.
#[cube]
fn is_real(o: usize, #[comptime] l: usize, #[comptime] shape: Shape) -> bool {
    o % comptime!(4 * shape.block(l)) < comptime!(if l == shape.top { shape.hidden } else { shape.numbers(l) })
}

/// Its place among those that are.
#[cube]
fn flat(o: usize, #[comptime] l: usize, #[comptime] shape: Shape) -> usize {
    let block = comptime!(4 * shape.block(l));
    o / block * comptime!(if l == shape.top { shape.hidden } else { 0 }) + o % block
}

/// A layer, in numbers.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
pub(crate) struct Layer {
    /// Inputs and outputs.
    pub(crate) inputs: usize,
    pub(crate) outputs: usize,
    /// Outputs of a block, and those that it is filled up to.
    pub(crate) real: usize,
    pub(crate) block: usize,
    /// Inputs and outputs as they are filled up.
    pub(crate) deep: usize,
    pub(crate) wide: usize,
    /// Where its parameters begin.
    pub(crate) at: usize,
}

/// Adds what a slab has for the weight of a layer: products of values `[deep, wide]`, and of tangents, in so many splits for each block: `[blocks, splits, deep, block]`. Units: one for each weight.
#[cube(launch_unchecked)]
pub(crate) fn gather(values: &Array<f32>, tangents: &Array<f32>, gradient: &mut Array<f32>, of: &Layer, splits: usize, add: u32) {
    let unit = unit_below(of.inputs * of.outputs);
    let k = unit / of.outputs;
    let o = unit % of.outputs;
    let j = o / of.real;
    let c = o % of.real;
    let mut sum = values[k * of.wide + j * of.block + c];
    for s in 0..splits {
        sum += tangents[((j * splits + s) * of.deep + k) * of.block + c];
    }
    put_sum(sum, gradient, of.at + unit, add > 0);
}

/// Gradients of the biases of a layer: sums over the batch of what the way back carried along, rows of `width` numbers, from `first` on. Units: one for each bias.
#[cube(launch_unchecked)]
pub(crate) fn biases(carried: &Array<f32>, gradient: &mut Array<f32>, of: &Layer, batch: usize, width: usize, first: usize) {
    let o = unit_below(of.outputs);
    let place = first + o / of.real * of.block + o % of.real;
    let mut sum = f32::new(0.0);
    for series in 0..batch {
        sum += carried[series * width + place];
    }
    gradient[of.at + of.inputs * of.outputs + o] = sum;
}
