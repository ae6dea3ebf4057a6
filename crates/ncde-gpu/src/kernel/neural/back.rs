//! The loop over time in reverse, for the steps of a slab.
//!
//! ```text
//! k_s' = dt (b_s h' + sum_{r>s} a_rs y_r'),   y_s' = DF(y_s)^T k_s',   h' <- h' + sum_s y_s'
//! ```
//!
//! A series has a cube. What its stages left is read one evaluation ahead; `h'` and the gradients of biases go from slab to slab.

use cubecl::prelude::*;

use super::adjoint::{controls, tangents, values};
use super::sum::{Weight, hold};
use super::{Run, load, nothing, read, write};
use crate::kernel::unit::{cube_below, unit_below};
use crate::neural::cut::{Cut, Hold, Way};
use crate::neural::shape::Shape;

/// Fours of a record that a unit reads one evaluation ahead; of larger ones it reads none.
const AHEAD: usize = 8;

/// Cubes: one for each series.
///
/// `places` holds the row of the control of each stage, then for each series and step the first of its outputs, and their end. `carried` is `[batch, h + biases]` in fours.
#[cube(launch_unchecked)]
pub(crate) fn back<N: Size>(
    weights: &Array<Vector<f32, N>>,
    coefficients: &Array<f32>,
    schedule: &Array<f32>,
    places: &Array<u32>,
    gradient: &Array<f32>,
    records: &Array<Vector<f32, N>>,
    gradients: &mut Array<Vector<f32, N>>,
    carried: &mut Array<Vector<f32, N>>,
    d_coefficients: &mut Array<f32>,
    run: &Run,
    outputs: usize,
    #[comptime] shape: Shape,
    #[comptime] cut: Cut,
    #[comptime] of_controls: bool,
) {
    let series = cube_below(run.batch);
    let unit = UNIT_POS as usize;
    let units = comptime!(cut.units);
    let h = comptime!(shape.h());
    let hidden = comptime!(shape.hidden);
    let stages = comptime!(shape.stages);
    let per_unit = comptime!(shape.record().div_ceil(cut.units));
    let is_ahead = comptime!(per_unit <= AHEAD);
    let mut record = SharedMemory::<Vector<f32, N>>::new(comptime!(shape.record()));
    let mut x = SharedMemory::<Vector<f32, N>>::new(comptime!(shape.widest().max(shape.all())));
    let mut t = SharedMemory::<Vector<f32, N>>::new(comptime!((shape.tangents() * shape.widest()).max(1)));
    let mut bent = SharedMemory::<Vector<f32, N>>::new(comptime!((shape.tangents() * shape.widest()).max(1)));
    let mut added = SharedMemory::<Vector<f32, N>>::new(comptime!(shape.hidden_outputs().max(1)));
    let mut sums = SharedMemory::<Vector<f32, N>>::new(comptime!(cut.room));
    let mut bias = SharedMemory::<Vector<f32, N>>::new(comptime!(shape.biases()));
    let mut ys = SharedMemory::<Vector<f32, N>>::new(comptime!(shape.stages * shape.h()));
    let mut g = SharedMemory::<Vector<f32, N>>::new(h);
    let mut state = SharedMemory::<Vector<f32, N>>::new(h);
    let mut control = SharedMemory::<f32>::new(comptime!(shape.channels * (shape.channels + 1)));
    let mut method = SharedMemory::<f32>::new(comptime!(shape.stages * (shape.stages + 1)));
    let mut near = SharedMemory::<Vector<f32, N>>::new(comptime!(cut.near(Way::Back).max(1)));
    let mut held = Array::<Vector<f32, N>>::new(comptime!(Hold::registers(&shape, Way::Back, cut).max(1)));
    let mut next = Array::<Vector<f32, N>>::new(comptime!(per_unit.min(AHEAD)));
    for i in range_stepped(unit, comptime!(shape.stages * (shape.stages + 1)), units) {
        method[i] = schedule[i];
    }
    #[unroll]
    for l in 0..comptime!(shape.top + 1) {
        hold::<N>(weights, &mut held, &mut near, comptime!(Weight::new(&shape, Way::Back, l, 1, cut)));
    }
    let from = series * comptime!(shape.h() + shape.biases());
    let is_last = run.first + run.count == run.steps;
    for c in range_stepped(unit, h, units) {
        state[c] = Vector::<f32, N>::new(0.0);
        if !is_last {
            state[c] = carried[from + c];
        }
    }
    for c in range_stepped(unit, comptime!(shape.biases()), units) {
        bias[c] = Vector::<f32, N>::new(0.0);
        if !is_last {
            bias[c] = carried[from + h + c];
        }
    }
    sync_cube();
    let evaluations = run.count * stages;
    if is_ahead {
        ahead::<N>(records, &mut next, series * evaluations + evaluations - 1, shape, units);
    }
    for m in 0..run.count {
        let n = run.first + run.count - 1 - m;
        let place = series * run.steps + n;
        let of_outputs = run.batch * run.steps * stages + series * (run.steps + 1) + n;
        for c in range_stepped(unit, h, units) {
            for i in places[of_outputs]..places[of_outputs + 1] {
                state[c] += read::<N>(gradient, (series * outputs + i as usize) * hidden, c, hidden);
            }
        }
        let dt = schedule[comptime!(shape.stages * (shape.stages + 1)) + place];
        for i in 0..stages {
            let s = stages - 1 - i;
            let e = series * evaluations + (run.count - 1 - m) * stages + s;
            if is_ahead {
                #[unroll]
                for r in 0..per_unit {
                    let at = unit + comptime!(r * cut.units);
                    if at < comptime!(shape.record()) {
                        record[at] = next[r];
                    }
                }
                // The read after the last evaluation is not used.
                ahead::<N>(records, &mut next, max(e, 1) - 1, shape, units);
            } else {
                for at in range_stepped(unit, comptime!(shape.record()), units) {
                    record[at] = records[e * comptime!(shape.record()) + at];
                }
            }
            if dt != 0.0 {
                for c in range_stepped(unit, h, units) {
                    let mut seed = Vector::<f32, N>::new(dt * method[comptime!(shape.stages * shape.stages) + s]) * state[c];
                    for r in s + 1..stages {
                        seed += Vector::<f32, N>::new(dt * method[r * stages + s]) * ys[r * h + c];
                    }
                    g[c] = seed;
                }
                let row = series * run.control + places[place * stages + s] as usize;
                load(coefficients, &mut control, row, comptime!(shape.channels), comptime!(shape.brackets), units);
                sync_cube();
                if comptime!(shape.brackets) {
                    tangents::<N>(
                        weights, &held, &near, &record, &g, &mut x, &mut t, &mut bent, &mut added, &mut sums, gradients, e, run,
                        shape, cut,
                    );
                }
                if comptime!(of_controls) {
                    controls::<N>(&record, &g, &t, d_coefficients, row, shape, units);
                }
                let to = s * h;
                values::<N>(
                    weights, &held, &near, &control, &record, &g, &mut x, &t, &added, &mut bias, &mut sums, &mut ys, to,
                    gradients, e, run, shape, cut,
                );
            } else {
                nothing::<N>(gradients, e, run, shape, units, true);
            }
        }
        if dt != 0.0 {
            for c in range_stepped(unit, h, units) {
                let mut all = state[c];
                for s in 0..stages {
                    all += ys[s * h + c];
                }
                state[c] = all;
            }
        }
    }
    for c in range_stepped(unit, h, units) {
        carried[from + c] = state[c];
    }
    for c in range_stepped(unit, comptime!(shape.biases()), units) {
        carried[from + h + c] = bias[c];
    }
}

/// The numbers of a record that this unit brings to shared memory later.
#[cube]
fn ahead<N: Size>(
    records: &Array<Vector<f32, N>>,
    next: &mut Array<Vector<f32, N>>,
    e: usize,
    #[comptime] shape: Shape,
    #[comptime] units: usize,
) {
    #[unroll]
    for r in 0..comptime!(shape.record().div_ceil(units)) {
        let at = UNIT_POS as usize + comptime!(r * units);
        if at < comptime!(shape.record()) {
            next[r] = records[e * comptime!(shape.record()) + at];
        }
    }
}

/// The gradient in the initial states. Units: one for each four.
#[cube(launch_unchecked)]
pub(crate) fn initial<N: Size>(carried: &Array<Vector<f32, N>>, out: &mut Array<f32>, units: usize, #[comptime] shape: Shape) {
    let unit = unit_below(units);
    let h = comptime!(shape.h());
    let series = unit / h;
    let c = unit % h;
    write::<N>(
        out,
        series * comptime!(shape.hidden),
        c,
        carried[series * comptime!(shape.h() + shape.biases()) + c],
        comptime!(shape.hidden),
    );
}
