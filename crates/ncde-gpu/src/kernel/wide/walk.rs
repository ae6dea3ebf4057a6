//! Large blocks through a slab: states, sums of what is added, gradients pulled to the beginning of chunks.

use cubecl::prelude::*;

use super::{Purpose, WALKERS, advance};
use crate::flow::Flow;
use crate::sizes::{Sizes, row_of};

/// A walk through a slab of every chunk.
///
/// Cubes: `[batch, chunks, columns, blocks]`. `ends` are the states at the beginnings of chunks, or what a walk goes on from and ends with;
/// `rows` the states to be written, or their gradient to be added; `adjoints` the gradients in states before a step is pulled through, 0 past the length of a series.
#[cube(launch_unchecked)]
pub(crate) fn walk(
    m: &Array<f32>,
    beta: &Array<f32>,
    lengths: &Array<u32>,
    ends: &mut Array<f32>,
    rows: &mut Array<f32>,
    adjoints: &mut Array<f32>,
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
        // Nothing comes after the only chunk.
        Purpose::Adjoints => sizes.chunks > 1 || sizes.first + sizes.steps < sizes.chunk,
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
        if comptime!(purpose.is_back()) {
            s = sizes.steps - 1 - k;
        }
        let t = t_0 + s;
        if t < sizes.length {
            if comptime!(purpose.is_back()) {
                #[unroll]
                for i in 0..comptime!(b.div_ceil(WALKERS)) {
                    let r = unit + comptime!(i * WALKERS);
                    if r < b {
                        x[r] += rows[base + t * stride + r];
                        if comptime!(purpose == Purpose::Adjoints) {
                            let mut own = x[r];
                            if t >= length {
                                own = f32::new(0.0);
                            }
                            adjoints[base + t * stride + r] = own;
                        }
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
