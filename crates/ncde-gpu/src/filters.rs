//! Banks of complex one-pole filters on device buffers: the same equations as `ncde_kernels::filters`.
//!
//! ```text
//! h_t[n, e] = a[n, e] h_{t-1}[n, e] + u_t[e],   y_t[e] = sum_n (c_re[n, e] Re h_t[n, e] + c_im[n, e] Im h_t[n, e]),   h_0 = 0
//! ```
//!
//! One launch in each direction; gradients that series share are summed over series in a fixed order. The state before every 16th step is stored between the passes.

use std::sync::Arc;

use cubecl::prelude::*;
use cubecl::server::Handle;

use crate::device::{Gpu, launch};
use crate::device_kernel::{DeviceKernel, stored};
use crate::error::Error;
use crate::kernel::filters::{self as kernel, PART, SizesLaunch};
use crate::recurrence::{want, want_countable, want_list, want_some};
use crate::rows::RowsOf;

/// Units of a cube: few, so that a batch keeps all of a device busy.
const UNITS: usize = 32;
/// The most states of a channel, which are in registers.
const MAX_STATES: usize = 64;

/// What is computed.
#[derive(Debug, Clone)]
pub struct Filters {
    /// How many channels.
    pub channels: usize,
    /// How many states a channel has.
    pub states: usize,
    /// Which steps stand aside, `[batch, length]`; none without it.
    pub aside: Option<Arc<[bool]>>,
}

impl Filters {
    /// Whether the states of a channel fit into registers.
    pub fn fits(&self) -> bool {
        self.states <= MAX_STATES
    }

    /// Numbers of `a`, and of a state.
    fn size(&self) -> usize {
        2 * self.states * self.channels
    }

    fn sizes<R: Runtime>(&self, [batch, length]: [usize; 2]) -> SizesLaunch<R> {
        SizesLaunch::new(length, self.channels, length.div_ceil(PART), batch * self.channels)
    }

    /// Everything that can be wrong with sizes, on which every launch relies; then the number of rows, and that of stored numbers.
    fn checked(&self, [batch, length]: [usize; 2], [u, a, c]: [&Handle; 3]) -> Result<[usize; 2], Error> {
        let &Self { channels, states, .. } = self;
        let sizes = [
            ("the batch", batch),
            ("the length", length),
            ("the number of channels", channels),
            ("the number of states", states),
        ];
        want_some(&sizes)?;
        if !self.fits() {
            let fix = "take fewer states, or `--device cpu`";
            return Err(Error::TooLarge { what: "the number of states of a channel", seen: states, most: MAX_STATES, fix });
        }
        let (rows, starts) = (batch * length, batch * length.div_ceil(PART) * self.size());
        want_countable(rows * channels)?;
        want_countable(starts)?;
        want("u", u, rows * channels)?;
        want("a", a, self.size())?;
        want("c", c, self.size())?;
        want_list("the list of steps aside", self.aside.as_ref().map_or(rows, |aside| aside.len()), rows)?;
        Ok([rows, starts])
    }
}

/// Inputs are `u, a, c`, in the layouts of `ncde_kernels::filters::Input`.
impl DeviceKernel<3> for Filters {
    fn width(&self) -> usize {
        self.channels
    }

    fn forward<R: Runtime>(&self, gpu: &Gpu<R>, shape: [usize; 2], inputs: [&Handle; 3]) -> Result<(Handle, Vec<Handle>), Error> {
        let ([rows, starts], [u, a, c]) = (self.checked(shape, inputs)?, inputs);
        let (y, starts) = (gpu.floats(rows * self.channels), gpu.floats(starts));
        let (units, aside) = (shape[0] * self.channels, gpu.flags(self.aside.as_deref()));
        launch!(gpu, kernel::outputs, gpu.spread(units.div_ceil(UNITS)), UNITS;
            [u, a, c, aside, y, starts], self.sizes(shape), self.states, self.aside.is_some());
        Ok((y, vec![starts]))
    }

    fn backward<R: Runtime>(
        &self,
        gpu: &Gpu<R>,
        shape: [usize; 2],
        inputs: [&Handle; 3],
        before: &[Handle],
        gradient: &Handle,
    ) -> Result<[Handle; 3], Error> {
        let ([rows, starts], [u, a, c]) = (self.checked(shape, inputs)?, inputs);
        let [starts] = stored(before, [starts])?;
        want("the gradient", gradient, rows * self.channels)?;
        let [du, da, dc] =
            [rows * self.channels, shape[0] * self.size(), shape[0] * self.size()].map(|numbers| gpu.floats(numbers));
        let (units, aside) = (shape[0] * self.channels, gpu.flags(self.aside.as_deref()));
        launch!(gpu, kernel::gradients, gpu.spread(units.div_ceil(UNITS)), UNITS;
            [u, a, c, aside, starts, gradient, du, da, dc], self.sizes(shape), self.states, self.aside.is_some());
        let over_series = |numbers: &Handle| gpu.sum_rows(RowsOf { numbers, rows: shape[0], width: self.size() });
        Ok([du, over_series(&da)?, over_series(&dc)?])
    }
}
