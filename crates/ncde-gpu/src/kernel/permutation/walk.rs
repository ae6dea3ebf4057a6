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
use crate::kernel::unit::{cube_below, fill, unit_below};
use crate::permutation::{OneHot, PermutationDiagonal};

/// A complex number of an array of states; the imaginary part of a real one is 0.
#[cube]
fn number(from: &Array<f32>, at: usize, #[comptime] of: PermutationDiagonal) -> (f32, f32) {
    let mut im = f32::new(0.0);
    if comptime!(of.parts() == 2) {
        im = from[at + comptime!(of.hidden)];
    }
    (from[at], im)
}

/// And back.
#[cube]
fn put_number(x: (f32, f32), to: &mut Array<f32>, at: usize, #[comptime] of: PermutationDiagonal) {
    to[at] = x.0;
    if comptime!(of.parts() == 2) {
        to[at + comptime!(of.hidden)] = x.1;
    }
}

/// `d x`, or `conj(d) x`.
#[cube]
fn times(d: (f32, f32), x: (f32, f32), #[comptime] of: PermutationDiagonal, #[comptime] conjugate: bool) -> (f32, f32) {
    let mut re = d.0 * x.0;
    let mut im = f32::new(0.0);
    if comptime!(of.parts() == 2) {
        if comptime!(conjugate) {
            re = d.0 * x.0 + d.1 * x.1;
            im = d.0 * x.1 - d.1 * x.0;
        } else {
            re = d.0 * x.0 - d.1 * x.1;
            im = d.0 * x.1 + d.1 * x.0;
        }
    }
    (re, im)
}

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

/// Adds `A v` to `x`, or `A^H v` in reverse, each of the states of this unit. What is sent, and where to, or the states that are fetched go through shared memory.
#[cube]
fn apply(
    control: &Array<f32>,
    at: &Array<u32>,
    row: usize,
    t: usize,
    dt: f32,
    v: &Array<f32>,
    x: &mut Array<f32>,
    shared: &mut SharedMemory<f32>,
    target: &mut SharedMemory<u32>,
    #[comptime] of: PermutationDiagonal,
    #[comptime] units: usize,
    #[comptime] back: bool,
) {
    let per_unit = comptime!(of.hidden.div_ceil(units));
    let complex = comptime!(of.parts() == 2);
    let hidden = comptime!(of.hidden);
    let from = row * comptime!(of.columns());
    let half = t % 2 * comptime!(of.width());
    let turn = t % 2 * hidden;
    #[unroll]
    for e in 0..per_unit {
        let j = UNIT_POS as usize + comptime!(e * units);
        if j < hidden {
            let mut re = v[e];
            let mut im = f32::new(0.0);
            if comptime!(complex) {
                im = v[per_unit + e];
            }
            if comptime!(of.sends(back)) {
                let product = times(entry(control, from, j, dt, of), (re, im), of, back);
                re = product.0;
                im = product.1;
                target[turn + j] = at[row * hidden + j];
            }
            shared[half + j] = re;
            if comptime!(complex) {
                shared[half + hidden + j] = im;
            }
        }
    }
    sync_cube();
    if comptime!(of.sends(back)) {
        receive(shared, half, target, turn, x, of, units);
    } else {
        #[unroll]
        for e in 0..per_unit {
            let j = UNIT_POS as usize + comptime!(e * units);
            if j < hidden {
                let i = half + at[row * hidden + j] as usize;
                let mut im = f32::new(0.0);
                if comptime!(complex) {
                    im = shared[i + hidden];
                }
                let product = times(entry(control, from, j, dt, of), (shared[i], im), of, back);
                x[e] += product.0;
                if comptime!(complex) {
                    x[per_unit + e] += product.1;
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
    let per_unit = comptime!(of.hidden.div_ceil(units));
    let width = comptime!(of.width());
    let mut h = Array::<f32>::new(comptime!(per_unit * of.parts()));
    let mut before = Array::<f32>::new(comptime!(per_unit * of.parts()));
    let mut shared = SharedMemory::<f32>::new(comptime!(2 * width));
    let mut target = SharedMemory::<u32>::new(comptime!(of.targets(false)));
    #[unroll]
    for e in 0..comptime!(per_unit * of.parts()) {
        let j = UNIT_POS as usize + comptime!(e % per_unit * units);
        if j < comptime!(of.hidden) {
            h[e] = initial[series * width + comptime!(e / per_unit * of.hidden) + j];
        }
    }
    let steps = lengths[series] as usize;
    for t in 0..length {
        let row = series * length + t;
        if t < steps {
            #[unroll]
            for e in 0..comptime!(per_unit * of.parts()) {
                let j = UNIT_POS as usize + comptime!(e % per_unit * units);
                before[e] = h[e];
                h[e] = f32::new(0.0);
                if comptime!(of.input) {
                    if j < comptime!(of.hidden) {
                        h[e] = control
                            [row * comptime!(of.columns()) + comptime!(of.columns() - width + e / per_unit * of.hidden) + j];
                    }
                }
            }
            let dt = span(spans, row, timed);
            apply(control, at, row, t, dt, &before, &mut h, &mut shared, &mut target, of, units, false);
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
    let per_unit = comptime!(of.hidden.div_ceil(units));
    let width = comptime!(of.width());
    // What comes from the steps behind.
    let mut r = Array::<f32>::new(comptime!(per_unit * of.parts()));
    let mut g = Array::<f32>::new(comptime!(per_unit * of.parts()));
    let mut shared = SharedMemory::<f32>::new(comptime!(2 * width));
    let mut target = SharedMemory::<u32>::new(comptime!(of.targets(true)));
    fill(&mut r, f32::new(0.0), comptime!(per_unit * of.parts()));
    let steps = lengths[series] as usize;
    for turn in 0..length {
        // First the rows past the end of the series, then its steps from the last one on.
        let mut t = steps + turn;
        if t >= length {
            t = length - 1 - turn;
        }
        let row = series * length + t;
        #[unroll]
        for e in 0..comptime!(per_unit * of.parts()) {
            let j = UNIT_POS as usize + comptime!(e % per_unit * units);
            if j < comptime!(of.hidden) {
                let within = comptime!(e / per_unit * of.hidden) + j;
                r[e] += gradient[row * width + within];
                g[e] = f32::new(0.0);
                // What is repeated past the end of a series is its last state.
                if t < steps {
                    g[e] = r[e];
                    r[e] = f32::new(0.0);
                }
                vectors[row * comptime!(2 * width) + within] = g[e];
            }
        }
        if t < steps {
            let dt = span(spans, row, timed);
            apply(control, at, row, t, dt, &g, &mut r, &mut shared, &mut target, of, units, true);
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
    let unit = unit_below(all);
    let hidden = comptime!(of.hidden);
    let width = comptime!(of.width());
    let (row, j) = (unit / hidden, unit % hidden);
    let (series, t) = (row / length, row % length);
    let from = row * comptime!(of.columns());
    let first = row * comptime!(2 * width);
    let g_j = number(vectors, first + j, of);
    if comptime!(of.input) {
        put_number(g_j, d_control, from + comptime!(of.columns() - width) + j, of);
    }
    if t < lengths[series] as usize {
        let dt = span(spans, row, timed);
        let d = entry(control, from, j, dt, of);
        let entry_of = at[row * hidden + j] as usize;
        let h_j = before(initial, states, row, j, length, of);
        if comptime!(of.one_hot == OneHot::Columns) {
            put_number(times(d, h_j, of, false), vectors, first + width + j, of);
            let dd = times(h_j, number(vectors, first + entry_of, of), of, true);
            entry_back(control, d_control, from, j, dt, d, dd, of);
        } else {
            put_number(times(d, g_j, of, true), vectors, first + width + j, of);
            let dd = times(before(initial, states, row, entry_of, length, of), g_j, of, true);
            entry_back(control, d_control, from, j, dt, d, dd, of);
            put_number(h_j, vectors, first + j, of);
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
    let (mut re, mut im) = number(initial, row / length * width + j, of);
    if row % length > 0 {
        let h = number(states, (row - 1) * width + j, of);
        re = h.0;
        im = h.1;
    }
    (re, im)
}
