//! Matrix-valued states: a row at a time through all steps, and a column at a time through a chunk of them.

pub(crate) mod columns;
pub(crate) mod rows;

use cubecl::prelude::*;

/// The sizes of a launch. Vectors of a step and head lie in rows, `[batch, length, heads, width]`.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
pub(crate) struct Sizes {
    pub(crate) length: usize,
    pub(crate) heads: usize,
    /// Chunks of a series.
    pub(crate) chunks: usize,
    /// Rows of an array.
    pub(crate) rows: usize,
    /// Cubes or units with work.
    pub(crate) count: usize,
}

/// The first row of a head, which are counted over all series.
#[cube]
pub(crate) fn first_row(head: usize, sizes: &Sizes) -> usize {
    head / sizes.heads * sizes.length * sizes.heads + head % sizes.heads
}
