//! The recurrence of closed structures on device buffers.

use cubecl::prelude::*;
use cubecl::server::Handle;

use crate::call::Call;
use crate::device::Gpu;
use crate::error::Error;
use crate::flow::Flow;
use crate::kernel::wide::Purpose;
use crate::plan::{Owner, Run, Shapes};
use crate::reverse::Reverse;
use crate::work::Work;

/// What is computed: blocks along the diagonal and how their generators become flows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recurrence {
    blocks: Vec<usize>,
    flow: Flow,
}

/// The buffers of one call, each contiguous, in the layouts of `ncde_kernels::Input`.
#[derive(Debug, Clone)]
pub struct Arrays {
    /// The parameters of `A`.
    pub a: Handle,
    /// `lambda`.
    pub coefficients: Handle,
    /// `h_0`.
    pub initial: Handle,
    /// `beta`, where the flow has an affine input.
    pub affine: Option<Handle>,
    /// The number of steps of each series; all of them without it.
    pub lengths: Option<Vec<usize>>,
}

/// The gradients, in the layouts of what they belong to.
#[derive(Debug)]
pub struct Gradients {
    /// In the parameters of `A`.
    pub a: Handle,
    /// In `lambda`, if requested.
    pub coefficients: Option<Handle>,
    /// In `h_0`.
    pub initial: Handle,
    /// In `beta`.
    pub affine: Option<Handle>,
}

/// The largest block.
const LARGEST: usize = 1024;

impl Recurrence {
    /// Blocks of these sizes along the diagonal: all 1 for a diagonal structure, one of `H` for a dense one.
    ///
    /// # Errors
    /// If there are none, or one is too large.
    pub fn new(blocks: Vec<usize>, flow: Flow) -> Result<Self, Error> {
        if blocks.is_empty() || blocks.contains(&0) {
            return Err(Error::Empty { what: "the size of a block" });
        }
        match blocks.iter().find(|&&b| b > LARGEST) {
            Some(&seen) => {
                Err(Error::TooLarge { what: "a block", seen, most: LARGEST, fix: "take smaller blocks, or `--device cpu`" })
            }
            None => Ok(Self { blocks, flow }),
        }
    }

    /// How generators become flows.
    pub fn flow(&self) -> Flow {
        self.flow
    }

    /// `H`.
    pub fn hidden(&self) -> usize {
        self.blocks.iter().sum()
    }

    /// Parameters of a channel.
    pub fn parameters(&self) -> usize {
        self.blocks.iter().map(|b| b * b).sum()
    }

    /// The states after each step, `[batch, length, columns, H]`. Past the length of a series its last state is repeated. States that overflow are NaN.
    ///
    /// # Errors
    /// If a buffer has the wrong size.
    pub fn forward<R: Runtime>(&self, gpu: &Gpu<R>, shapes: Shapes, arrays: &Arrays) -> Result<Handle, Error> {
        self.pass(gpu, shapes, arrays, false).map(|(states, _)| states)
    }

    /// The same, and what the reverse pass need not compute again, where there is such a thing: the products of chunks of a large block.
    ///
    /// # Errors
    /// If a buffer has the wrong size.
    pub fn forward_kept<R: Runtime>(
        &self,
        gpu: &Gpu<R>,
        shapes: Shapes,
        arrays: &Arrays,
    ) -> Result<(Handle, Option<Handle>), Error> {
        self.pass(gpu, shapes, arrays, true)
    }

    fn pass<R: Runtime>(
        &self,
        gpu: &Gpu<R>,
        shapes: Shapes,
        arrays: &Arrays,
        store: bool,
    ) -> Result<(Handle, Option<Handle>), Error> {
        let call = self.call(gpu, shapes, arrays)?;
        let states = gpu.floats(call.state_count());
        let (runs, mut saved) = (Run::of(&self.blocks), None);
        for &run in &runs {
            let work = Work::new(&call, run, self.parameters(), false);
            let (starts, products) = work.starts(store && self.stores_products_of(run, &runs));
            saved = saved.or(products);
            for slab in work.host.plan.slabs() {
                work.walk(slab, Purpose::Replay, &starts, &states, None);
            }
        }
        Ok((states, saved))
    }

    fn call<'a, R: Runtime>(&self, gpu: &'a Gpu<R>, shapes: Shapes, arrays: &'a Arrays) -> Result<Call<'a, R>, Error> {
        Call::new(gpu, shapes, arrays, self.hidden(), shapes.coefficients * self.parameters(), self.flow)
    }

    /// Whether the products of this run are stored: those of the only one with large blocks.
    fn stores_products_of(&self, run: Run, runs: &[Run]) -> bool {
        let is_large = |run: &Run| Owner::of(run.b) == Owner::Cube;
        is_large(&run) && runs.iter().filter(|run| is_large(run)).count() == 1
    }

    /// The gradients from the states that [`forward`](Self::forward) gave and the gradient in them, with the products that [`forward_kept`](Self::forward_kept) stored, if any.
    ///
    /// # Errors
    /// If a buffer has the wrong size.
    pub fn backward<R: Runtime>(
        &self,
        gpu: &Gpu<R>,
        shapes: Shapes,
        arrays: &Arrays,
        (states, gradient): (&Handle, &Handle),
        saved: Option<&Handle>,
        of_coefficients: bool,
    ) -> Result<Gradients, Error> {
        let call = self.call(gpu, shapes, arrays)?;
        want("the states", states, call.state_count())?;
        want("the gradient", gradient, call.state_count())?;
        let a = gpu.floats(shapes.coefficients * self.parameters());
        let out = Gradients { a, ..call.gradients(of_coefficients) };
        let runs = Run::of(&self.blocks);
        for (i, &run) in runs.iter().enumerate() {
            let work = Work::new(&call, run, self.parameters(), true);
            let saved = saved.filter(|_| work.can_store_products() && self.stores_products_of(run, &runs));
            if let Some(saved) = saved {
                want("the stored products of chunks", saved, work.product_count())?;
            }
            let lambda = work.ends(gradient, saved);
            work.differentiate(&Reverse { states, gradient, lambda: &lambda, out: &out, add: i > 0 })?;
        }
        Ok(out)
    }
}

/// Refuses a buffer that is too small.
pub(crate) fn want(what: &'static str, handle: &Handle, numbers: usize) -> Result<(), Error> {
    let (seen, wanted) = (handle.size_in_used(), (numbers * size_of::<f32>()) as u64);
    if seen < wanted { Err(Error::Size { what, seen, wanted }) } else { Ok(()) }
}

/// Refuses a size of 0.
pub(crate) fn want_some(sizes: &[(&'static str, usize)]) -> Result<(), Error> {
    sizes.iter().find(|&&(_, size)| size == 0).map_or(Ok(()), |&(what, _)| Err(Error::Empty { what }))
}

/// Refuses an array with more numbers than kernels can count.
pub(crate) fn want_countable(seen: usize) -> Result<(), Error> {
    let (most, fix) = (u32::MAX as usize, "take a smaller batch or shorter series");
    if seen > most { Err(Error::TooLarge { what: "an array", seen, most, fix }) } else { Ok(()) }
}

/// Refuses a list of another length.
pub(crate) fn want_list(what: &'static str, seen: usize, wanted: usize) -> Result<(), Error> {
    let bytes = |count: usize| (size_of::<u32>() * count) as u64;
    if seen == wanted { Ok(()) } else { Err(Error::Size { what, seen: bytes(seen), wanted: bytes(wanted) }) }
}
