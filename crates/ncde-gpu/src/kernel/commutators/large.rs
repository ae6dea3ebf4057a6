//! The same for blocks that a unit has no room for: a block of a window has a cube and lies in its shared memory; a unit has some of its entries.

use cubecl::prelude::*;

use super::{Sizes, count};
use crate::kernel::unit::{cube_below, zeros};

/// Units of a cube.
pub(crate) const UNITS: usize = 256;

/// Cubes: `[windows, blocks]`.
#[cube(launch_unchecked)]
pub(crate) fn generators(all: &Array<f32>, out: &mut Array<f32>, sizes: &Sizes, #[comptime] b: usize, #[comptime] vectors: bool) {
    let cube = cube_below(sizes.units);
    let steps = sizes.steps;
    let blocks = sizes.blocks;
    let factor = sizes.factor;
    let unit = UNIT_POS as usize;
    let count = comptime!(count(b, vectors));
    let per_unit = comptime!(count.div_ceil(UNITS));
    let block = cube % blocks;
    let window = cube / blocks;
    let mut m = SharedMemory::<f32>::new(count);
    let mut sum = SharedMemory::<f32>::new(count);
    let mut area = zeros(per_unit);
    for e in range_stepped(unit, count, UNITS) {
        sum[e] = f32::new(0.0);
    }
    for k in 0..steps {
        let at = (window * steps + k) * blocks * count + block;
        for e in range_stepped(unit, count, UNITS) {
            m[e] = all[at + e * blocks];
        }
        sync_cube();
        #[unroll]
        for n in 0..per_unit {
            let e = unit + comptime!(n * UNITS);
            if e < count {
                area[n] += product(&m, &sum, e, b) - product(&sum, &m, e, b);
            }
        }
        sync_cube();
        for e in range_stepped(unit, count, UNITS) {
            sum[e] += m[e];
        }
    }
    #[unroll]
    for n in 0..per_unit {
        let e = unit + comptime!(n * UNITS);
        if e < count {
            out[(window * count + e) * blocks + block] = sum[e] + factor * area[n];
        }
    }
}

/// Entry `e` of `[[X, v], [0, 0]] [[Y, w], [0, 0]]`.
#[cube]
fn product(x: &SharedMemory<f32>, y: &SharedMemory<f32>, e: usize, #[comptime] b: usize) -> f32 {
    let size = comptime!(b * b);
    let mut row = e / b * b;
    let mut column = e % b;
    let mut step = comptime!(b).runtime();
    if e >= size {
        row = (e - size) * b;
        column = comptime!(b * b).runtime();
        step = comptime!(1usize).runtime();
    }
    let mut sum = f32::new(0.0);
    for l in 0..b {
        sum += x[row + l] * y[column + l * step];
    }
    sum
}

/// The gradient in the matrices of increments. Cubes: as for [`generators`].
#[cube(launch_unchecked)]
pub(crate) fn reverse(
    all: &Array<f32>,
    gradient: &Array<f32>,
    out: &mut Array<f32>,
    sizes: &Sizes,
    #[comptime] b: usize,
    #[comptime] vectors: bool,
) {
    let cube = cube_below(sizes.units);
    let steps = sizes.steps;
    let blocks = sizes.blocks;
    let factor = sizes.factor;
    let unit = UNIT_POS as usize;
    let count = comptime!(count(b, vectors));
    let per_unit = comptime!(count.div_ceil(UNITS));
    let block = cube % blocks;
    let window = cube / blocks;
    let mut g = SharedMemory::<f32>::new(count);
    // What came before a step, and what later steps add to its gradient.
    let mut p = SharedMemory::<f32>::new(count);
    let mut m = SharedMemory::<f32>::new(count);
    let mut later = zeros(per_unit);
    for e in range_stepped(unit, count, UNITS) {
        g[e] = gradient[(window * count + e) * blocks + block];
        let mut before = f32::new(0.0);
        for k in 0..steps - 1 {
            before += all[((window * steps + k) * count + e) * blocks + block];
        }
        p[e] = before;
    }
    for turn in 0..steps {
        let k = steps - 1 - turn;
        let at = (window * steps + k) * blocks * count + block;
        for e in range_stepped(unit, count, UNITS) {
            m[e] = all[at + e * blocks];
        }
        sync_cube();
        #[unroll]
        for n in 0..per_unit {
            let e = unit + comptime!(n * UNITS);
            if e < count {
                out[at + e * blocks] = g[e] + later[n] + factor * bracket(&g, &p, e, b, vectors);
                later[n] -= factor * bracket(&g, &m, e, b, vectors);
            }
        }
        sync_cube();
        // The sum before the step before this one.
        if k > 0 {
            for e in range_stepped(unit, count, UNITS) {
                p[e] -= all[at - blocks * count + e * blocks];
            }
        }
    }
}

/// Entry `e` of `G X^T - X^T G`, of blocks with a vector of `[[G, h], [0, 0]]` and `[[X, v], [0, 0]]`.
#[cube]
fn bracket(g: &SharedMemory<f32>, x: &SharedMemory<f32>, e: usize, #[comptime] b: usize, #[comptime] vectors: bool) -> f32 {
    let size = comptime!(b * b);
    let mut sum = f32::new(0.0);
    if e < size {
        let i = e / b;
        let j = e % b;
        for l in 0..b {
            sum += g[i * b + l] * x[j * b + l] - g[l * b + j] * x[l * b + i];
        }
        if comptime!(vectors) {
            sum += g[size + i] * x[size + j];
        }
    } else {
        for l in 0..b {
            sum -= g[size + l] * x[l * b + e - size];
        }
    }
    sum
}
