//! The sizes that every kernel of a run of blocks needs, and where its numbers lie.
//!
//! | array | layout |
//! | --- | --- |
//! | states, their gradient, `beta` | `[batch, length, columns, H]` |
//! | generators of a slab | `[batch, chunks, steps of the slab, entries]`, entries in one of the orders of `generators` |
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
        let Self { run, shapes, plan, hidden, slab } = *self;
        SizesLaunch::new(
            units,
            shapes.length,
            shapes.columns,
            shapes.coefficients,
            hidden,
            run.count,
            run.at,
            plan.chunk,
            plan.chunks,
            slab.0,
            slab.1,
        )
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

/// Units of a cube, in kernels where each works for itself.
pub(crate) const CUBE: u32 = 128;
