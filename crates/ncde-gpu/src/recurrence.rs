//! The recurrence of closed structures on device buffers: which kernels are launched, in which order.

use std::cell::Cell;

use cubecl::prelude::*;
use cubecl::features::Plane;
use cubecl::server::Handle;

use crate::plan::{Limits, Plan, Run, Shapes};
use crate::sizes::{CUBE, Host, cubes, spread};
use crate::step::Flow;
use crate::generators::Order;
use crate::wide::Purpose;
use crate::{carry, few, generators, small, wide};

/// A device.
pub struct Gpu<R: Runtime> {
    client: ComputeClient<R>,
    limits: Limits,
    may_keep: bool,
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

/// The most parts that sums over all chunks are cut into.
const SPLITS: usize = 256;

impl<R: Runtime> Gpu<R> {
    /// A device through its client.
    pub fn new(client: ComputeClient<R>) -> Self {
        let multiprocessors = client.properties().hardware.num_streaming_multiprocessors.unwrap_or(4) as usize;
        let limits = Limits { units: multiprocessors << 11, ..Limits::default() };
        Self { client, limits, may_keep: true }
    }

    /// Other limits than those of the device.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// How many channels a unit of a run of blocks keeps: all, or none.
    fn few(&self, run: Run, shapes: Shapes) -> usize {
        let fits = run.b <= Plan::SMALL && shapes.coefficients * run.b * run.b <= few::MOST;
        if self.may_keep && fits && run.count.is_multiple_of(self.plane()) { shapes.coefficients } else { 0 }
    }

    /// Units that can sum over themselves: those of a plane, or 1.
    fn plane(&self) -> usize {
        let hardware = &self.client.properties().hardware;
        let size = hardware.plane_size_min;
        let is_known = size > 0 && size == hardware.plane_size_max && CUBE.is_multiple_of(size);
        if is_known && self.client.features().plane.contains(Plane::Ops) { size as usize } else { 1 }
    }

    /// Whether generators may be made on the way. They are formed by matrix products otherwise.
    #[must_use]
    pub fn with_few_channels(self, may_keep: bool) -> Self {
        Self { may_keep, ..self }
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
            let work = Work::new(self, run, blocks, shapes, flow, arrays, &lengths, orders(run, flow, false));
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
            let work = Work::new(self, run, blocks, shapes, flow, arrays, &lengths, orders(run, flow, true));
            let lambda = work.ends(gradient);
            work.differentiate(states, gradient, &lambda, &out, i > 0);
        }
        out
    }
}

/// A buffer of numbers as the argument of a launch.
///
/// # Safety
/// The buffer holds at least so many numbers.
unsafe fn array<R: Runtime>(handle: &Handle, count: usize) -> ArrayArg<R> {
    unsafe { ArrayArg::from_raw_parts(handle.clone(), count) }
}

/// Generators in one order of entries: `A`, and those of the slab that was formed last.
struct Formed {
    order: Order,
    a: Handle,
    omega: Handle,
    slab: Cell<Option<(usize, usize)>>,
}

/// One run of blocks in one call.
struct Work<'a, R: Runtime> {
    gpu: &'a Gpu<R>,
    host: Host,
    parameters: usize,
    flow: Flow,
    arrays: &'a Arrays,
    lengths: &'a Handle,
    formed: Vec<Formed>,
    /// Channels, where they are so few that generators are made on the way; else 0.
    few: usize,
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
        orders: &[Order],
    ) -> Self {
        let few = gpu.few(run, shapes);
        let plan = Plan::new(run, shapes, if few > 0 { Limits { slab: usize::MAX, ..gpu.limits } } else { gpu.limits });
        let host = Host { run, shapes, plan, hidden: blocks.iter().sum(), slab: (0, plan.slab) };
        let parameters: usize = blocks.iter().map(|b| b * b).sum();
        let count = shapes.coefficients * run.entries();
        let formed = |&order: &Order| {
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
                    order,
                );
            }
            let rows = if few > 0 { 0 } else { plan.rows(shapes.batch) };
            Formed { order, a, omega: gpu.floats(rows * run.entries()), slab: Cell::new(None) }
        };
        let formed = orders.iter().map(formed).collect();
        Self { gpu, host, parameters, flow, arrays, lengths, formed, few }
    }

    fn is_small(&self) -> bool {
        self.host.run.b <= Plan::SMALL
    }

    fn state_count(&self) -> usize {
        let Shapes { batch, length, columns, .. } = self.host.shapes;
        batch * length * columns * self.host.hidden
    }

    fn coefficient_count(&self) -> usize {
        let Shapes { batch, length, coefficients, .. } = self.host.shapes;
        batch * length * coefficients
    }

    fn initial_count(&self) -> usize {
        self.host.shapes.batch * self.host.shapes.columns * self.host.hidden
    }

    fn end_count(&self) -> usize {
        self.host.ends() * self.host.run.b
    }

    fn product_count(&self) -> usize {
        self.host.products()
    }

    fn slab_count(&self) -> usize {
        self.host.plan.rows(self.host.shapes.batch) * self.host.run.entries()
    }

    fn beta(&self) -> ArrayArg<R> {
        match &self.arrays.affine {
            // SAFETY: the affine input has the shape of the states.
            Some(affine) => unsafe { array(affine, self.state_count()) },
            // SAFETY: not read where the flow has no affine input.
            None => unsafe { array(&self.arrays.initial, self.initial_count()) },
        }
    }

    fn lengths(&self) -> ArrayArg<R> {
        // SAFETY: one number for each series.
        unsafe { array(self.lengths, self.host.shapes.batch) }
    }

    /// `A` in the first order.
    fn a(&self) -> ArrayArg<R> {
        // SAFETY: made with this size.
        unsafe { array(&self.formed[0].a, self.host.shapes.coefficients * self.host.run.entries()) }
    }

    /// What small blocks read their generators from.
    fn source(&self, slab: (usize, usize)) -> ArrayArg<R> {
        // SAFETY: the coefficients were checked to have this size.
        if self.few > 0 {
            unsafe { array(&self.arrays.coefficients, self.coefficient_count()) }
        } else {
            self.omega(slab, &self.formed[0])
        }
    }

    /// The sizes with a slab.
    fn at(&self, slab: (usize, usize)) -> Host {
        Host { slab, ..self.host }
    }

    /// The generators of a slab, formed unless they are there.
    fn omega(&self, slab: (usize, usize), formed: &Formed) -> ArrayArg<R> {
        let host = self.at(slab);
        let units = host.places() * slab.1.div_ceil(generators::ROWS) * host.run.entries();
        // SAFETY: every buffer was made or checked with the size given here.
        unsafe {
            if formed.slab.replace(Some(slab)) != Some(slab) {
                generators::form::launch_unchecked::<R>(
                    &self.gpu.client,
                    cubes(units),
                    CubeDim::new_1d(CUBE),
                    array(&self.arrays.coefficients, self.coefficient_count()),
                    array(&formed.a, host.shapes.coefficients * host.run.entries()),
                    array(&formed.omega, self.slab_count()),
                    host.launch(units),
                    host.run.b,
                );
            }
            array(&formed.omega, self.slab_count())
        }
    }

    /// The products of the flows of chunks, and what affine inputs add up to.
    fn products(&self, flow: Flow, back: bool) -> Handle {
        let out = self.gpu.floats(self.product_count());
        let Host { run, shapes, plan, .. } = self.host;
        if self.few > 0 {
            // A unit with all columns makes each generator once; with few chunks there would be too few of them.
            let own = if shapes.batch * plan.chunks * run.count * 4 >= self.gpu.limits.units { run.b } else { 1 };
            let columns = run.b / own + if flow.is_affine() { shapes.columns } else { 0 };
            let units = shapes.batch * (plan.chunks - 1) * columns * run.count;
            // SAFETY: every buffer was made or checked with the size given here.
            unsafe {
                few::products::launch_unchecked::<R>(
                    &self.gpu.client,
                    cubes(units),
                    CubeDim::new_1d(CUBE),
                    array(&self.arrays.coefficients, self.coefficient_count()),
                    self.a(),
                    self.beta(),
                    self.lengths(),
                    array(&out, self.product_count()),
                    self.host.launch(units),
                    run.b,
                    flow,
                    self.few,
                    own,
                );
            }
            return out;
        }
        let slabs: Vec<_> = if back && !self.is_small() { plan.slabs().rev().collect() } else { plan.slabs().collect() };
        for slab in slabs {
            let (host, client) = (self.at(slab), &self.gpu.client);
            let omega = self.omega(slab, &self.formed[0]);
            // SAFETY: every buffer was made or checked with the size given here.
            unsafe {
                if self.is_small() {
                    let columns = run.b + if flow.is_affine() { shapes.columns } else { 0 };
                    let units = shapes.batch * (plan.chunks - 1) * columns * run.count;
                    small::products::launch_unchecked::<R>(
                        client,
                        cubes(units),
                        CubeDim::new_1d(CUBE),
                        omega,
                        self.beta(),
                        self.lengths(),
                        array(&out, self.product_count()),
                        host.launch(units),
                        run.b,
                        flow,
                    );
                } else {
                    let columns = self.columns();
                    let units = shapes.batch * (plan.chunks - 1) * run.count * run.b.div_ceil(columns);
                    wide::products::launch_unchecked::<R>(
                        client,
                        spread(units),
                        CubeDim::new_1d((wide::SIDE * wide::SIDE) as u32),
                        omega,
                        self.lengths(),
                        array(&out, self.product_count()),
                        host.launch(units),
                        run.b,
                        columns,
                        flow,
                        back,
                    );
                    if flow.is_affine() {
                        self.walk(slab, Purpose::Sum, (&out, self.product_count()), &self.arrays.initial);
                    }
                }
            }
        }
        out
    }

    /// How many columns of a product one cube has: as many as fit in its memory.
    fn columns(&self) -> usize {
        let most = self.gpu.client.properties().hardware.max_shared_memory_size / size_of::<f32>();
        let copies = if self.flow.exact { 2 } else { 1 };
        let padded = self.host.run.b.next_multiple_of(wide::SIDE);
        let fits = |columns: &usize| padded * (copies * columns + 16) + 512 <= most;
        [128, 64, 32].into_iter().filter(|&columns| columns < 2 * padded).find(fits).unwrap_or(wide::SIDE)
    }

    /// A walk of large blocks through a slab.
    fn walk(&self, slab: (usize, usize), purpose: Purpose, (ends, end_count): (&Handle, usize), rows: &Handle) {
        let Host { run, shapes, plan, .. } = self.host;
        let units = shapes.batch * plan.chunks * shapes.columns * run.count;
        let flow = if purpose == Purpose::Pull { self.flow.without_affine() } else { self.flow };
        let row_count = if purpose == Purpose::Sum { self.initial_count() } else { self.state_count() };
        // SAFETY: every buffer was made or checked with the size given here; a sum does not touch its rows.
        unsafe {
            wide::walk::launch_unchecked::<R>(
                &self.gpu.client,
                spread(units),
                CubeDim::new_1d(wide::WALKERS as u32),
                self.omega(slab, &self.formed[0]),
                self.beta(),
                self.lengths(),
                array(ends, end_count),
                array(rows, row_count),
                self.at(slab).launch(units),
                run.b,
                flow,
                purpose,
            );
        }
    }

    /// The state at the beginning of every chunk.
    fn starts(&self) -> Handle {
        let Host { run, shapes, plan, .. } = self.host;
        let starts = self.gpu.floats(self.end_count());
        // One chunk has no product, and nothing of it is read.
        let products = if plan.chunks > 1 { self.products(self.flow, false) } else { self.gpu.floats(self.product_count()) };
        let units = shapes.batch * shapes.columns * run.count;
        let affine = self.flow.is_affine();
        if self.is_small() {
            self.carry(&products, &starts);
            return starts;
        }
        // SAFETY: every buffer was made or checked with the size given here.
        unsafe {
            wide::carry::launch_unchecked::<R>(
                &self.gpu.client,
                spread(units),
                CubeDim::new_1d(wide::WALKERS as u32),
                array(&products, self.product_count()),
                array(&self.arrays.initial, self.initial_count()),
                array(&starts, self.end_count()),
                self.host.launch(units),
                run.b,
                affine,
                false,
            );
        }
        starts
    }

    /// Small blocks, from chunk to chunk: through groups of chunks where there are many.
    fn carry(&self, products: &Handle, starts: &Handle) {
        let (client, dim, b, affine) = (&self.gpu.client, CubeDim::new_1d(CUBE), self.host.run.b, self.flow.is_affine());
        let group = self.host.plan.group();
        let groups = self.grouped(group);
        let (units, columns) = (groups.ends(), if affine { self.host.shapes.columns } else { 0 });
        let products = |count| unsafe { array(products, count) };
        let initial = || unsafe { array(&self.arrays.initial, self.initial_count()) };
        // SAFETY: every buffer was made or checked with the size given here.
        unsafe {
            let out = array(starts, self.end_count());
            let own = products(self.product_count());
            if groups.plan.chunks == 1 {
                let sizes = self.host.launch(units);
                carry::carry::launch_unchecked::<R>(client, cubes(units), dim, own, initial(), out, group, sizes, b, affine, false);
                return;
            }
            let folded = self.gpu.floats(groups.products());
            let count = groups.ends() / self.host.shapes.columns * (b + columns);
            let folded_of = || array(&folded, groups.products());
            let own_again = products(self.product_count());
            carry::fold::launch_unchecked::<R>(
                client,
                cubes(count),
                dim,
                own,
                folded_of(),
                group,
                self.host.launch(count),
                b,
                affine,
            );
            let begins = self.gpu.floats(groups.ends() * b);
            let begins_of = || array(&begins, groups.ends() * b);
            let (top, all) = (groups.ends() / groups.plan.chunks, groups.plan.chunks);
            let sizes = groups.launch(top);
            let count = cubes(top);
            carry::carry::launch_unchecked::<R>(
                client,
                count,
                dim,
                folded_of(),
                initial(),
                begins_of(),
                all,
                sizes,
                b,
                affine,
                false,
            );
            let sizes = self.host.launch(units);
            let count = cubes(units);
            carry::carry::launch_unchecked::<R>(
                client,
                count,
                dim,
                own_again,
                begins_of(),
                out,
                group,
                sizes,
                b,
                affine,
                true,
            );
        }
    }

    /// The same for gradients, from the end.
    fn carry_back(&self, products: &Handle, lambda: &Handle) {
        let (client, dim, b) = (&self.gpu.client, CubeDim::new_1d(CUBE), self.host.run.b);
        let group = self.host.plan.group();
        let groups = self.grouped(group);
        let units = groups.ends();
        // SAFETY: every buffer was made or checked with the size given here.
        unsafe {
            let own = || array(products, self.product_count());
            let lambda_of = || array(lambda, self.end_count());
            let sizes = self.host.launch(units);
            if groups.plan.chunks == 1 {
                let ends = lambda_of();
                carry::carry_back::launch_unchecked::<R>(
                    client,
                    cubes(units),
                    dim,
                    own(),
                    ends,
                    lambda_of(),
                    group,
                    sizes,
                    b,
                    false,
                );
                return;
            }
            let folded = self.gpu.floats(groups.products());
            let folded_of = || array(&folded, groups.products());
            let count = units / self.host.shapes.columns * b;
            carry::fold::launch_unchecked::<R>(
                client,
                cubes(count),
                dim,
                own(),
                folded_of(),
                group,
                self.host.launch(count),
                b,
                false,
            );
            let ends = self.gpu.floats(units * b);
            let ends_of = || array(&ends, units * b);
            carry::fold_back::launch_unchecked::<R>(client, cubes(units), dim, own(), lambda_of(), ends_of(), group, sizes, b);
            let (top, all) = (units / groups.plan.chunks, groups.plan.chunks);
            carry::carry_back::launch_unchecked::<R>(
                client,
                cubes(top),
                dim,
                folded_of(),
                ends_of(),
                ends_of(),
                all,
                groups.launch(top),
                b,
                false,
            );
            carry::carry_back::launch_unchecked::<R>(
                client,
                cubes(units),
                dim,
                own(),
                ends_of(),
                lambda_of(),
                group,
                self.host.launch(units),
                b,
                true,
            );
        }
    }

    /// The same sizes with groups of chunks in place of chunks.
    fn grouped(&self, group: usize) -> Host {
        let plan = Plan { chunks: self.host.plan.chunks.div_ceil(group), ..self.host.plan };
        Host { plan, ..self.host }
    }

    /// The states of a slab.
    fn replay(&self, slab: (usize, usize), starts: &Handle, states: &Handle) {
        if !self.is_small() {
            return self.walk(slab, Purpose::Replay, (starts, self.end_count()), states);
        }
        let Host { run, shapes, plan, .. } = self.host;
        let units = shapes.batch * plan.chunks * shapes.columns * run.count;
        // SAFETY: every buffer was made or checked with the size given here.
        unsafe {
            small::replay::launch_unchecked::<R>(
                &self.gpu.client,
                cubes(units),
                CubeDim::new_1d(CUBE),
                self.source(slab),
                self.a(),
                self.beta(),
                self.lengths(),
                array(starts, self.end_count()),
                array(states, self.state_count()),
                self.at(slab).launch(units),
                run.b,
                self.flow,
                self.few,
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
        let products = self.products(self.flow.without_affine(), true);
        for slab in plan.slabs().rev() {
            if !self.is_small() {
                self.walk(slab, Purpose::Pull, (&lambda, self.end_count()), gradient);
                continue;
            }
            let units = shapes.batch * plan.chunks * shapes.columns * run.count;
            // SAFETY: every buffer was made or checked with the size given here.
            unsafe {
                small::pull::launch_unchecked::<R>(
                    &self.gpu.client,
                    cubes(units),
                    CubeDim::new_1d(CUBE),
                    self.source(slab),
                    self.a(),
                    array(gradient, self.state_count()),
                    self.lengths(),
                    array(&lambda, self.end_count()),
                    self.at(slab).launch(units),
                    run.b,
                    self.flow,
                    self.few,
                );
            }
        }
        if self.is_small() {
            self.carry_back(&products, &lambda);
            return lambda;
        }
        let units = shapes.batch * shapes.columns * run.count;
        // SAFETY: every buffer was made or checked with the size given here.
        unsafe {
            wide::carry::launch_unchecked::<R>(
                &self.gpu.client,
                spread(units),
                CubeDim::new_1d(wide::WALKERS as u32),
                array(&products, self.product_count()),
                array(&self.arrays.initial, self.initial_count()),
                array(&lambda, self.end_count()),
                self.host.launch(units),
                run.b,
                false,
                true,
            );
        }
        lambda
    }

    /// All gradients, slab by slab from the end. `add` to those in the coefficients, which other runs have part in.
    fn differentiate(&self, states: &Handle, gradient: &Handle, lambda: &Handle, out: &Gradients, add: bool) {
        let (parts, splits) = if self.few > 0 {
            self.differentiate_few(states, gradient, lambda, out, add)
        } else {
            self.differentiate_slabs(states, gradient, lambda, out, add)
        };
        let Host { run, shapes, .. } = self.host;
        let width = shapes.coefficients * run.entries();
        let units = shapes.batch * shapes.columns * run.count;
        // SAFETY: every buffer was made or checked with the size given here.
        unsafe {
            generators::collect::launch_unchecked::<R>(
                &self.gpu.client,
                spread(width.div_ceil(generators::SUMS)),
                CubeDim::new_1d((generators::SUMS * generators::LANES) as u32),
                array(&parts, splits * width),
                array(&out.a, shapes.coefficients * self.parameters),
                splits,
                run.entry,
                self.parameters,
                self.host.launch(width),
                run.b,
                self.formed[0].order,
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

    /// Few channels: everything at once. The parts of `dA`, and how many.
    fn differentiate_few(&self, states: &Handle, gradient: &Handle, lambda: &Handle, out: &Gradients, add: bool) -> (Handle, usize) {
        let Host { run, shapes, plan, .. } = self.host;
        let client = &self.gpu.client;
        // Several chunks a unit, or there would be as many parts of dA as chunks.
        let each = if run.b == 1 { 1 } else { 2 }.min(plan.chunks);
        let splits = shapes.batch * plan.chunks.div_ceil(each);
        let parts = self.gpu.floats(splits * shapes.coefficients * run.entries());
        let plane = self.gpu.plane();
        let planes = run.count / plane;
        let numbers = self.coefficient_count();
        let of_coefficients = out.coefficients.is_some();
        let d_coefficients = self.gpu.floats(if of_coefficients { numbers * planes } else { 1 });
        let units = splits * run.count;
        for column in 0..shapes.columns {
            // SAFETY: every buffer was made or checked with the size given here.
            unsafe {
                few::differentiate::launch_unchecked::<R>(
                    client,
                    cubes(units),
                    CubeDim::new_1d(CUBE),
                    array(&self.arrays.coefficients, numbers),
                    self.a(),
                    self.beta(),
                    self.lengths(),
                    array(&self.arrays.initial, self.initial_count()),
                    array(states, self.state_count()),
                    array(gradient, self.state_count()),
                    array(lambda, self.end_count()),
                    array(&d_coefficients, if of_coefficients { numbers * planes } else { 1 }),
                    array(&parts, splits * shapes.coefficients * run.entries()),
                    self.d_beta(out, lambda),
                    column,
                    each,
                    self.host.launch(units),
                    run.b,
                    self.flow,
                    self.few,
                    of_coefficients,
                    plane,
                );
            }
        }
        if let Some(coefficients) = &out.coefficients {
            // SAFETY: every buffer was made or checked with the size given here.
            unsafe {
                few::join::launch_unchecked::<R>(
                    client,
                    cubes(numbers),
                    CubeDim::new_1d(CUBE),
                    array(&d_coefficients, numbers * planes),
                    array(coefficients, numbers),
                    planes,
                    u32::from(add),
                    numbers,
                );
            }
        }
        (parts, splits)
    }

    /// Where gradients of affine inputs go.
    fn d_beta(&self, out: &Gradients, other: &Handle) -> ArrayArg<R> {
        match &out.affine {
            // SAFETY: made with the size of the states.
            Some(affine) => unsafe { array(affine, self.state_count()) },
            // SAFETY: not written where the flow has no affine input.
            None => unsafe { array(other, self.end_count()) },
        }
    }

    /// Slab by slab from the end. The parts of `dA`, and how many.
    fn differentiate_slabs(
        &self,
        states: &Handle,
        gradient: &Handle,
        lambda: &Handle,
        out: &Gradients,
        add: bool,
    ) -> (Handle, usize) {
        let Host { run, shapes, plan, .. } = self.host;
        let (client, places) = (&self.gpu.client, self.host.places());
        let d_omega = self.gpu.floats(self.slab_count());
        let each = places.div_ceil(SPLITS);
        let splits = places.div_ceil(each);
        let width = shapes.coefficients * run.entries();
        let parts = self.gpu.floats(splits * width);
        let rows_of = &self.formed[0];
        for (i, slab) in plan.slabs().rev().enumerate() {
            let host = self.at(slab);
            let units = shapes.batch * plan.chunks * run.count;
            for column in 0..shapes.columns {
                // SAFETY: every buffer was made or checked with the size given here.
                unsafe {
                    let omega = self.omega(slab, rows_of);
                    let initial = array(&self.arrays.initial, self.initial_count());
                    let (states, gradient) = (array(states, self.state_count()), array(gradient, self.state_count()));
                    let (lambda_out, d_omega) = (array(lambda, self.end_count()), array(&d_omega, self.slab_count()));
                    let d_beta = self.d_beta(out, lambda);
                    if self.is_small() {
                        small::differentiate::launch_unchecked::<R>(
                            client,
                            cubes(units),
                            CubeDim::new_1d(CUBE),
                            omega,
                            self.beta(),
                            self.lengths(),
                            initial,
                            states,
                            gradient,
                            lambda_out,
                            d_omega,
                            d_beta,
                            column,
                            host.launch(units),
                            run.b,
                            self.flow,
                        );
                    } else {
                        // Columns are read by exact flows alone.
                        let columns_of = self.omega(slab, self.formed.last().unwrap_or(rows_of));
                        wide::differentiate::launch_unchecked::<R>(
                            client,
                            spread(units),
                            CubeDim::new_1d(wide::WALKERS as u32),
                            columns_of,
                            omega,
                            self.beta(),
                            self.lengths(),
                            initial,
                            states,
                            gradient,
                            lambda_out,
                            d_omega,
                            d_beta,
                            column,
                            host.launch(units),
                            run.b,
                            self.flow,
                        );
                    }
                }
            }
            let groups = shapes.coefficients.div_ceil(generators::CHANNELS);
            // SAFETY: every buffer was made or checked with the size given here.
            unsafe {
                let units = places * slab.1.div_ceil(generators::TALL);
                if let (Some(coefficients), CubeCount::Static(x, y, _)) = (&out.coefficients, spread(units)) {
                    generators::contract::launch_unchecked::<R>(
                        client,
                        CubeCount::Static(x, y, groups as u32),
                        CubeDim::new_1d(generators::TEAM as u32),
                        array(&d_omega, self.slab_count()),
                        array(&rows_of.a, width),
                        array(coefficients, self.coefficient_count()),
                        u32::from(add),
                        host.launch(units),
                        run.b,
                    );
                }
                let units = splits * groups * run.entries();
                generators::gather::launch_unchecked::<R>(
                    client,
                    cubes(units),
                    CubeDim::new_1d(CUBE),
                    array(&self.arrays.coefficients, self.coefficient_count()),
                    array(&d_omega, self.slab_count()),
                    array(&parts, splits * width),
                    places,
                    each,
                    u32::from(i > 0),
                    host.launch(units),
                    run.b,
                );
            }
        }
        (parts, splits)
    }
}

/// The orders in which a pass reads generators, the one that all its kernels read first.
fn orders(run: Run, flow: Flow, back: bool) -> &'static [Order] {
    match (run.b <= Plan::SMALL, back) {
        (true, _) => &[Order::Interleaved],
        (false, false) => &[Order::Columns],
        (false, true) if flow.exact => &[Order::Rows, Order::Columns],
        (false, true) => &[Order::Rows],
    }
}
