//! Where a walk through a slab of a chunk begins and ends: the same for blocks of a team of units and of a cube.

use cubecl::prelude::*;

use crate::kernel::wide::Purpose;
use crate::sizes::Sizes;

/// One block of one column of a chunk. Entries are those of the block's first state.
#[derive(CubeType)]
pub(crate) struct BlockOffset {
    pub(crate) block: usize,
    /// Counted over all series.
    pub(crate) chunk: usize,
    /// In the states at the beginning of the series, and from step to step.
    pub(crate) base: usize,
    pub(crate) stride: usize,
    /// In the initial states.
    pub(crate) initial: usize,
    /// At the ends of chunks.
    pub(crate) end: usize,
    /// The first step.
    pub(crate) t_0: usize,
    /// Of the series.
    pub(crate) length: usize,
}

/// That of number `number` of `[batch, chunks, columns, blocks]`, where columns begin with `column`.
#[cube]
pub(crate) fn offset_of(
    number: usize,
    column: usize,
    columns: usize,
    lengths: &Array<u32>,
    sizes: &Sizes,
    #[comptime] b: usize,
    #[comptime] purpose: Purpose,
) -> BlockOffset {
    let block = number % sizes.count;
    let column = column + number / sizes.count % columns;
    let chunk = number / (sizes.count * columns);
    let series = chunk / sizes.chunks;
    let stride = sizes.columns * sizes.hidden;
    let within = column * sizes.hidden + sizes.at + block * b;
    let base = series * sizes.length * stride + within;
    let initial = series * stride + within;
    let mut end = ((chunk * sizes.columns + column) * sizes.count + block) * b;
    if comptime!(purpose == Purpose::Sum) {
        end = ((chunk * (b + sizes.columns) + b + column) * sizes.count + block) * b;
    }
    let t_0 = chunk % sizes.chunks * sizes.chunk + sizes.first;
    let length = lengths[series] as usize;
    BlockOffset { block, chunk, base, stride, initial, end, t_0, length }
}

/// Entry `r` of the vector that a walk begins with.
#[cube]
pub(crate) fn begin(
    at: &BlockOffset,
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
