//! The selective scan on device buffers: the same equations as `ncde_kernels::selective`.
//!
//! ```text
//! h_t[n, e] = exp(d_t[e] a[n, e]) h_{t-1}[n, e] + d_t[e] u_t[e] b_t[n],   y_t[e] = sum_n c_t[n] h_t[n, e],   h_0 = 0
//! ends of chunks  ->  what each begins with  ->  all outputs                      3 launches
//! ```
//!
//! The product of the factors of a chunk is `exp(a sum_t d_t)`. The reverse pass is the same from the end; sums over channels and series are added in a fixed order.

pub(crate) mod cut;

use std::sync::Arc;

use cubecl::prelude::*;
use cubecl::server::Handle;

use crate::device::{Gpu, launch};
use crate::device_kernel::{DeviceKernel, stored};
use crate::error::Error;
use crate::kernel::selective::{self as kernel, SizesLaunch};
use crate::recurrence::{want, want_countable, want_list, want_some};
use crate::rows::RowsOf;
use cut::{CHUNK, Cut, MAX_STATES};

/// What is computed.
#[derive(Debug, Clone)]
pub struct Selective {
    /// `E`.
    pub channels: usize,
    /// `N`: the states of a channel.
    pub states: usize,
    /// Which steps stand aside, `[batch, length]`; none without it.
    pub aside: Option<Arc<[bool]>>,
}

impl Selective {
    /// Whether a cube of the device holds the states of its channels.
    pub fn fits<R: Runtime>(&self, gpu: &Gpu<R>) -> bool {
        self.cut(gpu).is_some()
    }

    fn cut<R: Runtime>(&self, gpu: &Gpu<R>) -> Option<Cut> {
        let hardware = &gpu.client().properties().hardware;
        Cut::new([self.channels, self.states], hardware.max_units_per_cube as usize, hardware.max_shared_memory_size)
    }

    fn sizes<R: Runtime>(&self, [_, length]: [usize; 2], count: usize) -> SizesLaunch<R> {
        SizesLaunch::new(length, self.channels, length.div_ceil(CHUNK), count)
    }

    /// What each chunk begins with, `[batch, chunks, N, E]`; in reverse, what comes to it from behind.
    fn starts<R: Runtime>(
        &self,
        gpu: &Gpu<R>,
        shape: [usize; 2],
        [step, given, a, by_states, aside]: [&Handle; 5],
        back: bool,
    ) -> Handle {
        let units = shape[0] * shape[1].div_ceil(CHUNK) * self.channels;
        let (ends, spans) = (gpu.floats(units * self.states), gpu.floats(units));
        launch!(gpu, kernel::ends, each units;
            [step, given, a, by_states, aside, ends, spans], self.sizes(shape, units), self.states, self.aside.is_some(), back);
        let units = shape[0] * self.channels * self.states;
        launch!(gpu, kernel::carry, each units; [a, spans, ends], self.sizes(shape, units), self.states, back);
        ends
    }

    /// Everything that can be wrong with sizes, on which every launch relies; then how the reverse pass is cut.
    fn checked<R: Runtime>(&self, gpu: &Gpu<R>, [batch, length]: [usize; 2], inputs: [&Handle; 5]) -> Result<Cut, Error> {
        let &Self { channels, states, ref aside } = self;
        let sizes = [
            ("the batch", batch),
            ("the length", length),
            ("the number of channels", channels),
            ("the number of states", states),
        ];
        want_some(&sizes)?;
        let rows = batch * length;
        want_countable((rows * channels.max(states)).max(batch * length.div_ceil(CHUNK) * channels * states))?;
        let numbers = [rows * channels, rows * channels, channels * states, rows * states, rows * states];
        let names = ["the steps", "u", "a", "b", "c"];
        names.into_iter().zip(inputs).zip(numbers).try_for_each(|((name, input), numbers)| want(name, input, numbers))?;
        want_list("the list of steps aside", aside.as_ref().map_or(rows, |aside| aside.len()), rows)?;
        let fix = "take fewer states, or `--device cpu`";
        self.cut(gpu).ok_or(Error::TooLarge { what: "the number of states of a channel", seen: states, most: MAX_STATES, fix })
    }
}

/// Inputs are `d, u, a, b, c`, in the layouts of `ncde_kernels::selective::Input`.
impl DeviceKernel<5> for Selective {
    fn width(&self) -> usize {
        self.channels
    }

    fn forward<R: Runtime>(&self, gpu: &Gpu<R>, shape: [usize; 2], inputs: [&Handle; 5]) -> Result<(Handle, Vec<Handle>), Error> {
        self.checked(gpu, shape, inputs)?;
        let ([batch, length], [step, u, a, b, c]) = (shape, inputs);
        let aside = gpu.flags(self.aside.as_deref());
        let starts = self.starts(gpu, shape, [step, u, a, b, &aside], false);
        let y = gpu.floats(batch * length * self.channels);
        let units = batch * length.div_ceil(CHUNK) * self.channels;
        launch!(gpu, kernel::outputs, each units;
            [step, u, a, b, c, aside, starts, y], self.sizes(shape, units), self.states, self.aside.is_some());
        Ok((y, vec![starts]))
    }

    fn backward<R: Runtime>(
        &self,
        gpu: &Gpu<R>,
        shape: [usize; 2],
        inputs: [&Handle; 5],
        before: &[Handle],
        gradient: &Handle,
    ) -> Result<[Handle; 5], Error> {
        let cut = self.checked(gpu, shape, inputs)?;
        let ([batch, length], [step, u, a, b, c]) = (shape, inputs);
        let (size, rows) = (self.channels * self.states, batch * length);
        let (chunks, blocks) = (batch * length.div_ceil(CHUNK), self.channels.div_ceil(cut.units));
        let [starts] = stored(before, [chunks * size])?;
        want("the gradient", gradient, rows * self.channels)?;
        let aside = gpu.flags(self.aside.as_deref());
        let carried = self.starts(gpu, shape, [step, gradient, a, c, &aside], true);
        let [d_step, du] = [(); 2].map(|()| gpu.floats(rows * self.channels));
        let [db, dc] = [(); 2].map(|()| gpu.floats(blocks * rows * self.states));
        let da = gpu.floats(chunks * size);
        let cubes = chunks * blocks;
        launch!(gpu, kernel::gradients, gpu.spread(cubes), cut.units;
            [step, u, a, b, c, aside, starts, carried, gradient, d_step, du, da, db, dc], self.sizes(shape, cubes), rows, cut,
            self.aside.is_some());
        let over = |numbers: &Handle, rows, width| gpu.sum_rows(RowsOf { numbers, rows, width });
        let over_blocks = |numbers: Handle| if blocks == 1 { Ok(numbers) } else { over(&numbers, blocks, rows * self.states) };
        Ok([d_step, du, over(&da, chunks, size)?, over_blocks(db)?, over_blocks(dc)?])
    }
}
