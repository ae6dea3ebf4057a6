//! Banks of complex one-pole filters, a channel of a series a unit, with its states in registers.
//!
//! ```text
//! h <- a h + u,   y = sum_n (c_re Re h + c_im Im h);   in reverse   g = w (c_re + i c_im) + r,   r <- conj(a) g
//! ```
//!
//! A step that stands aside makes its output from the state that it would lead to and leaves the state; in reverse `g = w (c_re + i c_im)` and `r <- r + conj(a) g`. Channels of a row are neighbours in memory,
//! and so are units. States are computed again from the first of each part.

use cubecl::prelude::*;

use crate::kernel::unit::{fetch_apart, put_apart, stands_aside, unit_below, zeros};

/// The sizes of a launch.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
pub(crate) struct Sizes {
    pub(crate) length: usize,
    pub(crate) channels: usize,
    /// Parts of a series.
    pub(crate) parts: usize,
    pub(crate) units: usize,
}

/// The steps between two states that are stored; the states of a part are in local memory in the reverse pass.
pub(crate) const PART: usize = 16;

/// `y` of all steps, and the state before each part, `[batch, parts, 2, N, E]`. Units: `[batch, E]`.
#[cube(launch_unchecked)]
pub(crate) fn outputs(
    u: &Array<f32>,
    a: &Array<f32>,
    c: &Array<f32>,
    aside: &Array<u32>,
    y: &mut Array<f32>,
    starts: &mut Array<f32>,
    sizes: &Sizes,
    #[comptime] states: usize,
    #[comptime] some_aside: bool,
) {
    let unit = unit_below(sizes.units);
    let channels = sizes.channels;
    let e = unit % channels;
    let series = unit / channels;
    let both = comptime!(2 * states);
    let mut poles = Array::<f32>::new(both);
    let mut readout = Array::<f32>::new(both);
    let mut h = zeros(both);
    fetch_apart(a, e, channels, &mut poles, both);
    fetch_apart(c, e, channels, &mut readout, both);
    for part in 0..sizes.parts {
        put_apart(&h, starts, (series * sizes.parts + part) * both * channels + e, channels, both);
        let first = part * PART;
        for t in first..min(first + PART, sizes.length) {
            let row = series * sizes.length + t;
            let is_aside = stands_aside(aside, row, some_aside);
            let pushed = u[row * channels + e];
            let mut sum = f32::new(0.0);
            #[unroll]
            for n in 0..states {
                let re = poles[n] * h[n] - poles[comptime!(n + states)] * h[comptime!(n + states)] + pushed;
                let im = poles[n] * h[comptime!(n + states)] + poles[comptime!(n + states)] * h[n];
                sum += readout[n] * re + readout[comptime!(n + states)] * im;
                if !is_aside {
                    h[n] = re;
                    h[comptime!(n + states)] = im;
                }
            }
            y[row * channels + e] = sum;
        }
    }
}

/// All gradients; those in `a` and `c` are those of each series, `[batch, 2, N, E]`. Units: `[batch, E]`.
#[cube(launch_unchecked)]
pub(crate) fn gradients(
    u: &Array<f32>,
    a: &Array<f32>,
    c: &Array<f32>,
    aside: &Array<u32>,
    starts: &Array<f32>,
    w: &Array<f32>,
    du: &mut Array<f32>,
    da: &mut Array<f32>,
    dc: &mut Array<f32>,
    sizes: &Sizes,
    #[comptime] states: usize,
    #[comptime] some_aside: bool,
) {
    let unit = unit_below(sizes.units);
    let channels = sizes.channels;
    let e = unit % channels;
    let series = unit / channels;
    let both = comptime!(2 * states);
    let mut poles = Array::<f32>::new(both);
    let mut readout = Array::<f32>::new(both);
    let mut before = Array::<f32>::new(comptime!(2 * PART * states));
    let mut h = Array::<f32>::new(both);
    let mut r = zeros(both);
    let mut of_poles = zeros(both);
    let mut of_readout = zeros(both);
    fetch_apart(a, e, channels, &mut poles, both);
    fetch_apart(c, e, channels, &mut readout, both);
    for turn in 0..sizes.parts {
        let part = sizes.parts - 1 - turn;
        let first = part * PART;
        let count = min(PART, sizes.length - first);
        fetch_apart(starts, (series * sizes.parts + part) * both * channels + e, channels, &mut h, both);
        for i in 0..count {
            let row = series * sizes.length + first + i;
            let is_aside = stands_aside(aside, row, some_aside);
            let pushed = u[row * channels + e];
            #[unroll]
            for n in 0..states {
                let old_re = h[n];
                let old_im = h[comptime!(n + states)];
                before[i * both + n] = old_re;
                before[i * both + comptime!(n + states)] = old_im;
                if !is_aside {
                    h[n] = poles[n] * old_re - poles[comptime!(n + states)] * old_im + pushed;
                    h[comptime!(n + states)] = poles[n] * old_im + poles[comptime!(n + states)] * old_re;
                }
            }
        }
        for back in 0..count {
            let i = count - 1 - back;
            let row = series * sizes.length + first + i;
            let is_aside = stands_aside(aside, row, some_aside);
            let pushed = u[row * channels + e];
            let given = w[row * channels + e];
            let mut of_input = f32::new(0.0);
            #[unroll]
            for n in 0..states {
                let (a_re, a_im) = (poles[n], poles[comptime!(n + states)]);
                let old_re = before[i * both + n];
                let old_im = before[i * both + comptime!(n + states)];
                of_readout[n] += given * (a_re * old_re - a_im * old_im + pushed);
                of_readout[comptime!(n + states)] += given * (a_re * old_im + a_im * old_re);
                let mut g_re = given * readout[n];
                let mut g_im = given * readout[comptime!(n + states)];
                let mut rest_re = r[n];
                let mut rest_im = r[comptime!(n + states)];
                if !is_aside {
                    g_re += rest_re;
                    g_im += rest_im;
                    rest_re = f32::new(0.0);
                    rest_im = f32::new(0.0);
                }
                of_input += g_re;
                of_poles[n] += g_re * old_re + g_im * old_im;
                of_poles[comptime!(n + states)] += g_im * old_re - g_re * old_im;
                r[n] = rest_re + a_re * g_re + a_im * g_im;
                r[comptime!(n + states)] = rest_im + a_re * g_im - a_im * g_re;
            }
            du[row * channels + e] = of_input;
        }
    }
    put_apart(&of_poles, da, series * both * channels + e, channels, both);
    put_apart(&of_readout, dc, series * both * channels + e, channels, both);
}
