//! Diagonal plus low rank through time, first order: a cube has one column of one series, and goes through the steps of a slab.
//!
//! ```text
//! h <- h + delta h + U (lambda (V^T h)) + beta,   g <- g + delta g + V (lambda (U^T g))
//! ```
//!
//! `U` and `V` are those of all channels side by side, and `lambda` of a channel scales all of its `r` columns. Both products are of a matrix that all series share with a vector in shared memory; where a
//! product has fewer numbers than the cube has units, several units share a sum.

use cubecl::prelude::*;

use super::walk::{Walk, fetch, put};
use crate::action::LowRank;
use crate::kernel::unit::{cube_below, unit_below, zeros};

/// `y_o = sum_i m_io x_i`; a unit has the numbers `unit, unit + units, ...` of `y`. What other units have written to `x` is waited for, what they write to `y` is not.
#[cube]
fn product(
    m: &Array<f32>,
    x: &SharedMemory<f32>,
    y: &mut SharedMemory<f32>,
    parts: &mut SharedMemory<f32>,
    #[comptime] inner: usize,
    #[comptime] outer: usize,
    #[comptime] units: usize,
) {
    let unit = UNIT_POS as usize;
    let split = comptime!((units / outer).clamp(1, inner));
    sync_cube();
    if comptime!(split == 1) {
        for o in range_stepped(unit, outer, units) {
            let mut sum = f32::new(0.0);
            for i in 0..inner {
                sum += m[i * outer + o] * x[i];
            }
            y[o] = sum;
        }
    } else {
        let part = unit / outer;
        if part < split {
            let per_unit = comptime!(inner.div_ceil(split));
            let mut sum = f32::new(0.0);
            for i in part * per_unit..min(part * per_unit + per_unit, inner) {
                sum += m[i * outer + unit % outer] * x[i];
            }
            parts[unit] = sum;
        }
        sync_cube();
        if unit < outer {
            let mut sum = f32::new(0.0);
            for part in 0..split {
                sum += parts[part * outer + unit];
            }
            y[unit] = sum;
        }
    }
}

/// `x + delta x + left (lambda (right x))` for the states of this unit, in place. `right` has a state a row, `left` a coordinate.
#[cube]
fn advance(
    delta: &Array<f32>,
    lambda: &Array<f32>,
    row: usize,
    left: &Array<f32>,
    right: &Array<f32>,
    h: &mut Array<f32>,
    #[comptime] of: LowRank,
) {
    let unit = UNIT_POS as usize;
    let (hidden, units) = (comptime!(of.hidden), comptime!(of.units));
    let mut x = SharedMemory::<f32>::new(hidden);
    let mut y = SharedMemory::<f32>::new(hidden);
    let mut seen = SharedMemory::<f32>::new(comptime!(of.coordinates()));
    let mut parts = SharedMemory::<f32>::new(units);
    #[unroll]
    for e in 0..comptime!(of.per_unit()) {
        let j = unit + comptime!(e * units);
        if j < hidden {
            x[j] = h[e];
        }
    }
    product(right, &x, &mut seen, &mut parts, hidden, comptime!(of.coordinates()), units);
    for o in range_stepped(unit, comptime!(of.coordinates()), units) {
        seen[o] *= lambda[row * comptime!(of.channels) + o / comptime!(of.rank)];
    }
    product(left, &seen, &mut y, &mut parts, comptime!(of.coordinates()), hidden, units);
    #[unroll]
    for e in 0..comptime!(of.per_unit()) {
        let j = unit + comptime!(e * units);
        if j < hidden {
            h[e] += delta[row * hidden + j] * h[e] + y[j];
        }
    }
}

/// States after each step of a slab, from those before it. Cubes: `[batch, columns]`.
#[cube(launch_unchecked)]
pub(crate) fn states(
    delta: &Array<f32>,
    lambda: &Array<f32>,
    u: &Array<f32>,
    v_by_states: &Array<f32>,
    beta: &Array<f32>,
    lengths: &Array<u32>,
    initial: &Array<f32>,
    out: &mut Array<f32>,
    sizes: &Walk,
    #[comptime] of: LowRank,
    #[comptime] affine: bool,
) {
    let cube = cube_below(sizes.cubes);
    let unit = UNIT_POS as usize;
    let series = cube / sizes.columns;
    let (hidden, units) = (comptime!(of.hidden), comptime!(of.units));
    let stride = sizes.columns * hidden;
    let base = series * sizes.length * stride + cube % sizes.columns * hidden;
    let mut h = Array::<f32>::new(comptime!(of.per_unit()));
    if sizes.first == 0 {
        fetch(initial, cube * hidden, &mut h, hidden, units);
    } else {
        fetch(out, base + (sizes.first - 1) * stride, &mut h, hidden, units);
    }
    let length = lengths[series] as usize;
    for s in 0..sizes.steps {
        let t = sizes.first + s;
        let at = base + t * stride;
        if t < length {
            let row = series * sizes.steps + s;
            advance(delta, lambda, row, u, v_by_states, &mut h, of);
        }
        #[unroll]
        for e in 0..comptime!(of.per_unit()) {
            let j = unit + comptime!(e * units);
            if j < hidden {
                if comptime!(affine) {
                    if t < length {
                        h[e] += beta[at + j];
                    }
                }
                out[at + j] = h[e];
            }
        }
    }
}

/// `g` of each step of a slab, `[batch, steps, columns, H]`, 0 past the end of a series; `carry` is the gradient in the state after the slab, and becomes that in the state before it.
///
/// Cubes: `[batch, columns]`.
#[cube(launch_unchecked)]
pub(crate) fn adjoints(
    delta: &Array<f32>,
    lambda: &Array<f32>,
    v: &Array<f32>,
    u_by_states: &Array<f32>,
    lengths: &Array<u32>,
    gradient: &Array<f32>,
    carry: &mut Array<f32>,
    all_g: &mut Array<f32>,
    d_beta: &mut Array<f32>,
    last: u32,
    sizes: &Walk,
    #[comptime] of: LowRank,
    #[comptime] affine: bool,
) {
    let cube = cube_below(sizes.cubes);
    let unit = UNIT_POS as usize;
    let series = cube / sizes.columns;
    let (hidden, units) = (comptime!(of.hidden), comptime!(of.units));
    let stride = sizes.columns * hidden;
    let base = series * sizes.length * stride + cube % sizes.columns * hidden;
    let g_base = series * sizes.steps * stride + cube % sizes.columns * hidden;
    let mut g = zeros(comptime!(of.per_unit()));
    // Nothing comes after the last slab.
    if last == 0u32 {
        fetch(carry, cube * hidden, &mut g, hidden, units);
    }
    let length = lengths[series] as usize;
    for turn in 0..sizes.steps {
        let s = sizes.steps - 1 - turn;
        let t = sizes.first + s;
        #[unroll]
        for e in 0..comptime!(of.per_unit()) {
            let j = unit + comptime!(e * units);
            if j < hidden {
                g[e] += gradient[base + t * stride + j];
                let mut adjoint = f32::new(0.0);
                if t < length {
                    adjoint = g[e];
                }
                all_g[g_base + s * stride + j] = adjoint;
                if comptime!(affine) {
                    d_beta[base + t * stride + j] = adjoint;
                }
            }
        }
        if t < length {
            let row = series * sizes.steps + s;
            advance(delta, lambda, row, v, u_by_states, &mut g, of);
        }
    }
    put(&g, carry, cube * hidden, hidden, units);
}

/// What follows from `g` and the states before each step: those states, and `d delta = sum over columns of g h`. Units: `[batch, steps, H]`.
#[cube(launch_unchecked)]
pub(crate) fn slopes(
    initial: &Array<f32>,
    states: &Array<f32>,
    all_g: &Array<f32>,
    before: &mut Array<f32>,
    d_delta: &mut Array<f32>,
    units: usize,
    sizes: &Walk,
    #[comptime] of: LowRank,
) {
    let unit = unit_below(units);
    let hidden = comptime!(of.hidden);
    let (row, j) = (unit / hidden, unit % hidden);
    let (series, t) = (row / sizes.steps, sizes.first + row % sizes.steps);
    let stride = sizes.columns * hidden;
    let mut sum = f32::new(0.0);
    for column in 0..sizes.columns {
        let mut h = initial[series * stride + column * hidden + j];
        if t > 0 {
            h = states[(series * sizes.length + t - 1) * stride + column * hidden + j];
        }
        let at = row * stride + column * hidden + j;
        before[at] = h;
        sum += all_g[at] * h;
    }
    d_delta[unit] = sum;
}

/// With `p = V^T h` and `q = U^T g` of every column: `dlambda = sum over columns and coordinates of p q`; then `lambda p` and `lambda q` in their places. Units: `[batch, steps, channels]`.
#[cube(launch_unchecked)]
pub(crate) fn scale(
    lambda: &Array<f32>,
    p: &mut Array<f32>,
    q: &mut Array<f32>,
    d_lambda: &mut Array<f32>,
    columns: usize,
    units: usize,
    #[comptime] of: LowRank,
) {
    let unit = unit_below(units);
    let (row, k) = (unit / comptime!(of.channels), unit % comptime!(of.channels));
    let factor = lambda[unit];
    let mut sum = f32::new(0.0);
    for column in 0..columns {
        let at = (row * columns + column) * comptime!(of.coordinates()) + k * comptime!(of.rank);
        for r in 0..comptime!(of.rank) {
            sum += p[at + r] * q[at + r];
            p[at + r] *= factor;
            q[at + r] *= factor;
        }
    }
    d_lambda[unit] = sum;
}
