//! The forward pass of one run of blocks: products of chunks, the state at the beginning of each, then all states.

use cubecl::prelude::*;
use cubecl::server::Handle;

use crate::call::Slab;
use crate::device::{array, launch};
use crate::flow::Flow;
use crate::kernel::wide::Purpose;
use crate::kernel::wide::ahead::Pieces;
use crate::kernel::{carry, few, middle, small, wide};
use crate::plan::Owner;
use crate::sizes::Host;
use crate::work::Work;

impl<R: Runtime> Work<'_, R> {
    /// The products of the flows of chunks, `all` or those that the pass needs, and what affine inputs add up to. Where generators are formed, `then` is called for every slab while
    /// they are in memory.
    pub(crate) fn products(&self, flow: Flow, back: bool, all: bool, then: impl Fn(Slab)) -> Handle {
        let out = self.gpu.floats(self.product_count());
        let Host { run, shapes, plan, .. } = self.host;
        if self.few > 0 {
            // A unit with all columns makes each generator once; with few chunks there would be too few of them.
            let per_unit = if shapes.batch * plan.chunks * run.count * 4 >= self.gpu.limits().units { run.b } else { 1 };
            let columns = run.b / per_unit + if flow.is_affine() { shapes.columns } else { 0 };
            let units = shapes.batch * (plan.chunks - 1) * columns * run.count;
            launch!(self.gpu, few::products, each units;
                self.call.coefficient_array(), self.a(), self.call.beta(), self.call.lengths(), self.product_array(&out),
                self.host.launch(units), run.b, flow, self.few, per_unit);
            return out;
        }
        let is_reversed = back && self.owner() != Owner::Unit;
        let slabs: Vec<_> = if is_reversed { plan.slabs().rev().collect() } else { plan.slabs().collect() };
        for slab in slabs {
            let host = self.at(slab);
            let omega = self.omega(slab, &self.formed[0]);
            match self.owner() {
                Owner::Unit => {
                    let columns = run.b + if flow.is_affine() { shapes.columns } else { 0 };
                    let units = shapes.batch * (plan.chunks - 1) * columns * run.count;
                    launch!(self.gpu, small::products, each units;
                        omega, self.call.beta(), self.call.lengths(), self.product_array(&out), host.launch(units), run.b, flow);
                }
                Owner::Team => {
                    let units = shapes.batch * (plan.chunks - 1) * run.count;
                    launch!(self.gpu, middle::products::products, self.gpu.spread(units.div_ceil(middle::products::BLOCKS)), middle::CUBE;
                        4, omega, self.call.lengths(), self.product_array(&out), host.launch(units), run.b, flow, back);
                }
                Owner::Cube => {
                    let columns = self.columns();
                    let chunks = plan.chunks - usize::from(!all);
                    let units = shapes.batch * chunks * run.count * run.b.div_ceil(columns);
                    if self.is_by_fours() && columns >= 64 {
                        launch!(self.gpu, wide::products::products_by_fours, self.gpu.spread(units), wide::SIDE * wide::SIDE;
                            4, omega, self.call.lengths(), self.product_array(&out), host.launch(units), run.b, columns, back,
                            all);
                    } else {
                        launch!(self.gpu, wide::products::products, self.gpu.spread(units), wide::SIDE * wide::SIDE;
                            omega, self.call.lengths(), self.product_array(&out), host.launch(units), run.b, columns, flow, back,
                            all);
                    }
                }
            }
            if flow.is_affine() && self.owner() != Owner::Unit {
                self.walk(slab, Purpose::Sum, self.product_array(&out), &self.call.arrays.initial, None);
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

    /// A walk through a slab, of blocks of more than one unit; with a buffer for adjoints, of those that a cube has.
    pub(crate) fn walk(&self, slab: Slab, purpose: Purpose, ends: ArrayArg<R>, rows: &Handle, adjoints: Option<&Handle>) {
        let Host { run, shapes, plan, .. } = self.host;
        let units = shapes.batch * plan.chunks * shapes.columns * run.count;
        let flow = if purpose.is_back() { self.flow.without_affine() } else { self.flow };
        let row_count = if purpose == Purpose::Sum { self.call.initial_count() } else { self.call.state_count() };
        let (gpu, sizes) = (self.gpu, self.at(slab).launch(units));
        let omega = self.omega(slab, &self.formed[0]);
        // A sum does not touch its rows.
        let (rows, beta, lengths) = (array(rows, row_count), self.call.beta(), self.call.lengths());
        if self.owner() == Owner::Team {
            launch!(gpu, middle::walk::walk, gpu.spread(units.div_ceil(middle::TEAMS)), middle::CUBE;
                omega, beta, lengths, ends, rows, sizes, run.b, flow, purpose);
        } else {
            let cubes = gpu.spread(units);
            // A buffer that no other argument is: `WebGPU` refuses one that is written under two names.
            let adjoints = adjoints.map_or_else(|| array(&gpu.floats(1), 1), |buffer| self.call.state_array(buffer));
            let most = gpu.client().properties().hardware.max_units_per_cube as usize;
            if let Some(of) = Pieces::of(run.b, most).filter(|_| !flow.exact) {
                launch!(gpu, wide::ahead::walk_ahead, cubes, of.units();
                    omega, beta, lengths, ends, rows, adjoints, sizes, of, flow, purpose);
            } else {
                launch!(gpu, wide::walk::walk, cubes, wide::WALKERS;
                    omega, beta, lengths, ends, rows, adjoints, sizes, run.b, flow, purpose);
            }
        }
    }

    /// Whether the products of chunks are stored for the reverse pass: where they take most of its time, and not much room.
    pub(crate) fn keeps(&self) -> bool {
        let bytes = self.product_count() * size_of::<f32>();
        self.owner() == Owner::Cube && self.host.plan.chunks > 1 && bytes <= self.gpu.limits().slab
    }

    /// The state at the beginning of every chunk, and the products of all chunks, if they are stored.
    pub(crate) fn starts(&self, keep: bool) -> (Handle, Option<Handle>) {
        let starts = self.gpu.floats(self.end_count());
        let keep = keep && self.keeps();
        // One chunk has no product: the buffer is not read.
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
        let products = self.product_array(products);
        let initial = self.call.initial();
        let ends = self.end_array(ends);
        let sizes = self.host.launch(units);
        let gpu = self.gpu;
        if self.owner() == Owner::Team {
            launch!(gpu, middle::carry::carry, gpu.spread(units.div_ceil(middle::TEAMS)), middle::CUBE;
                products, initial, ends, sizes, run.b, affine, back);
        } else {
            launch!(gpu, wide::carry::carry, gpu.spread(units), wide::WALKERS;
                products, initial, ends, sizes, run.b, affine, back, turned);
        }
    }

    /// Small blocks, from chunk to chunk: through groups of chunks where there are many.
    pub(crate) fn carry(&self, products: &Handle, starts: &Handle) {
        let (b, affine, group) = (self.host.run.b, self.flow.is_affine(), self.host.plan.group());
        let groups = self.grouped(group);
        let (units, columns) = (groups.ends(), if affine { self.host.shapes.columns } else { 0 });
        let sizes = self.host.launch(units);
        let (chunks, out) = (|| self.product_array(products), self.end_array(starts));
        if groups.plan.chunks == 1 {
            launch!(self.gpu, carry::carry, each units; chunks(), self.call.initial(), out, group, sizes, b, affine, false);
            return;
        }
        let folded = self.gpu.floats(groups.products());
        let folded = || array(&folded, groups.products());
        let count = units / self.host.shapes.columns * (b + columns);
        launch!(self.gpu, carry::fold, each count; chunks(), folded(), group, self.host.launch(count), b, affine);
        let begins = self.gpu.floats(units * b);
        let begins = || array(&begins, units * b);
        let (top, all) = (units / groups.plan.chunks, groups.plan.chunks);
        launch!(self.gpu, carry::carry, each top;
            folded(), self.call.initial(), begins(), all, groups.launch(top), b, affine, false);
        launch!(self.gpu, carry::carry, each units; chunks(), begins(), out, group, sizes, b, affine, true);
    }

    /// The states of a slab.
    pub(crate) fn replay(&self, slab: Slab, starts: &Handle, states: &Handle) {
        if self.owner() != Owner::Unit {
            return self.walk(slab, Purpose::Replay, self.end_array(starts), states, None);
        }
        let Host { run, shapes, plan, .. } = self.host;
        let units = shapes.batch * plan.chunks * shapes.columns * run.count;
        launch!(self.gpu, small::replay, each units;
            self.source(slab), self.a(), self.call.beta(), self.call.lengths(), self.end_array(starts),
            self.call.state_array(states), self.at(slab).launch(units), run.b, self.flow, self.few);
    }
}
