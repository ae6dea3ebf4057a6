//! The selective scan, a channel of a chunk a unit, with its states in registers.
//!
//! ```text
//! h <- exp(d a) h + d u b,   y = sum_n c h;   in reverse   g = w c + r,   r <- exp(d a) g
//! ```
//!
//! A step that stands aside makes its output from the state that it would lead to and leaves the state; in reverse `g = w c` and `r <- r + exp(d a) g`. Chunks are joined as those of `scan` are, with
//! the product `exp(a sum_t d_t)`. Channels of a row are neighbours in memory, and so are units.

use cubecl::prelude::*;

use crate::kernel::unit::{cube_below, fetch_apart, put_apart, stands_aside, unit_below, zeros};
use crate::selective::cut::{CHUNK, Cut};

/// The sizes of a launch.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
pub(crate) struct Sizes {
    pub(crate) length: usize,
    pub(crate) channels: usize,
    /// Chunks of a series.
    pub(crate) chunks: usize,
    /// Cubes or units with work.
    pub(crate) count: usize,
}

/// How many chunks are read at once on the way from chunk to chunk, so that a unit waits for all of them together.
const DEEP: usize = 8;

/// The end of each chunk from a state of zero, `[batch, chunks, N, E]`, and the sum of its steps, `[batch, chunks, E]`. Forward `u` and `b` are given, in reverse `w` and `c`.
///
/// Units: `[batch, chunks, E]`.
#[cube(launch_unchecked)]
pub(crate) fn ends(
    step: &Array<f32>,
    given: &Array<f32>,
    a: &Array<f32>,
    by_states: &Array<f32>,
    aside: &Array<u32>,
    ends: &mut Array<f32>,
    spans: &mut Array<f32>,
    sizes: &Sizes,
    #[comptime] states: usize,
    #[comptime] some_aside: bool,
    #[comptime] back: bool,
) {
    let unit = unit_below(sizes.count);
    let channels = sizes.channels;
    let e = unit % channels;
    let chunk = unit / channels;
    let first = chunk % sizes.chunks * CHUNK;
    let count = min(CHUNK, sizes.length - first);
    let first_row = chunk / sizes.chunks * sizes.length + first;
    let mut a_e = Array::<f32>::new(states);
    fetch_apart(a, e, channels, &mut a_e, states);
    let mut h = zeros(states);
    let mut span = f32::new(0.0);
    for turn in 0..count {
        let mut row = first_row + turn;
        if comptime!(back) {
            row = first_row + count - 1 - turn;
        }
        let d = step[row * channels + e];
        let x = given[row * channels + e];
        let is_aside = stands_aside(aside, row, some_aside);
        if comptime!(back) {
            #[unroll]
            for n in 0..states {
                let mut g = x * by_states[row * states + n];
                let mut rest = h[n];
                if !is_aside {
                    g += rest;
                    rest = f32::new(0.0);
                }
                h[n] = rest + f32::exp(d * a_e[n]) * g;
            }
        } else if !is_aside {
            #[unroll]
            for n in 0..states {
                h[n] = f32::exp(d * a_e[n]) * h[n] + d * x * by_states[row * states + n];
            }
        }
        if !is_aside {
            span += d;
        }
    }
    spans[unit] = span;
    put_apart(&h, ends, chunk * states * channels + e, channels, states);
}

/// What each chunk begins with, in the place of its end from zero; in reverse from the last chunk to the first.
///
/// Units: `[batch, N, E]`.
#[cube(launch_unchecked)]
pub(crate) fn carry(
    a: &Array<f32>,
    spans: &Array<f32>,
    ends: &mut Array<f32>,
    sizes: &Sizes,
    #[comptime] states: usize,
    #[comptime] back: bool,
) {
    let unit = unit_below(sizes.count);
    let (channels, chunks) = (sizes.channels, sizes.chunks);
    let size = channels * states;
    let number = unit % size;
    let first_chunk = unit / size * chunks;
    let a_n = a[number];
    let mut state = f32::new(0.0);
    let mut factors = Array::<f32>::new(DEEP);
    let mut many = Array::<f32>::new(DEEP);
    for round in 0..(chunks + comptime!(DEEP - 1)) / DEEP {
        let done = round * DEEP;
        #[unroll]
        for i in 0..DEEP {
            // Beyond the last it is read again.
            let mut chunk = min(done + i, chunks - 1);
            if comptime!(back) {
                chunk = chunks - 1 - chunk;
            }
            factors[i] = f32::exp(a_n * spans[(first_chunk + chunk) * channels + number % channels]);
            many[i] = ends[(first_chunk + chunk) * size + number];
        }
        #[unroll]
        for i in 0..DEEP {
            if done + i < chunks {
                let mut chunk = done + i;
                if comptime!(back) {
                    chunk = chunks - 1 - chunk;
                }
                ends[(first_chunk + chunk) * size + number] = state;
                state = factors[i] * state + many[i];
            }
        }
    }
}

/// `y` of all steps, from the state that each chunk begins with.
///
/// Units: `[batch, chunks, E]`.
#[cube(launch_unchecked)]
pub(crate) fn outputs(
    step: &Array<f32>,
    u: &Array<f32>,
    a: &Array<f32>,
    b: &Array<f32>,
    c: &Array<f32>,
    aside: &Array<u32>,
    starts: &Array<f32>,
    y: &mut Array<f32>,
    sizes: &Sizes,
    #[comptime] states: usize,
    #[comptime] some_aside: bool,
) {
    let unit = unit_below(sizes.count);
    let channels = sizes.channels;
    let e = unit % channels;
    let chunk = unit / channels;
    let first = chunk % sizes.chunks * CHUNK;
    let first_row = chunk / sizes.chunks * sizes.length + first;
    let mut a_e = Array::<f32>::new(states);
    let mut h = Array::<f32>::new(states);
    fetch_apart(a, e, channels, &mut a_e, states);
    fetch_apart(starts, chunk * states * channels + e, channels, &mut h, states);
    for row in first_row..first_row + min(CHUNK, sizes.length - first) {
        let d = step[row * channels + e];
        let driven = d * u[row * channels + e];
        let is_aside = stands_aside(aside, row, some_aside);
        let mut sum = f32::new(0.0);
        #[unroll]
        for n in 0..states {
            let next = f32::exp(d * a_e[n]) * h[n] + driven * b[row * states + n];
            sum += c[row * states + n] * next;
            if !is_aside {
                h[n] = next;
            }
        }
        y[row * channels + e] = sum;
    }
}

/// The gradients, from the state that each chunk begins with and what comes to it from behind. Those in `a` are those of each chunk, `[batch, chunks, N, E]`; those in `b` and `c` those of each block of
/// channels, `[blocks, batch, length, N]`.
///
/// Cubes: `[batch, chunks, blocks]`.
#[cube(launch_unchecked)]
pub(crate) fn gradients(
    step: &Array<f32>,
    u: &Array<f32>,
    a: &Array<f32>,
    b: &Array<f32>,
    c: &Array<f32>,
    aside: &Array<u32>,
    starts: &Array<f32>,
    carried: &Array<f32>,
    w: &Array<f32>,
    d_step: &mut Array<f32>,
    du: &mut Array<f32>,
    da: &mut Array<f32>,
    db: &mut Array<f32>,
    dc: &mut Array<f32>,
    sizes: &Sizes,
    rows: usize,
    #[comptime] cut: Cut,
    #[comptime] some_aside: bool,
) {
    let cube = cube_below(sizes.count);
    let unit = UNIT_POS as usize;
    let (states, stride) = comptime!((cut.states, cut.stride()));
    let channels = sizes.channels;
    let blocks = (channels + comptime!(cut.units - 1)) / comptime!(cut.units);
    let (chunk, block) = (cube / blocks, cube % blocks);
    let is_there = block * comptime!(cut.units) + unit < channels;
    // Units beyond the last channel have its numbers, but neither input, state nor gradient: they add zeros.
    let e = min(block * comptime!(cut.units) + unit, channels - 1);
    let first = chunk % sizes.chunks * CHUNK;
    let count = min(CHUNK, sizes.length - first);
    let first_row = chunk / sizes.chunks * sizes.length + first;
    let at_states = chunk * states * channels + e;
    let mut terms = SharedMemory::<f32>::new(comptime!(cut.sums() * cut.stride()));
    let mut parts = SharedMemory::<f32>::new(comptime!(cut.sums() * cut.lanes()));
    let mut before = Array::<f32>::new(comptime!(CHUNK * cut.states));
    let mut a_e = Array::<f32>::new(states);
    let mut h = zeros(states);
    let mut r = zeros(states);
    let mut sum_a = zeros(states);
    fetch_apart(a, e, channels, &mut a_e, states);
    if is_there {
        fetch_apart(starts, at_states, channels, &mut h, states);
        fetch_apart(carried, at_states, channels, &mut r, states);
    }
    for i in 0..count {
        let row = first_row + i;
        let d = step[row * channels + e];
        let mut driven = d * u[row * channels + e];
        if !is_there {
            driven = f32::new(0.0);
        }
        let is_aside = stands_aside(aside, row, some_aside);
        #[unroll]
        for n in 0..states {
            before[i * states + n] = h[n];
            if !is_aside {
                h[n] = f32::exp(d * a_e[n]) * h[n] + driven * b[row * states + n];
            }
        }
    }
    for turn in 0..count {
        let i = count - 1 - turn;
        let row = first_row + i;
        let at = row * channels + e;
        let d = step[at];
        let mut u_t = u[at];
        let mut w_t = w[at];
        if !is_there {
            u_t = f32::new(0.0);
            w_t = f32::new(0.0);
        }
        let driven = d * u_t;
        let is_aside = stands_aside(aside, row, some_aside);
        let mut of_driven = f32::new(0.0);
        let mut of_step = f32::new(0.0);
        #[unroll]
        for n in 0..states {
            let b_n = b[row * states + n];
            let decayed = f32::exp(d * a_e[n]);
            let from_before = decayed * before[i * states + n];
            let mut g = w_t * c[row * states + n];
            let mut rest = r[n];
            if !is_aside {
                g += rest;
                rest = f32::new(0.0);
            }
            r[n] = rest + decayed * g;
            terms[n * stride + unit] = g * driven;
            terms[comptime!((n + cut.states) * cut.stride()) + unit] = w_t * (from_before + driven * b_n);
            of_driven += g * b_n;
            of_step += g * from_before * a_e[n];
            sum_a[n] += g * from_before * d;
        }
        if is_there {
            d_step[at] = of_step + of_driven * u_t;
            du[at] = of_driven * d;
        }
        over_channels(&terms, &mut parts, db, dc, (block * rows + row) * states, cut);
    }
    if is_there {
        put_apart(&sum_a, da, at_states, channels, states);
    }
}

/// The sums over the units of a cube, always in the same order: `db`, then `dc`.
#[cube]
fn over_channels(
    terms: &SharedMemory<f32>,
    parts: &mut SharedMemory<f32>,
    db: &mut Array<f32>,
    dc: &mut Array<f32>,
    to: usize,
    #[comptime] cut: Cut,
) {
    let unit = UNIT_POS as usize;
    let (sums, together, lanes) = comptime!((cut.sums(), cut.together(), cut.lanes()));
    sync_cube();
    let lane = unit / together;
    if lane < lanes {
        for sum in range_stepped(unit % together, sums, together) {
            let mut part = f32::new(0.0);
            for i in range_stepped(lane, comptime!(cut.units), lanes) {
                part += terms[sum * comptime!(cut.stride()) + i];
            }
            parts[lane * sums + sum] = part;
        }
    }
    sync_cube();
    for sum in range_stepped(unit, sums, comptime!(cut.units)) {
        let mut total = f32::new(0.0);
        #[unroll]
        for lane in 0..lanes {
            total += parts[lane * sums + sum];
        }
        if sum < comptime!(cut.states) {
            db[to + sum] = total;
        } else {
            dc[to + sum - comptime!(cut.states)] = total;
        }
    }
}
