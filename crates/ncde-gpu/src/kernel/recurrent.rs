//! LSTM and GRU through time, a series a cube, a gate of a state a unit.
//!
//! ```text
//! forward   s = sum_r h_r U[r, j],                         then the cell of each state
//! back      the cell of each state,   then   dh_k = sum_gates sum_r d[gate, r] U[k, gate, r]
//! ```
//!
//! Both are sums of `H` products for each unit with one column of a matrix `[H, G H]`: its first rows stay in registers, the next in shared memory, the rest is read at each step.

use cubecl::prelude::*;

use crate::kernel::unit::{cube_below, unit_below};
use crate::recurrent::Cut;

/// The sizes of a launch.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
pub(crate) struct Sizes {
    pub(crate) length: usize,
    pub(crate) batch: usize,
    /// Where the biases lie in `W`, and in `U`.
    pub(crate) bias: usize,
    pub(crate) state_bias: usize,
}

#[cube]
fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + f32::exp(-x))
}

/// What a unit holds of its column from the beginning on.
#[cube]
fn hold(matrix: &Array<f32>, held: &mut Array<f32>, shared: &mut SharedMemory<f32>, #[comptime] cut: Cut) {
    let (unit, units) = (UNIT_POS as usize, comptime!(cut.units()));
    #[unroll]
    for r in 0..comptime!(cut.held) {
        held[r] = matrix[r * units + unit];
    }
    for r in 0..comptime!(cut.shared) {
        shared[r * units + unit] = matrix[(r + comptime!(cut.held)) * units + unit];
    }
}

/// `sum_r v[first + r] M[r, unit]`.
#[cube]
fn column(
    v: &SharedMemory<f32>,
    first: usize,
    matrix: &Array<f32>,
    held: &Array<f32>,
    shared: &SharedMemory<f32>,
    #[comptime] cut: Cut,
) -> f32 {
    let unit = UNIT_POS as usize;
    let (units, behind, hidden) = comptime!((cut.units(), cut.held + cut.shared, cut.hidden));
    let mut sum = f32::new(0.0);
    #[unroll]
    for r in 0..comptime!(cut.held) {
        sum += held[r] * v[first + r];
    }
    #[unroll]
    for r in 0..comptime!(cut.shared) {
        sum += shared[comptime!(r * units) + unit] * v[first + comptime!(r + cut.held)];
    }
    for r in behind..hidden {
        sum += matrix[r * units + unit] * v[first + r];
    }
    sum
}

/// All steps. `x`: what rows bring to the gates without a bias, `[batch, length, G, H]`; `h`: `[batch, length, H]`; `gates`: `[batch, length, 4, H]`, of an LSTM `i, f, g, o`, of a GRU `r, z, n, u`; `cells`: the
/// `c` of an LSTM, `[batch, length, H]`.
///
/// Cubes: series.
#[cube(launch_unchecked)]
pub(crate) fn states(
    x: &Array<f32>,
    w: &Array<f32>,
    u: &Array<f32>,
    h: &mut Array<f32>,
    gates: &mut Array<f32>,
    cells: &mut Array<f32>,
    sizes: &Sizes,
    #[comptime] cut: Cut,
) {
    let series = cube_below(sizes.batch);
    let unit = UNIT_POS as usize;
    let (hidden, units) = comptime!((cut.hidden, cut.units()));
    let mut held = Array::<f32>::new(comptime!(cut.held.max(1)));
    let mut shared = SharedMemory::<f32>::new(comptime!((cut.shared * cut.units()).max(1)));
    let mut h_s = SharedMemory::<f32>::new(hidden);
    let mut gates_s = SharedMemory::<f32>::new(comptime!(4 * cut.hidden));
    hold(u, &mut held, &mut shared, cut);
    let bias = w[sizes.bias + unit];
    let mut state_bias = f32::new(0.0);
    if comptime!(cut.gru) {
        state_bias = u[sizes.state_bias + unit];
    }
    let mut c = f32::new(0.0);
    if unit < hidden {
        h_s[unit] = f32::new(0.0);
    }
    let gate = unit / hidden;
    let i = unit % hidden;
    let mut bias_n = f32::new(0.0);
    if comptime!(cut.gru) {
        bias_n = w[sizes.bias + comptime!(2 * cut.hidden) + i];
    }
    let first = series * sizes.length;
    let mut brought = x[first * units + unit];
    let mut brought_n = f32::new(0.0);
    if comptime!(cut.gru) {
        brought_n = x[first * units + comptime!(2 * cut.hidden) + i];
    }
    sync_cube();
    for t in 0..sizes.length {
        let row = first + t;
        let sum = state_bias + column(&h_s, 0usize, u, &held, &shared, cut);
        let of_row = brought + bias;
        let of_n = brought_n + bias_n;
        // What the next step needs is on its way.
        let next = min(t + 1, sizes.length - 1) + first;
        brought = x[next * units + unit];
        if comptime!(cut.gru) {
            brought_n = x[next * units + comptime!(2 * cut.hidden) + i];
            if gate == 2 {
                gates_s[comptime!(3 * cut.hidden) + i] = sum;
            } else {
                gates_s[unit] = sigmoid(of_row + sum);
            }
        } else if gate == 2 {
            gates_s[unit] = f32::tanh(of_row + sum);
        } else {
            gates_s[unit] = sigmoid(of_row + sum);
        }
        sync_cube();
        if unit < hidden {
            let first_gate = gates_s[unit];
            let second_gate = gates_s[hidden + unit];
            let last = gates_s[comptime!(3 * cut.hidden) + unit];
            let third =
                if comptime!(cut.gru) { f32::tanh(of_n + first_gate * last) } else { gates_s[comptime!(2 * cut.hidden) + unit] };
            let mut out = third + second_gate * (h_s[unit] - third);
            if comptime!(!cut.gru) {
                c = second_gate * c + first_gate * third;
                out = last * f32::tanh(c);
                cells[row * hidden + unit] = c;
            }
            let at = row * comptime!(4 * cut.hidden) + unit;
            gates[at] = first_gate;
            gates[at + hidden] = second_gate;
            gates[at + comptime!(2 * cut.hidden)] = third;
            gates[at + comptime!(3 * cut.hidden)] = last;
            h[row * hidden + unit] = out;
            h_s[unit] = out;
        }
        sync_cube();
    }
}

/// All steps back: the gradients in what rows bring to the gates and, of a GRU, in what states do, `[batch, length, G, H]`. `across`: `U` with the states of a gate where its gates are.
///
/// Cubes: series.
#[cube(launch_unchecked)]
pub(crate) fn gradients(
    across: &Array<f32>,
    h: &Array<f32>,
    gates: &Array<f32>,
    cells: &Array<f32>,
    w: &Array<f32>,
    of_rows: &mut Array<f32>,
    of_states: &mut Array<f32>,
    sizes: &Sizes,
    #[comptime] cut: Cut,
) {
    let series = cube_below(sizes.batch);
    let unit = UNIT_POS as usize;
    let (hidden, units, count) = comptime!((cut.hidden, cut.units(), cut.gates()));
    let mut held = Array::<f32>::new(comptime!(cut.held.max(1)));
    let mut shared = SharedMemory::<f32>::new(comptime!((cut.shared * cut.units()).max(1)));
    let mut d_s = SharedMemory::<f32>::new(units);
    let mut parts_s = SharedMemory::<f32>::new(units);
    hold(across, &mut held, &mut shared, cut);
    let first = series * sizes.length;
    let mut carried = f32::new(0.0);
    let mut dc = f32::new(0.0);
    // Gates, the gradient, and `c` or `h` before the step.
    let mut ahead = Array::<f32>::new(6usize);
    let mut taken = Array::<f32>::new(6usize);
    if unit < hidden {
        read(h, gates, cells, w, first + sizes.length - 1, sizes.length == 1, &mut ahead, cut);
    }
    for turn in 0..sizes.length {
        let t = sizes.length - 1 - turn;
        let row = first + t;
        if unit < hidden {
            #[unroll]
            for k in 0..6usize {
                taken[k] = ahead[k];
            }
            if t > 0 {
                read(h, gates, cells, w, row - 1, t == 1, &mut ahead, cut);
            }
            let dh = taken[4] + carried;
            let (a, b, n, last, before) = (taken[0], taken[1], taken[2], taken[3], taken[5]);
            let at = row * units + unit;
            if comptime!(cut.gru) {
                let dn = dh * (1.0 - b) * (1.0 - n * n);
                let dr = dn * last * a * (1.0 - a);
                let dz = dh * (before - n) * b * (1.0 - b);
                of_rows[at] = dr;
                of_rows[at + hidden] = dz;
                of_rows[at + comptime!(2 * cut.hidden)] = dn;
                of_states[at] = dr;
                of_states[at + hidden] = dz;
                of_states[at + comptime!(2 * cut.hidden)] = dn * a;
                d_s[unit] = dr;
                d_s[hidden + unit] = dz;
                d_s[comptime!(2 * cut.hidden) + unit] = dn * a;
                carried = dh * b;
            } else {
                let shown = f32::tanh(b * before + a * n);
                let d = dc + dh * last * (1.0 - shown * shown);
                let di = d * n * a * (1.0 - a);
                let df = d * before * b * (1.0 - b);
                let dg = d * a * (1.0 - n * n);
                let d_out = dh * shown * last * (1.0 - last);
                of_rows[at] = di;
                of_rows[at + hidden] = df;
                of_rows[at + comptime!(2 * cut.hidden)] = dg;
                of_rows[at + comptime!(3 * cut.hidden)] = d_out;
                d_s[unit] = di;
                d_s[hidden + unit] = df;
                d_s[comptime!(2 * cut.hidden) + unit] = dg;
                d_s[comptime!(3 * cut.hidden) + unit] = d_out;
                dc = d * b;
                carried = f32::new(0.0);
            }
        }
        sync_cube();
        parts_s[unit] = column(&d_s, unit / hidden * hidden, across, &held, &shared, cut);
        sync_cube();
        if unit < hidden {
            #[unroll]
            for gate in 0..count {
                carried += parts_s[comptime!(gate * cut.hidden) + unit];
            }
        }
    }
}

/// What the cell of a state needs on the way back from a row.
#[cube]
fn read(
    h: &Array<f32>,
    gates: &Array<f32>,
    cells: &Array<f32>,
    w: &Array<f32>,
    row: usize,
    is_first: bool,
    to: &mut Array<f32>,
    #[comptime] cut: Cut,
) {
    let unit = UNIT_POS as usize;
    #[unroll]
    for gate in 0..4usize {
        to[gate] = gates[row * comptime!(4 * cut.hidden) + comptime!(gate * cut.hidden) + unit];
    }
    to[4] = w[row * cut.hidden + unit];
    to[5] = f32::new(0.0);
    if !is_first {
        if comptime!(cut.gru) {
            to[5] = h[(row - 1) * cut.hidden + unit];
        } else {
            to[5] = cells[(row - 1) * cut.hidden + unit];
        }
    }
}

/// `U[k, gate, r]` to `[r, gate, k]`. Units: as many.
#[cube(launch_unchecked)]
pub(crate) fn turn(u: &Array<f32>, across: &mut Array<f32>, units: usize, #[comptime] cut: Cut) {
    let unit = unit_below(units);
    let (hidden, of_row) = comptime!((cut.hidden, cut.units()));
    let (r, gate, k) = (unit / of_row, unit % of_row / hidden, unit % hidden);
    across[unit] = u[k * of_row + gate * hidden + r];
}

/// One array behind another. Units: the numbers of both.
#[cube(launch_unchecked)]
pub(crate) fn join(a: &Array<f32>, b: &Array<f32>, out: &mut Array<f32>, numbers: usize, units: usize) {
    let unit = unit_below(units);
    let mut value = a[min(unit, numbers - 1)];
    if unit >= numbers {
        value = b[unit - numbers];
    }
    out[unit] = value;
}
