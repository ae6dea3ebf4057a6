//! Generators of short Log-ODE windows on device buffers.

use cubecl::prelude::*;
use cubecl::server::Handle;

use crate::device::{Gpu, array};
use crate::error::Error;
use crate::kernel::commutators as kernel;
use crate::recurrence::want;
use crate::sizes::CUBE;

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
    /// The largest block that a unit takes.
    pub const LARGEST: usize = 8;

    fn blocks(&self, numbers: usize) -> usize {
        numbers / (self.block * self.block + if self.vectors { self.block } else { 0 })
    }

    /// `[windows, steps, numbers]` to `[windows, numbers]`.
    ///
    /// # Errors
    /// If the buffer is too small.
    pub fn forward<R: Runtime>(&self, gpu: &Gpu<R>, each: &Handle, windows: usize, numbers: usize) -> Result<Handle, Error> {
        want("the increments", each, windows * self.steps * numbers)?;
        let (out, units) = (gpu.floats(windows * numbers), windows * self.blocks(numbers));
        // SAFETY: checked above.
        unsafe {
            kernel::generators::launch_unchecked::<R>(
                gpu.client(),
                gpu.cubes(units),
                CubeDim::new_1d(CUBE),
                array(each, windows * self.steps * numbers),
                array(&out, windows * numbers),
                self.steps,
                self.blocks(numbers),
                self.factor as f32,
                units,
                self.block,
                self.vectors,
            );
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
        each: &Handle,
        gradient: &Handle,
        windows: usize,
        numbers: usize,
    ) -> Result<Handle, Error> {
        let all = windows * self.steps * numbers;
        want("the increments", each, all)?;
        want("the gradient", gradient, windows * numbers)?;
        let (out, units) = (gpu.floats(all), windows * self.blocks(numbers));
        // SAFETY: checked above.
        unsafe {
            kernel::reverse::launch_unchecked::<R>(
                gpu.client(),
                gpu.cubes(units),
                CubeDim::new_1d(CUBE),
                array(each, all),
                array(gradient, windows * numbers),
                array(&out, all),
                self.steps,
                self.blocks(numbers),
                self.factor as f32,
                units,
                self.block,
                self.vectors,
            );
        }
        Ok(out)
    }
}
