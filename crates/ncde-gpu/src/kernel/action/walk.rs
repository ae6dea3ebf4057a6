//! States of a series forwards: a cube has one column of one series, and goes through the steps of a slab.
//!
//! ```text
//! h <- h + Omega h + beta,   or   h <- exp(Omega) h + phi_1(Omega) beta = h + w_1 + w_2 + ...,   w_1 = Omega h + beta,   w_j = Omega w_{j-1} / j
//! ```
//!
//! in `s` stages of `Omega / s` and `beta / s` where the norm is large.

use cubecl::prelude::*;

use super::operator::apply;
use crate::action::Cube;
use crate::flow::Flow;
use crate::kernel::unit::{add, copy, cube_below};

/// The sizes of a walk through a slab.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
pub(crate) struct Walk {
    /// Cubes that have work.
    pub(crate) cubes: usize,
    pub(crate) length: usize,
    pub(crate) columns: usize,
    /// The first step of the slab, and how many it has.
    pub(crate) first: usize,
    pub(crate) steps: usize,
    /// Numbers of Omega for each state, by rows and by columns.
    pub(crate) deep: usize,
    pub(crate) deep_back: usize,
}

/// Where the state of a column of a series lies after step `t`.
#[cube]
pub(super) fn place(series: usize, t: usize, column: usize, sizes: &Walk, #[comptime] of: Cube) -> usize {
    ((series * sizes.length + t) * sizes.columns + column) * comptime!(of.hidden)
}

/// The states of this unit from an array, `at` being that of state 0.
#[cube]
pub(super) fn fetch(from: &Array<f32>, at: usize, to: &mut Array<f32>, #[comptime] hidden: usize, #[comptime] units: usize) {
    #[unroll]
    for e in 0..comptime!(hidden.div_ceil(units)) {
        let j = UNIT_POS as usize + comptime!(e * units);
        if j < hidden {
            to[e] = from[at + j];
        }
    }
}

/// And back.
#[cube]
pub(super) fn put(from: &Array<f32>, to: &mut Array<f32>, at: usize, #[comptime] hidden: usize, #[comptime] units: usize) {
    #[unroll]
    for e in 0..comptime!(hidden.div_ceil(units)) {
        let j = UNIT_POS as usize + comptime!(e * units);
        if j < hidden {
            to[at + j] = from[e];
        }
    }
}

/// One stage of `terms` terms in place.
#[cube]
pub(super) fn stage(
    numbers: &Array<f32>,
    row: usize,
    table: &Array<u32>,
    deep: usize,
    h: &mut Array<f32>,
    added: &Array<f32>,
    part: f32,
    terms: u32,
    shared: &mut SharedMemory<f32>,
    #[comptime] of: Cube,
    #[comptime] flow: Flow,
) {
    let mut w = Array::<f32>::new(comptime!(of.per_unit()));
    let mut y = Array::<f32>::new(comptime!(of.per_unit()));
    copy(h, &mut w, comptime!(of.per_unit()));
    for i in 0..terms {
        apply(numbers, row, table, deep, &w, 0usize, &mut y, shared, of);
        let factor = part / f32::cast_from(i + 1u32);
        #[unroll]
        for e in 0..comptime!(of.per_unit()) {
            w[e] = factor * y[e];
            if comptime!(flow.is_inside()) {
                if i == 0u32 {
                    w[e] += part * added[e];
                }
            }
            h[e] += w[e];
        }
    }
}

/// States after each step of a slab, from those before it. Cubes: `[batch, columns]`.
#[cube(launch_unchecked)]
pub(crate) fn states(
    numbers: &Array<f32>,
    table: &Array<u32>,
    series: &Array<u32>,
    beta: &Array<f32>,
    lengths: &Array<u32>,
    initial: &Array<f32>,
    out: &mut Array<f32>,
    sizes: &Walk,
    #[comptime] of: Cube,
    #[comptime] flow: Flow,
) {
    let cube = cube_below(sizes.cubes);
    let (hidden, units) = (comptime!(of.hidden), comptime!(of.units));
    let batch_at = cube / sizes.columns;
    let column = cube % sizes.columns;
    let mut h = Array::<f32>::new(comptime!(of.per_unit()));
    let mut added = Array::<f32>::new(comptime!(of.per_unit()));
    let mut y = Array::<f32>::new(comptime!(of.per_unit()));
    let mut shared = SharedMemory::<f32>::new(comptime!(of.hidden));
    if sizes.first == 0 {
        fetch(initial, cube * comptime!(of.hidden), &mut h, hidden, units);
    } else {
        fetch(out, place(batch_at, sizes.first - 1, column, sizes, of), &mut h, hidden, units);
    }
    let length = lengths[batch_at] as usize;
    for s in 0..sizes.steps {
        let t = sizes.first + s;
        let at = place(batch_at, t, column, sizes, of);
        if t < length {
            let row = batch_at * sizes.steps + s;
            if comptime!(flow.is_affine()) {
                fetch(beta, at, &mut added, hidden, units);
            }
            if comptime!(flow.exact) {
                let stages = series[2 * row];
                let part = 1.0 / f32::cast_from(stages);
                for _ in 0..stages {
                    stage(numbers, row, table, sizes.deep, &mut h, &added, part, series[2 * row + 1], &mut shared, of, flow);
                }
                if stages == 0u32 {
                    #[unroll]
                    for e in 0..comptime!(of.per_unit()) {
                        h[e] = beyond(stages);
                    }
                }
            } else {
                apply(numbers, row, table, sizes.deep, &h, 0usize, &mut y, &mut shared, of);
                add(&mut h, &y, comptime!(of.per_unit()));
            }
            if comptime!(flow.is_affine() && !flow.is_inside()) {
                add(&mut h, &added, comptime!(of.per_unit()));
            }
        }
        put(&h, out, at, hidden, units);
    }
}

/// NaN, for a generator beyond reason: it has no stages.
#[cube]
pub(super) fn beyond(stages: u32) -> f32 {
    f32::cast_from(stages) / f32::cast_from(stages)
}
