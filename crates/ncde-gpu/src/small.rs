//! Small blocks: a unit has one column of the state of one block of one chunk, in registers, and goes through time.
//!
//! Neighbouring units have neighbouring blocks, so that reads of generators and states are contiguous.

use cubecl::prelude::*;

use crate::sizes::Sizes;
use crate::step::{Flow, advance, reverse};

/// The matrix of a unit's block in a row of generators.
#[cube]
fn load(omega: &Array<f32>, row: usize, block: usize, count: usize, m: &mut Array<f32>, #[comptime] b: usize) {
    let base = row * comptime!(b * b) * count + block;
    #[unroll]
    for e in 0..comptime!(b * b) {
        m[e] = omega[base + e * count];
    }
}

/// `b` numbers that lie side by side.
#[cube]
fn fetch(from: &Array<f32>, at: usize, to: &mut Array<f32>, #[comptime] b: usize) {
    #[unroll]
    for r in 0..b {
        to[r] = from[at + r];
    }
}

/// The way back.
#[cube]
fn put(from: &Array<f32>, to: &mut Array<f32>, at: usize, #[comptime] b: usize) {
    #[unroll]
    for r in 0..b {
        to[at + r] = from[r];
    }
}

/// The products of the flows of every chunk but the last of each series, and what affine inputs add up to.
///
/// Units: `[batch, chunks - 1, b + columns, blocks]`, without `columns` where nothing is added.
#[cube(launch_unchecked)]
pub(crate) fn products(
    omega: &Array<f32>,
    beta: &Array<f32>,
    lengths: &Array<u32>,
    out: &mut Array<f32>,
    sizes: &Sizes,
    #[comptime] b: usize,
    #[comptime] flow: Flow,
) {
    let unit = ABSOLUTE_POS;
    if unit >= sizes.units {
        terminate!();
    }
    let block = unit % sizes.count;
    let mut wide = b.runtime();
    if comptime!(flow.is_affine()) {
        wide += sizes.columns;
    }
    let column = unit / sizes.count % wide;
    let place = unit / (sizes.count * wide);
    let chunk = place % (sizes.chunks - 1);
    let series = place / (sizes.chunks - 1);
    let at = (((series * sizes.chunks + chunk) * (b + sizes.columns) + column) * sizes.count + block) * b;
    let mut m = Array::<f32>::new(comptime!(b * b));
    let mut x = Array::<f32>::new(b);
    let mut added = Array::<f32>::new(b);
    #[unroll]
    for r in 0..b {
        added[r] = f32::new(0.0);
    }
    if sizes.first == 0 {
        #[unroll]
        for r in 0..b {
            x[r] = f32::new(0.0);
            if column == r {
                x[r] = f32::new(1.0);
            }
        }
    } else {
        fetch(out, at, &mut x, b);
    }
    let length = lengths[series] as usize;
    for s in 0..sizes.steps {
        let t = chunk * sizes.chunk + sizes.first + s;
        if t < length {
            load(omega, (series * sizes.chunks + chunk) * sizes.steps + s, block, sizes.count, &mut m, b);
            if comptime!(flow.is_affine()) {
                if column >= b {
                    let from = ((series * sizes.length + t) * sizes.columns + column - b) * sizes.hidden + sizes.at + block * b;
                    fetch(beta, from, &mut added, b);
                }
            }
            advance(&m, &mut x, &added, b, flow);
        }
    }
    put(&x, out, at, b);
}

/// The states after every step, from those at the beginning of each chunk.
///
/// Units: `[batch, chunks, columns, blocks]`.
#[cube(launch_unchecked)]
pub(crate) fn replay(
    omega: &Array<f32>,
    beta: &Array<f32>,
    lengths: &Array<u32>,
    starts: &Array<f32>,
    states: &mut Array<f32>,
    sizes: &Sizes,
    #[comptime] b: usize,
    #[comptime] flow: Flow,
) {
    let unit = ABSOLUTE_POS;
    if unit >= sizes.units {
        terminate!();
    }
    let block = unit % sizes.count;
    let column = unit / sizes.count % sizes.columns;
    let place = unit / (sizes.count * sizes.columns);
    let chunk = place % sizes.chunks;
    let series = place / sizes.chunks;
    let stride = sizes.columns * sizes.hidden;
    let t_0 = chunk * sizes.chunk + sizes.first;
    let base = series * sizes.length * stride + column * sizes.hidden + sizes.at + block * b;
    let mut m = Array::<f32>::new(comptime!(b * b));
    let mut x = Array::<f32>::new(b);
    let mut added = Array::<f32>::new(b);
    if t_0 < sizes.length {
        if sizes.first == 0 {
            fetch(starts, unit * b, &mut x, b);
        } else {
            fetch(states, base + (t_0 - 1) * stride, &mut x, b);
        }
        let length = lengths[series] as usize;
        for s in 0..sizes.steps {
            let t = t_0 + s;
            if t < sizes.length {
                if t < length {
                    load(omega, place * sizes.steps + s, block, sizes.count, &mut m, b);
                    if comptime!(flow.is_affine()) {
                        fetch(beta, base + t * stride, &mut added, b);
                    }
                    advance(&m, &mut x, &added, b, flow);
                }
                put(&x, states, base + t * stride, b);
            }
        }
    }
}

/// The gradient at the beginning of every chunk but the first, of what its own states contribute to the loss.
///
/// Units: `[batch, chunks, columns, blocks]`. Slabs come last first, and `lambda` goes from one to the next.
#[cube(launch_unchecked)]
pub(crate) fn pull(
    omega: &Array<f32>,
    gradient: &Array<f32>,
    lengths: &Array<u32>,
    lambda: &mut Array<f32>,
    sizes: &Sizes,
    #[comptime] b: usize,
    #[comptime] flow: Flow,
) {
    let unit = ABSOLUTE_POS;
    if unit >= sizes.units {
        terminate!();
    }
    let block = unit % sizes.count;
    let column = unit / sizes.count % sizes.columns;
    let place = unit / (sizes.count * sizes.columns);
    let chunk = place % sizes.chunks;
    let series = place / sizes.chunks;
    let stride = sizes.columns * sizes.hidden;
    let base = series * sizes.length * stride + column * sizes.hidden + sizes.at + block * b;
    let mut m = Array::<f32>::new(comptime!(b * b));
    let mut back = Array::<f32>::new(comptime!(b * b));
    let mut l = Array::<f32>::new(b);
    let mut own = Array::<f32>::new(b);
    if sizes.first + sizes.steps == sizes.chunk {
        #[unroll]
        for r in 0..b {
            l[r] = f32::new(0.0);
        }
    } else {
        fetch(lambda, unit * b, &mut l, b);
    }
    let length = lengths[series] as usize;
    for k in 0..sizes.steps {
        let s = sizes.steps - 1 - k;
        let t = chunk * sizes.chunk + sizes.first + s;
        if t < sizes.length {
            fetch(gradient, base + t * stride, &mut own, b);
            #[unroll]
            for r in 0..b {
                l[r] += own[r];
            }
            if t < length {
                load(omega, place * sizes.steps + s, block, sizes.count, &mut m, b);
                #[unroll]
                for r in 0..b {
                    #[unroll]
                    for c in 0..b {
                        back[c * b + r] = m[r * b + c];
                    }
                }
                // The flow of the transpose.
                advance(&back, &mut l, &own, b, comptime!(flow.without_affine()));
            }
        }
    }
    put(&l, lambda, unit * b, b);
}

/// The gradients in generators and affine inputs of one column of the state, from those at the end of each chunk.
///
/// Units: `[batch, chunks, blocks]`. Slabs come last first, and `lambda` goes from one to the next.
#[cube(launch_unchecked)]
pub(crate) fn differentiate(
    omega: &Array<f32>,
    beta: &Array<f32>,
    lengths: &Array<u32>,
    initial: &Array<f32>,
    states: &Array<f32>,
    gradient: &Array<f32>,
    lambda: &mut Array<f32>,
    d_omega: &mut Array<f32>,
    d_beta: &mut Array<f32>,
    column: usize,
    sizes: &Sizes,
    #[comptime] b: usize,
    #[comptime] flow: Flow,
) {
    let unit = ABSOLUTE_POS;
    if unit >= sizes.units {
        terminate!();
    }
    let block = unit % sizes.count;
    let place = unit / sizes.count;
    let chunk = place % sizes.chunks;
    let series = place / sizes.chunks;
    let stride = sizes.columns * sizes.hidden;
    let within = column * sizes.hidden + sizes.at + block * b;
    let base = series * sizes.length * stride + within;
    let at = ((place * sizes.columns + column) * sizes.count + block) * b;
    let mut m = Array::<f32>::new(comptime!(b * b));
    let mut dm = Array::<f32>::new(comptime!(b * b));
    let mut l = Array::<f32>::new(b);
    let mut own = Array::<f32>::new(b);
    let mut x = Array::<f32>::new(b);
    let mut added = Array::<f32>::new(b);
    let mut d_added = Array::<f32>::new(b);
    fetch(lambda, at, &mut l, b);
    // Nothing comes after the only chunk.
    if sizes.chunks == 1 && sizes.first + sizes.steps == sizes.chunk {
        #[unroll]
        for r in 0..b {
            l[r] = f32::new(0.0);
        }
    }
    let length = lengths[series] as usize;
    for k in 0..sizes.steps {
        let s = sizes.steps - 1 - k;
        let t = chunk * sizes.chunk + sizes.first + s;
        #[unroll]
        for e in 0..comptime!(b * b) {
            dm[e] = f32::new(0.0);
        }
        #[unroll]
        for r in 0..b {
            d_added[r] = f32::new(0.0);
        }
        if t < sizes.length {
            fetch(gradient, base + t * stride, &mut own, b);
            #[unroll]
            for r in 0..b {
                l[r] += own[r];
            }
            if t < length {
                load(omega, place * sizes.steps + s, block, sizes.count, &mut m, b);
                if t == 0 {
                    fetch(initial, series * stride + within, &mut x, b);
                } else {
                    fetch(states, base + (t - 1) * stride, &mut x, b);
                }
                if comptime!(flow.is_inside()) {
                    fetch(beta, base + t * stride, &mut added, b);
                }
                reverse(&m, &x, &added, &mut l, &mut dm, &mut d_added, b, flow);
            }
            if comptime!(flow.is_affine()) {
                put(&d_added, d_beta, base + t * stride, b);
            }
        }
        let to = (place * sizes.steps + s) * comptime!(b * b) * sizes.count + block;
        if column == 0 {
            #[unroll]
            for e in 0..comptime!(b * b) {
                d_omega[to + e * sizes.count] = dm[e];
            }
        } else {
            #[unroll]
            for e in 0..comptime!(b * b) {
                d_omega[to + e * sizes.count] += dm[e];
            }
        }
    }
    put(&l, lambda, at, b);
}
