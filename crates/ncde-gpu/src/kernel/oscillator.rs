//! Forced oscillators through time, an oscillator of a series a unit with both its copies.
//!
//! ```text
//! z <- p (z + d (f - k y)),   y <- y + d z
//! Gy = w + gy,   Gz = gz + d Gy,   s = p Gz,   df = d s,   gz <- s,   gy <- Gy - d k s
//! ```
//!
//! A step that stands aside makes its `y` from the state that it would lead to and leaves the state: then `Gy = w`, `Gz = d w`, and what is left is added to `gy` and `gz`. Oscillators of a row are
//! neighbours in memory, and so are units.

use cubecl::prelude::*;

use crate::kernel::unit::{unit_below, zeros};
use crate::oscillator::Rates;

/// The sizes of a launch.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
pub(crate) struct Sizes {
    pub(crate) length: usize,
    pub(crate) width: usize,
    pub(crate) units: usize,
}

/// How many steps are read at once, so that a unit waits for all of them together.
const DEEP: usize = 8;
/// The same in reverse, where a step has more numbers.
const DEEP_BACK: usize = 4;

/// 0 for a step that stands aside, otherwise 1.
#[cube]
fn goes_on(aside: &Array<u32>, row: usize, #[comptime] some: bool) -> f32 {
    let mut flag = f32::new(1.0);
    if comptime!(some) {
        flag = 1.0 - f32::cast_from(aside[row]);
    }
    flag
}

/// Where `p` and `d` of a row lie.
#[cube]
fn rates_at(row: usize, i: usize, width: usize, #[comptime] rates: Rates) -> usize {
    let mut at = i;
    if comptime!(rates == Rates::PerStep) {
        at = row * width + i;
    }
    at
}

/// `y` of all steps, and the states before them. Units: `[batch, width]`.
#[cube(launch_unchecked)]
pub(crate) fn states(
    p: &Array<f32>,
    step: &Array<f32>,
    stiffness: &Array<f32>,
    force: &Array<f32>,
    aside: &Array<u32>,
    places: &mut Array<f32>,
    states: &mut Array<f32>,
    sizes: &Sizes,
    #[comptime] rates: Rates,
    #[comptime] some_aside: bool,
) {
    let unit = unit_below(sizes.units);
    let width = sizes.width;
    let i = unit % width;
    let first_row = unit / width * sizes.length;
    let k = stiffness[i];
    let mut y = zeros(2usize);
    let mut z = zeros(2usize);
    let mut all_p = Array::<f32>::new(DEEP);
    let mut all_d = Array::<f32>::new(DEEP);
    let mut all_on = Array::<f32>::new(DEEP);
    let mut all_f = Array::<f32>::new(comptime!(2 * DEEP));
    for round in 0..(sizes.length + comptime!(DEEP - 1)) / DEEP {
        let done = round * DEEP;
        #[unroll]
        for s in 0..DEEP {
            // Beyond the last it is read again.
            let row = first_row + min(done + s, sizes.length - 1);
            all_p[s] = p[rates_at(row, i, width, rates)];
            all_d[s] = step[rates_at(row, i, width, rates)];
            all_on[s] = goes_on(aside, row, some_aside);
            #[unroll]
            for part in 0..2usize {
                all_f[comptime!(2 * s + part)] = force[(2 * row + part) * width + i];
            }
        }
        #[unroll]
        for s in 0..DEEP {
            if done + s < sizes.length {
                let row = first_row + done + s;
                #[unroll]
                for part in 0..2usize {
                    let at = (2 * row + part) * width + i;
                    states[at + 2 * row * width] = y[part];
                    states[at + 2 * (row + 1) * width] = z[part];
                    let speed = all_p[s] * (z[part] + all_d[s] * (all_f[comptime!(2 * s + part)] - k * y[part]));
                    let place = y[part] + all_d[s] * speed;
                    places[at] = place;
                    if all_on[s] > 0.0 {
                        y[part] = place;
                        z[part] = speed;
                    }
                }
            }
        }
    }
}

/// All gradients; those in `k`, and in `p` and `d` where steps share them, are those of each series, `[batch, width]`. Units: `[batch, width]`.
#[cube(launch_unchecked)]
pub(crate) fn gradients(
    p: &Array<f32>,
    step: &Array<f32>,
    stiffness: &Array<f32>,
    force: &Array<f32>,
    aside: &Array<u32>,
    states: &Array<f32>,
    w: &Array<f32>,
    dp: &mut Array<f32>,
    dd: &mut Array<f32>,
    dk: &mut Array<f32>,
    df: &mut Array<f32>,
    sizes: &Sizes,
    #[comptime] rates: Rates,
    #[comptime] some_aside: bool,
) {
    let unit = unit_below(sizes.units);
    let width = sizes.width;
    let i = unit % width;
    let first_row = unit / width * sizes.length;
    let k = stiffness[i];
    let mut gy = zeros(2usize);
    let mut gz = zeros(2usize);
    let mut sum_p = f32::new(0.0);
    let mut sum_d = f32::new(0.0);
    let mut sum_k = f32::new(0.0);
    let mut all_p = Array::<f32>::new(DEEP_BACK);
    let mut all_d = Array::<f32>::new(DEEP_BACK);
    let mut all_on = Array::<f32>::new(DEEP_BACK);
    let mut all_y = Array::<f32>::new(comptime!(2 * DEEP_BACK));
    let mut all_z = Array::<f32>::new(comptime!(2 * DEEP_BACK));
    let mut all_f = Array::<f32>::new(comptime!(2 * DEEP_BACK));
    let mut all_w = Array::<f32>::new(comptime!(2 * DEEP_BACK));
    for round in 0..(sizes.length + comptime!(DEEP_BACK - 1)) / DEEP_BACK {
        let done = round * DEEP_BACK;
        #[unroll]
        for s in 0..DEEP_BACK {
            let row = first_row + sizes.length - 1 - min(done + s, sizes.length - 1);
            all_p[s] = p[rates_at(row, i, width, rates)];
            all_d[s] = step[rates_at(row, i, width, rates)];
            all_on[s] = goes_on(aside, row, some_aside);
            #[unroll]
            for part in 0..2usize {
                let at = (2 * row + part) * width + i;
                all_y[comptime!(2 * s + part)] = states[at + 2 * row * width];
                all_z[comptime!(2 * s + part)] = states[at + 2 * (row + 1) * width];
                all_f[comptime!(2 * s + part)] = force[at];
                all_w[comptime!(2 * s + part)] = w[at];
            }
        }
        #[unroll]
        for s in 0..DEEP_BACK {
            if done + s < sizes.length {
                let row = first_row + sizes.length - 1 - done - s;
                let (p_t, d, on) = (all_p[s], all_d[s], all_on[s]);
                let mut of_p = f32::new(0.0);
                let mut of_d = f32::new(0.0);
                #[unroll]
                for part in 0..2usize {
                    let y = all_y[comptime!(2 * s + part)];
                    let push = all_f[comptime!(2 * s + part)] - k * y;
                    let inside = all_z[comptime!(2 * s + part)] + d * push;
                    let in_y = all_w[comptime!(2 * s + part)] + on * gy[part];
                    let in_z = on * gz[part] + d * in_y;
                    let scaled = p_t * in_z;
                    of_p += in_z * inside;
                    of_d += in_y * p_t * inside + scaled * push;
                    sum_k -= scaled * d * y;
                    df[(2 * row + part) * width + i] = scaled * d;
                    gy[part] = (1.0 - on) * gy[part] + in_y - scaled * d * k;
                    gz[part] = (1.0 - on) * gz[part] + scaled;
                }
                if comptime!(rates == Rates::PerStep) {
                    dp[row * width + i] = of_p;
                    dd[row * width + i] = of_d;
                } else {
                    sum_p += of_p;
                    sum_d += of_d;
                }
            }
        }
    }
    if comptime!(rates == Rates::Shared) {
        dp[unit] = sum_p;
        dd[unit] = sum_d;
    }
    dk[unit] = sum_k;
}
