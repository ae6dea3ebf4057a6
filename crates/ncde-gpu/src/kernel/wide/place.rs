//! Where a walk through a slab of a chunk begins and ends: the same for all kernels that walk with vectors.

use cubecl::prelude::*;

use super::Purpose;
use crate::sizes::Sizes;

/// One block of one column of a chunk.
#[derive(CubeType, Clone, Copy)]
pub(super) struct Place {
    pub(super) block: usize,
    /// Counted over all series.
    pub(super) chunk: usize,
    /// The first entry of the block in the states, at the beginning of the series.
    pub(super) base: usize,
    /// The same at the ends of chunks.
    pub(super) end: usize,
    /// The first step.
    pub(super) t_0: usize,
    /// Of the series.
    pub(super) length: usize,
}

/// That of a cube; cubes are `[batch, chunks, columns, blocks]`.
#[cube]
pub(super) fn place_of(
    cube: usize,
    lengths: &Array<u32>,
    sizes: &Sizes,
    #[comptime] b: usize,
    #[comptime] purpose: Purpose,
) -> Place {
    let block = cube % sizes.count;
    let column = cube / sizes.count % sizes.columns;
    let chunk = cube / (sizes.count * sizes.columns);
    let series = chunk / sizes.chunks;
    let base = (series * sizes.length * sizes.columns + column) * sizes.hidden + sizes.at + block * b;
    let mut end = cube * b;
    if comptime!(purpose == Purpose::Sum) {
        end = ((chunk * (b + sizes.columns) + b + column) * sizes.count + block) * b;
    }
    let t_0 = chunk % sizes.chunks * sizes.chunk + sizes.first;
    let length = lengths[series] as usize;
    Place { block, chunk, base, end, t_0, length }
}

/// Entry `r` of the vector that a walk begins with.
#[cube]
pub(super) fn begin(
    at: &Place,
    r: usize,
    ends: &Array<f32>,
    rows: &Array<f32>,
    sizes: &Sizes,
    #[comptime] purpose: Purpose,
) -> f32 {
    let is_begun = match purpose {
        Purpose::Pull => sizes.first + sizes.steps < sizes.chunk,
        // Nothing comes after the only chunk.
        Purpose::Adjoints => sizes.chunks > 1 || sizes.first + sizes.steps < sizes.chunk,
        _ => sizes.first > 0,
    };
    let mut value = f32::new(0.0);
    if comptime!(purpose == Purpose::Replay) {
        if !is_begun {
            value = ends[at.end + r];
        } else if at.t_0 <= sizes.length {
            value = rows[at.base + (at.t_0 - 1) * sizes.columns * sizes.hidden + r];
        }
    } else if is_begun {
        value = ends[at.end + r];
    }
    value
}
