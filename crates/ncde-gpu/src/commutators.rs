//! Generators of short Log-ODE windows on device buffers.

use cubecl::prelude::*;
use cubecl::server::Handle;

use crate::device::{Gpu, array, launch};
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

    fn blocks(&self, numbers: usize) -> usize {
        numbers / (self.block * self.block + if self.vectors { self.block } else { 0 })
    }

    fn is_small(&self) -> bool {
        self.block <= Self::SMALL
    }

    /// `[windows, steps, numbers]` to `[windows, numbers]`.
    ///
    /// # Errors
    /// If the buffer is too small.
    pub fn forward<R: Runtime>(&self, gpu: &Gpu<R>, inputs: &Handle, windows: usize, numbers: usize) -> Result<Handle, Error> {
        want("the increments", inputs, windows * self.steps * numbers)?;
        let (out, units) = (gpu.floats(windows * numbers), windows * self.blocks(numbers));
        let (increments, to) = (array(inputs, windows * self.steps * numbers), array(&out, windows * numbers));
        let sizes = SizesLaunch::new(self.steps, self.blocks(numbers), self.factor as f32, units);
        if self.is_small() {
            launch!(gpu, kernel::generators, each units; increments, to, sizes, self.block, self.vectors);
        } else {
            launch!(gpu, large::generators, gpu.spread(units), large::UNITS; increments, to, sizes, self.block, self.vectors);
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
        let all = windows * self.steps * numbers;
        want("the increments", inputs, all)?;
        want("the gradient", gradient, windows * numbers)?;
        let (out, units) = (gpu.floats(all), windows * self.blocks(numbers));
        let (increments, g, to) = (array(inputs, all), array(gradient, windows * numbers), array(&out, all));
        let sizes = SizesLaunch::new(self.steps, self.blocks(numbers), self.factor as f32, units);
        if self.is_small() {
            launch!(gpu, kernel::reverse, each units; increments, g, to, sizes, self.block, self.vectors);
        } else {
            launch!(gpu, large::reverse, gpu.spread(units), large::UNITS; increments, g, to, sizes, self.block, self.vectors);
        }
        Ok(out)
    }
}
