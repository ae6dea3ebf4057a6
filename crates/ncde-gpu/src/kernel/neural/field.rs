//! One evaluation of the right-hand side.
//!
//! ```text
//! x_0 = y,   z_l = x_l W_l + b_l,   x_{l+1} = s(z_l),   f = tau(z_L)
//! depth 1:   F = sum_i c_i f_i
//! depth 2:   F = sum_i c_i f_i + tau'_j (t_L^j W_L)_j,   t_0^j = sum_i Lambda_ij f_i,   t_{l+1}^j = s'(z_l) u_l^j,   u_l^j = t_l^j W_l
//! ```
//!
//! Values go through the layers first, as the directions of the tangents are made of them; then the tangents of all channels together. Each layer is two phases of the cube: parts of sums, and what follows them.

use cubecl::prelude::*;

use super::Run;
use super::function::{activate, finish, finish_slope};
use super::sum::{Weight, parts, total};
use crate::neural::cut::{Cut, Way};
use crate::neural::shape::Shape;

/// What a walk is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Purpose {
    /// All steps of a series; the states.
    Solve,
    /// One step; what its reverse pass needs.
    Tape,
}

/// `F` at the values in `x`, to the place `to` of `out`. The inputs of layers and the record of evaluation `e` are written if `purpose` is a tape.
#[cube]
pub(crate) fn evaluate<N: Size>(
    weights: &Array<Vector<f32, N>>,
    held: &Array<Vector<f32, N>>,
    near: &SharedMemory<Vector<f32, N>>,
    bias: &SharedMemory<Vector<f32, N>>,
    control: &SharedMemory<f32>,
    x: &mut SharedMemory<Vector<f32, N>>,
    t: &mut SharedMemory<Vector<f32, N>>,
    f: &mut SharedMemory<Vector<f32, N>>,
    slope: &mut SharedMemory<Vector<f32, N>>,
    sums: &mut SharedMemory<Vector<f32, N>>,
    out: &mut SharedMemory<Vector<f32, N>>,
    to: usize,
    inputs: &mut Array<Vector<f32, N>>,
    records: &mut Array<Vector<f32, N>>,
    e: usize,
    run: &Run,
    #[comptime] shape: Shape,
    #[comptime] cut: Cut,
    #[comptime] purpose: Purpose,
) {
    let unit = UNIT_POS as usize;
    let units = comptime!(cut.units);
    let taped = comptime!(purpose == Purpose::Tape);
    let record = e * comptime!(shape.record());
    let h = comptime!(shape.h());
    #[unroll]
    for l in 0..comptime!(shape.top) {
        let width = comptime!(shape.outputs(l));
        let weight = comptime!(Weight::new(&shape, Way::Forward, l, 1, cut));
        parts::<N>(weights, held, near, x, sums, 0usize, weight);
        for c in range_stepped(unit, width, units) {
            let z = bias[comptime!(shape.output(l)) + c] + total::<N>(sums, c, comptime!(weight.sum));
            let value = activate::<N>(z, comptime!(shape.function(l)), 0usize);
            x[c] = value;
            if comptime!(shape.brackets) {
                slope[comptime!(shape.output(l)) + c] = activate::<N>(z, comptime!(shape.function(l)), 1usize);
            }
            if comptime!(taped) {
                inputs[comptime!(shape.input(l + 1)) * run.values + e * width + c] = value;
                records[record + comptime!(shape.output(l)) + c] = z;
            }
        }
        sync_cube();
    }
    let weight = comptime!(Weight::new(&shape, Way::Forward, shape.top, 1, cut));
    parts::<N>(weights, held, near, x, sums, 0usize, weight);
    for c in range_stepped(unit, comptime!(shape.all()), units) {
        let z = bias[comptime!(shape.output(shape.top)) + c] + total::<N>(sums, c, comptime!(weight.sum));
        let value = finish::<N>(z, comptime!(shape.last));
        if comptime!(taped) {
            records[record + comptime!(shape.f()) + c] = value;
        }
        if comptime!(shape.brackets) {
            f[c] = value;
        } else {
            f[c] = Vector::<f32, N>::new(control[c / h]) * value;
        }
    }
    sync_cube();
    if comptime!(shape.brackets) {
        tangents::<N>(weights, held, near, control, t, f, slope, sums, inputs, records, e, run, shape, cut, purpose);
    }
    for c in range_stepped(unit, h, units) {
        let mut all = f[c];
        for j in 1..comptime!(shape.channels) {
            all += f[j * h + c];
        }
        out[to + c] = all;
    }
}

/// From `f_j` to `c_j f_j + Df_j v_j`, in place.
#[cube]
fn tangents<N: Size>(
    weights: &Array<Vector<f32, N>>,
    held: &Array<Vector<f32, N>>,
    near: &SharedMemory<Vector<f32, N>>,
    control: &SharedMemory<f32>,
    t: &mut SharedMemory<Vector<f32, N>>,
    f: &mut SharedMemory<Vector<f32, N>>,
    slope: &SharedMemory<Vector<f32, N>>,
    sums: &mut SharedMemory<Vector<f32, N>>,
    inputs: &mut Array<Vector<f32, N>>,
    records: &mut Array<Vector<f32, N>>,
    e: usize,
    run: &Run,
    #[comptime] shape: Shape,
    #[comptime] cut: Cut,
    #[comptime] purpose: Purpose,
) {
    let unit = UNIT_POS as usize;
    let units = comptime!(cut.units);
    let taped = comptime!(purpose == Purpose::Tape);
    let record = e * comptime!(shape.record());
    let channels = comptime!(shape.channels);
    let h = comptime!(shape.h());
    // Tangents lie behind the values of all layers.
    let behind = comptime!(shape.input(shape.top + 1)) * run.values;
    for place in range_stepped(unit, comptime!(shape.all()), units) {
        let j = place / h;
        let c = place % h;
        let mut v = Vector::<f32, N>::new(0.0);
        for i in 0..channels {
            v += Vector::<f32, N>::new(control[channels + i * channels + j]) * f[i * h + c];
        }
        t[place] = v;
        if comptime!(taped) {
            inputs[behind + (j * run.evaluations + e) * h + c] = v;
        }
    }
    sync_cube();
    #[unroll]
    for l in 0..comptime!(shape.top) {
        let width = comptime!(shape.outputs(l));
        let weight = comptime!(Weight::new(&shape, Way::Forward, l, shape.channels, cut));
        parts::<N>(weights, held, near, t, sums, comptime!(shape.inputs(l)), weight);
        for place in range_stepped(unit, comptime!(channels * shape.outputs(l)), units) {
            let c = place % width;
            let u = total::<N>(sums, place, comptime!(weight.sum));
            let tangent = slope[comptime!(shape.output(l)) + c] * u;
            t[place] = tangent;
            if comptime!(taped) {
                let at = behind + comptime!(shape.input(l + 1)) * run.tangents;
                inputs[at + (place / width * run.evaluations + e) * width + c] = tangent;
                records[record + comptime!(shape.u(l)) + place] = u;
            }
        }
        sync_cube();
    }
    let weight = comptime!(Weight::by_columns(&shape, cut));
    parts::<N>(weights, held, near, t, sums, comptime!(shape.inputs(shape.top)), weight);
    for place in range_stepped(unit, comptime!(shape.all()), units) {
        let v = total::<N>(sums, place, comptime!(weight.sum));
        let value = f[place];
        if comptime!(taped) {
            records[record + comptime!(shape.v()) + place] = v;
        }
        f[place] = Vector::<f32, N>::new(control[place / h]) * value + finish_slope::<N>(value, comptime!(shape.last)) * v;
    }
    sync_cube();
}
