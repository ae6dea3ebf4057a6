//! The recurrence of closed structures on device buffers: which kernels are launched, in which order.

use cubecl::prelude::*;
use cubecl::server::Handle;

use crate::plan::{Limits, Plan, Run, Shapes};
use crate::sizes::{CUBE, Host, cubes, spread};
use crate::step::Flow;
use crate::{carry, generators, small};

/// A device.
pub struct Gpu<R: Runtime> {
    client: ComputeClient<R>,
    limits: Limits,
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
    /// `beta`; needed where the flow has an affine input.
    pub affine: Option<Handle>,
    /// The number of steps of each series.
    pub lengths: Option<Vec<usize>>,
}

/// The gradients, in the layouts of what they belong to.
#[derive(Debug)]
pub struct Gradients {
    /// In the parameters of `A`.
    pub a: Handle,
    /// In `lambda`, where it was asked for.
    pub coefficients: Option<Handle>,
    /// In `h_0`.
    pub initial: Handle,
    /// In `beta`.
    pub affine: Option<Handle>,
}

/// The most parts that sums over rows are cut into.
const SPLITS: usize = 64;
/// The fewest rows of such a part.
const SPLIT_ROWS: usize = 64;

impl<R: Runtime> Gpu<R> {
    /// A device through its client.
    pub fn new(client: ComputeClient<R>) -> Self {
        let multiprocessors = client.properties().hardware.num_streaming_multiprocessors.unwrap_or(4) as usize;
        let limits = Limits { units: multiprocessors << 8, ..Limits::default() };
        Self { client, limits }
    }

    /// Other limits than those of the device.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// The client.
    pub fn client(&self) -> &ComputeClient<R> {
        &self.client
    }

    fn floats(&self, count: usize) -> Handle {
        self.client.empty(count * size_of::<f32>())
    }

    fn lengths(&self, arrays: &Arrays, shapes: Shapes) -> Handle {
        let all: Vec<u32> = match &arrays.lengths {
            Some(lengths) => lengths.iter().map(|&length| length as u32).collect(),
            None => vec![shapes.length as u32; shapes.batch],
        };
        self.client.create_from_slice(bytemuck::cast_slice(&all))
    }

    /// The states after each step, `[batch, length, columns, H]`, of blocks of these sizes.
    pub fn forward(&self, blocks: &[usize], shapes: Shapes, flow: Flow, arrays: &Arrays) -> Handle {
        let hidden: usize = blocks.iter().sum();
        let states = self.floats(shapes.batch * shapes.length * shapes.columns * hidden);
        let lengths = self.lengths(arrays, shapes);
        for run in Run::of(blocks) {
            let work = Work::new(self, run, blocks, shapes, flow, arrays, &lengths);
            let starts = work.starts();
            for slab in work.host.plan.slabs() {
                work.replay(slab, &starts, &states);
            }
        }
        states
    }

    /// The gradients from the states and the gradient in them.
    pub fn backward(
        &self,
        blocks: &[usize],
        shapes: Shapes,
        flow: Flow,
        arrays: &Arrays,
        states: &Handle,
        gradient: &Handle,
        of_coefficients: bool,
    ) -> Gradients {
        let hidden: usize = blocks.iter().sum();
        let Shapes { batch, length, columns, coefficients } = shapes;
        let parameters: usize = blocks.iter().map(|b| b * b).sum();
        let out = Gradients {
            a: self.floats(coefficients * parameters),
            coefficients: of_coefficients.then(|| self.floats(batch * length * coefficients)),
            initial: self.floats(batch * columns * hidden),
            affine: flow.is_affine().then(|| self.floats(batch * length * columns * hidden)),
        };
        let lengths = self.lengths(arrays, shapes);
        for (i, run) in Run::of(blocks).into_iter().enumerate() {
            let work = Work::new(self, run, blocks, shapes, flow, arrays, &lengths);
            let lambda = work.ends(gradient);
            work.differentiate(states, gradient, &lambda, &out, i > 0);
        }
        out
    }
}

/// One run of blocks in one call.
struct Work<'a, R: Runtime> {
    gpu: &'a Gpu<R>,
    host: Host,
    parameters: usize,
    flow: Flow,
    arrays: &'a Arrays,
    lengths: &'a Handle,
    /// `A` of this run, permuted.
    a: Handle,
    /// The generators of a slab.
    omega: Handle,
}

/// A buffer of numbers as the argument of a launch.
///
/// # Safety
/// The buffer holds at least so many numbers.
unsafe fn array<R: Runtime>(handle: &Handle, count: usize) -> ArrayArg<R> {
    unsafe { ArrayArg::from_raw_parts(handle.clone(), count) }
}

impl<'a, R: Runtime> Work<'a, R> {
    fn new(
        gpu: &'a Gpu<R>,
        run: Run,
        blocks: &[usize],
        shapes: Shapes,
        flow: Flow,
        arrays: &'a Arrays,
        lengths: &'a Handle,
    ) -> Self {
        let plan = Plan::new(run, shapes, gpu.limits);
        let host = Host { run, shapes, plan, hidden: blocks.iter().sum(), slab: (0, plan.slab) };
        let parameters: usize = blocks.iter().map(|b| b * b).sum();
        let count = shapes.coefficients * run.entries();
        let a = gpu.floats(count);
        // SAFETY: `a` has `count` numbers, and the parameters of a field are `coefficients * parameters`.
        unsafe {
            generators::permute::launch_unchecked::<R>(
                &gpu.client,
                cubes(count),
                CubeDim::new_1d(CUBE),
                array(&arrays.a, shapes.coefficients * parameters),
                array(&a, count),
                run.entry,
                parameters,
                host.launch(count),
                run.b,
            );
        }
        let omega = gpu.floats(plan.rows(shapes.batch) * run.entries());
        Self { gpu, host, parameters, flow, arrays, lengths, a, omega }
    }

    fn state_count(&self) -> usize {
        let Shapes { batch, length, columns, .. } = self.host.shapes;
        batch * length * columns * self.host.hidden
    }

    fn coefficient_count(&self) -> usize {
        let Shapes { batch, length, coefficients, .. } = self.host.shapes;
        batch * length * coefficients
    }

    /// Numbers at the ends of chunks.
    fn end_count(&self) -> usize {
        let Host { run, shapes, plan, .. } = self.host;
        shapes.batch * plan.chunks * shapes.columns * run.count * run.b
    }

    fn product_count(&self) -> usize {
        let Host { run, shapes, plan, .. } = self.host;
        shapes.batch * plan.chunks * (run.b + shapes.columns) * run.count * run.b
    }

    fn beta(&self) -> ArrayArg<R> {
        match &self.arrays.affine {
            // SAFETY: the affine input has the shape of the states.
            Some(affine) => unsafe { array(affine, self.state_count()) },
            // SAFETY: not read where the flow has no affine input.
            None => unsafe { array(&self.arrays.initial, self.initial_count()) },
        }
    }

    fn initial_count(&self) -> usize {
        self.host.shapes.batch * self.host.shapes.columns * self.host.hidden
    }

    fn lengths(&self) -> ArrayArg<R> {
        // SAFETY: one number for each series.
        unsafe { array(self.lengths, self.host.shapes.batch) }
    }

    fn omega(&self) -> ArrayArg<R> {
        // SAFETY: made with this size.
        unsafe { array(&self.omega, self.host.plan.rows(self.host.shapes.batch) * self.host.run.entries()) }
    }

    /// Forms the generators of a slab.
    fn form(&self, slab: (usize, usize)) -> Host {
        let host = Host { slab, ..self.host };
        let units = host.rows().div_ceil(generators::ROWS) * host.run.entries();
        // SAFETY: every buffer was made or checked with the size given here.
        unsafe {
            generators::form::launch_unchecked::<R>(
                &self.gpu.client,
                cubes(units),
                CubeDim::new_1d(CUBE),
                array(&self.arrays.coefficients, self.coefficient_count()),
                array(&self.a, host.shapes.coefficients * host.run.entries()),
                self.omega(),
                host.rows(),
                host.launch(units),
                host.run.b,
            );
        }
        host
    }

    /// The products of the flows of every chunk but the last.
    fn products(&self, flow: Flow) -> Handle {
        let out = self.gpu.floats(self.product_count());
        for slab in self.host.plan.slabs() {
            let host = self.form(slab);
            let Host { run, shapes, plan, .. } = host;
            let columns = run.b + if flow.is_affine() { shapes.columns } else { 0 };
            let units = shapes.batch * (plan.chunks - 1) * columns * run.count;
            // SAFETY: every buffer was made or checked with the size given here.
            unsafe {
                small::products::launch_unchecked::<R>(
                    &self.gpu.client,
                    cubes(units),
                    CubeDim::new_1d(CUBE),
                    self.omega(),
                    self.beta(),
                    self.lengths(),
                    array(&out, self.product_count()),
                    host.launch(units),
                    run.b,
                    flow,
                );
            }
        }
        out
    }

    /// The state at the beginning of every chunk.
    fn starts(&self) -> Handle {
        let Host { run, shapes, plan, .. } = self.host;
        let starts = self.gpu.floats(self.end_count());
        // One chunk has no product, and nothing of it is read.
        let products = if plan.chunks > 1 { self.products(self.flow) } else { self.gpu.floats(self.product_count()) };
        let units = shapes.batch * shapes.columns * run.count;
        // SAFETY: every buffer was made or checked with the size given here.
        unsafe {
            carry::carry::launch_unchecked::<R>(
                &self.gpu.client,
                cubes(units),
                CubeDim::new_1d(CUBE),
                array(&products, self.product_count()),
                array(&self.arrays.initial, self.initial_count()),
                array(&starts, self.end_count()),
                self.host.launch(units),
                run.b,
                self.flow.is_affine(),
            );
        }
        starts
    }

    /// The states of a slab.
    fn replay(&self, slab: (usize, usize), starts: &Handle, states: &Handle) {
        let host = if slab.1 == self.host.plan.chunk && self.host.plan.chunks > 1 {
            // The generators of the products are still there.
            Host { slab, ..self.host }
        } else {
            self.form(slab)
        };
        let units = host.shapes.batch * host.plan.chunks * host.shapes.columns * host.run.count;
        // SAFETY: every buffer was made or checked with the size given here.
        unsafe {
            small::replay::launch_unchecked::<R>(
                &self.gpu.client,
                cubes(units),
                CubeDim::new_1d(CUBE),
                self.omega(),
                self.beta(),
                self.lengths(),
                array(starts, self.end_count()),
                array(states, self.state_count()),
                host.launch(units),
                host.run.b,
                self.flow,
            );
        }
    }

    /// The gradient at the end of every chunk.
    fn ends(&self, gradient: &Handle) -> Handle {
        let Host { run, shapes, plan, .. } = self.host;
        let lambda = self.gpu.floats(self.end_count());
        if plan.chunks == 1 {
            return lambda;
        }
        let products = self.products(self.flow.without_affine());
        for slab in plan.slabs().rev() {
            let host = if slab.1 == plan.chunk { Host { slab, ..self.host } } else { self.form(slab) };
            let units = shapes.batch * plan.chunks * shapes.columns * run.count;
            // SAFETY: every buffer was made or checked with the size given here.
            unsafe {
                small::pull::launch_unchecked::<R>(
                    &self.gpu.client,
                    cubes(units),
                    CubeDim::new_1d(CUBE),
                    self.omega(),
                    array(gradient, self.state_count()),
                    self.lengths(),
                    array(&lambda, self.end_count()),
                    host.launch(units),
                    run.b,
                    self.flow,
                );
            }
        }
        let units = shapes.batch * shapes.columns * run.count;
        // SAFETY: every buffer was made or checked with the size given here.
        unsafe {
            carry::carry_back::launch_unchecked::<R>(
                &self.gpu.client,
                cubes(units),
                CubeDim::new_1d(CUBE),
                array(&products, self.product_count()),
                array(&lambda, self.end_count()),
                self.host.launch(units),
                run.b,
            );
        }
        lambda
    }

    /// All gradients, slab by slab from the end. `add` to those in the coefficients, which other runs have part in.
    fn differentiate(&self, states: &Handle, gradient: &Handle, lambda: &Handle, out: &Gradients, add: bool) {
        let Host { run, shapes, plan, .. } = self.host;
        let d_omega = self.gpu.floats(plan.rows(shapes.batch) * run.entries());
        let whole = plan.slab == plan.chunk && plan.chunks > 1;
        let rows = plan.rows(shapes.batch);
        let each = rows.div_ceil(SPLITS).max(SPLIT_ROWS);
        let splits = rows.div_ceil(each);
        let width = shapes.coefficients * run.entries();
        let parts = self.gpu.floats(splits * width);
        for (i, slab) in plan.slabs().rev().enumerate() {
            let host = if whole { Host { slab, ..self.host } } else { self.form(slab) };
            let units = shapes.batch * plan.chunks * run.count;
            for column in 0..shapes.columns {
                // SAFETY: every buffer was made or checked with the size given here.
                unsafe {
                    small::differentiate::launch_unchecked::<R>(
                        &self.gpu.client,
                        cubes(units),
                        CubeDim::new_1d(CUBE),
                        self.omega(),
                        self.beta(),
                        self.lengths(),
                        array(&self.arrays.initial, self.initial_count()),
                        array(states, self.state_count()),
                        array(gradient, self.state_count()),
                        array(lambda, self.end_count()),
                        array(&d_omega, rows * run.entries()),
                        array(out.affine.as_ref().unwrap_or(lambda), if out.affine.is_some() { self.state_count() } else { 0 }),
                        column,
                        host.launch(units),
                        run.b,
                        self.flow,
                    );
                }
            }
            // SAFETY: every buffer was made or checked with the size given here.
            unsafe {
                if let Some(coefficients) = &out.coefficients {
                    let CubeCount::Static(x, y, _) = spread(host.rows().div_ceil(generators::TALL)) else { continue };
                    generators::contract::launch_unchecked::<R>(
                        &self.gpu.client,
                        CubeCount::Static(x, y, shapes.coefficients.div_ceil(generators::CHANNELS) as u32),
                        CubeDim::new_1d(generators::TEAM as u32),
                        array(&d_omega, rows * run.entries()),
                        array(&self.a, width),
                        array(coefficients, self.coefficient_count()),
                        host.rows(),
                        u32::from(add),
                        host.launch(0),
                        run.b,
                    );
                }
                let units = splits * shapes.coefficients.div_ceil(generators::CHANNELS) * run.entries();
                generators::gather::launch_unchecked::<R>(
                    &self.gpu.client,
                    cubes(units),
                    CubeDim::new_1d(CUBE),
                    array(&self.arrays.coefficients, self.coefficient_count()),
                    array(&d_omega, rows * run.entries()),
                    array(&parts, splits * width),
                    host.rows(),
                    each,
                    u32::from(i > 0),
                    host.launch(units),
                    run.b,
                );
            }
        }
        let units = shapes.batch * shapes.columns * run.count;
        // SAFETY: every buffer was made or checked with the size given here.
        unsafe {
            generators::collect::launch_unchecked::<R>(
                &self.gpu.client,
                cubes(width),
                CubeDim::new_1d(CUBE),
                array(&parts, splits * width),
                array(&out.a, shapes.coefficients * self.parameters),
                splits,
                run.entry,
                self.parameters,
                self.host.launch(width),
                run.b,
            );
            carry::first::launch_unchecked::<R>(
                &self.gpu.client,
                cubes(units),
                CubeDim::new_1d(CUBE),
                array(lambda, self.end_count()),
                array(&out.initial, self.initial_count()),
                self.host.launch(units),
                run.b,
            );
        }
    }
}
