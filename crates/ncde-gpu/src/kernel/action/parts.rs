//! The parts of `A^k = D + u v^T`, which lie one after the other: `D`, `r` columns of `u`, `r` columns of `v`; and `A^k` in full.
//!
//! ```text
//! dD_i = dA_ii,   du_i = sum_c dA_ic v_c,   dv_c = sum_i dA_ic u_i
//! ```

use cubecl::prelude::*;

use crate::kernel::unit::unit_below;

/// Sizes of a channel.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
pub(crate) struct Channel {
    pub(crate) hidden: usize,
    pub(crate) rank: usize,
    /// Units that have work.
    pub(crate) units: usize,
}

/// Parameters of a channel.
#[cube]
fn parameters(of: &Channel) -> usize {
    of.hidden * (1 + 2 * of.rank)
}

/// `width` numbers of each channel from `first` on: `[channels, width]`, or with a state a row, `[H, channels width / H]`. Units: as many.
#[cube(launch_unchecked)]
pub(crate) fn take(a: &Array<f32>, out: &mut Array<f32>, first: usize, width: usize, of: &Channel, #[comptime] by_states: bool) {
    let unit = unit_below(of.units);
    let (channel, i) = (unit / width, unit % width);
    let mut to = unit;
    if comptime!(by_states) {
        to = unit % of.hidden * (of.units / of.hidden) + unit / of.hidden;
    }
    out[to] = a[channel * parameters(of) + first + i];
}

/// And back to their places. Units: as for [`take`].
#[cube(launch_unchecked)]
pub(crate) fn give(values: &Array<f32>, a: &mut Array<f32>, first: usize, width: usize, of: &Channel) {
    let unit = ABSOLUTE_POS;
    if unit < of.units {
        a[unit / width * parameters(of) + first + unit % width] = values[unit];
    }
}

/// `A^k` in full. Units: `[channels, H, H]`.
#[cube(launch_unchecked)]
pub(crate) fn densify(a: &Array<f32>, out: &mut Array<f32>, of: &Channel) {
    let unit = unit_below(of.units);
    let hidden = of.hidden;
    let (r, c) = (unit / hidden % hidden, unit % hidden);
    let at = unit / (hidden * hidden) * parameters(of);
    let mut sum = f32::new(0.0);
    if r == c {
        sum = a[at + r];
    }
    for k in 0..of.rank {
        sum += a[at + (1 + k) * hidden + r] * a[at + (1 + of.rank + k) * hidden + c];
    }
    out[unit] = sum;
}

/// The gradient in the parts from that in the full matrices. Units: one for each parameter.
#[cube(launch_unchecked)]
pub(crate) fn part(a: &Array<f32>, dense: &Array<f32>, out: &mut Array<f32>, of: &Channel) {
    let unit = unit_below(of.units);
    let hidden = of.hidden;
    let at = unit / parameters(of) * parameters(of);
    let from = unit / parameters(of) * hidden * hidden;
    let (which, i) = (unit % parameters(of) / hidden, unit % hidden);
    let mut sum = f32::new(0.0);
    if which == 0 {
        sum = dense[from + i * hidden + i];
    } else if which <= of.rank {
        let v = at + (which + of.rank) * hidden;
        for c in 0..hidden {
            sum += dense[from + i * hidden + c] * a[v + c];
        }
    } else {
        let u = at + (which - of.rank) * hidden;
        for r in 0..hidden {
            sum += dense[from + r * hidden + i] * a[u + r];
        }
    }
    out[unit] = sum;
}
