//! One run of blocks in one call: its sizes, its buffers, and the generators of a slab.

use std::cell::Cell;

use cubecl::prelude::*;
use cubecl::server::Handle;

use crate::call::Call;
use crate::device::{Gpu, launch};
use crate::error::Error;
use crate::flow::Flow;
use crate::kernel::generators::{self, Order};
use crate::plan::{Limits, Owner, Plan, Run};
use crate::product::Matrix;
use crate::sizes::Host;

/// Generators in one order of entries: `A`, and those of the slab that was formed last.
pub(crate) struct Formed {
    pub(crate) order: Order,
    pub(crate) a: Handle,
    omega: Handle,
    slab: Cell<Option<(usize, usize)>>,
}

/// One run of blocks in one call.
pub(crate) struct Work<'a, R: Runtime> {
    pub(crate) gpu: &'a Gpu<R>,
    pub(crate) call: &'a Call<'a, R>,
    pub(crate) host: Host,
    pub(crate) parameters: usize,
    pub(crate) flow: Flow,
    pub(crate) formed: Vec<Formed>,
    /// Channels, where they are so few that generators are made on the way; else 0.
    pub(crate) few: usize,
}

impl<'a, R: Runtime> Work<'a, R> {
    /// A channel has so many parameters.
    pub(crate) fn new(call: &'a Call<'a, R>, run: Run, parameters: usize, back: bool) -> Self {
        let &Call { gpu, hidden, flow, shapes, arrays, .. } = call;
        let few = gpu.few(run, shapes);
        let limits = if few > 0 { Limits { slab: usize::MAX, ..gpu.limits() } } else { gpu.limits() };
        let plan = match gpu.chunk() {
            Some(chunk) => Plan::cut(run, shapes, limits, chunk),
            None => Plan::new(run, shapes, limits),
        };
        let host = Host { run, shapes, plan, hidden, slab: (0, plan.slab) };
        let count = shapes.coefficients * run.entries();
        let formed = |&order: &Order| {
            let a = gpu.floats(count);
            launch!(gpu, generators::permute, each count; [arrays.a, a], run.entry, parameters, host.launch(count), run.b, order);
            let rows = if few > 0 { 0 } else { plan.rows(shapes.batch) };
            Formed { order, a, omega: gpu.slab(rows * run.entries()), slab: Cell::new(None) }
        };
        let formed = orders(run, flow, back).iter().map(formed).collect();
        Self { gpu, call, host, parameters, flow, formed, few }
    }

    /// Who has a block.
    pub(crate) fn owner(&self) -> Owner {
        self.host.plan.owner
    }

    pub(crate) fn end_count(&self) -> usize {
        self.host.ends() * self.host.run.b
    }

    pub(crate) fn product_count(&self) -> usize {
        self.host.products()
    }

    pub(crate) fn slab_count(&self) -> usize {
        self.host.plan.rows(self.host.shapes.batch) * self.host.run.entries()
    }

    /// `A` in the first order.
    pub(crate) fn a(&self) -> &Handle {
        &self.formed[0].a
    }

    /// What small blocks read their generators from.
    pub(crate) fn source(&self, slab: (usize, usize)) -> &Handle {
        if self.few > 0 { &self.call.arrays.coefficients } else { self.omega(slab, &self.formed[0]) }
    }

    /// The sizes with a slab.
    pub(crate) fn at(&self, slab: (usize, usize)) -> Host {
        Host { slab, ..self.host }
    }

    /// The generators of a slab, formed unless they are there.
    pub(crate) fn omega<'b>(&self, slab: (usize, usize), formed: &'b Formed) -> &'b Handle {
        let host = self.at(slab);
        let units = host.places() * slab.1.div_ceil(generators::ROWS) * host.run.entries().div_ceil(generators::ENTRIES);
        let is_there = formed.slab.replace(Some(slab)) == Some(slab);
        // Many channels are a product of matrices like any other.
        let is_formed = is_there || (host.is_product() && self.product_of(host, formed).is_ok());
        if !is_formed {
            launch!(self.gpu, generators::form, each units;
                [self.call.arrays.coefficients, formed.a, formed.omega], host.launch(units), host.run.b);
        }
        &formed.omega
    }

    /// `Omega = lambda A` for all rows of a slab.
    fn product_of(&self, host: Host, formed: &Formed) -> Result<(), Error> {
        let (width, entries) = (host.shapes.coefficients, host.run.entries());
        let rows = host.shapes.batch * host.rows();
        let mut coefficients = self.call.arrays.coefficients.clone();
        if !host.is_whole() {
            let units = rows * width;
            coefficients = self.gpu.floats(units);
            launch!(self.gpu, generators::coefficients_of, each units;
                [self.call.arrays.coefficients, coefficients], host.launch(units));
        }
        let (lambda, a) = (Matrix::new(&coefficients, rows, width), Matrix::new(&formed.a, width, entries));
        self.gpu.product_into(lambda, a, None, &formed.omega)
    }

    /// The same sizes with groups of chunks in place of chunks.
    pub(crate) fn grouped(&self, group: usize) -> Host {
        let plan = Plan { chunks: self.host.plan.chunks.div_ceil(group), ..self.host.plan };
        Host { plan, ..self.host }
    }
}

/// The orders in which a pass reads generators, the one that all its kernels read first.
fn orders(run: Run, flow: Flow, back: bool) -> &'static [Order] {
    match (Owner::of(run.b), back) {
        (Owner::Unit, _) => &[Order::Interleaved],
        (_, false) => &[Order::Columns],
        (Owner::Cube, true) if flow.exact => &[Order::Rows, Order::Columns],
        (_, true) => &[Order::Rows],
    }
}
