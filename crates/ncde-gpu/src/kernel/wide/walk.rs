//! Large blocks through a slab: states, sums of what is added, gradients pulled to the beginning of chunks.

use cubecl::prelude::*;

use super::{Purpose, WALKERS, advance};
use crate::flow::Flow;
use crate::kernel::place::{begin, offset_of};
use crate::kernel::unit::cube_below;
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
    let cube = cube_below(sizes.units);
    let unit = UNIT_POS as usize;
    let at = offset_of(cube, 0usize, sizes.columns, lengths, sizes, b, purpose);
    let stride = at.stride;
    let mut x = SharedMemory::<f32>::new(b);
    let mut added = SharedMemory::<f32>::new(b);
    for r in range_stepped(unit, b, WALKERS) {
        x[r] = begin(&at, r, ends, rows, sizes, purpose);
    }
    sync_cube();
    for k in 0..sizes.steps {
        let mut s = k;
        if comptime!(purpose.is_back()) {
            s = sizes.steps - 1 - k;
        }
        let t = at.t_0 + s;
        if t < sizes.length {
            if comptime!(purpose.is_back()) {
                for r in range_stepped(unit, b, WALKERS) {
                    x[r] += rows[at.base + t * stride + r];
                    if comptime!(purpose == Purpose::Adjoints) {
                        let mut adjoint = x[r];
                        if t >= at.length {
                            adjoint = f32::new(0.0);
                        }
                        adjoints[at.base + t * stride + r] = adjoint;
                    }
                }
                sync_cube();
            }
            if t < at.length {
                if comptime!(flow.is_affine()) {
                    for r in range_stepped(unit, b, WALKERS) {
                        added[r] = beta[at.base + t * stride + r];
                    }
                    sync_cube();
                }
                let from = ((row_of(at.chunk, sizes) + s) * sizes.count + at.block) * comptime!(b * b);
                advance(m, from, &mut x, &added, b, flow);
            }
            if comptime!(purpose == Purpose::Replay) {
                for r in range_stepped(unit, b, WALKERS) {
                    rows[at.base + t * stride + r] = x[r];
                }
            }
        }
    }
    if comptime!(purpose != Purpose::Replay) {
        for r in range_stepped(unit, b, WALKERS) {
            ends[at.end + r] = x[r];
        }
    }
}
