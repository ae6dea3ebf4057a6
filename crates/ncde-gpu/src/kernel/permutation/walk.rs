//! States of a series forwards, and their gradients back; then what follows from both, a state of a step a unit.
//!
//! ```text
//! columns: h_t = P_t (D_t h_{t-1}) + b_t,   g_t = w_t + D_{t+1}^H P_{t+1}^T g_{t+1},   dD_t = conj(h_{t-1}) P_t^T g_t
//! rows:    h_t = D_t (P_t h_{t-1}) + b_t,   g_t = w_t + P_{t+1}^T D_{t+1}^H g_{t+1},   dD_t = conj(P_t h_{t-1}) g_t
//! ```
//!
//! and `db_t = g_t`. A series has a cube, which goes through all of its steps. A unit has the state of some `j` in registers; what others send or ask for is in shared memory, in two halves that take turns, so
//! that units wait for each other once a step. Numbers are fetched from where a line has its entry, or sent there (`P` of columns, `P^T` of rows): then a state looks through all lines for those that come to it and adds
//! them in order. No two units write to one place, and sums are those of the processor.

use cubecl::prelude::*;

use super::diagonal::{entry, entry_back, span};
use crate::kernel::unit::{cube_below, fill};
use crate::permutation::{OneHot, PermutationDiagonal};

/// The states of this unit to an array, `at` being that of state 0.
#[cube]
fn put(x: &Array<f32>, out: &mut Array<f32>, at: usize, #[comptime] of: PermutationDiagonal, #[comptime] units: usize) {
    let per_unit = comptime!(of.hidden.div_ceil(units));
    #[unroll]
    for e in 0..comptime!(per_unit * of.parts()) {
        let j = UNIT_POS as usize + comptime!(e % per_unit * units);
        if j < comptime!(of.hidden) {
            out[at + comptime!(e / per_unit * of.hidden) + j] = x[e];
        }
    }
}

/// Adds the numbers that were sent to the states of this unit, in order.
#[cube]
fn receive(
    sent: &SharedMemory<f32>,
    half: usize,
    target: &SharedMemory<u32>,
    turn: usize,
    x: &mut Array<f32>,
    #[comptime] of: PermutationDiagonal,
    #[comptime] units: usize,
) {
    let per_unit = comptime!(of.hidden.div_ceil(units));
    for i in 0..comptime!(of.hidden) {
        let j = target[turn + i] as usize;
        #[unroll]
        for e in 0..per_unit {
            if j == UNIT_POS as usize + comptime!(e * units) {
                x[e] += sent[half + i];
                if comptime!(of.parts() == 2) {
                    x[per_unit + e] += sent[half + comptime!(of.hidden) + i];
                }
            }
        }
    }
}

/// States after each step. Cubes: one for each series.
#[cube(launch_unchecked)]
pub(crate) fn states(
    control: &Array<f32>,
    at: &Array<u32>,
    spans: &Array<f32>,
    lengths: &Array<u32>,
    initial: &Array<f32>,
    out: &mut Array<f32>,
    batch: usize,
    length: usize,
    #[comptime] of: PermutationDiagonal,
    #[comptime] units: usize,
    #[comptime] timed: bool,
) {
    let series = cube_below(batch);
    let unit = UNIT_POS as usize;
    let per_unit = comptime!(of.hidden.div_ceil(units));
    let complex = comptime!(of.parts() == 2);
    let hidden = comptime!(of.hidden);
    let width = comptime!(of.width());
    let mut h = Array::<f32>::new(comptime!(per_unit * of.parts()));
    let sends = comptime!(of.one_hot == OneHot::Columns);
    // What is sent, and where to; or states that are fetched.
    let mut u = SharedMemory::<f32>::new(comptime!(2 * width));
    let mut target = SharedMemory::<u32>::new(comptime!(if sends { 2 * hidden } else { 1 }));
    #[unroll]
    for e in 0..comptime!(per_unit * of.parts()) {
        let j = unit + comptime!(e % per_unit * units);
        if j < hidden {
            h[e] = initial[series * width + comptime!(e / per_unit * of.hidden) + j];
        }
    }
    let steps = lengths[series] as usize;
    for t in 0..length {
        let row = series * length + t;
        if t < steps {
            let from = row * comptime!(of.columns());
            let dt = span(spans, row, timed);
            let half = t % 2 * width;
            let turn = t % 2 * hidden;
            #[unroll]
            for e in 0..per_unit {
                let j = unit + comptime!(e * units);
                if j < hidden {
                    if comptime!(sends) {
                        let d = entry(control, from, j, dt, of);
                        if comptime!(complex) {
                            u[half + j] = d.0 * h[e] - d.1 * h[per_unit + e];
                            u[half + hidden + j] = d.0 * h[per_unit + e] + d.1 * h[e];
                        } else {
                            u[half + j] = d.0 * h[e];
                        }
                        target[turn + j] = at[row * hidden + j];
                    } else {
                        u[half + j] = h[e];
                        if comptime!(complex) {
                            u[half + hidden + j] = h[per_unit + e];
                        }
                    }
                    let mut re = f32::new(0.0);
                    let mut im = f32::new(0.0);
                    if comptime!(of.input) {
                        let b = from + comptime!(of.columns() - width) + j;
                        re = control[b];
                        if comptime!(complex) {
                            im = control[b + hidden];
                        }
                    }
                    h[e] = re;
                    if comptime!(complex) {
                        h[per_unit + e] = im;
                    }
                }
            }
            sync_cube();
            if comptime!(sends) {
                receive(&u, half, &target, turn, &mut h, of, units);
            } else {
                #[unroll]
                for e in 0..per_unit {
                    let j = unit + comptime!(e * units);
                    if j < hidden {
                        let d = entry(control, from, j, dt, of);
                        let i = half + at[row * hidden + j] as usize;
                        if comptime!(complex) {
                            h[e] += d.0 * u[i] - d.1 * u[i + hidden];
                            h[per_unit + e] += d.0 * u[i + hidden] + d.1 * u[i];
                        } else {
                            h[e] += d.0 * u[i];
                        }
                    }
                }
            }
        }
        put(&h, out, row * width, of, units);
    }
}

/// `g` of each step, 0 past the end of a series, and the gradient in `h_0`. Cubes: one for each series.
#[cube(launch_unchecked)]
pub(crate) fn adjoints(
    control: &Array<f32>,
    at: &Array<u32>,
    spans: &Array<f32>,
    lengths: &Array<u32>,
    gradient: &Array<f32>,
    vectors: &mut Array<f32>,
    d_initial: &mut Array<f32>,
    batch: usize,
    length: usize,
    #[comptime] of: PermutationDiagonal,
    #[comptime] units: usize,
    #[comptime] timed: bool,
) {
    let series = cube_below(batch);
    let unit = UNIT_POS as usize;
    let per_unit = comptime!(of.hidden.div_ceil(units));
    let complex = comptime!(of.parts() == 2);
    let hidden = comptime!(of.hidden);
    let width = comptime!(of.width());
    // What comes from the steps behind.
    let mut r = Array::<f32>::new(comptime!(per_unit * of.parts()));
    let sends = comptime!(of.one_hot == OneHot::Rows);
    // Gradients that are fetched; or what is sent, and where to.
    let mut g = SharedMemory::<f32>::new(comptime!(2 * width));
    let mut target = SharedMemory::<u32>::new(comptime!(if sends { 2 * hidden } else { 1 }));
    fill(&mut r, f32::new(0.0), comptime!(per_unit * of.parts()));
    let steps = lengths[series] as usize;
    for t in steps..length {
        let row = series * length + t;
        #[unroll]
        for e in 0..comptime!(per_unit * of.parts()) {
            let j = unit + comptime!(e % per_unit * units);
            if j < hidden {
                // What is repeated past the end of a series is its last state.
                let within = comptime!(e / per_unit * of.hidden) + j;
                r[e] += gradient[row * width + within];
                vectors[row * comptime!(2 * width) + within] = f32::new(0.0);
            }
        }
    }
    for back in 0..steps {
        let t = steps - 1 - back;
        let row = series * length + t;
        let from = row * comptime!(of.columns());
        let dt = span(spans, row, timed);
        let half = t % 2 * width;
        let turn = t % 2 * hidden;
        #[unroll]
        for e in 0..per_unit {
            let j = unit + comptime!(e * units);
            if j < hidden {
                let re = gradient[row * width + j] + r[e];
                let mut im = f32::new(0.0);
                vectors[row * comptime!(2 * width) + j] = re;
                if comptime!(complex) {
                    im = gradient[row * width + hidden + j] + r[per_unit + e];
                    vectors[row * comptime!(2 * width) + hidden + j] = im;
                }
                if comptime!(sends) {
                    let d = entry(control, from, j, dt, of);
                    if comptime!(complex) {
                        g[half + j] = re * d.0 + im * d.1;
                        g[half + hidden + j] = im * d.0 - re * d.1;
                        r[per_unit + e] = f32::new(0.0);
                    } else {
                        g[half + j] = re * d.0;
                    }
                    target[turn + j] = at[row * hidden + j];
                    r[e] = f32::new(0.0);
                } else {
                    g[half + j] = re;
                    if comptime!(complex) {
                        g[half + hidden + j] = im;
                    }
                }
            }
        }
        sync_cube();
        if comptime!(sends) {
            receive(&g, half, &target, turn, &mut r, of, units);
        } else {
            #[unroll]
            for e in 0..per_unit {
                let j = unit + comptime!(e * units);
                if j < hidden {
                    let d = entry(control, from, j, dt, of);
                    let i = half + at[row * hidden + j] as usize;
                    if comptime!(complex) {
                        r[e] = g[i] * d.0 + g[i + hidden] * d.1;
                        r[per_unit + e] = g[i + hidden] * d.0 - g[i] * d.1;
                    } else {
                        r[e] = g[i] * d.0;
                    }
                }
            }
        }
    }
    put(&r, d_initial, series * width, of, units);
}

/// The gradients in the numbers of the diagonal and in the input, from `g`, and those of rows past the end of a series, which are 0; and what `dP` is made from, `e` (in the place of `g`, unless it is `g`) and `l`. Units: `[batch, length, H]`.
#[cube(launch_unchecked)]
pub(crate) fn slopes(
    control: &Array<f32>,
    at: &Array<u32>,
    spans: &Array<f32>,
    lengths: &Array<u32>,
    initial: &Array<f32>,
    states: &Array<f32>,
    vectors: &mut Array<f32>,
    d_control: &mut Array<f32>,
    length: usize,
    all: usize,
    #[comptime] of: PermutationDiagonal,
    #[comptime] timed: bool,
) {
    if ABSOLUTE_POS >= all {
        terminate!();
    }
    let complex = comptime!(of.parts() == 2);
    let hidden = comptime!(of.hidden);
    let width = comptime!(of.width());
    let row = ABSOLUTE_POS / hidden;
    let j = ABSOLUTE_POS % hidden;
    let (series, t) = (row / length, row % length);
    let from = row * comptime!(of.columns());
    let g = row * comptime!(2 * width);
    let g_j = g + j;
    let l = g_j + width;
    if comptime!(of.input) {
        let b = from + comptime!(of.columns() - width) + j;
        d_control[b] = vectors[g_j];
        if comptime!(complex) {
            d_control[b + hidden] = vectors[g_j + hidden];
        }
    }
    if t < lengths[series] as usize {
        let dt = span(spans, row, timed);
        let d = entry(control, from, j, dt, of);
        let entry_of = at[row * hidden + j] as usize;
        let (x, y) = before(initial, states, row, j, length, of);
        if comptime!(of.one_hot == OneHot::Columns) {
            let i = g + entry_of;
            if comptime!(complex) {
                vectors[l] = d.0 * x - d.1 * y;
                vectors[l + hidden] = d.0 * y + d.1 * x;
                let (re, im) = (vectors[i], vectors[i + hidden]);
                entry_back(control, d_control, from, j, dt, d, (re * x + im * y, im * x - re * y), of);
            } else {
                vectors[l] = d.0 * x;
                entry_back(control, d_control, from, j, dt, d, (vectors[i] * x, y), of);
            }
        } else {
            let (u, v) = before(initial, states, row, entry_of, length, of);
            let re = vectors[g_j];
            if comptime!(complex) {
                let im = vectors[g_j + hidden];
                vectors[l] = d.0 * re + d.1 * im;
                vectors[l + hidden] = d.0 * im - d.1 * re;
                vectors[g_j + hidden] = y;
                entry_back(control, d_control, from, j, dt, d, (re * u + im * v, im * u - re * v), of);
            } else {
                vectors[l] = d.0 * re;
                entry_back(control, d_control, from, j, dt, d, (re * u, v), of);
            }
            vectors[g_j] = x;
        }
    } else {
        let scores = (comptime!(of.matrices + of.hidden - 1) - j) / hidden;
        for turn in 0..scores {
            d_control[from + j + turn * hidden] = f32::new(0.0);
        }
        #[unroll]
        for part in 0..comptime!(of.raw() / of.hidden) {
            d_control[from + comptime!(of.matrices) + part * hidden + j] = f32::new(0.0);
        }
    }
}

/// State `j` before a step.
#[cube]
fn before(
    initial: &Array<f32>,
    states: &Array<f32>,
    row: usize,
    j: usize,
    length: usize,
    #[comptime] of: PermutationDiagonal,
) -> (f32, f32) {
    let width = comptime!(of.width());
    let mut x = initial[row / length * width + j];
    let mut y = f32::new(0.0);
    if comptime!(of.parts() == 2) {
        y = initial[row / length * width + comptime!(of.hidden) + j];
    }
    if row % length > 0 {
        x = states[(row - 1) * width + j];
        if comptime!(of.parts() == 2) {
            y = states[(row - 1) * width + comptime!(of.hidden) + j];
        }
    }
    (x, y)
}
