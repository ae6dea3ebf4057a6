//! The elementwise recurrence `h_t = a_t h_{t-1} + b_t`, real or complex, on device buffers: the same equations as `ncde_kernels::scan`.
//!
//! ```text
//! products and ends of chunks  ->  what each begins with  ->  all states        3 launches, 1 where chunks are not needed
//! ```
//!
//! The reverse pass is the same from the end. Bytes: forwards `a` and `b` are read twice and states written; in reverse `a` and the gradient are read twice, states once, two gradients written.

use cubecl::prelude::*;
use cubecl::server::Handle;

use crate::device::{Gpu, launch};
use crate::error::Error;
use crate::kernel::scan::{self as kernel, SizesLaunch};
use crate::plan::{Plan, Run, Shapes};
use crate::recurrence::{want, want_countable, want_some};

/// What is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Scan {
    /// How many numbers a row has.
    pub width: usize,
    /// Whether they are complex: a row holds real parts, then imaginary parts.
    pub complex: bool,
}

/// The buffers of one call, each contiguous, in the layouts of `ncde_kernels::scan::Input`.
#[derive(Debug, Clone)]
pub struct Arrays {
    /// How many series.
    pub batch: usize,
    /// How many steps.
    pub length: usize,
    /// `[batch, length, width]`.
    pub a: Handle,
    /// `[batch, length, width]`.
    pub b: Handle,
    /// The state before the first step, `[batch, width]`.
    pub initial: Handle,
}

/// The gradients, in the layouts of what they belong to.
#[derive(Debug)]
pub struct Gradients {
    /// In `a`.
    pub a: Handle,
    /// In `b`.
    pub b: Handle,
    /// In the state before the first step.
    pub initial: Handle,
}

impl Scan {
    fn parts(&self) -> usize {
        if self.complex { 2 } else { 1 }
    }

    /// Real numbers of a row.
    fn row(&self) -> usize {
        self.parts() * self.width
    }

    /// The states after each step, `[batch, length, width]`. States that overflow are not finite.
    ///
    /// # Errors
    /// If a buffer has the wrong size, or there is nothing to compute.
    pub fn forward<R: Runtime>(&self, gpu: &Gpu<R>, arrays: &Arrays) -> Result<Handle, Error> {
        let plan = self.plan(gpu, arrays)?;
        let numbers = arrays.batch * arrays.length * self.row();
        let (begins, out) = (self.begins(gpu, arrays, &arrays.b, plan, false), gpu.floats(numbers));
        let units = arrays.batch * plan.chunks * self.width;
        launch!(gpu, kernel::states, each units;
            [arrays.a, arrays.b, begins, out], self.sizes(arrays, plan, units), self.parts());
        Ok(out)
    }

    /// The gradients from the states that [`forward`](Self::forward) gave and the gradient in them.
    ///
    /// # Errors
    /// As for [`forward`](Self::forward).
    pub fn backward<R: Runtime>(
        &self,
        gpu: &Gpu<R>,
        arrays: &Arrays,
        states: &Handle,
        gradient: &Handle,
    ) -> Result<Gradients, Error> {
        let plan = self.plan(gpu, arrays)?;
        let numbers = arrays.batch * arrays.length * self.row();
        want("the states", states, numbers)?;
        want("the gradient", gradient, numbers)?;
        let begins = self.begins(gpu, arrays, gradient, plan, true);
        let initial = arrays.batch * self.row();
        let of = Gradients { a: gpu.floats(numbers), b: gpu.floats(numbers), initial: gpu.floats(initial) };
        let units = arrays.batch * plan.chunks * self.width;
        launch!(gpu, kernel::gradients, each units;
            [arrays.a, states, gradient, arrays.initial, begins, of.a, of.b, of.initial], self.sizes(arrays, plan, units),
            self.parts());
        Ok(of)
    }

    fn sizes<R: Runtime>(&self, arrays: &Arrays, plan: Plan, units: usize) -> SizesLaunch<R> {
        SizesLaunch::new(arrays.length, self.width, plan.chunk, plan.chunks, units)
    }

    /// What each chunk begins with, `[batch, chunks, row]`; in reverse, what comes to it from behind.
    fn begins<R: Runtime>(&self, gpu: &Gpu<R>, arrays: &Arrays, added: &Handle, plan: Plan, back: bool) -> Handle {
        let (batch, row, parts, chunks) = (arrays.batch, self.row(), self.parts(), plan.chunks);
        if chunks == 1 {
            return if back { gpu.put(&vec![0.0; batch * row]) } else { arrays.initial.clone() };
        }
        let (products, ends) = (gpu.floats(batch * chunks * row), gpu.floats(batch * chunks * row));
        let units = batch * chunks * self.width;
        launch!(gpu, kernel::ends, each units; [arrays.a, added, products, ends], self.sizes(arrays, plan, units), parts, back);
        let units = batch * self.width;
        launch!(gpu, kernel::carry, each units; [products, ends, arrays.initial], self.sizes(arrays, plan, units), parts, back);
        ends
    }

    /// Everything that can be wrong with sizes, on which every launch relies; then how steps are cut.
    fn plan<R: Runtime>(&self, gpu: &Gpu<R>, arrays: &Arrays) -> Result<Plan, Error> {
        let &Arrays { batch, length, .. } = arrays;
        let sizes = [("the batch", batch), ("the length", length), ("the width", self.width)];
        want_some(&sizes)?;
        let numbers = batch * length * self.row();
        want_countable(numbers)?;
        want("a", &arrays.a, numbers)?;
        want("b", &arrays.b, numbers)?;
        want("the initial state", &arrays.initial, batch * self.row())?;
        let run = Run { b: 1, count: self.width, at: 0, entry: 0 };
        Ok(Plan::new(run, Shapes { batch, length, columns: 1, coefficients: 1 }, gpu.limits()))
    }
}
