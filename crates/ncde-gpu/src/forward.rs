//! The forward pass of one run of blocks: products of chunks, the state at the beginning of each, then all states.

use cubecl::prelude::*;
use cubecl::server::Handle;

use crate::call::Slab;
use crate::device::launch;
use crate::flow::Flow;
use crate::kernel::carry::{self, Walk};
use crate::kernel::wide::Purpose;
use crate::kernel::wide::ahead::Pieces;
use crate::kernel::{middle, small, wide};
use crate::plan::Owner;
use crate::sizes::Host;
use crate::work::Work;

impl<R: Runtime> Work<'_, R> {
    /// The products of the flows of chunks, `all` or those that the pass needs, and what affine inputs add up to. Where generators are formed, `then` is called for every slab while
    /// they are in memory.
    pub(crate) fn products(&self, flow: Flow, back: bool, all: bool, then: impl Fn(Slab)) -> Handle {
        let (out, gpu, lengths) = (self.gpu.floats(self.product_count()), self.gpu, &self.call.lengths);
        let Host { run, shapes, plan, .. } = self.host;
        let is_reversed = back && self.owner() != Owner::Unit;
        let slabs: Vec<_> = if is_reversed { plan.slabs().rev().collect() } else { plan.slabs().collect() };
        for slab in slabs {
            let (host, source) = (self.at(slab), self.source(slab));
            match self.owner() {
                Owner::Unit => {
                    // A unit with all columns makes each generator once; with few chunks there would be too few of them.
                    let is_full = self.few > 0 && host.places() * run.count * 4 >= gpu.limits().units;
                    let per_unit = if is_full { run.b } else { 1 };
                    let columns = run.b / per_unit + if flow.is_affine() { shapes.columns } else { 0 };
                    let units = shapes.batch * (plan.chunks - 1) * columns * run.count;
                    launch!(gpu, small::products, each units;
                        [source, self.a(), self.call.beta(), lengths, out], host.launch(units), run.b, flow, self.few, per_unit);
                }
                Owner::Team => {
                    let units = shapes.batch * (plan.chunks - 1) * run.count;
                    launch!(gpu, middle::products::products, gpu.spread(units.div_ceil(middle::products::BLOCKS)), middle::CUBE;
                        4; [source, lengths, out], host.launch(units), run.b, flow, back);
                }
                Owner::Cube => {
                    let columns = self.columns();
                    let chunks = plan.chunks - usize::from(!all);
                    let units = shapes.batch * chunks * run.count * run.b.div_ceil(columns);
                    let (cubes, side) = (gpu.spread(units), wide::SIDE * wide::SIDE);
                    if self.is_by_fours() && columns >= 64 {
                        launch!(gpu, wide::products::products_by_fours, cubes, side;
                            4; [source, lengths, out], host.launch(units), run.b, columns, back, all);
                    } else {
                        launch!(gpu, wide::products::products, cubes, side;
                            [source, lengths, out], host.launch(units), run.b, columns, flow, back, all);
                    }
                }
            }
            if flow.is_affine() && self.owner() != Owner::Unit {
                // A sum does not touch its rows.
                self.walk(slab, Purpose::Sum, &out, &self.call.arrays.initial, None);
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

    /// A walk through a slab; with a buffer for adjoints, of blocks that a cube has.
    pub(crate) fn walk(&self, slab: Slab, purpose: Purpose, ends: &Handle, rows: &Handle, adjoints: Option<&Handle>) {
        let (gpu, b, units) = (self.gpu, self.host.run.b, self.host.ends());
        let flow = if purpose.is_back() { self.flow.without_affine() } else { self.flow };
        let (source, sizes) = (self.source(slab), self.at(slab).launch(units));
        let (beta, lengths) = (self.call.beta(), &self.call.lengths);
        match self.owner() {
            Owner::Unit => launch!(gpu, small::walk, each units;
                [source, self.a(), beta, lengths, ends, rows], sizes, b, flow, self.few, purpose),
            Owner::Team => launch!(gpu, middle::walk::walk, gpu.spread(units.div_ceil(middle::TEAMS)), middle::CUBE;
                [source, beta, lengths, ends, rows], sizes, b, flow, purpose),
            Owner::Cube => {
                let cubes = gpu.spread(units);
                // A buffer that no other argument is: `WebGPU` refuses one that is written under two names.
                let adjoints = adjoints.cloned().unwrap_or_else(|| gpu.floats(1));
                let most = gpu.client().properties().hardware.max_units_per_cube as usize;
                if let Some(of) = Pieces::of(b, most).filter(|_| !flow.exact) {
                    launch!(gpu, wide::ahead::walk_ahead, cubes, of.units();
                        [source, beta, lengths, ends, rows, adjoints], sizes, of, flow, purpose);
                } else {
                    launch!(gpu, wide::walk::walk, cubes, wide::WALKERS;
                        [source, beta, lengths, ends, rows, adjoints], sizes, b, flow, purpose);
                }
            }
        }
    }

    /// Whether the products of chunks are stored for the reverse pass: where they take most of its time, and not much room.
    pub(crate) fn can_store_products(&self) -> bool {
        let bytes = self.product_count() * size_of::<f32>();
        self.owner() == Owner::Cube && self.host.plan.chunks > 1 && bytes <= self.gpu.limits().slab
    }

    /// The state at the beginning of every chunk, and the products of all chunks, if they are stored.
    pub(crate) fn starts(&self, store: bool) -> (Handle, Option<Handle>) {
        let starts = self.gpu.floats(self.end_count());
        let store = store && self.can_store_products();
        // One chunk has no product: the buffer is not read.
        let products = if self.host.plan.chunks > 1 {
            self.products(self.flow, false, store, |_| ())
        } else {
            self.gpu.floats(self.product_count())
        };
        if self.owner() == Owner::Unit {
            self.carry(&products, &starts);
        } else {
            self.carry_large(&products, &starts, self.flow.is_affine(), false, false);
        }
        (starts, store.then_some(products))
    }

    /// Blocks of more than one unit, from chunk to chunk: states, or gradients in reverse.
    pub(crate) fn carry_large(&self, products: &Handle, ends: &Handle, affine: bool, back: bool, turned: bool) {
        let Host { run, shapes, .. } = self.host;
        let units = shapes.batch * shapes.columns * run.count;
        let (gpu, sizes, initial) = (self.gpu, self.host.launch(units), &self.call.arrays.initial);
        if self.owner() == Owner::Team {
            launch!(gpu, middle::carry::carry, gpu.spread(units.div_ceil(middle::TEAMS)), middle::CUBE;
                [products, initial, ends], sizes, run.b, affine, back);
        } else {
            launch!(gpu, wide::carry::carry, gpu.spread(units), wide::WALKERS;
                [products, initial, ends], sizes, run.b, affine, back, turned);
        }
    }

    /// Small blocks, from chunk to chunk: through groups of chunks where there are many.
    pub(crate) fn carry(&self, products: &Handle, starts: &Handle) {
        let (gpu, b, affine, group) = (self.gpu, self.host.run.b, self.flow.is_affine(), self.host.plan.group());
        let (groups, initial) = (self.grouped(group), &self.call.arrays.initial);
        let (units, all) = (groups.ends(), groups.plan.chunks);
        let sizes = self.host.launch(units);
        if all == 1 {
            launch!(gpu, carry::carry, each units; [products, initial, starts], group, sizes, b, affine, Walk::Series);
            return;
        }
        let (folded, begins, top) = (self.folded(products, group, affine), gpu.floats(units * b), units / all);
        launch!(gpu, carry::carry, each top; [folded, initial, begins], all, groups.launch(top), b, affine, Walk::Series);
        launch!(gpu, carry::carry, each units; [products, begins, starts], group, sizes, b, affine, Walk::Group);
    }

    /// The products of groups of chunks, and what affine inputs add up to in them.
    pub(crate) fn folded(&self, products: &Handle, group: usize, affine: bool) -> Handle {
        let (gpu, b, groups) = (self.gpu, self.host.run.b, self.grouped(group));
        let columns = self.host.shapes.columns;
        let (out, units) = (gpu.floats(groups.products()), groups.ends() / columns * (b + if affine { columns } else { 0 }));
        launch!(gpu, carry::carry, each units;
            [products, self.call.arrays.initial, out], group, self.host.launch(units), b, affine, Walk::Fold);
        out
    }
}
