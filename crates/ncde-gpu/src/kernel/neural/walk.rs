//! The loop over time forwards.
//!
//! ```text
//! y_s = h + dt sum_{r<s} a_sr k_r,   k_s = F(y_s),   h <- h + dt sum_s b_s k_s
//! ```
//!
//! A series has a cube, which takes all of its steps: one launch for a whole solve. The reverse pass needs the stages again. As all states are known then, each series has several cubes for a slab of steps, which work at once.

use cubecl::prelude::*;

use super::field::{Purpose, evaluate};
use super::sum::{Weight, hold};
use super::{Run, load, nothing, read, write};
use crate::kernel::unit::cube_number;
use crate::neural::cut::{Cut, Hold, Way};
use crate::neural::shape::Shape;

/// Cubes: one for each series, or for each series and each `run.per_cube` steps of a slab.
///
/// `schedule` holds `a`, `b` and the lengths of steps; `states` are written, or read where stages are computed again.
#[cube(launch_unchecked)]
pub(crate) fn walk<N: Size>(
    weights: &Array<Vector<f32, N>>,
    coefficients: &Array<f32>,
    schedule: &Array<f32>,
    rows: &Array<u32>,
    initial: &Array<f32>,
    states: &mut Array<f32>,
    inputs: &mut Array<Vector<f32, N>>,
    records: &mut Array<Vector<f32, N>>,
    run: &Run,
    #[comptime] shape: Shape,
    #[comptime] cut: Cut,
    #[comptime] purpose: Purpose,
) {
    let cube = cube_number();
    let taped = comptime!(purpose == Purpose::Tape);
    let (mut series, mut begin, mut end) = (cube, run.first, run.steps);
    if comptime!(taped) {
        let pieces = (run.count + run.per_cube - 1) / run.per_cube;
        series = cube / pieces;
        begin = run.first + cube % pieces * run.per_cube;
        end = min(begin + run.per_cube, run.first + run.count);
    }
    if series >= run.batch {
        terminate!();
    }
    let unit = UNIT_POS as usize;
    let units = comptime!(cut.units);
    let h = comptime!(shape.h());
    let hidden = comptime!(shape.hidden);
    let stages = comptime!(shape.stages);
    let mut x = SharedMemory::<Vector<f32, N>>::new(comptime!(shape.widest()));
    let mut t = SharedMemory::<Vector<f32, N>>::new(comptime!((shape.tangents() * shape.widest()).max(1)));
    let mut f = SharedMemory::<Vector<f32, N>>::new(comptime!(shape.all()));
    let mut slope = SharedMemory::<Vector<f32, N>>::new(comptime!(shape.hidden_outputs().max(1)));
    let mut sums = SharedMemory::<Vector<f32, N>>::new(comptime!(cut.room));
    let mut k = SharedMemory::<Vector<f32, N>>::new(comptime!(shape.stages * shape.h()));
    let mut state = SharedMemory::<Vector<f32, N>>::new(h);
    let mut control = SharedMemory::<f32>::new(comptime!(shape.channels * (shape.channels + 1)));
    let mut bias = SharedMemory::<Vector<f32, N>>::new(comptime!(shape.biases()));
    let mut near = SharedMemory::<Vector<f32, N>>::new(comptime!(cut.near(Way::Forward).max(1)));
    let mut held = Array::<Vector<f32, N>>::new(comptime!(Hold::registers(&shape, Way::Forward, cut).max(1)));
    let mut method = SharedMemory::<f32>::new(comptime!(shape.stages * (shape.stages + 1)));
    for i in range_stepped(unit, comptime!(shape.stages * (shape.stages + 1)), units) {
        method[i] = schedule[i];
    }
    for c in range_stepped(unit, comptime!(shape.biases()), units) {
        bias[c] = weights[comptime!(shape.weights()) + c];
    }
    #[unroll]
    for l in 0..comptime!(shape.top + 1) {
        hold::<N>(weights, &mut held, &mut near, comptime!(Weight::new(&shape, Way::Forward, l, 1, cut)));
    }
    for c in range_stepped(unit, h, units) {
        state[c] = read::<N>(initial, series * hidden, c, hidden);
    }
    sync_cube();
    for n in begin..end {
        let place = series * run.steps + n;
        let dt = schedule[comptime!(shape.stages * (shape.stages + 1)) + place];
        let first = (series * run.count + n - run.first) * stages;
        if comptime!(taped) {
            if n > 0 {
                for c in range_stepped(unit, h, units) {
                    state[c] = read::<N>(states, (place - 1) * hidden, c, hidden);
                }
            }
        }
        if dt != 0.0 {
            for s in 0..stages {
                let e = first + s;
                for c in range_stepped(unit, h, units) {
                    let mut y = state[c];
                    for r in 0..s {
                        y += Vector::<f32, N>::new(dt * method[s * stages + r]) * k[r * h + c];
                    }
                    x[c] = y;
                    if comptime!(taped) {
                        inputs[e * h + c] = y;
                    }
                }
                let row = series * run.control + rows[place * stages + s] as usize;
                load(coefficients, &mut control, row, comptime!(shape.channels), comptime!(shape.brackets), units);
                sync_cube();
                let to = s * h;
                evaluate::<N>(
                    weights, &held, &near, &bias, &control, &mut x, &mut t, &mut f, &mut slope, &mut sums, &mut k, to, inputs,
                    records, e, run, shape, cut, purpose,
                );
            }
            if comptime!(!taped) {
                for c in range_stepped(unit, h, units) {
                    let mut next = state[c];
                    for s in 0..stages {
                        next += Vector::<f32, N>::new(dt * method[comptime!(shape.stages * shape.stages) + s]) * k[s * h + c];
                    }
                    state[c] = next;
                }
            }
        } else {
            if comptime!(taped) {
                for s in 0..stages {
                    nothing::<N>(inputs, first + s, run, shape, units, false);
                }
            }
        }
        if comptime!(!taped) {
            for c in range_stepped(unit, h, units) {
                write::<N>(states, place * hidden, c, state[c], hidden);
            }
        }
    }
}
