//! Gradients of a series back: a cube has one column of one series, and goes through the steps of a slab from its end.
//!
//! ```text
//! z_m = g,   z_{j-1} = g + X^T z_j / j,   dh = z_0,   dbeta = z_1 / s,   dOmega = sum_j z_j w_{j-1}^T / (s j),   X = Omega / s
//! ```
//!
//! for each of the `s` stages, the last first; `w_j` are those of [`walk`](super::walk), computed again. `I + Omega` is one stage of one term.

use cubecl::prelude::*;

use super::operator::{apply, pull};
use super::walk::{Walk, beyond, fetch, place, put, stage};
use crate::action::{Cube, TERMS};
use crate::flow::Flow;
use crate::kernel::unit::{add, copy, cube_below, fill};

/// The gradients in numbers of Omega and in `beta` of one column, added to those of the columns before it. `carry` is the gradient in the state after the slab, and becomes that in the state before it.
///
/// Cubes: one for each series.
#[cube(launch_unchecked)]
pub(crate) fn adjoints(
    numbers: &Array<f32>,
    by_columns: &Array<f32>,
    table: &Array<u32>,
    series: &Array<u32>,
    beta: &Array<f32>,
    lengths: &Array<u32>,
    initial: &Array<f32>,
    states: &Array<f32>,
    gradient: &Array<f32>,
    carry: &mut Array<f32>,
    d_numbers: &mut Array<f32>,
    d_beta: &mut Array<f32>,
    column: usize,
    last: u32,
    sizes: &Walk,
    #[comptime] of: Cube,
    #[comptime] flow: Flow,
) {
    let batch_at = cube_below(sizes.cubes);
    let per_unit = comptime!(of.per_unit());
    let (hidden, units) = (comptime!(of.hidden), comptime!(of.units));
    let mut g = Array::<f32>::new(per_unit);
    let mut h = Array::<f32>::new(per_unit);
    let mut z = Array::<f32>::new(per_unit);
    let mut y = Array::<f32>::new(per_unit);
    let mut added = Array::<f32>::new(per_unit);
    let mut d_added = Array::<f32>::new(per_unit);
    let mut w = Array::<f32>::new(comptime!(if flow.exact { TERMS * per_unit } else { per_unit }));
    let mut line = SharedMemory::<f32>::new(hidden);
    let at_carry = (batch_at * sizes.columns + column) * hidden;
    let table_at = sizes.deep * hidden;
    let deep = sizes.deep_back;
    fill(&mut g, f32::new(0.0), per_unit);
    // Nothing comes after the last slab.
    if last == 0u32 {
        fetch(carry, at_carry, &mut g, hidden, units);
    }
    let length = lengths[batch_at] as usize;
    for turn in 0..sizes.steps {
        let s = sizes.steps - 1 - turn;
        let t = sizes.first + s;
        let at = place(batch_at, t, column, sizes, of);
        let row = batch_at * sizes.steps + s;
        fetch(gradient, at, &mut y, hidden, units);
        #[unroll]
        for e in 0..per_unit {
            g[e] += y[e];
            d_added[e] = f32::new(0.0);
        }
        if t < length {
            if t == 0 {
                fetch(initial, at_carry, &mut h, hidden, units);
            } else {
                fetch(states, place(batch_at, t - 1, column, sizes, of), &mut h, hidden, units);
            }
            if comptime!(flow.is_affine() && !flow.is_inside()) {
                copy(&g, &mut d_added, per_unit);
            }
            if comptime!(flow.exact) {
                if comptime!(flow.is_inside()) {
                    fetch(beta, at, &mut added, hidden, units);
                }
                let stages = series[2 * row];
                let terms = series[2 * row + 1];
                let part = 1.0 / f32::cast_from(stages);
                for i in 0..stages {
                    // The state before this stage: from that before the step, the stages before it.
                    copy(&h, &mut z, per_unit);
                    for _ in 0..stages - 1u32 - i {
                        stage(numbers, row, table, sizes.deep, &mut z, &added, part, terms, &mut line, of, flow);
                    }
                    #[unroll]
                    for e in 0..per_unit {
                        w[e] = z[e];
                        z[e] = g[e];
                    }
                    for j in 1..terms {
                        let to = j as usize * per_unit;
                        apply(numbers, row, table, sizes.deep, &w, to - per_unit, &mut y, &mut line, of);
                        let factor = part / f32::cast_from(j);
                        #[unroll]
                        for e in 0..per_unit {
                            let mut value = factor * y[e];
                            if comptime!(flow.is_inside()) {
                                if j == 1u32 {
                                    value += part * added[e];
                                }
                            }
                            w[to + e] = value;
                        }
                    }
                    for k in 0..terms {
                        let j = terms - k;
                        let factor = part / f32::cast_from(j);
                        if comptime!(flow.is_inside()) {
                            if j == 1u32 {
                                #[unroll]
                                for e in 0..per_unit {
                                    d_added[e] += part * z[e];
                                }
                            }
                        }
                        let fresh = column == 0 && i == 0u32 && k == 0u32;
                        let from = (j as usize - 1) * per_unit;
                        pull(
                            by_columns, row, table, table_at, deep, &z, &w, from, factor, fresh, &mut y, d_numbers, &mut line, of,
                        );
                        #[unroll]
                        for e in 0..per_unit {
                            z[e] = g[e] + factor * y[e];
                        }
                    }
                    copy(&z, &mut g, per_unit);
                }
                if stages == 0u32 {
                    let nan = beyond(stages);
                    #[unroll]
                    for e in 0..per_unit {
                        g[e] = nan;
                    }
                    fill_row(d_numbers, row * deep * hidden, deep, nan, of);
                }
            } else {
                let fresh = column == 0;
                pull(by_columns, row, table, table_at, deep, &g, &h, 0usize, 1.0, fresh, &mut y, d_numbers, &mut line, of);
                add(&mut g, &y, per_unit);
            }
        } else if column == 0 {
            fill_row(d_numbers, row * deep * hidden, deep, 0.0, of);
        }
        if comptime!(flow.is_affine()) {
            put(&d_added, d_beta, at, hidden, units);
        }
    }
    put(&g, carry, at_carry, hidden, units);
}

/// One value for all numbers of a row.
#[cube]
fn fill_row(d: &mut Array<f32>, at: usize, deep: usize, value: f32, #[comptime] of: Cube) {
    #[unroll]
    for e in 0..comptime!(of.per_unit()) {
        let j = UNIT_POS as usize + comptime!(e * of.units);
        if j < comptime!(of.hidden) {
            for k in 0..deep {
                d[at + k * comptime!(of.hidden) + j] = value;
            }
        }
    }
}
