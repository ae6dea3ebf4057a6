//! Generators of short Log-ODE windows from the matrices of their increments, a block of a window a unit.
//!
//! ```text
//! Omega = P_{s+1} + c sum_k (M_k P_k - P_k M_k),   P_k = M_1 + ... + M_{k-1}
//! ```
//!
//! With vectors, the same for `[[M, v], [0, 0]]`. Numbers of a row are `[entries of a block, blocks]`, matrix first, then vector.

pub(crate) mod large;

use cubecl::prelude::*;

use crate::kernel::unit::{add, fetch_apart, unit_below, zeros};

/// The sizes of a launch.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
pub(crate) struct Sizes {
    /// Increments of a window.
    pub(crate) steps: usize,
    /// Blocks of a row.
    pub(crate) blocks: usize,
    /// What commutators are multiplied with.
    pub(crate) factor: f32,
    /// Units, or cubes, that have work.
    pub(crate) units: usize,
}

/// Numbers of a block, its vector included.
const fn count(b: usize, vectors: bool) -> usize {
    b * b + if vectors { b } else { 0 }
}

/// Units: `[windows, blocks]`.
#[cube(launch_unchecked)]
pub(crate) fn generators(all: &Array<f32>, out: &mut Array<f32>, sizes: &Sizes, #[comptime] b: usize, #[comptime] vectors: bool) {
    let unit = unit_below(sizes.units);
    let steps = sizes.steps;
    let blocks = sizes.blocks;
    let factor = sizes.factor;
    let size = comptime!(b * b);
    let count = comptime!(count(b, vectors));
    let row = blocks * count;
    let block = unit % blocks;
    let window = unit / blocks;
    let mut sum = zeros(count);
    let mut area = zeros(count);
    let mut m = Array::<f32>::new(count);
    for k in 0..steps {
        let at = (window * steps + k) * row + block;
        fetch_apart(all, at, blocks, &mut m, count);
        #[unroll]
        for i in 0..b {
            #[unroll]
            for l in 0..b {
                #[unroll]
                for j in 0..b {
                    area[i * b + j] += m[i * b + l] * sum[l * b + j] - sum[i * b + l] * m[l * b + j];
                }
                if comptime!(vectors) {
                    area[size + i] += m[i * b + l] * sum[size + l] - sum[i * b + l] * m[size + l];
                }
            }
        }
        add(&mut sum, &m, count);
    }
    #[unroll]
    for e in 0..count {
        out[window * row + e * blocks + block] = sum[e] + factor * area[e];
    }
}

/// The gradient in the matrices of increments. Units: as for [`generators`].
#[cube(launch_unchecked)]
pub(crate) fn reverse(
    all: &Array<f32>,
    gradient: &Array<f32>,
    out: &mut Array<f32>,
    sizes: &Sizes,
    #[comptime] b: usize,
    #[comptime] vectors: bool,
) {
    let unit = unit_below(sizes.units);
    let steps = sizes.steps;
    let blocks = sizes.blocks;
    let factor = sizes.factor;
    let size = comptime!(b * b);
    let count = comptime!(count(b, vectors));
    let row = blocks * count;
    let block = unit % blocks;
    let window = unit / blocks;
    let mut g = Array::<f32>::new(count);
    // What came before a step, and what later steps add to its gradient.
    let mut p = zeros(count);
    let mut later = zeros(count);
    let mut next = Array::<f32>::new(count);
    let mut m = Array::<f32>::new(count);
    fetch_apart(gradient, window * row + block, blocks, &mut g, count);
    for k in 0..steps - 1 {
        fetch_apart(all, (window * steps + k) * row + block, blocks, &mut m, count);
        add(&mut p, &m, count);
    }
    for turn in 0..steps {
        let k = steps - 1 - turn;
        let at = (window * steps + k) * row + block;
        fetch_apart(all, at, blocks, &mut m, count);
        #[unroll]
        for i in 0..b {
            #[unroll]
            for j in 0..b {
                let e = comptime!(i * b + j);
                let mut bracket = f32::new(0.0);
                let mut after = f32::new(0.0);
                #[unroll]
                for l in 0..b {
                    bracket += g[i * b + l] * p[j * b + l] - g[l * b + j] * p[l * b + i];
                    after += g[l * b + j] * m[l * b + i] - g[i * b + l] * m[j * b + l];
                }
                if comptime!(vectors) {
                    bracket += g[size + i] * p[size + j];
                    after -= g[size + i] * m[size + j];
                }
                out[at + e * blocks] = g[e] + later[e] + factor * bracket;
                next[e] = later[e] + factor * after;
            }
            if comptime!(vectors) {
                let mut bracket = f32::new(0.0);
                let mut after = f32::new(0.0);
                #[unroll]
                for l in 0..b {
                    bracket -= g[size + l] * p[l * b + i];
                    after += g[size + l] * m[l * b + i];
                }
                let e = comptime!(size + i);
                out[at + e * blocks] = g[e] + later[e] + factor * bracket;
                next[e] = later[e] + factor * after;
            }
        }
        // The sum before the step before this one.
        if k > 0 {
            let before = (window * steps + k - 1) * row + block;
            #[unroll]
            for e in 0..count {
                later[e] = next[e];
                p[e] -= all[before + e * blocks];
            }
        }
    }
}
