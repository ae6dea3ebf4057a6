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
use crate::device_kernel::{DeviceKernel, stored};
use crate::error::Error;
use crate::kernel::scan::{self as kernel, SizesLaunch};
use crate::plan::{Plan, Run, Shapes};
use crate::recurrence::{want, want_countable, want_some};
use crate::rows::RowsOf;

/// What is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Scan {
    /// How many numbers a row has.
    pub width: usize,
    /// Whether they are complex: a row holds real parts, then imaginary parts.
    pub complex: bool,
    /// Whether there is one row of `a` for all steps.
    pub shared: bool,
}

impl Scan {
    fn parts(&self) -> usize {
        if self.complex { 2 } else { 1 }
    }

    /// Real numbers of a row.
    fn row(&self) -> usize {
        self.parts() * self.width
    }

    fn sizes<R: Runtime>(&self, length: usize, plan: Plan, units: usize) -> SizesLaunch<R> {
        SizesLaunch::new(length, self.width, plan.chunk, plan.chunks, units)
    }

    /// What each chunk begins with, `[batch, chunks, row]`; in reverse, what comes to it from behind.
    fn begins<R: Runtime>(
        &self,
        gpu: &Gpu<R>,
        [batch, length]: [usize; 2],
        [a, added, initial]: [&Handle; 3],
        plan: Plan,
        back: bool,
    ) -> Handle {
        let (row, parts, chunks) = (self.row(), self.parts(), plan.chunks);
        if chunks == 1 {
            return if back { gpu.put(&vec![0.0; batch * row]) } else { initial.clone() };
        }
        let (products, ends) = (gpu.floats(batch * chunks * row), gpu.floats(batch * chunks * row));
        let units = batch * chunks * self.width;
        launch!(gpu, kernel::ends, each units; [a, added, products, ends], self.sizes(length, plan, units), parts, self.shared, back);
        let units = batch * self.width;
        launch!(gpu, kernel::carry, each units; [products, ends, initial], self.sizes(length, plan, units), parts, back);
        ends
    }

    /// Everything that can be wrong with sizes, on which every launch relies; then how steps are cut.
    fn plan<R: Runtime>(&self, gpu: &Gpu<R>, [batch, length]: [usize; 2], [a, b, initial]: [&Handle; 3]) -> Result<Plan, Error> {
        want_some(&[("the batch", batch), ("the length", length), ("the width", self.width)])?;
        let numbers = batch * length * self.row();
        want_countable(numbers)?;
        want("a", a, if self.shared { self.row() } else { numbers })?;
        want("b", b, numbers)?;
        want("the initial state", initial, batch * self.row())?;
        let run = Run { b: 1, count: self.width, at: 0, entry: 0 };
        Ok(Plan::new(run, Shapes { batch, length, columns: 1, coefficients: 1 }, gpu.limits()))
    }
}

/// Inputs are `a, b, h_0`, in the layouts of `ncde_kernels::scan::Input`.
impl DeviceKernel<3> for Scan {
    fn width(&self) -> usize {
        self.row()
    }

    fn forward<R: Runtime>(&self, gpu: &Gpu<R>, shape: [usize; 2], inputs: [&Handle; 3]) -> Result<(Handle, Vec<Handle>), Error> {
        let (plan, [a, b, _], [batch, length]) = (self.plan(gpu, shape, inputs)?, inputs, shape);
        let (begins, out) = (self.begins(gpu, shape, inputs, plan, false), gpu.floats(batch * length * self.row()));
        let units = batch * plan.chunks * self.width;
        launch!(gpu, kernel::states, each units;
            [a, b, begins, out], self.sizes(length, plan, units), self.parts(), self.shared);
        Ok((out.clone(), vec![out]))
    }

    fn backward<R: Runtime>(
        &self,
        gpu: &Gpu<R>,
        shape: [usize; 2],
        inputs: [&Handle; 3],
        after: &[Handle],
        gradient: &Handle,
    ) -> Result<[Handle; 3], Error> {
        let (plan, [a, _, initial], [batch, length]) = (self.plan(gpu, shape, inputs)?, inputs, shape);
        let (row, rows) = (self.row(), batch * length);
        let [states] = stored(after, [rows * row])?;
        want("the gradient", gradient, rows * row)?;
        let begins = self.begins(gpu, shape, [a, gradient, initial], plan, true);
        let [da, db, of_initial] = [rows * row, rows * row, batch * row].map(|numbers| gpu.floats(numbers));
        let units = batch * plan.chunks * self.width;
        launch!(gpu, kernel::gradients, each units;
            [a, states, gradient, initial, begins, da, db, of_initial], self.sizes(length, plan, units), self.parts(), self.shared);
        let da = if self.shared { gpu.sum_rows(RowsOf { numbers: &da, rows, width: row })? } else { da };
        Ok([da, db, of_initial])
    }
}
