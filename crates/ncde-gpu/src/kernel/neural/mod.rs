//! Whole neural-CDE solves, a cube a series.

pub(crate) mod adjoint;
pub(crate) mod back;
pub(crate) mod field;
pub(crate) mod function;
pub(crate) mod pack;
pub(crate) mod sum;
pub(crate) mod walk;

use cubecl::prelude::*;

use crate::neural::shape::Shape;

/// What a launch needs to know.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
pub(crate) struct Run {
    /// Series.
    pub(crate) batch: usize,
    /// Steps of a series.
    pub(crate) steps: usize,
    /// Rows of the control of a series.
    pub(crate) control: usize,
    /// The first step of the slab.
    pub(crate) first: usize,
    /// Steps of the slab.
    pub(crate) count: usize,
    /// Steps of a cube, where a series has several.
    pub(crate) per_cube: usize,
    /// Evaluations of the slab.
    pub(crate) evaluations: usize,
    /// Rows of its sections.
    pub(crate) values: usize,
    pub(crate) tangents: usize,
}

/// Four numbers of a row of `real`, 0 past its end.
#[cube]
pub(crate) fn read<N: Size>(from: &Array<f32>, at: usize, c: usize, #[comptime] real: usize) -> Vector<f32, N> {
    let mut four = Vector::<f32, N>::new(0.0);
    #[unroll]
    for i in 0..4usize {
        let place = c * 4 + i;
        if place < real {
            four[i] = from[at + place];
        }
    }
    four
}

/// The way back: nothing is written past the end.
#[cube]
pub(crate) fn write<N: Size>(to: &mut Array<f32>, at: usize, c: usize, four: Vector<f32, N>, #[comptime] real: usize) {
    #[unroll]
    for i in 0..4usize {
        let place = c * 4 + i;
        if place < real {
            to[at + place] = four[i];
        }
    }
}

/// The coefficients of a stage: letters, then at depth 2 the antisymmetric matrix of pairs, row by row.
#[cube]
pub(crate) fn load(
    coefficients: &Array<f32>,
    control: &mut SharedMemory<f32>,
    row: usize,
    #[comptime] channels: usize,
    #[comptime] brackets: bool,
    #[comptime] units: usize,
) {
    let width = comptime!(if brackets { channels + channels * (channels - 1) / 2 } else { channels });
    let at = row * width;
    let unit = UNIT_POS as usize;
    for q in range_stepped(unit, channels, units) {
        control[q] = coefficients[at + q];
    }
    if comptime!(brackets) {
        for q in range_stepped(unit, comptime!(channels * channels), units) {
            let i = q / channels;
            let j = q % channels;
            let mut value = f32::new(0.0);
            if i < j {
                value = coefficients[at + channels + pair(i, j, channels)];
            }
            if j < i {
                value = -coefficients[at + channels + pair(j, i, channels)];
            }
            control[channels + q] = value;
        }
    }
}

/// The place of `(i, j)`, `i < j`, in the order (1,2), (1,3), ..., (d-1,d).
#[cube]
fn pair(i: usize, j: usize, #[comptime] channels: usize) -> usize {
    i * (comptime!(2 * channels - 1) - i) / 2 + j - i - 1
}

/// Zeros for the inputs of an evaluation that is not made, so that products of matrices do not see it; or, of the way back, for its gradients.
#[cube]
pub(crate) fn nothing<N: Size>(
    out: &mut Array<Vector<f32, N>>,
    e: usize,
    run: &Run,
    #[comptime] shape: Shape,
    #[comptime] units: usize,
    #[comptime] back: bool,
) {
    let unit = UNIT_POS as usize;
    let zero = Vector::<f32, N>::new(0.0);
    #[unroll]
    for l in 0..comptime!(shape.top + 1) {
        let width = comptime!(if back { shape.outputs(l) } else { shape.inputs(l) });
        let block = comptime!(if back { shape.block(l) } else { shape.inputs(l) });
        let first = comptime!(if back { shape.output(l) } else { shape.input(l) });
        let behind = comptime!(if back { shape.biases() } else { shape.input(shape.top + 1) });
        for c in range_stepped(unit, width, units) {
            out[first * run.values + e * width + c] = zero;
        }
        let at = behind * run.values + first * run.tangents;
        for place in range_stepped(unit, comptime!(shape.tangents() * block), units) {
            out[at + (place / block * run.evaluations + e) * block + place % block] = zero;
        }
    }
}
