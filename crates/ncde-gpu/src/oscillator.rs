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

/// The buffers of one call, each contiguous, in the layouts of `ncde_kernels::oscillator::Input`.
#[derive(Debug, Clone)]
pub struct Arrays {
    /// How many series.
    pub batch: usize,
    /// How many steps.
    pub length: usize,
    /// How many oscillators.
    pub width: usize,
    /// Which rows `p` and `d` have.
    pub rates: Rates,
    /// `p`.
    pub p: Handle,
    /// `d`.
    pub step: Handle,
    /// `k`.
    pub stiffness: Handle,
    /// `f`.
    pub force: Handle,
    /// Which steps stand aside; none without it.
    pub aside: Option<Arc<[bool]>>,
}

/// The gradients, in the layouts of what they belong to.
#[expect(missing_docs, reason = "the fields are those of `Arrays`")]
#[derive(Debug)]
pub struct Gradients {
    pub p: Handle,
    pub step: Handle,
    pub stiffness: Handle,
    pub force: Handle,
}

impl Arrays {
    /// `y` of all steps, `[batch, length, 2 width]`, and the states before each, `[batch, length, 2, 2 width]`. States that overflow are not finite.
    ///
    /// # Errors
    /// If a buffer has the wrong size.
    pub fn forward<R: Runtime>(&self, gpu: &Gpu<R>) -> Result<(Handle, Handle), Error> {
        let rows = self.checked()?;
        let (places, states) = (gpu.floats(rows * 2 * self.width), gpu.floats(rows * 4 * self.width));
        let Self { p, step, stiffness, force, .. } = self;
        let (units, aside) = (self.batch * self.width, gpu.flags(self.aside.as_deref()));
        launch!(gpu, kernel::states, gpu.spread(units.div_ceil(UNITS)), UNITS;
            [p, step, stiffness, force, aside, places, states], self.sizes(units), self.rates, self.aside.is_some());
        Ok((places, states))
    }

    /// The gradients from the states that [`forward`](Self::forward) gave and the gradient in `y`.
    ///
    /// # Errors
    /// As for [`forward`](Self::forward).
    pub fn backward<R: Runtime>(&self, gpu: &Gpu<R>, states: &Handle, gradient: &Handle) -> Result<Gradients, Error> {
        let (rows, width) = (self.checked()?, self.width);
        want("the stored states", states, rows * 4 * width)?;
        want("the gradient", gradient, rows * 2 * width)?;
        let of_rates = if self.rates == Rates::Shared { self.batch * width } else { rows * width };
        let [p, d] = [(); 2].map(|()| gpu.floats(of_rates));
        let (k, df) = (gpu.floats(self.batch * width), gpu.floats(rows * 2 * width));
        let (units, aside) = (self.batch * width, gpu.flags(self.aside.as_deref()));
        launch!(gpu, kernel::gradients, gpu.spread(units.div_ceil(UNITS)), UNITS;
            [self.p, self.step, self.stiffness, self.force, aside, states, gradient, p, d, k, df], self.sizes(units),
            self.rates, self.aside.is_some());
        let over_series = |numbers: &Handle| gpu.sum_rows(RowsOf { numbers, rows: self.batch, width });
        let [p, step] = if self.rates == Rates::Shared { [over_series(&p)?, over_series(&d)?] } else { [p, d] };
        Ok(Gradients { p, step, stiffness: over_series(&k)?, force: df })
    }

    fn sizes<R: Runtime>(&self, units: usize) -> SizesLaunch<R> {
        SizesLaunch::new(self.length, self.width, units)
    }

    /// Everything that can be wrong with sizes, on which every launch relies; then the number of rows.
    fn checked(&self) -> Result<usize, Error> {
        let &Self { batch, length, width, .. } = self;
        want_some(&[("the batch", batch), ("the length", length), ("the number of oscillators", width)])?;
        let rows = batch * length;
        want_countable(rows * 4 * width)?;
        let of_rates = if self.rates == Rates::Shared { width } else { rows * width };
        want("p", &self.p, of_rates)?;
        want("the steps", &self.step, of_rates)?;
        want("the stiffness", &self.stiffness, width)?;
        want("the force", &self.force, rows * 2 * width)?;
        want_list("the list of steps aside", self.aside.as_ref().map_or(rows, |aside| aside.len()), rows)?;
        Ok(rows)
    }
}
