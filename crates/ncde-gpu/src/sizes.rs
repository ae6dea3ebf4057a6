//! The sizes that every kernel of a run of blocks needs, and where its numbers lie.
//!
//! | array | layout |
//! | --- | --- |
//! | states, their gradient, `beta` | `[batch, length, columns, H]` |
//! | generators of a slab | `[batch, chunks, steps of the slab, entries]`, entries in one of the orders of `generators`; `[batch, length, entries]` where the slab is all |
//! | products of chunks, what they add | `[batch, chunks, b + columns, blocks, b]`: columns of the product, then of what is added |
//! | states and gradients at the ends of chunks | `[batch, chunks, columns, blocks, b]` |

use cubecl::prelude::*;

use crate::plan::{Plan, Run, Shapes};

/// See above.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
pub(crate) struct Sizes {
    /// Units that have work.
    pub(crate) units: usize,
    pub(crate) length: usize,
    pub(crate) columns: usize,
    /// Coefficients a step.
    pub(crate) width: usize,
    /// `H`.
    pub(crate) hidden: usize,
    /// Blocks.
    pub(crate) count: usize,
    /// The first state of the run.
    pub(crate) at: usize,
    pub(crate) chunk: usize,
    pub(crate) chunks: usize,
    /// The first step of the slab within a chunk.
    pub(crate) first: usize,
    /// Steps of the slab.
    pub(crate) steps: usize,
    /// Rows of generators that a series has in the slab.
    pub(crate) rows: usize,
}

/// The first row of generators of a chunk, counted over all series.
#[cube]
pub(crate) fn row_of(place: usize, sizes: &Sizes) -> usize {
    place / sizes.chunks * sizes.rows + place % sizes.chunks * sizes.steps
}

/// The same on the host.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Host {
    pub(crate) run: Run,
    pub(crate) shapes: Shapes,
    pub(crate) plan: Plan,
    pub(crate) hidden: usize,
    /// The slab: its first step within a chunk, and how many.
    pub(crate) slab: (usize, usize),
}

impl Host {
    /// The argument of a launch over so many units.
    pub(crate) fn launch<R: Runtime>(&self, units: usize) -> SizesLaunch<R> {
        let Self { run: Run { count, at, .. }, shapes, plan: Plan { chunk, chunks, .. }, hidden, slab: (first, steps) } = *self;
        let Shapes { length, columns, coefficients, .. } = shapes;
        let rows = self.rows();
        SizesLaunch::new(units, length, columns, coefficients, hidden, count, at, chunk, chunks, first, steps, rows)
    }

    /// Whether one slab has all steps: its rows are those of the coefficients then.
    pub(crate) fn is_whole(&self) -> bool {
        self.slab.1 == self.plan.chunk
    }

    /// Whether there are channels enough for generators to be formed as a product of matrices by tiles.
    pub(crate) fn is_product(&self) -> bool {
        self.shapes.coefficients >= MANY
    }

    /// Rows of generators that a series has in the slab.
    pub(crate) fn rows(&self) -> usize {
        if self.is_whole() { self.shapes.length } else { self.plan.chunks * self.slab.1 }
    }

    /// Columns of blocks at the ends of chunks.
    pub(crate) fn ends(&self) -> usize {
        self.places() * self.shapes.columns * self.run.count
    }

    /// Numbers in the products of chunks and in what they add.
    pub(crate) fn products(&self) -> usize {
        self.places() * (self.run.b + self.shapes.columns) * self.run.count * self.run.b
    }

    /// Chunks of all series.
    pub(crate) fn places(&self) -> usize {
        self.shapes.batch * self.plan.chunks
    }
}

/// Channels from which on a product by tiles pays.
const MANY: usize = 16;

/// Units of a cube, in kernels where each works for itself.
pub(crate) const CUBE: u32 = 128;
