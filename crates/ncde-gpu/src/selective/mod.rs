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
use crate::error::Error;
use crate::kernel::selective::{self as kernel, SizesLaunch};
use crate::recurrence::{want, want_countable, want_list, want_some};
use crate::rows::RowsOf;
use cut::Cut;

/// What is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Selective {
    /// `E`.
    pub channels: usize,
    /// `N`: the states of a channel.
    pub states: usize,
}

/// The buffers of one call, each contiguous, in the layouts of `ncde_kernels::selective::Input`.
#[derive(Debug, Clone)]
pub struct Arrays {
    /// How many series.
    pub batch: usize,
    /// How many steps.
    pub length: usize,
    /// `d`.
    pub step: Handle,
    /// `u`.
    pub u: Handle,
    /// `a`.
    pub a: Handle,
    /// `b`.
    pub b: Handle,
    /// `c`.
    pub c: Handle,
    /// Which steps stand aside; none without it.
    pub aside: Option<Arc<[bool]>>,
}

/// The gradients, in the layouts of what they belong to.
#[expect(missing_docs, reason = "the fields are those of `Arrays`")]
#[derive(Debug)]
pub struct Gradients {
    pub step: Handle,
    pub u: Handle,
    pub a: Handle,
    pub b: Handle,
    pub c: Handle,
}

impl Selective {
    /// Whether a cube of the device holds the states of its channels.
    pub fn fits<R: Runtime>(&self, gpu: &Gpu<R>) -> bool {
        self.cut(gpu).is_some()
    }

    fn cut<R: Runtime>(&self, gpu: &Gpu<R>) -> Option<Cut> {
        let hardware = &gpu.client().properties().hardware;
        Cut::new(self, hardware.max_units_per_cube as usize, hardware.max_shared_memory_size)
    }

    /// `y`, `[batch, length, E]`, and the state before every chunk, `[batch, chunks, N, E]`. States that overflow are not finite.
    ///
    /// # Errors
    /// If a buffer has the wrong size, or a channel has too many states.
    pub fn forward<R: Runtime>(&self, gpu: &Gpu<R>, arrays: &Arrays) -> Result<(Handle, Handle), Error> {
        self.checked(gpu, arrays)?;
        let &Arrays { batch, length, ref step, ref u, ref a, ref b, ref c, .. } = arrays;
        let aside = gpu.flags(arrays.aside.as_deref());
        let starts = self.starts(gpu, arrays, [u, b], &aside, false);
        let y = gpu.floats(batch * length * self.channels);
        let units = batch * Cut::chunks(length) * self.channels;
        launch!(gpu, kernel::outputs, each units;
            [step, u, a, b, c, aside, starts, y], self.sizes(arrays, units), self.states, arrays.aside.is_some());
        Ok((y, starts))
    }

    /// The gradients from the states that [`forward`](Self::forward) gave and the gradient in `y`.
    ///
    /// # Errors
    /// As for [`forward`](Self::forward).
    pub fn backward<R: Runtime>(
        &self,
        gpu: &Gpu<R>,
        arrays: &Arrays,
        starts: &Handle,
        gradient: &Handle,
    ) -> Result<Gradients, Error> {
        let cut = self.checked(gpu, arrays)?;
        let &Arrays { batch, length, ref step, ref u, ref a, ref b, ref c, .. } = arrays;
        let (size, rows) = (self.channels * self.states, batch * length);
        let (chunks, blocks) = (batch * Cut::chunks(length), cut.blocks(self.channels));
        want("the stored states", starts, chunks * size)?;
        want("the gradient", gradient, rows * self.channels)?;
        let aside = gpu.flags(arrays.aside.as_deref());
        let carried = self.starts(gpu, arrays, [gradient, c], &aside, true);
        let [d_step, du] = [(); 2].map(|()| gpu.floats(rows * self.channels));
        let [db, dc] = [(); 2].map(|()| gpu.floats(blocks * rows * self.states));
        let da = gpu.floats(chunks * size);
        let cubes = chunks * blocks;
        launch!(gpu, kernel::gradients, gpu.spread(cubes), cut.units;
            [step, u, a, b, c, aside, starts, carried, gradient, d_step, du, da, db, dc], self.sizes(arrays, cubes), rows, cut,
            arrays.aside.is_some());
        let over = |numbers: &Handle, rows, width| gpu.sum_rows(RowsOf { numbers, rows, width });
        let of_states = rows * self.states;
        let [b, c] = if blocks == 1 { [db, dc] } else { [over(&db, blocks, of_states)?, over(&dc, blocks, of_states)?] };
        Ok(Gradients { step: d_step, u: du, a: over(&da, chunks, size)?, b, c })
    }

    fn sizes<R: Runtime>(&self, arrays: &Arrays, count: usize) -> SizesLaunch<R> {
        SizesLaunch::new(arrays.length, self.channels, Cut::chunks(arrays.length), count)
    }

    /// What each chunk begins with, `[batch, chunks, N, E]`; in reverse, what comes to it from behind.
    fn starts<R: Runtime>(
        &self,
        gpu: &Gpu<R>,
        arrays: &Arrays,
        [given, by_states]: [&Handle; 2],
        aside: &Handle,
        back: bool,
    ) -> Handle {
        let chunks = arrays.batch * Cut::chunks(arrays.length);
        let (ends, spans) = (gpu.floats(chunks * self.channels * self.states), gpu.floats(chunks * self.channels));
        let units = chunks * self.channels;
        launch!(gpu, kernel::ends, each units;
            [arrays.step, given, arrays.a, by_states, aside, ends, spans], self.sizes(arrays, units), self.states,
            arrays.aside.is_some(), back);
        let units = arrays.batch * self.channels * self.states;
        launch!(gpu, kernel::carry, each units; [arrays.a, spans, ends], self.sizes(arrays, units), self.states, back);
        ends
    }

    /// Everything that can be wrong with sizes, on which every launch relies; then how the reverse pass is cut.
    fn checked<R: Runtime>(&self, gpu: &Gpu<R>, arrays: &Arrays) -> Result<Cut, Error> {
        let &Self { channels, states } = self;
        let &Arrays { batch, length, .. } = arrays;
        let sizes = [
            ("the batch", batch),
            ("the length", length),
            ("the number of channels", channels),
            ("the number of states", states),
        ];
        want_some(&sizes)?;
        let rows = batch * length;
        want_countable(rows * channels.max(states))?;
        want_countable(batch * Cut::chunks(length) * channels * states)?;
        for (what, array, width) in [
            ("the steps", &arrays.step, channels),
            ("u", &arrays.u, channels),
            ("b", &arrays.b, states),
            ("c", &arrays.c, states),
        ] {
            want(what, array, rows * width)?;
        }
        want("a", &arrays.a, channels * states)?;
        want_list("the list of steps aside", arrays.aside.as_ref().map_or(rows, |aside| aside.len()), rows)?;
        let fix = "take fewer states, or `--device cpu`";
        self.cut(gpu).ok_or(Error::TooLarge { what: "the number of states of a channel", seen: states, most: 128, fix })
    }
}
