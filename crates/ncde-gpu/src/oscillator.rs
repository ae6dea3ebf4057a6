//! Forced oscillators on device buffers: the same equations as `ncde_kernels::oscillator`.
//!
//! ```text
//! z_t = p_t (z_{t-1} + d_t (f_t - k y_{t-1})),   y_t = y_{t-1} + d_t z_t,   y_0 = z_0 = 0
//! ```
//!
//! One launch in each direction; gradients in numbers that steps or series share are summed over series in a fixed order. States are stored between the passes.

use std::sync::Arc;

use cubecl::prelude::*;
use cubecl::server::Handle;

use crate::device::{Gpu, launch};
use crate::device_kernel::{DeviceKernel, stored};
use crate::error::Error;
use crate::kernel::oscillator::{self as kernel, SizesLaunch};
use crate::recurrence::{want, want_countable, want_list, want_some};
use crate::rows::RowsOf;

/// Units of a cube: few, so that a batch keeps all of a device busy.
const UNITS: usize = 32;

/// Whether steps have the same `p` and `d`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rates {
    /// `[width]`.
    Shared,
    /// One row for each step, `[batch, length, width]`.
    PerStep,
}

/// What is computed.
#[derive(Debug, Clone)]
pub struct Oscillators {
    /// How many.
    pub width: usize,
    /// Which rows `p` and `d` have.
    pub rates: Rates,
    /// Which steps stand aside, `[batch, length]`; none without it.
    pub aside: Option<Arc<[bool]>>,
}

impl Oscillators {
    /// Everything that can be wrong with sizes, on which every launch relies; then the number of rows.
    fn checked(&self, [batch, length]: [usize; 2], inputs: [&Handle; 4]) -> Result<usize, Error> {
        let width = self.width;
        want_some(&[("the batch", batch), ("the length", length), ("the number of oscillators", width)])?;
        let rows = batch * length;
        want_countable(rows * 4 * width)?;
        let of_rates = if self.rates == Rates::Shared { width } else { rows * width };
        let numbers = [of_rates, of_rates, width, rows * 2 * width];
        let names = ["p", "the steps", "the stiffness", "the force"];
        names.into_iter().zip(inputs).zip(numbers).try_for_each(|((name, input), numbers)| want(name, input, numbers))?;
        want_list("the list of steps aside", self.aside.as_ref().map_or(rows, |aside| aside.len()), rows)?;
        Ok(rows)
    }
}

/// Inputs are `p, d, k, f`, in the layouts of `ncde_kernels::oscillator::Input`.
impl DeviceKernel<4> for Oscillators {
    fn width(&self) -> usize {
        2 * self.width
    }

    fn forward<R: Runtime>(&self, gpu: &Gpu<R>, shape: [usize; 2], inputs: [&Handle; 4]) -> Result<(Handle, Vec<Handle>), Error> {
        let (rows, [p, step, stiffness, force]) = (self.checked(shape, inputs)?, inputs);
        let (places, states) = (gpu.floats(rows * 2 * self.width), gpu.floats(rows * 4 * self.width));
        let (units, aside) = (shape[0] * self.width, gpu.flags(self.aside.as_deref()));
        launch!(gpu, kernel::states, gpu.spread(units.div_ceil(UNITS)), UNITS;
            [p, step, stiffness, force, aside, places, states], SizesLaunch::new(shape[1], self.width, units), self.rates,
            self.aside.is_some());
        Ok((places, vec![states]))
    }

    fn backward<R: Runtime>(
        &self,
        gpu: &Gpu<R>,
        shape: [usize; 2],
        inputs: [&Handle; 4],
        before: &[Handle],
        gradient: &Handle,
    ) -> Result<[Handle; 4], Error> {
        let (rows, [p, step, stiffness, force]) = (self.checked(shape, inputs)?, inputs);
        let ([batch, length], width) = (shape, self.width);
        let [states] = stored(before, [rows * 4 * width])?;
        want("the gradient", gradient, rows * 2 * width)?;
        let of_rates = if self.rates == Rates::Shared { batch * width } else { rows * width };
        let [dp, dd, dk, df] = [of_rates, of_rates, batch * width, rows * 2 * width].map(|numbers| gpu.floats(numbers));
        let (units, aside) = (batch * width, gpu.flags(self.aside.as_deref()));
        launch!(gpu, kernel::gradients, gpu.spread(units.div_ceil(UNITS)), UNITS;
            [p, step, stiffness, force, aside, states, gradient, dp, dd, dk, df], SizesLaunch::new(length, width, units),
            self.rates, self.aside.is_some());
        let over_series = |numbers: &Handle| gpu.sum_rows(RowsOf { numbers, rows: batch, width });
        let [dp, dd] = if self.rates == Rates::Shared { [over_series(&dp)?, over_series(&dd)?] } else { [dp, dd] };
        Ok([dp, dd, over_series(&dk)?, df])
    }
}
