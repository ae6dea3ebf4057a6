//! Products of the flows of chunks, some columns of a block a cube.

use cubecl::prelude::*;

use super::{DEEP, SIDE, norm, stages};
use crate::flow::Flow;
use crate::kernel::step::{SMALL, TERMS, overflow};
use crate::kernel::unit::{cube_below, fill};
use crate::sizes::{Sizes, row_of};

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
    fill(acc, f32::new(0.0), comptime!(tall * broad));
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
            let mut factors = Array::<f32>::new(broad);
            #[unroll]
            for j in 0..broad {
                factors[j] = x[min(first + k, comptime!(b - 1)) * columns + column + comptime!(j * SIDE)];
            }
            #[unroll]
            for i in 0..tall {
                let value = tile[k * padded + row + comptime!(i * SIDE)];
                #[unroll]
                for j in 0..broad {
                    acc[i * broad + j] += value * factors[j];
                }
            }
        }
        sync_cube();
    }
}

/// Some columns of the product of a block in a chunk.
#[derive(CubeType)]
struct Part {
    /// Which columns.
    group: usize,
    block: usize,
    series: usize,
    chunk: usize,
    /// The chunk counted over all series.
    place: usize,
}

/// That of a cube of `[batch, chunks that have a product, blocks, groups]`: every chunk has one but the last (the first, in reverse), or all.
#[cube]
fn part_of(cube: usize, sizes: &Sizes, #[comptime] groups: usize, #[comptime] back: bool, #[comptime] all: bool) -> Part {
    let group = cube % groups;
    let block = cube / groups % sizes.count;
    let place = cube / (groups * sizes.count);
    let mut chunks = sizes.chunks;
    if comptime!(!all) {
        chunks -= 1;
    }
    let mut chunk = place % chunks;
    if comptime!(back && !all) {
        chunk += 1;
    }
    let series = place / chunks;
    let place = series * sizes.chunks + chunk;
    Part { group, block, series, chunk, place }
}

/// The products of the flows of chunks: some columns a cube.
///
/// Cubes: `[batch, chunks that have one, blocks, groups of columns]`.
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
    #[comptime] all: bool,
) {
    let cube = cube_below(sizes.units);
    let unit = UNIT_POS as usize;
    let tall = comptime!(b.div_ceil(SIDE));
    let broad = comptime!(columns / SIDE);
    let of = part_of(cube, sizes, comptime!(b.div_ceil(columns)), back, all);
    let column = unit % SIDE;
    let row = unit / SIDE;
    let padded = comptime!(tall * SIDE);
    let mut x = SharedMemory::<f32>::new(comptime!(padded * columns));
    let mut w = SharedMemory::<f32>::new(comptime!(if flow.exact { padded * columns } else { 1 }));
    let mut tile = SharedMemory::<f32>::new(comptime!(DEEP * padded));
    let mut acc = Array::<f32>::new(comptime!(tall * broad));
    let is_begun = if comptime!(back) { sizes.first + sizes.steps < sizes.chunk } else { sizes.first > 0 };
    #[unroll]
    for i in 0..tall {
        #[unroll]
        for j in 0..broad {
            let r = row + comptime!(i * SIDE);
            let c = column + comptime!(j * SIDE);
            let from = of.group * columns + c;
            let mut value = f32::new(0.0);
            if is_begun {
                if r < b && from < b {
                    value = out[((of.place * (b + sizes.columns) + from) * sizes.count + of.block) * b + r];
                }
            } else if r == from {
                value = f32::new(1.0);
            }
            x[r * columns + c] = value;
        }
    }
    sync_cube();
    let length = lengths[of.series] as usize;
    for k in 0..sizes.steps {
        let mut s = k;
        if comptime!(back) {
            s = sizes.steps - 1 - k;
        }
        let t = of.chunk * sizes.chunk + sizes.first + s;
        if t < length {
            let at = ((row_of(of.place, sizes) + s) * sizes.count + of.block) * comptime!(b * b);
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
                let norm = norm(m, at, b, comptime!(SIDE * SIDE));
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
            let from = of.group * columns + c;
            if r < b && from < b {
                out[((of.place * (b + sizes.columns) + from) * sizes.count + of.block) * b + r] = x[r * columns + c];
            }
        }
    }
}

/// Rows of a generator that [`products_by_fours`] has in shared memory at once.
const DEEPER: usize = 16;

/// As [`products`], for `I + Omega` and blocks of a multiple of 64: numbers are read four at a time, and a unit has 4 rows and 4 columns of every 64.
/// Reads of shared memory are what limits the other one.
///
/// Cubes: `[batch, chunks that have one, blocks, groups of columns]`.
#[cube(launch_unchecked)]
pub(crate) fn products_by_fours<N: Size>(
    m: &Array<Vector<f32, N>>,
    lengths: &Array<u32>,
    out: &mut Array<f32>,
    sizes: &Sizes,
    #[comptime] b: usize,
    #[comptime] columns: usize,
    #[comptime] back: bool,
    #[comptime] all: bool,
) {
    let cube = cube_below(sizes.units);
    let unit = UNIT_POS as usize;
    let tall = comptime!(b / 64);
    let broad = comptime!(columns / 64);
    let of = part_of(cube, sizes, comptime!(b / columns), back, all);
    let column = unit % SIDE;
    let row = unit / SIDE;
    let mut x = SharedMemory::<Vector<f32, N>>::new(comptime!(b * columns / 4));
    let mut tile = SharedMemory::<Vector<f32, N>>::new(comptime!(DEEPER * b / 4));
    let mut acc = Array::<Vector<f32, N>>::new(comptime!(tall * 4 * broad));
    let is_begun = if comptime!(back) { sizes.first + sizes.steps < sizes.chunk } else { sizes.first > 0 };
    let product = of.place * (b + sizes.columns) * sizes.count * b;
    #[unroll]
    for i in 0..comptime!(tall * 4) {
        let r = row * 4 + comptime!(i / 4 * 64 + i % 4);
        #[unroll]
        for j in 0..broad {
            let mut four = Vector::<f32, N>::new(0.0);
            #[unroll]
            for c in 0..4usize {
                let from = of.group * columns + column * 4 + comptime!(j * 64 + c);
                let mut value = f32::new(0.0);
                if is_begun {
                    value = out[product + (from * sizes.count + of.block) * b + r];
                } else if r == from {
                    value = f32::new(1.0);
                }
                four[c] = value;
            }
            x[r * comptime!(columns / 4) + column + comptime!(j * SIDE)] = four;
        }
    }
    sync_cube();
    let first = of.chunk * sizes.chunk + sizes.first;
    let length = lengths[of.series] as usize;
    for k in 0..sizes.steps {
        let mut s = k;
        if comptime!(back) {
            s = sizes.steps - 1 - k;
        }
        if first + s < length {
            let at = ((row_of(of.place, sizes) + s) * sizes.count + of.block) * comptime!(b * b / 4);
            fill(&mut acc, Vector::<f32, N>::new(0.0), comptime!(tall * 4 * broad));
            for turn in 0..comptime!(b / DEEPER) {
                #[unroll]
                for i in 0..comptime!(DEEPER * b / 4 / (SIDE * SIDE)) {
                    let e = unit + comptime!(i * SIDE * SIDE);
                    tile[e] = m[at + turn * comptime!(DEEPER * b / 4) + e];
                }
                sync_cube();
                #[unroll]
                for k in 0..DEEPER {
                    let mut factors = Array::<Vector<f32, N>>::new(broad);
                    #[unroll]
                    for j in 0..broad {
                        factors[j] = x[(turn * DEEPER + k) * comptime!(columns / 4) + column + comptime!(j * SIDE)];
                    }
                    #[unroll]
                    for i in 0..tall {
                        let four = tile[comptime!(k * b / 4 + i * SIDE) + row];
                        #[unroll]
                        for r in 0..4usize {
                            #[unroll]
                            for j in 0..broad {
                                acc[(i * 4 + r) * broad + j] += Vector::<f32, N>::new(four[r]) * factors[j];
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
                let from = of.group * columns + column * 4 + comptime!(j * 64 + c);
                out[product + (from * sizes.count + of.block) * b + r] = four[c];
            }
        }
    }
}
