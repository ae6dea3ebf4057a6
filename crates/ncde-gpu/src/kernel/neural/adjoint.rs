//! The reverse pass of one evaluation, `g` being the gradient in `F`.
//!
//! ```text
//! u_L^j' = tau'_j g                                    t_l^j' = u_l^j' W_l^T,   u_{l-1}^j' = s'(z_{l-1}) t_l^j'
//! f_i'   = c_i g + sum_j Lambda_ij v_j'                z_{l-1}' = s'(z_{l-1}) x_l' + s''(z_{l-1}) sum_j u_{l-1}^j t_l^j'
//! z_L'   = tau' f' + tau''_j u_L^j g                   x_l' = z_l' W_l^T,   v_j' = t_0^j'
//! ```
//!
//! Tangents come first, as the values need what they add to `z'`. Weights are read transposed. Gradients of weights are left to products of matrices over the `z'` and `u'` of a slab; those of biases are summed on the way.

use cubecl::prelude::*;

use super::Run;
use super::function::{activate, finish_slope};
use super::sum::{Weight, parts, total};
use crate::neural::Last;
use crate::neural::cut::{Cut, Sum, Way};
use crate::neural::shape::Shape;

/// `t_l^j'` and `u_l^j'`: from `g` to `v_j'`, which is left in `t`; `added` are the sums that values need.
#[cube]
pub(crate) fn tangents<N: Size>(
    weights: &Array<Vector<f32, N>>,
    held: &Array<Vector<f32, N>>,
    near: &SharedMemory<Vector<f32, N>>,
    record: &SharedMemory<Vector<f32, N>>,
    g: &SharedMemory<Vector<f32, N>>,
    x: &mut SharedMemory<Vector<f32, N>>,
    t: &mut SharedMemory<Vector<f32, N>>,
    bent: &mut SharedMemory<Vector<f32, N>>,
    added: &mut SharedMemory<Vector<f32, N>>,
    sums: &mut SharedMemory<Vector<f32, N>>,
    gradients: &mut Array<Vector<f32, N>>,
    e: usize,
    run: &Run,
    #[comptime] shape: Shape,
    #[comptime] cut: Cut,
) {
    let unit = UNIT_POS as usize;
    let units = comptime!(cut.units);
    let channels = comptime!(shape.channels);
    let h = comptime!(shape.h());
    let top = comptime!(shape.top);
    // Tangents lie behind the values of all layers.
    let behind = comptime!(shape.biases()) * run.values;
    for place in range_stepped(unit, comptime!(shape.all()), units) {
        let j = place / h;
        let c = place % h;
        let u = finish_slope::<N>(record[comptime!(shape.f()) + place], comptime!(shape.last)) * g[c];
        x[place] = u;
        let at = behind + comptime!(shape.hidden_outputs()) * run.tangents;
        gradients[at + (j * run.evaluations + e) * h + c] = u;
    }
    sync_cube();
    parts::<N>(weights, held, near, x, sums, h, comptime!(Weight::new(&shape, Way::Back, shape.top, 1, cut)));
    #[unroll]
    for i in 0..top {
        // Behind hidden layer l.
        let l = comptime!(shape.top - 1 - i);
        let width = comptime!(shape.outputs(shape.top - 1 - i));
        let before = comptime!(Sum::of(&shape, Way::Back, shape.top - i, shape.channels, cut));
        for place in range_stepped(unit, comptime!(shape.channels * shape.outputs(shape.top - 1 - i)), units) {
            let c = place % width;
            let all = total::<N>(sums, place, before);
            let z = record[comptime!(shape.output(l)) + c];
            let u = record[comptime!(shape.u(l)) + place];
            bent[place] = u * all * activate::<N>(z, comptime!(shape.function(l)), 2usize);
            let back = activate::<N>(z, comptime!(shape.function(l)), 1usize) * all;
            t[place] = back;
            let at = behind + comptime!(shape.output(l)) * run.tangents;
            gradients[at + (place / width * run.evaluations + e) * width + c] = back;
        }
        sync_cube();
        for c in range_stepped(unit, width, units) {
            let mut all = bent[c];
            for j in 1..channels {
                all += bent[j * width + c];
            }
            added[comptime!(shape.output(l)) + c] = all;
        }
        parts::<N>(weights, held, near, t, sums, width, comptime!(Weight::new(&shape, Way::Back, l, shape.channels, cut)));
    }
    let before = comptime!(Sum::of(&shape, Way::Back, 0, shape.channels, cut));
    for place in range_stepped(unit, comptime!(shape.all()), units) {
        t[place] = total::<N>(sums, place, before);
    }
    sync_cube();
}

/// `z_l'`: from `g` and `v_j'` to the gradient in the state, which is left at `to` of `out`.
#[cube]
pub(crate) fn values<N: Size>(
    weights: &Array<Vector<f32, N>>,
    held: &Array<Vector<f32, N>>,
    near: &SharedMemory<Vector<f32, N>>,
    control: &SharedMemory<f32>,
    record: &SharedMemory<Vector<f32, N>>,
    g: &SharedMemory<Vector<f32, N>>,
    x: &mut SharedMemory<Vector<f32, N>>,
    t: &SharedMemory<Vector<f32, N>>,
    added: &SharedMemory<Vector<f32, N>>,
    bias: &mut SharedMemory<Vector<f32, N>>,
    sums: &mut SharedMemory<Vector<f32, N>>,
    out: &mut SharedMemory<Vector<f32, N>>,
    to: usize,
    gradients: &mut Array<Vector<f32, N>>,
    e: usize,
    run: &Run,
    #[comptime] shape: Shape,
    #[comptime] cut: Cut,
) {
    let unit = UNIT_POS as usize;
    let units = comptime!(cut.units);
    let channels = comptime!(shape.channels);
    let h = comptime!(shape.h());
    let top = comptime!(shape.top);
    for place in range_stepped(unit, comptime!(shape.all()), units) {
        let i = place / h;
        let c = place % h;
        let f = record[comptime!(shape.f()) + place];
        let mut z = Vector::<f32, N>::new(control[i]) * g[c];
        if comptime!(shape.brackets) {
            for j in 0..channels {
                z += Vector::<f32, N>::new(control[channels + i * channels + j]) * t[j * h + c];
            }
            if comptime!(shape.last == Last::Tanh) {
                z -= Vector::<f32, N>::new(2.0) * f * record[comptime!(shape.v()) + place] * g[c];
            }
        }
        z *= finish_slope::<N>(f, comptime!(shape.last));
        x[place] = z;
        bias[comptime!(shape.hidden_outputs()) + place] += z;
        gradients[comptime!(shape.hidden_outputs()) * run.values + e * comptime!(shape.all()) + place] = z;
    }
    sync_cube();
    parts::<N>(weights, held, near, x, sums, h, comptime!(Weight::new(&shape, Way::Back, shape.top, 1, cut)));
    #[unroll]
    for i in 0..top {
        let l = comptime!(shape.top - 1 - i);
        let width = comptime!(shape.outputs(shape.top - 1 - i));
        let before = comptime!(of_values(&shape, shape.top - i, cut));
        for c in range_stepped(unit, width, units) {
            let z = record[comptime!(shape.output(l)) + c];
            let mut back = activate::<N>(z, comptime!(shape.function(l)), 1usize) * total::<N>(sums, c, before);
            if comptime!(shape.brackets) {
                back += added[comptime!(shape.output(l)) + c];
            }
            x[c] = back;
            bias[comptime!(shape.output(l)) + c] += back;
            gradients[comptime!(shape.output(l)) * run.values + e * width + c] = back;
        }
        sync_cube();
        parts::<N>(weights, held, near, x, sums, 0usize, comptime!(Weight::new(&shape, Way::Back, l, 1, cut)));
    }
    let before = comptime!(of_values(&shape, 0, cut));
    for c in range_stepped(unit, h, units) {
        out[to + c] = total::<N>(sums, c, before);
    }
}

/// How the gradient of values behind layer `l` is added up: of the last one over all blocks.
fn of_values(shape: &Shape, l: usize, cut: Cut) -> Sum {
    let sum = Sum::of(shape, Way::Back, l, 1, cut);
    if l == shape.top && shape.brackets { sum.over_blocks(shape.channels) } else { sum }
}

/// Adds the gradients of the row that drove an evaluation: `c_i' = g . f_i` and `c_[i,j]' = f_i . v_j' - f_j . v_i'`.
#[cube]
pub(crate) fn controls<N: Size>(
    record: &SharedMemory<Vector<f32, N>>,
    g: &SharedMemory<Vector<f32, N>>,
    t: &SharedMemory<Vector<f32, N>>,
    out: &mut Array<f32>,
    row: usize,
    #[comptime] shape: Shape,
    #[comptime] units: usize,
) {
    let channels = comptime!(shape.channels);
    let h = comptime!(shape.h());
    let f = comptime!(shape.f());
    for q in range_stepped(UNIT_POS as usize, comptime!(shape.coefficients()), units) {
        let mut all = Vector::<f32, N>::new(0.0);
        if q < channels {
            for c in 0..h {
                all += g[c] * record[f + q * h + c];
            }
        } else if comptime!(shape.brackets) {
            let mut i = comptime!(0usize).runtime();
            let mut left = q - channels;
            while left >= channels - 1 - i {
                left -= channels - 1 - i;
                i += 1;
            }
            let j = i + 1 + left;
            for c in 0..h {
                all += record[f + i * h + c] * t[j * h + c] - record[f + j * h + c] * t[i * h + c];
            }
        }
        let mut sum = f32::new(0.0);
        #[unroll]
        for i in 0..4usize {
            sum += all[i];
        }
        out[row * comptime!(shape.coefficients()) + q] += sum;
    }
}
