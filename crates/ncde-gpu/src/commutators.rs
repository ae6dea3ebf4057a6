//! Generators of short Log-ODE windows on device buffers.

use cubecl::prelude::*;
use cubecl::server::Handle;

use crate::device::{Gpu, array};
use crate::error::Error;
use crate::kernel::commutators::{self as kernel, large};
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

    /// So many blocks of windows: a unit each, or a cube.
    fn spread<R: Runtime>(&self, gpu: &Gpu<R>, blocks: usize) -> (CubeCount, CubeDim) {
        if self.is_small() {
            (gpu.cubes(blocks), CubeDim::new_1d(CUBE))
        } else {
            (gpu.spread(blocks), CubeDim::new_1d(large::UNITS as u32))
        }
    }

    /// `[windows, steps, numbers]` to `[windows, numbers]`.
    ///
    /// # Errors
    /// If the buffer is too small.
    pub fn forward<R: Runtime>(&self, gpu: &Gpu<R>, each: &Handle, windows: usize, numbers: usize) -> Result<Handle, Error> {
        want("the increments", each, windows * self.steps * numbers)?;
        let (out, units) = (gpu.floats(windows * numbers), windows * self.blocks(numbers));
        let launch =
            if self.is_small() { kernel::generators::launch_unchecked::<R> } else { large::generators::launch_unchecked::<R> };
        let (cubes, dim) = self.spread(gpu, units);
        // SAFETY: checked above.
        unsafe {
            launch(
                gpu.client(),
                cubes,
                dim,
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
        let launch = if self.is_small() { kernel::reverse::launch_unchecked::<R> } else { large::reverse::launch_unchecked::<R> };
        let (cubes, dim) = self.spread(gpu, units);
        // SAFETY: checked above.
        unsafe {
            launch(
                gpu.client(),
                cubes,
                dim,
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
