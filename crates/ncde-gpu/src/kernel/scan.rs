//! The elementwise recurrence, a number of a chunk of a series a unit.
//!
//! ```text
//! h_t = a_t h_{t-1} + b_t,   and in reverse   r_{t-1} = conj(a_t) (w_t + r_t)
//! ```
//!
//! Both are `x <- c x + y` from chunk to chunk, with the product `c` of a chunk and its end `y` from zero. Numbers of a row are neighbours in memory, and so are units; complex rows hold their
//! real parts, then their imaginary parts.

use cubecl::prelude::*;

use crate::kernel::unit::{add, copy, fetch, fetch_apart, fill, put_apart, unit_below, zeros};

/// The sizes of a launch over the chunks of all series.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
pub(crate) struct Sizes {
    pub(crate) length: usize,
    /// Numbers of a row, complex ones counted once.
    pub(crate) width: usize,
    /// Steps of a chunk, and chunks of a series.
    pub(crate) chunk: usize,
    pub(crate) chunks: usize,
    pub(crate) units: usize,
}

/// How many chunks are read at once on the way from chunk to chunk, so that a unit waits for all of them together.
const DEEP: usize = 8;

/// Where `a` of a number lies: at its step, or in the one row for all.
#[cube]
fn a_at(at: usize, number: usize, #[comptime] shared: bool) -> usize {
    let mut place = at;
    if comptime!(shared) {
        place = number;
    }
    place
}

/// `x <- a x + y`, or `conj(a) x + y`.
#[cube]
fn advance(x: &mut Array<f32>, a: &Array<f32>, y: &Array<f32>, #[comptime] parts: usize, #[comptime] conjugate: bool) {
    if comptime!(parts == 1) {
        x[0] = a[0] * x[0] + y[0];
    } else {
        let mut im = a[1];
        if comptime!(conjugate) {
            im = f32::new(0.0) - im;
        }
        let re = a[0] * x[0] - im * x[1] + y[0];
        x[1] = a[0] * x[1] + im * x[0] + y[1];
        x[0] = re;
    }
}

/// The product of each chunk and its end from zero; in reverse from its last step to its first, with `w` in the place of `b`.
///
/// Units: `[batch, chunks, width]`; products and ends: `[batch, chunks, parts, width]`.
#[cube(launch_unchecked)]
pub(crate) fn ends(
    a: &Array<f32>,
    b: &Array<f32>,
    products: &mut Array<f32>,
    ends: &mut Array<f32>,
    sizes: &Sizes,
    #[comptime] parts: usize,
    #[comptime] shared: bool,
    #[comptime] back: bool,
) {
    let unit = unit_below(sizes.units);
    let number = unit % sizes.width;
    let place = unit / sizes.width;
    let first = place % sizes.chunks * sizes.chunk;
    let count = min(sizes.chunk, sizes.length - first);
    let mut a_t = Array::<f32>::new(parts);
    let mut added = Array::<f32>::new(parts);
    let mut product = zeros(parts);
    product[0] = f32::new(1.0);
    let mut end = zeros(parts);
    let zero = zeros(parts);
    for turn in 0..count {
        let mut t = first + turn;
        if comptime!(back) {
            t = first + count - 1 - turn;
        }
        let at = (place / sizes.chunks * sizes.length + t) * parts * sizes.width + number;
        fetch_apart(a, a_at(at, number, shared), sizes.width, &mut a_t, parts);
        fetch_apart(b, at, sizes.width, &mut added, parts);
        if comptime!(back) {
            add(&mut end, &added, parts);
            advance(&mut end, &a_t, &zero, parts, true);
        } else {
            advance(&mut end, &a_t, &added, parts, false);
        }
        advance(&mut product, &a_t, &zero, parts, back);
    }
    let at = place * parts * sizes.width + number;
    put_apart(&product, products, at, sizes.width, parts);
    put_apart(&end, ends, at, sizes.width, parts);
}

/// What each chunk begins with, in the place of its end from zero: from the state before all, or in reverse from 0 at the last chunk.
///
/// Units: `[batch, width]`.
#[cube(launch_unchecked)]
pub(crate) fn carry(
    products: &Array<f32>,
    ends: &mut Array<f32>,
    initial: &Array<f32>,
    sizes: &Sizes,
    #[comptime] parts: usize,
    #[comptime] back: bool,
) {
    let unit = unit_below(sizes.units);
    let width = sizes.width;
    let chunks = sizes.chunks;
    let number = unit % width;
    let series = unit / width;
    let mut state = Array::<f32>::new(parts);
    let mut product = Array::<f32>::new(parts);
    let mut end = Array::<f32>::new(parts);
    let mut many_products = Array::<f32>::new(comptime!(DEEP * parts));
    let mut many_ends = Array::<f32>::new(comptime!(DEEP * parts));
    if comptime!(back) {
        fill(&mut state, f32::new(0.0), parts);
    } else {
        fetch_apart(initial, series * parts * width + number, width, &mut state, parts);
    }
    for round in 0..(chunks + comptime!(DEEP - 1)) / DEEP {
        let done = round * DEEP;
        #[unroll]
        for i in 0..DEEP {
            // Beyond the last it is read again.
            let mut place = min(done + i, chunks - 1);
            if comptime!(back) {
                place = chunks - 1 - place;
            }
            let at = (series * chunks + place) * parts * width + number;
            #[unroll]
            for p in 0..parts {
                many_products[i * parts + p] = products[at + p * width];
                many_ends[i * parts + p] = ends[at + p * width];
            }
        }
        #[unroll]
        for i in 0..DEEP {
            if done + i < chunks {
                let mut place = done + i;
                if comptime!(back) {
                    place = chunks - 1 - place;
                }
                put_apart(&state, ends, (series * chunks + place) * parts * width + number, width, parts);
                fetch(&many_products, i * parts, &mut product, parts);
                fetch(&many_ends, i * parts, &mut end, parts);
                // Products of the way back are conjugated already.
                advance(&mut state, &product, &end, parts, false);
            }
        }
    }
}

/// All states, from the one that each chunk begins with.
///
/// Units: `[batch, chunks, width]`.
#[cube(launch_unchecked)]
pub(crate) fn states(
    a: &Array<f32>,
    b: &Array<f32>,
    starts: &Array<f32>,
    out: &mut Array<f32>,
    sizes: &Sizes,
    #[comptime] parts: usize,
    #[comptime] shared: bool,
) {
    let unit = unit_below(sizes.units);
    let number = unit % sizes.width;
    let place = unit / sizes.width;
    let first = place % sizes.chunks * sizes.chunk;
    let mut a_t = Array::<f32>::new(parts);
    let mut added = Array::<f32>::new(parts);
    let mut state = Array::<f32>::new(parts);
    fetch_apart(starts, place * parts * sizes.width + number, sizes.width, &mut state, parts);
    for t in first..min(first + sizes.chunk, sizes.length) {
        let at = (place / sizes.chunks * sizes.length + t) * parts * sizes.width + number;
        fetch_apart(a, a_at(at, number, shared), sizes.width, &mut a_t, parts);
        fetch_apart(b, at, sizes.width, &mut added, parts);
        advance(&mut state, &a_t, &added, parts, false);
        put_apart(&state, out, at, sizes.width, parts);
    }
}

/// The gradients, from what comes to each chunk from behind: `db = g = w + r`, `da = g conj(h)` with the state before, at each step.
///
/// Units: `[batch, chunks, width]`.
#[cube(launch_unchecked)]
pub(crate) fn gradients(
    a: &Array<f32>,
    h: &Array<f32>,
    w: &Array<f32>,
    initial: &Array<f32>,
    carried: &Array<f32>,
    da: &mut Array<f32>,
    db: &mut Array<f32>,
    d_initial: &mut Array<f32>,
    sizes: &Sizes,
    #[comptime] parts: usize,
    #[comptime] shared: bool,
) {
    let unit = unit_below(sizes.units);
    let number = unit % sizes.width;
    let place = unit / sizes.width;
    let series = place / sizes.chunks;
    let first = place % sizes.chunks * sizes.chunk;
    let count = min(sizes.chunk, sizes.length - first);
    let row = parts * sizes.width;
    let mut a_t = Array::<f32>::new(parts);
    let mut before = Array::<f32>::new(parts);
    let mut g = Array::<f32>::new(parts);
    let mut r = Array::<f32>::new(parts);
    let zero = zeros(parts);
    fetch_apart(carried, place * row + number, sizes.width, &mut r, parts);
    for turn in 0..count {
        let t = first + count - 1 - turn;
        let at = (series * sizes.length + t) * row + number;
        fetch_apart(a, a_at(at, number, shared), sizes.width, &mut a_t, parts);
        fetch_apart(w, at, sizes.width, &mut g, parts);
        if t == 0 {
            fetch_apart(initial, series * row + number, sizes.width, &mut before, parts);
        } else {
            fetch_apart(h, at - row, sizes.width, &mut before, parts);
        }
        add(&mut g, &r, parts);
        copy(&g, &mut r, parts);
        put_apart(&g, db, at, sizes.width, parts);
        advance(&mut r, &a_t, &zero, parts, true);
        advance(&mut g, &before, &zero, parts, true);
        put_apart(&g, da, at, sizes.width, parts);
    }
    if first == 0 {
        put_apart(&r, d_initial, series * row + number, sizes.width, parts);
    }
}
