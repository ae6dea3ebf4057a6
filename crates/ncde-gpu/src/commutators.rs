//! Generators of short Log-ODE windows on device buffers.

use cubecl::prelude::*;
use cubecl::server::Handle;

use crate::device::{Gpu, launch};
use crate::error::Error;
use crate::kernel::commutators::{self as kernel, SizesLaunch, large};
use crate::recurrence::want;

/// What is computed, see `ncde_kernels::Commutators`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Commutators {
    /// The size of blocks.
    pub block: usize,
    /// Increments of a window.
    pub steps: usize,
    /// Whether each block has a vector, too.
    pub vectors: bool,
    /// What commutators are multiplied with.
    pub factor: f64,
}

impl Commutators {
    /// The largest block that a cube has room for.
    pub const LARGEST: usize = 32;
    /// The largest block that a unit takes.
    const SMALL: usize = 8;

    /// How many blocks the numbers of a row are.
    fn blocks(&self, numbers: usize) -> usize {
        numbers / (self.block * self.block + if self.vectors { self.block } else { 0 })
    }

    /// `[windows, steps, numbers]` to `[windows, numbers]`.
    ///
    /// # Errors
    /// If the buffer is too small.
    pub fn forward<R: Runtime>(&self, gpu: &Gpu<R>, inputs: &Handle, windows: usize, numbers: usize) -> Result<Handle, Error> {
        let &Self { block, steps, vectors, factor } = self;
        want("the increments", inputs, windows * steps * numbers)?;
        let (out, units) = (gpu.floats(windows * numbers), windows * self.blocks(numbers));
        let sizes = SizesLaunch::new(steps, self.blocks(numbers), factor as f32, units);
        if block <= Self::SMALL {
            launch!(gpu, kernel::generators, each units; [inputs, out], sizes, block, vectors);
        } else {
            launch!(gpu, large::generators, gpu.spread(units), large::UNITS; [inputs, out], sizes, block, vectors);
        }
        Ok(out)
    }

    /// The gradient in the increments.
    ///
    /// # Errors
    /// If a buffer is too small.
    pub fn backward<R: Runtime>(
        &self,
        gpu: &Gpu<R>,
        inputs: &Handle,
        gradient: &Handle,
        windows: usize,
        numbers: usize,
    ) -> Result<Handle, Error> {
        let &Self { block, steps, vectors, factor } = self;
        want("the increments", inputs, windows * steps * numbers)?;
        want("the gradient", gradient, windows * numbers)?;
        let (out, units) = (gpu.floats(windows * steps * numbers), windows * self.blocks(numbers));
        let sizes = SizesLaunch::new(steps, self.blocks(numbers), factor as f32, units);
        if block <= Self::SMALL {
            launch!(gpu, kernel::reverse, each units; [inputs, gradient, out], sizes, block, vectors);
        } else {
            launch!(gpu, large::reverse, gpu.spread(units), large::UNITS; [inputs, gradient, out], sizes, block, vectors);
        }
        Ok(out)
    }
}
