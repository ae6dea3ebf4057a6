//! The forward pass of one run of blocks: products of chunks, the state at the beginning of each, then all states.

use cubecl::prelude::*;
use cubecl::server::Handle;

use crate::device::array;
use crate::flow::Flow;
use crate::kernel::wide::Purpose;
use crate::kernel::wide::ahead::Pieces;
use crate::kernel::{carry, few, middle, small, wide};
use crate::plan::Owner;
use crate::sizes::{CUBE, Host};
use crate::work::Work;

impl<R: Runtime> Work<'_, R> {
    /// The products of the flows of chunks, `all` or those that the pass needs, and what affine inputs add up to. Where generators are formed, `then` is told of every slab while
    /// they are there.
    pub(crate) fn products(&self, flow: Flow, back: bool, all: bool, then: impl Fn((usize, usize))) -> Handle {
        let out = self.gpu.floats(self.product_count());
        let Host { run, shapes, plan, .. } = self.host;
        if self.few > 0 {
            // A unit with all columns makes each generator once; with few chunks there would be too few of them.
            let own = if shapes.batch * plan.chunks * run.count * 4 >= self.gpu.limits().units { run.b } else { 1 };
            let columns = run.b / own + if flow.is_affine() { shapes.columns } else { 0 };
            let units = shapes.batch * (plan.chunks - 1) * columns * run.count;
            // SAFETY: every buffer was made or checked with the size given here.
            unsafe {
                few::products::launch_unchecked::<R>(
                    self.gpu.client(),
                    self.gpu.cubes(units),
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
        let is_reversed = back && self.owner() != Owner::Unit;
        let slabs: Vec<_> = if is_reversed { plan.slabs().rev().collect() } else { plan.slabs().collect() };
        for slab in slabs {
            let (host, client) = (self.at(slab), self.gpu.client());
            let omega = self.omega(slab, &self.formed[0]);
            // SAFETY: every buffer was made or checked with the size given here.
            unsafe {
                match self.owner() {
                    Owner::Unit => {
                        let columns = run.b + if flow.is_affine() { shapes.columns } else { 0 };
                        let units = shapes.batch * (plan.chunks - 1) * columns * run.count;
                        small::products::launch_unchecked::<R>(
                            client,
                            self.gpu.cubes(units),
                            CubeDim::new_1d(CUBE),
                            omega,
                            self.beta(),
                            self.lengths(),
                            array(&out, self.product_count()),
                            host.launch(units),
                            run.b,
                            flow,
                        );
                    }
                    Owner::Team => {
                        let units = shapes.batch * (plan.chunks - 1) * run.count;
                        middle::products::products::launch_unchecked::<R>(
                            client,
                            self.gpu.spread(units.div_ceil(middle::products::BLOCKS)),
                            CubeDim::new_1d(middle::CUBE as u32),
                            4,
                            omega,
                            self.lengths(),
                            array(&out, self.product_count()),
                            host.launch(units),
                            run.b,
                            flow,
                            back,
                        );
                    }
                    Owner::Cube => {
                        let columns = self.columns();
                        let chunks = plan.chunks - usize::from(!all);
                        let units = shapes.batch * chunks * run.count * run.b.div_ceil(columns);
                        if self.is_by_fours() && columns >= 64 {
                            wide::products::products_by_fours::launch_unchecked::<R>(
                                client,
                                self.gpu.spread(units),
                                CubeDim::new_1d((wide::SIDE * wide::SIDE) as u32),
                                4,
                                omega,
                                self.lengths(),
                                array(&out, self.product_count()),
                                host.launch(units),
                                run.b,
                                columns,
                                back,
                                all,
                            );
                        } else {
                            wide::products::products::launch_unchecked::<R>(
                                client,
                                self.gpu.spread(units),
                                CubeDim::new_1d((wide::SIDE * wide::SIDE) as u32),
                                omega,
                                self.lengths(),
                                array(&out, self.product_count()),
                                host.launch(units),
                                run.b,
                                columns,
                                flow,
                                back,
                                all,
                            );
                        }
                    }
                }
            }
            if flow.is_affine() && self.owner() != Owner::Unit {
                self.walk(slab, Purpose::Sum, (&out, self.product_count()), &self.arrays.initial);
            }
            then(slab);
        }
        out
    }

    /// How many columns of a product one cube has: as many as fit in its memory.
    pub(crate) fn columns(&self) -> usize {
        let most = self.gpu.client().properties().hardware.max_shared_memory_size / size_of::<f32>();
        let copies = if self.flow.exact { 2 } else { 1 };
        let padded = self.host.run.b.next_multiple_of(wide::SIDE);
        let fits = |columns: &usize| padded * (copies * columns + 16) + 512 <= most;
        let divides =
            |columns: &usize| *columns < 2 * padded && (!self.is_by_fours() || self.host.run.b.is_multiple_of(*columns));
        [128, 64, 32].into_iter().filter(divides).find(fits).unwrap_or(wide::SIDE)
    }

    /// Whether numbers of a product are read four at a time.
    fn is_by_fours(&self) -> bool {
        !self.flow.exact && self.host.run.b.is_multiple_of(64)
    }

    /// A walk through a slab, of blocks of more than one unit.
    pub(crate) fn walk(&self, slab: (usize, usize), purpose: Purpose, ends: (&Handle, usize), rows: &Handle) {
        self.walk_to(slab, purpose, ends, rows, None);
    }

    /// The same with a buffer for adjoints, which are of blocks that a cube has.
    pub(crate) fn walk_to(
        &self,
        slab: (usize, usize),
        purpose: Purpose,
        (ends, end_count): (&Handle, usize),
        rows: &Handle,
        adjoints: Option<&Handle>,
    ) {
        let Host { run, shapes, plan, .. } = self.host;
        let units = shapes.batch * plan.chunks * shapes.columns * run.count;
        let flow = if purpose.is_back() { self.flow.without_affine() } else { self.flow };
        let row_count = if purpose == Purpose::Sum { self.initial_count() } else { self.state_count() };
        let (client, gpu, sizes) = (self.gpu.client(), self.gpu, self.at(slab).launch(units));
        let omega = self.omega(slab, &self.formed[0]);
        // SAFETY: every buffer was made or checked with the size given here; a sum does not touch its rows.
        unsafe {
            let (ends, rows) = (array(ends, end_count), array(rows, row_count));
            let (beta, lengths) = (self.beta(), self.lengths());
            if self.owner() == Owner::Team {
                let (cubes, dim) = (gpu.spread(units.div_ceil(middle::TEAMS)), CubeDim::new_1d(middle::CUBE as u32));
                middle::walk::walk::launch_unchecked::<R>(
                    client, cubes, dim, omega, beta, lengths, ends, rows, sizes, run.b, flow, purpose,
                );
            } else {
                let cubes = gpu.spread(units);
                // A buffer that no other argument is: `WebGPU` refuses one that is written under two names.
                let adjoints = adjoints.map_or_else(|| array(&gpu.floats(1), 1), |own| array(own, self.state_count()));
                let most = client.properties().hardware.max_units_per_cube as usize;
                if let Some(of) = Pieces::of(run.b, most).filter(|_| !flow.exact) {
                    let dim = CubeDim::new_1d(of.units() as u32);
                    wide::ahead::walk_ahead::launch_unchecked::<R>(
                        client, cubes, dim, omega, beta, lengths, ends, rows, adjoints, sizes, of, flow, purpose,
                    );
                } else {
                    let dim = CubeDim::new_1d(wide::WALKERS as u32);
                    wide::walk::walk::launch_unchecked::<R>(
                        client, cubes, dim, omega, beta, lengths, ends, rows, adjoints, sizes, run.b, flow, purpose,
                    );
                }
            }
        }
    }

    /// Whether the products of chunks of the forward pass are kept for the reverse pass: where they take most of its time, and not much room.
    pub(crate) fn keeps(&self) -> bool {
        let bytes = self.product_count() * size_of::<f32>();
        self.owner() == Owner::Cube && self.host.plan.chunks > 1 && bytes <= self.gpu.limits().slab
    }

    /// The state at the beginning of every chunk, and the products of all chunks, where they are kept.
    pub(crate) fn starts(&self, keep: bool) -> (Handle, Option<Handle>) {
        let starts = self.gpu.floats(self.end_count());
        let keep = keep && self.keeps();
        // One chunk has no product, and nothing of it is read.
        let products = if self.host.plan.chunks > 1 {
            self.products(self.flow, false, keep, |_| ())
        } else {
            self.gpu.floats(self.product_count())
        };
        if self.owner() == Owner::Unit {
            self.carry(&products, &starts);
        } else {
            self.carry_large(&products, &starts, self.flow.is_affine(), false, false);
        }
        (starts, keep.then_some(products))
    }

    /// Blocks of more than one unit, from chunk to chunk: states, or gradients in reverse.
    pub(crate) fn carry_large(&self, products: &Handle, ends: &Handle, affine: bool, back: bool, turned: bool) {
        let Host { run, shapes, .. } = self.host;
        let units = shapes.batch * shapes.columns * run.count;
        // SAFETY: every buffer was made or checked with the size given here.
        unsafe {
            let products = array(products, self.product_count());
            let initial = array(&self.arrays.initial, self.initial_count());
            let ends = array(ends, self.end_count());
            let sizes = self.host.launch(units);
            let (client, gpu) = (self.gpu.client(), self.gpu);
            if self.owner() == Owner::Team {
                let (cubes, dim) = (gpu.spread(units.div_ceil(middle::TEAMS)), CubeDim::new_1d(middle::CUBE as u32));
                middle::carry::carry::launch_unchecked::<R>(
                    client, cubes, dim, products, initial, ends, sizes, run.b, affine, back,
                );
            } else {
                let (cubes, dim) = (gpu.spread(units), CubeDim::new_1d(wide::WALKERS as u32));
                wide::carry::carry::launch_unchecked::<R>(
                    client, cubes, dim, products, initial, ends, sizes, run.b, affine, back, turned,
                );
            }
        }
    }

    /// Small blocks, from chunk to chunk: through groups of chunks where there are many.
    pub(crate) fn carry(&self, products: &Handle, starts: &Handle) {
        let (client, dim, b, affine) = (self.gpu.client(), CubeDim::new_1d(CUBE), self.host.run.b, self.flow.is_affine());
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
                carry::carry::launch_unchecked::<R>(
                    client,
                    self.gpu.cubes(units),
                    dim,
                    own,
                    initial(),
                    out,
                    group,
                    sizes,
                    b,
                    affine,
                    false,
                );
                return;
            }
            let folded = self.gpu.floats(groups.products());
            let count = groups.ends() / self.host.shapes.columns * (b + columns);
            let folded_of = || array(&folded, groups.products());
            let own_again = products(self.product_count());
            carry::fold::launch_unchecked::<R>(
                client,
                self.gpu.cubes(count),
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
            let count = self.gpu.cubes(top);
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
            let count = self.gpu.cubes(units);
            carry::carry::launch_unchecked::<R>(client, count, dim, own_again, begins_of(), out, group, sizes, b, affine, true);
        }
    }

    /// The states of a slab.
    pub(crate) fn replay(&self, slab: (usize, usize), starts: &Handle, states: &Handle) {
        if self.owner() != Owner::Unit {
            return self.walk(slab, Purpose::Replay, (starts, self.end_count()), states);
        }
        let Host { run, shapes, plan, .. } = self.host;
        let units = shapes.batch * plan.chunks * shapes.columns * run.count;
        // SAFETY: every buffer was made or checked with the size given here.
        unsafe {
            small::replay::launch_unchecked::<R>(
                self.gpu.client(),
                self.gpu.cubes(units),
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
}
