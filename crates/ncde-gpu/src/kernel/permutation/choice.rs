//! From scores to weights, from mixed columns to where states go, and the reverse pass through the soft-max of columns:
//!
//! ```text
//! s = softmax(q),   M = sum_k s_k M_k,   p(j) = argmax_i M[i, j],   S = softmax(M) by columns
//! dP = Re(g u^H),   dM = S * (dP - sum_i S dP),   dM_k += s_k dM,   ds_k = <M_k, dM>,   dq = s * (ds - sum_k s ds)
//! ```
//!
//! `M`, `dM_k` and `ds` are products of matrices, a row of `s` or `dM` a step; here is what lies between them. Steps past the end of a series have `s = 0` and `dM = 0`, whatever
//! their numbers are. Of equal entries the first is chosen.

use cubecl::prelude::*;

use crate::kernel::team::{most, total};

/// Units of a column.
pub(crate) const TEAM: usize = 8;
/// Columns of a cube.
pub(crate) const TEAMS: usize = 32;

/// The rows of a slab.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
pub(crate) struct Slab {
    /// The first row, counted over all series.
    pub(crate) first: usize,
    pub(crate) rows: usize,
    /// Rows of a series.
    pub(crate) length: usize,
    /// Numbers of a row of control.
    pub(crate) columns: usize,
    /// `K`.
    pub(crate) matrices: usize,
    /// `H`.
    pub(crate) hidden: usize,
    /// Numbers of a state.
    pub(crate) width: usize,
}

/// Whether a row is before the end of its series.
#[cube]
fn counts(lengths: &Array<u32>, row: usize, length: usize) -> bool {
    row % length < lengths[row / length] as usize
}

/// `s`, `[rows, K]`. Units: one for each row, which sums in order, as the processor does.
#[cube(launch_unchecked)]
pub(crate) fn weights(control: &Array<f32>, lengths: &Array<u32>, out: &mut Array<f32>, slab: &Slab) {
    let own = ABSOLUTE_POS;
    if own >= slab.rows {
        terminate!();
    }
    let row = slab.first + own;
    let (at, to) = (row * slab.columns, own * slab.matrices);
    if counts(lengths, row, slab.length) {
        let mut most = control[at];
        for k in 1..slab.matrices {
            most = max(most, control[at + k]);
        }
        let mut sum = f32::new(0.0);
        for k in 0..slab.matrices {
            let e = f32::exp(control[at + k] - most);
            out[to + k] = e;
            sum += e;
        }
        let factor = 1.0 / sum;
        for k in 0..slab.matrices {
            out[to + k] *= factor;
        }
    } else {
        for k in 0..slab.matrices {
            out[to + k] = f32::new(0.0);
        }
    }
}

/// Where states go, from `M`. Cubes: one for 32 columns.
#[cube(launch_unchecked)]
pub(crate) fn maps(mixed: &Array<f32>, to: &mut Array<u32>, slab: &Slab) {
    let cube = CUBE_POS_Y as usize * CUBE_COUNT_X as usize + CUBE_POS_X as usize;
    let unit = UNIT_POS as usize;
    let lane = unit % TEAM;
    let column = cube * TEAMS + unit / TEAM;
    let is_inside = column < slab.rows * slab.hidden;
    let at = column * slab.hidden;
    let mut best = f32::new(f32::MIN);
    let mut place = slab.hidden;
    if is_inside && lane == 0 {
        best = mixed[at];
        place = 0usize;
    }
    let turns = (slab.hidden + comptime!(TEAM - 1)) / TEAM;
    for turn in 0..turns {
        let i = turn * TEAM + lane;
        if is_inside && i < slab.hidden {
            let x = mixed[at + i];
            if x > best {
                best = x;
                place = i;
            }
        }
    }
    let mut values = SharedMemory::<f32>::new(comptime!(TEAM * TEAMS));
    let mut places = SharedMemory::<u32>::new(comptime!(TEAM * TEAMS));
    values[unit] = best;
    places[unit] = place as u32;
    sync_cube();
    if is_inside && lane == 0 {
        let mut first = place as u32;
        #[unroll]
        for i in 1..TEAM {
            let other = places[unit + i];
            let x = values[unit + i];
            // A unit without entries has no place.
            if (other as usize) < slab.hidden && (x > best || (x == best && other < first)) {
                best = x;
                first = other;
            }
        }
        to[slab.first * slab.hidden + column] = first;
    }
}

/// `dM` in the place of `M`. Cubes: one for 32 columns.
#[cube(launch_unchecked)]
pub(crate) fn soften(mixed: &mut Array<f32>, kept: &Array<f32>, lengths: &Array<u32>, slab: &Slab) {
    let cube = CUBE_POS_Y as usize * CUBE_COUNT_X as usize + CUBE_POS_X as usize;
    let unit = UNIT_POS as usize;
    let lane = unit % TEAM;
    let column = cube * TEAMS + unit / TEAM;
    let is_inside = column < slab.rows * slab.hidden;
    let at = column * slab.hidden;
    let row = slab.first + column / slab.hidden;
    let j = column % slab.hidden;
    let mut has_step = false;
    if is_inside {
        has_step = counts(lengths, row, slab.length);
    }
    let turns = (slab.hidden + comptime!(TEAM - 1)) / TEAM;
    let mut shared = SharedMemory::<f32>::new(comptime!(TEAM * TEAMS));
    let mut own = f32::new(f32::MIN);
    for turn in 0..turns {
        let i = turn * TEAM + lane;
        if has_step && i < slab.hidden {
            own = max(own, mixed[at + i]);
        }
    }
    let top = most(&mut shared, own, TEAM);
    let g = row * 2 * slab.width;
    let u = g + slab.width + j;
    let mut sum = f32::new(0.0);
    let mut along = f32::new(0.0);
    for turn in 0..turns {
        let i = turn * TEAM + lane;
        if has_step && i < slab.hidden {
            let e = f32::exp(mixed[at + i] - top);
            sum += e;
            along += e * slope(kept, g + i, u, slab);
        }
    }
    let sum = total(&mut shared, sum, TEAM);
    let along = total(&mut shared, along, TEAM);
    for turn in 0..turns {
        let i = turn * TEAM + lane;
        if is_inside && i < slab.hidden {
            let mut value = f32::new(0.0);
            if has_step {
                let soft = f32::exp(mixed[at + i] - top) / sum;
                value = soft * (slope(kept, g + i, u, slab) - along / sum);
            }
            mixed[at + i] = value;
        }
    }
}

/// An entry of `dP`.
#[cube]
fn slope(kept: &Array<f32>, g: usize, u: usize, slab: &Slab) -> f32 {
    let mut value = kept[g] * kept[u];
    if slab.width > slab.hidden {
        value += kept[g + slab.hidden] * kept[u + slab.hidden];
    }
    value
}

/// `dq`, to its place in the gradient of control. Units: one for each row.
#[cube(launch_unchecked)]
pub(crate) fn scores(weights: &Array<f32>, d_weights: &Array<f32>, d_control: &mut Array<f32>, slab: &Slab) {
    let own = ABSOLUTE_POS;
    if own >= slab.rows {
        terminate!();
    }
    let (from, at) = (own * slab.matrices, (slab.first + own) * slab.columns);
    let mut mean = f32::new(0.0);
    for k in 0..slab.matrices {
        mean += weights[from + k] * d_weights[from + k];
    }
    for k in 0..slab.matrices {
        d_control[at + k] = weights[from + k] * (d_weights[from + k] - mean);
    }
}
