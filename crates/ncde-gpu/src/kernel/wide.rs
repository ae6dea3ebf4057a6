//! Large blocks: a cube has the state of one block of one chunk, or some columns of it, in shared memory, and goes through time.
//!
//! A step is `y = M x` with `M` laid out so that neighbouring units, which have neighbouring entries of `y`, read neighbouring numbers:
//! `m[k, out]`. Forwards these are the columns of Omega, in reverse its rows; else the two directions are the same code.
//! The series of the exponential is that of `step`; a term takes the norm from the same numbers as the first product.

use cubecl::prelude::*;

use crate::flow::Flow;
use crate::kernel::step::{MOST, REACH, SMALL, TERMS};
use crate::sizes::{Sizes, row_of};

/// Units of a cube that walks with vectors.
pub(crate) const WALKERS: usize = 128;
/// Units of a cube of [`products`], in both directions.
pub(crate) const SIDE: usize = 16;
/// Rows of a generator that [`products`] has in shared memory at once.
const DEEP: usize = 8;

/// What a walk is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Purpose {
    /// From the state at the beginning of a chunk to all of its states.
    Replay,
    /// What affine inputs add up to in a chunk that begins with zero.
    Sum,
    /// From the end of a chunk to its beginning, adding the gradients of its states.
    Pull,
}

/// `y = M x` for one vector in shared memory, entries of `y` shared out over the units.
#[cube]
fn apply(m: &Array<f32>, at: usize, x: &SharedMemory<f32>, y: &mut SharedMemory<f32>, #[comptime] b: usize) {
    let unit = UNIT_POS as usize;
    #[unroll]
    for i in 0..comptime!(b.div_ceil(WALKERS)) {
        let out = unit + comptime!(i * WALKERS);
        if out < b {
            let mut sum = f32::new(0.0);
            for k in 0..b {
                sum += m[at + k * b + out] * x[k];
            }
            y[out] = sum;
        }
    }
}

/// The largest sum of absolute values over `k` of `m[k, out]`. All units get it.
#[cube]
fn norm(m: &Array<f32>, at: usize, parts: &mut SharedMemory<f32>, #[comptime] b: usize) -> f32 {
    let unit = UNIT_POS as usize;
    let mut most = f32::new(0.0);
    #[unroll]
    for i in 0..comptime!(b.div_ceil(WALKERS)) {
        let out = unit + comptime!(i * WALKERS);
        if out < b {
            let mut sum = f32::new(0.0);
            for k in 0..b {
                sum += f32::abs(m[at + k * b + out]);
            }
            most = max(most, sum);
        }
    }
    sync_cube();
    parts[unit] = most;
    sync_cube();
    let mut all = f32::new(0.0);
    for i in 0..WALKERS {
        all = max(all, parts[i]);
    }
    sync_cube();
    all
}

/// How many stages a norm takes; one and NaN beyond what can be right.
#[cube]
fn stages(norm: f32) -> u32 {
    let mut stages = u32::cast_from(norm / REACH) + 1u32;
    if norm > MOST {
        stages = 1u32;
    }
    stages
}

/// NaN where the norm is beyond what can be right, else 0.
#[cube]
fn overflow(norm: f32) -> f32 {
    let mut value = f32::new(0.0);
    if norm > MOST {
        value = f32::new(0.0) / (norm - norm);
    }
    value
}

/// One step of a vector of `b` numbers in `x`. `w` has room for two.
#[cube]
fn advance(
    m: &Array<f32>,
    at: usize,
    x: &mut SharedMemory<f32>,
    w: &mut SharedMemory<f32>,
    beta: &SharedMemory<f32>,
    parts: &mut SharedMemory<f32>,
    #[comptime] b: usize,
    #[comptime] flow: Flow,
) {
    let unit = UNIT_POS as usize;
    if comptime!(!flow.exact) {
        apply(m, at, x, w, b);
        sync_cube();
        #[unroll]
        for i in 0..comptime!(b.div_ceil(WALKERS)) {
            let out = unit + comptime!(i * WALKERS);
            if out < b {
                x[out] += w[out];
            }
        }
    } else {
        let norm = norm(m, at, parts, b);
        let stages = stages(norm);
        let part = 1.0 / f32::cast_from(stages);
        for _ in 0..stages {
            // w_{j-1} and w_j take turns in the two halves of w.
            #[unroll]
            for i in 0..comptime!(b.div_ceil(WALKERS)) {
                let out = unit + comptime!(i * WALKERS);
                if out < b {
                    w[out] = x[out];
                }
            }
            sync_cube();
            let mut left = f32::new(1.0);
            let mut j = 1usize;
            while left > SMALL && j <= TERMS {
                let factor = part / f32::cast_from(j as u32);
                let to = j % 2 * b;
                multiply(m, at, w, b - to, to, factor, b);
                #[unroll]
                for i in 0..comptime!(b.div_ceil(WALKERS)) {
                    let out = unit + comptime!(i * WALKERS);
                    if out < b {
                        if comptime!(flow.is_inside()) {
                            if j == 1 {
                                w[to + out] += part * beta[out];
                            }
                        }
                        x[out] += w[to + out];
                    }
                }
                sync_cube();
                left = shrunk(left, factor * norm, j, comptime!(flow.is_inside()));
                j += 1;
            }
        }
        if unit == 0 {
            x[0] += overflow(norm);
        }
    }
    if comptime!(flow.is_affine() && !flow.is_inside()) {
        #[unroll]
        for i in 0..comptime!(b.div_ceil(WALKERS)) {
            let out = unit + comptime!(i * WALKERS);
            if out < b {
                x[out] += beta[out];
            }
        }
    }
    sync_cube();
}

/// What is left of the series after term `j`. `phi_1` loses a power to the exponential.
#[cube]
fn shrunk(left: f32, factor: f32, j: usize, #[comptime] inside: bool) -> f32 {
    let mut next = left * factor;
    if comptime!(inside) {
        if j == 1 {
            next = left;
        }
    }
    next
}

/// `factor M` times one part of an array, into another part of it.
#[cube]
fn multiply(m: &Array<f32>, at: usize, w: &mut SharedMemory<f32>, from: usize, to: usize, factor: f32, #[comptime] b: usize) {
    let unit = UNIT_POS as usize;
    #[unroll]
    for i in 0..comptime!(b.div_ceil(WALKERS)) {
        let out = unit + comptime!(i * WALKERS);
        if out < b {
            let mut sum = f32::new(0.0);
            for k in 0..b {
                sum += m[at + k * b + out] * w[from + k];
            }
            w[to + out] = factor * sum;
        }
    }
}

/// A walk through a slab of every chunk.
///
/// Cubes: `[batch, chunks, columns, blocks]`. `ends` are the states at the beginnings of chunks, or what a walk goes on from and ends with;
/// `rows` the states to be written, or their gradient to be added.
#[cube(launch_unchecked)]
pub(crate) fn walk(
    m: &Array<f32>,
    beta: &Array<f32>,
    lengths: &Array<u32>,
    ends: &mut Array<f32>,
    rows: &mut Array<f32>,
    sizes: &Sizes,
    #[comptime] b: usize,
    #[comptime] flow: Flow,
    #[comptime] purpose: Purpose,
) {
    let cube = CUBE_POS_Y as usize * CUBE_COUNT_X as usize + CUBE_POS_X as usize;
    if cube >= sizes.units {
        terminate!();
    }
    let unit = UNIT_POS as usize;
    let block = cube % sizes.count;
    let column = cube / sizes.count % sizes.columns;
    let place = cube / (sizes.count * sizes.columns);
    let chunk = place % sizes.chunks;
    let series = place / sizes.chunks;
    let stride = sizes.columns * sizes.hidden;
    let base = series * sizes.length * stride + column * sizes.hidden + sizes.at + block * b;
    let mut x = SharedMemory::<f32>::new(b);
    let mut w = SharedMemory::<f32>::new(comptime!(2 * b));
    let mut added = SharedMemory::<f32>::new(b);
    let mut parts = SharedMemory::<f32>::new(WALKERS);
    let mut end = cube * b;
    if comptime!(purpose == Purpose::Sum) {
        end = ((place * (b + sizes.columns) + b + column) * sizes.count + block) * b;
    }
    let t_0 = chunk * sizes.chunk + sizes.first;
    let length = lengths[series] as usize;
    let is_begun = match purpose {
        Purpose::Pull => sizes.first + sizes.steps < sizes.chunk,
        _ => sizes.first > 0,
    };
    #[unroll]
    for i in 0..comptime!(b.div_ceil(WALKERS)) {
        let r = unit + comptime!(i * WALKERS);
        if r < b {
            let mut value = f32::new(0.0);
            if comptime!(purpose == Purpose::Replay) {
                if !is_begun {
                    value = ends[end + r];
                } else if t_0 <= sizes.length {
                    value = rows[base + (t_0 - 1) * stride + r];
                }
            } else if is_begun {
                value = ends[end + r];
            }
            x[r] = value;
        }
    }
    sync_cube();
    for k in 0..sizes.steps {
        let mut s = k;
        if comptime!(purpose == Purpose::Pull) {
            s = sizes.steps - 1 - k;
        }
        let t = t_0 + s;
        if t < sizes.length {
            if comptime!(purpose == Purpose::Pull) {
                #[unroll]
                for i in 0..comptime!(b.div_ceil(WALKERS)) {
                    let r = unit + comptime!(i * WALKERS);
                    if r < b {
                        x[r] += rows[base + t * stride + r];
                    }
                }
                sync_cube();
            }
            if t < length {
                if comptime!(flow.is_affine()) {
                    #[unroll]
                    for i in 0..comptime!(b.div_ceil(WALKERS)) {
                        let r = unit + comptime!(i * WALKERS);
                        if r < b {
                            added[r] = beta[base + t * stride + r];
                        }
                    }
                    sync_cube();
                }
                let at = ((row_of(place, sizes) + s) * sizes.count + block) * comptime!(b * b);
                advance(m, at, &mut x, &mut w, &added, &mut parts, b, flow);
            }
            if comptime!(purpose == Purpose::Replay) {
                #[unroll]
                for i in 0..comptime!(b.div_ceil(WALKERS)) {
                    let r = unit + comptime!(i * WALKERS);
                    if r < b {
                        rows[base + t * stride + r] = x[r];
                    }
                }
            }
        }
    }
    if comptime!(purpose != Purpose::Replay) {
        #[unroll]
        for i in 0..comptime!(b.div_ceil(WALKERS)) {
            let r = unit + comptime!(i * WALKERS);
            if r < b {
                ends[end + r] = x[r];
            }
        }
    }
}

/// `acc = M X` for the entries of a unit: rows `row + 16 i`, columns `column + 16 j`.
#[cube]
fn multiply_columns(
    m: &Array<f32>,
    at: usize,
    x: &SharedMemory<f32>,
    tile: &mut SharedMemory<f32>,
    acc: &mut Array<f32>,
    #[comptime] b: usize,
    #[comptime] columns: usize,
) {
    let unit = UNIT_POS as usize;
    let column = unit % SIDE;
    let row = unit / SIDE;
    let tall = comptime!(b.div_ceil(SIDE));
    let broad = comptime!(columns / SIDE);
    #[unroll]
    for i in 0..comptime!(tall * broad) {
        acc[i] = f32::new(0.0);
    }
    let padded = comptime!(tall * SIDE);
    for turn in 0..comptime!(b.div_ceil(DEEP)) {
        let first = turn * DEEP;
        #[unroll]
        for i in 0..comptime!((DEEP * padded).div_ceil(SIDE * SIDE)) {
            let e = unit + comptime!(i * SIDE * SIDE);
            if e < comptime!(DEEP * padded) {
                let k = first + e / padded;
                let out = e % padded;
                let mut value = f32::new(0.0);
                if k < b && out < b {
                    value = m[at + k * b + out];
                }
                tile[e] = value;
            }
        }
        sync_cube();
        #[unroll]
        for k in 0..DEEP {
            let mut own = Array::<f32>::new(broad);
            #[unroll]
            for j in 0..broad {
                own[j] = x[min(first + k, comptime!(b - 1)) * columns + column + comptime!(j * SIDE)];
            }
            #[unroll]
            for i in 0..tall {
                let value = tile[k * padded + row + comptime!(i * SIDE)];
                #[unroll]
                for j in 0..broad {
                    acc[i * broad + j] += value * own[j];
                }
            }
        }
        sync_cube();
    }
}

/// The products of the flows of every chunk but the last (the first, in reverse): some columns a cube.
///
/// Cubes: `[batch, chunks - 1, blocks, groups of columns]`.
#[cube(launch_unchecked)]
pub(crate) fn products(
    m: &Array<f32>,
    lengths: &Array<u32>,
    out: &mut Array<f32>,
    sizes: &Sizes,
    #[comptime] b: usize,
    #[comptime] columns: usize,
    #[comptime] flow: Flow,
    #[comptime] back: bool,
) {
    let cube = CUBE_POS_Y as usize * CUBE_COUNT_X as usize + CUBE_POS_X as usize;
    if cube >= sizes.units {
        terminate!();
    }
    let unit = UNIT_POS as usize;
    let tall = comptime!(b.div_ceil(SIDE));
    let broad = comptime!(columns / SIDE);
    let groups = comptime!(b.div_ceil(columns));
    let group = cube % groups;
    let block = cube / groups % sizes.count;
    let place = cube / (groups * sizes.count);
    let mut chunk = place % (sizes.chunks - 1);
    let series = place / (sizes.chunks - 1);
    if comptime!(back) {
        chunk += 1;
    }
    let place = series * sizes.chunks + chunk;
    let column = unit % SIDE;
    let row = unit / SIDE;
    let padded = comptime!(tall * SIDE);
    let mut x = SharedMemory::<f32>::new(comptime!(padded * columns));
    let mut w = SharedMemory::<f32>::new(comptime!(if flow.exact { padded * columns } else { 1 }));
    let mut tile = SharedMemory::<f32>::new(comptime!(DEEP * padded));
    let mut parts = SharedMemory::<f32>::new(comptime!(SIDE * SIDE));
    let mut acc = Array::<f32>::new(comptime!(tall * broad));
    let is_begun = if comptime!(back) { sizes.first + sizes.steps < sizes.chunk } else { sizes.first > 0 };
    #[unroll]
    for i in 0..tall {
        #[unroll]
        for j in 0..broad {
            let r = row + comptime!(i * SIDE);
            let c = column + comptime!(j * SIDE);
            let from = group * columns + c;
            let mut value = f32::new(0.0);
            if is_begun {
                if r < b && from < b {
                    value = out[((place * (b + sizes.columns) + from) * sizes.count + block) * b + r];
                }
            } else if r == from {
                value = f32::new(1.0);
            }
            x[r * columns + c] = value;
        }
    }
    sync_cube();
    let length = lengths[series] as usize;
    for k in 0..sizes.steps {
        let mut s = k;
        if comptime!(back) {
            s = sizes.steps - 1 - k;
        }
        let t = chunk * sizes.chunk + sizes.first + s;
        if t < length {
            let at = ((row_of(place, sizes) + s) * sizes.count + block) * comptime!(b * b);
            if comptime!(!flow.exact) {
                multiply_columns(m, at, &x, &mut tile, &mut acc, b, columns);
                #[unroll]
                for i in 0..tall {
                    #[unroll]
                    for j in 0..broad {
                        x[(row + comptime!(i * SIDE)) * columns + column + comptime!(j * SIDE)] += acc[i * broad + j];
                    }
                }
                sync_cube();
            } else {
                let norm = norm_of_columns(m, at, &mut parts, b);
                let stages = stages(norm);
                let part = 1.0 / f32::cast_from(stages);
                for _ in 0..stages {
                    #[unroll]
                    for i in 0..comptime!(tall * broad) {
                        let e = (row + comptime!(i / broad * SIDE)) * columns + column + comptime!(i % broad * SIDE);
                        w[e] = x[e];
                    }
                    sync_cube();
                    let mut left = f32::new(1.0);
                    let mut j = 1u32;
                    while left > SMALL && j <= comptime!(TERMS as u32) {
                        let factor = part / f32::cast_from(j);
                        multiply_columns(m, at, &w, &mut tile, &mut acc, b, columns);
                        #[unroll]
                        for i in 0..comptime!(tall * broad) {
                            let e = (row + comptime!(i / broad * SIDE)) * columns + column + comptime!(i % broad * SIDE);
                            w[e] = factor * acc[i];
                            x[e] += factor * acc[i];
                        }
                        sync_cube();
                        left *= factor * norm;
                        j += 1u32;
                    }
                }
                if unit == 0 {
                    x[0] += overflow(norm);
                }
                sync_cube();
            }
        }
    }
    #[unroll]
    for i in 0..tall {
        #[unroll]
        for j in 0..broad {
            let r = row + comptime!(i * SIDE);
            let c = column + comptime!(j * SIDE);
            let from = group * columns + c;
            if r < b && from < b {
                out[((place * (b + sizes.columns) + from) * sizes.count + block) * b + r] = x[r * columns + c];
            }
        }
    }
}

/// Rows of a generator that [`products_by_fours`] has in shared memory at once.
const DEEPER: usize = 16;

/// As [`products`], for `I + Omega` and blocks of a multiple of 64: numbers are read four at a time, and a unit has 4 rows and 4 columns of every 64.
/// Reads of shared memory are what limits the other one.
///
/// Cubes: `[batch, chunks - 1, blocks, groups of columns]`.
#[cube(launch_unchecked)]
pub(crate) fn products_by_fours<N: Size>(
    m: &Array<Vector<f32, N>>,
    lengths: &Array<u32>,
    out: &mut Array<f32>,
    sizes: &Sizes,
    #[comptime] b: usize,
    #[comptime] columns: usize,
    #[comptime] back: bool,
) {
    let cube = CUBE_POS_Y as usize * CUBE_COUNT_X as usize + CUBE_POS_X as usize;
    if cube >= sizes.units {
        terminate!();
    }
    let unit = UNIT_POS as usize;
    let tall = comptime!(b / 64);
    let broad = comptime!(columns / 64);
    let groups = comptime!(b / columns);
    let group = cube % groups;
    let block = cube / groups % sizes.count;
    let place = cube / (groups * sizes.count);
    let mut chunk = place % (sizes.chunks - 1);
    let series = place / (sizes.chunks - 1);
    if comptime!(back) {
        chunk += 1;
    }
    let place = series * sizes.chunks + chunk;
    let column = unit % SIDE;
    let row = unit / SIDE;
    let mut x = SharedMemory::<Vector<f32, N>>::new(comptime!(b * columns / 4));
    let mut tile = SharedMemory::<Vector<f32, N>>::new(comptime!(DEEPER * b / 4));
    let mut acc = Array::<Vector<f32, N>>::new(comptime!(tall * 4 * broad));
    let is_begun = if comptime!(back) { sizes.first + sizes.steps < sizes.chunk } else { sizes.first > 0 };
    let product = place * (b + sizes.columns) * sizes.count * b;
    #[unroll]
    for i in 0..comptime!(tall * 4) {
        let r = row * 4 + comptime!(i / 4 * 64 + i % 4);
        #[unroll]
        for j in 0..broad {
            let mut four = Vector::<f32, N>::new(0.0);
            #[unroll]
            for c in 0..4usize {
                let from = group * columns + column * 4 + comptime!(j * 64 + c);
                let mut value = f32::new(0.0);
                if is_begun {
                    value = out[product + (from * sizes.count + block) * b + r];
                } else if r == from {
                    value = f32::new(1.0);
                }
                four[c] = value;
            }
            x[r * comptime!(columns / 4) + column + comptime!(j * SIDE)] = four;
        }
    }
    sync_cube();
    let first = chunk * sizes.chunk + sizes.first;
    let length = lengths[series] as usize;
    for k in 0..sizes.steps {
        let mut s = k;
        if comptime!(back) {
            s = sizes.steps - 1 - k;
        }
        if first + s < length {
            let at = ((row_of(place, sizes) + s) * sizes.count + block) * comptime!(b * b / 4);
            #[unroll]
            for i in 0..comptime!(tall * 4 * broad) {
                acc[i] = Vector::<f32, N>::new(0.0);
            }
            for turn in 0..comptime!(b / DEEPER) {
                #[unroll]
                for i in 0..comptime!(DEEPER * b / 4 / (SIDE * SIDE)) {
                    let e = unit + comptime!(i * SIDE * SIDE);
                    tile[e] = m[at + turn * comptime!(DEEPER * b / 4) + e];
                }
                sync_cube();
                #[unroll]
                for k in 0..DEEPER {
                    let mut own = Array::<Vector<f32, N>>::new(broad);
                    #[unroll]
                    for j in 0..broad {
                        own[j] = x[(turn * DEEPER + k) * comptime!(columns / 4) + column + comptime!(j * SIDE)];
                    }
                    #[unroll]
                    for i in 0..tall {
                        let four = tile[comptime!(k * b / 4 + i * SIDE) + row];
                        #[unroll]
                        for r in 0..4usize {
                            #[unroll]
                            for j in 0..broad {
                                acc[(i * 4 + r) * broad + j] += Vector::<f32, N>::new(four[r]) * own[j];
                            }
                        }
                    }
                }
                sync_cube();
            }
            #[unroll]
            for i in 0..comptime!(tall * 4) {
                let r = row * 4 + comptime!(i / 4 * 64 + i % 4);
                #[unroll]
                for j in 0..broad {
                    x[r * comptime!(columns / 4) + column + comptime!(j * SIDE)] += acc[i * broad + j];
                }
            }
            sync_cube();
        }
    }
    #[unroll]
    for i in 0..comptime!(tall * 4) {
        let r = row * 4 + comptime!(i / 4 * 64 + i % 4);
        #[unroll]
        for j in 0..broad {
            let four = x[r * comptime!(columns / 4) + column + comptime!(j * SIDE)];
            #[unroll]
            for c in 0..4usize {
                let from = group * columns + column * 4 + comptime!(j * 64 + c);
                out[product + (from * sizes.count + block) * b + r] = four[c];
            }
        }
    }
}

/// As [`norm`], with the units of [`products`].
#[cube]
fn norm_of_columns(m: &Array<f32>, at: usize, parts: &mut SharedMemory<f32>, #[comptime] b: usize) -> f32 {
    let unit = UNIT_POS as usize;
    let mut most = f32::new(0.0);
    #[unroll]
    for i in 0..comptime!(b.div_ceil(SIDE * SIDE)) {
        let out = unit + comptime!(i * SIDE * SIDE);
        if out < b {
            let mut sum = f32::new(0.0);
            for k in 0..b {
                sum += f32::abs(m[at + k * b + out]);
            }
            most = max(most, sum);
        }
    }
    parts[unit] = most;
    sync_cube();
    let mut all = f32::new(0.0);
    for i in 0..comptime!(SIDE * SIDE) {
        all = max(all, parts[i]);
    }
    sync_cube();
    all
}

/// From chunk to chunk: the state at the beginning of every chunk, or in reverse the gradient at the end of every chunk, in place of what the
/// chunk itself contributes.
///
/// Cubes: `[batch, columns, blocks]`.
#[cube(launch_unchecked)]
pub(crate) fn carry(
    products: &Array<f32>,
    initial: &Array<f32>,
    ends: &mut Array<f32>,
    sizes: &Sizes,
    #[comptime] b: usize,
    #[comptime] affine: bool,
    #[comptime] back: bool,
) {
    let cube = CUBE_POS_Y as usize * CUBE_COUNT_X as usize + CUBE_POS_X as usize;
    if cube >= sizes.units {
        terminate!();
    }
    let unit = UNIT_POS as usize;
    let block = cube % sizes.count;
    let column = cube / sizes.count % sizes.columns;
    let series = cube / (sizes.count * sizes.columns);
    let mut h = SharedMemory::<f32>::new(b);
    let mut next = SharedMemory::<f32>::new(b);
    #[unroll]
    for i in 0..comptime!(b.div_ceil(WALKERS)) {
        let r = unit + comptime!(i * WALKERS);
        if r < b {
            let mut value = f32::new(0.0);
            if comptime!(!back) {
                value = initial[(series * sizes.columns + column) * sizes.hidden + sizes.at + block * b + r];
            }
            h[r] = value;
        }
    }
    sync_cube();
    for turn in 0..sizes.chunks {
        let mut chunk = turn;
        let mut has_product = turn + 1 < sizes.chunks;
        if comptime!(back) {
            chunk = sizes.chunks - 1 - turn;
            has_product = chunk > 0;
        }
        let place = series * sizes.chunks + chunk;
        let to = ((place * sizes.columns + column) * sizes.count + block) * b;
        let base = place * (b + sizes.columns) * sizes.count * b;
        #[unroll]
        for i in 0..comptime!(b.div_ceil(WALKERS)) {
            let r = unit + comptime!(i * WALKERS);
            if r < b {
                let mut sum = f32::new(0.0);
                if comptime!(back) {
                    sum = ends[to + r];
                }
                ends[to + r] = h[r];
                if has_product {
                    if comptime!(affine) {
                        sum = products[base + ((b + column) * sizes.count + block) * b + r];
                    }
                    for c in 0..b {
                        sum += products[base + (c * sizes.count + block) * b + r] * h[c];
                    }
                }
                next[r] = sum;
            }
        }
        sync_cube();
        #[unroll]
        for i in 0..comptime!(b.div_ceil(WALKERS)) {
            let r = unit + comptime!(i * WALKERS);
            if r < b {
                h[r] = next[r];
            }
        }
        sync_cube();
    }
}

/// The gradients in generators and affine inputs of one column of the state, from those at the end of each chunk.
///
/// `m` are the columns of Omega, read only where the flow is exact; `rows_of` its rows.
///
/// Cubes: `[batch, chunks, blocks]`.
#[cube(launch_unchecked)]
pub(crate) fn differentiate(
    m: &Array<f32>,
    rows_of: &Array<f32>,
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
    let cube = CUBE_POS_Y as usize * CUBE_COUNT_X as usize + CUBE_POS_X as usize;
    if cube >= sizes.units {
        terminate!();
    }
    let unit = UNIT_POS as usize;
    let each = comptime!(b.div_ceil(WALKERS));
    let block = cube % sizes.count;
    let place = cube / sizes.count;
    let chunk = place % sizes.chunks;
    let series = place / sizes.chunks;
    let stride = sizes.columns * sizes.hidden;
    let within = column * sizes.hidden + sizes.at + block * b;
    let base = series * sizes.length * stride + within;
    let end = ((place * sizes.columns + column) * sizes.count + block) * b;
    let most_terms = comptime!(if flow.exact { TERMS } else { 1 });
    // lambda; the terms w_0, w_1, ...; v and the next v; the state; sums of dbeta.
    let mut l = SharedMemory::<f32>::new(b);
    let mut w = SharedMemory::<f32>::new(comptime!(most_terms * b));
    let mut v = SharedMemory::<f32>::new(comptime!((most_terms + 1) * b));
    let mut h = SharedMemory::<f32>::new(b);
    let mut added = SharedMemory::<f32>::new(b);
    let mut scratch = SharedMemory::<f32>::new(comptime!(2 * b));
    let mut parts = SharedMemory::<f32>::new(WALKERS);
    #[unroll]
    for i in 0..each {
        let r = unit + comptime!(i * WALKERS);
        if r < b {
            l[r] = lambda[end + r];
            // Nothing comes after the only chunk.
            if sizes.chunks == 1 && sizes.first + sizes.steps == sizes.chunk {
                l[r] = f32::new(0.0);
            }
        }
    }
    sync_cube();
    let length = lengths[series] as usize;
    for turn in 0..sizes.steps {
        let s = sizes.steps - 1 - turn;
        let t = chunk * sizes.chunk + sizes.first + s;
        let at = ((row_of(place, sizes) + s) * sizes.count + block) * comptime!(b * b);
        if t < sizes.length {
            #[unroll]
            for i in 0..each {
                let r = unit + comptime!(i * WALKERS);
                if r < b {
                    l[r] += gradient[base + t * stride + r];
                    if t == 0 {
                        h[r] = initial[series * stride + within + r];
                    } else {
                        h[r] = states[base + (t - 1) * stride + r];
                    }
                    if comptime!(flow.is_inside()) {
                        added[r] = beta[base + t * stride + r];
                    }
                    if comptime!(flow.is_affine()) {
                        let mut value = f32::new(0.0);
                        if t < length && comptime!(!flow.is_inside()) {
                            value = l[r];
                        }
                        d_beta[base + t * stride + r] = value;
                    }
                }
            }
            sync_cube();
        }
        if t < length {
            let mut most = f32::new(0.0);
            let mut stages_of = 1u32;
            if comptime!(flow.exact) {
                let norm_m = norm(m, at, &mut parts, b);
                let norm_rows = norm(rows_of, at, &mut parts, b);
                most = max(norm_m, norm_rows);
                stages_of = stages(most);
            }
            let part = 1.0 / f32::cast_from(stages_of);
            for stage in 0..stages_of {
                let mut terms = 1usize;
                if comptime!(flow.exact) {
                    #[unroll]
                    for i in 0..each {
                        let r = unit + comptime!(i * WALKERS);
                        if r < b {
                            w[r] = h[r];
                        }
                    }
                    sync_cube();
                    // The state before this stage: from that before the step, the stages before it.
                    for _ in 0..stages_of - 1 - stage {
                        #[unroll]
                        for i in 0..each {
                            let r = unit + comptime!(i * WALKERS);
                            if r < b {
                                scratch[r] = w[r];
                            }
                        }
                        sync_cube();
                        for k in 0..TERMS {
                            let j = k + 1;
                            let to = j % 2 * b;
                            multiply(m, at, &mut scratch, b - to, to, part / f32::cast_from(j as u32), b);
                            #[unroll]
                            for i in 0..each {
                                let r = unit + comptime!(i * WALKERS);
                                if r < b {
                                    if comptime!(flow.is_inside()) {
                                        if j == 1 {
                                            scratch[to + r] += part * added[r];
                                        }
                                    }
                                    w[r] += scratch[to + r];
                                }
                            }
                            sync_cube();
                        }
                    }
                    // w_1, ..., w_{m-1}, as many as the series needs: a derivative loses a power, and so does phi_1.
                    let mut left = most * part;
                    while terms < TERMS && (left > SMALL || terms < 3) {
                        let j = terms;
                        let factor = part / f32::cast_from(j as u32);
                        multiply(m, at, &mut w, (j - 1) * b, j * b, factor, b);
                        if comptime!(flow.is_inside()) {
                            if j == 1 {
                                #[unroll]
                                for i in 0..each {
                                    let r = unit + comptime!(i * WALKERS);
                                    if r < b {
                                        w[b + r] += part * added[r];
                                    }
                                }
                            }
                        }
                        sync_cube();
                        if j > 1 {
                            left *= factor * most;
                        }
                        terms += 1;
                    }
                } else {
                    #[unroll]
                    for i in 0..each {
                        let r = unit + comptime!(i * WALKERS);
                        if r < b {
                            w[r] = h[r];
                        }
                    }
                    sync_cube();
                }
                // v_m = lambda, down to v_0; v_j lies at j.
                #[unroll]
                for i in 0..each {
                    let r = unit + comptime!(i * WALKERS);
                    if r < b {
                        v[terms * b + r] = l[r];
                    }
                }
                sync_cube();
                for k in 0..terms {
                    let j = terms - k;
                    multiply(rows_of, at, &mut v, j * b, (j - 1) * b, part / f32::cast_from(j as u32), b);
                    #[unroll]
                    for i in 0..each {
                        let r = unit + comptime!(i * WALKERS);
                        if r < b {
                            v[(j - 1) * b + r] += l[r];
                        }
                    }
                    sync_cube();
                }
                // dOmega += sum_j v_j w_{j-1}^T / j.
                #[unroll]
                for i in 0..each {
                    let c = unit + comptime!(i * WALKERS);
                    if c < b {
                        for r in 0..b {
                            let mut sum = f32::new(0.0);
                            for k in 0..terms {
                                sum += part / f32::cast_from(k as u32 + 1) * v[(k + 1) * b + r] * w[k * b + c];
                            }
                            if stage > 0 || column > 0 {
                                sum += d_omega[at + r * b + c];
                            }
                            d_omega[at + r * b + c] = sum + overflow(most);
                        }
                        if comptime!(flow.is_inside()) {
                            d_beta[base + t * stride + c] += part * v[b + c];
                        }
                    }
                }
                sync_cube();
                #[unroll]
                for i in 0..each {
                    let r = unit + comptime!(i * WALKERS);
                    if r < b {
                        l[r] = v[r];
                    }
                }
                sync_cube();
            }
        } else if column == 0 && t < sizes.length {
            #[unroll]
            for i in 0..each {
                let c = unit + comptime!(i * WALKERS);
                if c < b {
                    for r in 0..b {
                        d_omega[at + r * b + c] = f32::new(0.0);
                    }
                }
            }
        }
    }
    #[unroll]
    for i in 0..each {
        let r = unit + comptime!(i * WALKERS);
        if r < b {
            lambda[end + r] = l[r];
        }
    }
}
