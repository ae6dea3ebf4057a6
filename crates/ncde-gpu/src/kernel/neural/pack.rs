//! Weights in fours, as they are and transposed, and gradients of parameters from products of matrices.
//!
//! ```text
//! dW_l = sum over evaluations of x_l^T z_l' + sum_j t_l^j^T u_l^j',   db_l = sum over evaluations of z_l'
//! ```

use cubecl::prelude::*;

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
    let unit = ABSOLUTE_POS;
    if unit >= units {
        terminate!();
    }
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

/// Adds what a slab has for the weight of layer `l`: products of values `[4 inputs, 4 outputs]`, and of tangents, in so many splits: the same, of the last layer `[channels, splits, 4 inputs, 4 h]`.
/// Units: one for each weight.
#[cube(launch_unchecked)]
pub(crate) fn gather(
    values: &Array<f32>,
    tangents: &Array<f32>,
    gradient: &mut Array<f32>,
    splits: usize,
    add: u32,
    #[comptime] l: usize,
    #[comptime] shape: Shape,
) {
    let outputs = comptime!(shape.numbers(l));
    let unit = ABSOLUTE_POS;
    if unit >= comptime!(shape.size(l) * shape.numbers(l)) {
        terminate!();
    }
    let k = unit / outputs;
    let o = unit % outputs;
    let real = comptime!(if l == shape.top { shape.hidden } else { shape.numbers(l) });
    let block = comptime!(4 * shape.block(l));
    let j = o / real;
    let mut sum = values[k * comptime!(4 * shape.outputs(l)) + j * block + o % real];
    if comptime!(shape.brackets) {
        for s in 0..splits {
            sum += tangents[((j * splits + s) * comptime!(4 * shape.inputs(l)) + k) * block + o % real];
        }
    }
    let at = comptime!(shape.parameter(l)) + unit;
    if add > 0 {
        sum += gradient[at];
    }
    gradient[at] = sum;
}

/// Gradients of biases: sums over the batch of what the way back carried along, `[batch, h + biases]` in fours. Units: one for each bias.
#[cube(launch_unchecked)]
pub(crate) fn biases(
    carried: &Array<f32>,
    gradient: &mut Array<f32>,
    batch: usize,
    #[comptime] l: usize,
    #[comptime] shape: Shape,
) {
    let o = ABSOLUTE_POS;
    if o >= comptime!(shape.numbers(l)) {
        terminate!();
    }
    let real = comptime!(if l == shape.top { shape.hidden } else { shape.numbers(l) });
    let place = comptime!(4 * (shape.h() + shape.output(l))) + o / real * comptime!(4 * shape.block(l)) + o % real;
    let mut sum = f32::new(0.0);
    for series in 0..batch {
        sum += carried[series * comptime!(4 * (shape.h() + shape.biases())) + place];
    }
    gradient[comptime!(shape.parameter(l) + shape.size(l) * shape.numbers(l)) + o] = sum;
}
