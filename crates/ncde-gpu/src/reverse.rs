//! The reverse pass of one run of blocks: the gradient at the end of each chunk, then all gradients.

use cubecl::prelude::*;
use cubecl::server::Handle;

use crate::device::launch;
use crate::error::Error;
use crate::kernel::carry::{self, Walk};
use crate::kernel::wide::Purpose;
use crate::kernel::{few, generators, middle, small, wide};
use crate::plan::Owner;
use crate::product::Matrix;
use crate::recurrence::Gradients;
use crate::sizes::Host;
use crate::work::Work;

/// The most parts that sums over all chunks are cut into.
const SPLITS: usize = 256;

/// What the gradients of one run are computed from, and where they go.
pub(crate) struct Reverse<'a> {
    pub(crate) states: &'a Handle,
    pub(crate) gradient: &'a Handle,
    /// The gradient at the end of every chunk.
    pub(crate) lambda: &'a Handle,
    pub(crate) out: &'a Gradients,
    /// Whether gradients in the coefficients are added to those of the runs before.
    pub(crate) add: bool,
}

impl<R: Runtime> Work<'_, R> {
    /// The gradient at the end of every chunk, with the products of all chunks where the forward pass stored them.
    pub(crate) fn ends(&self, gradient: &Handle, saved: Option<&Handle>) -> Handle {
        let plan = self.host.plan;
        let lambda = self.gpu.floats(self.end_count());
        if plan.chunks == 1 {
            return lambda;
        }
        let pull = |slab| self.walk(slab, Purpose::Pull, &lambda, gradient, None);
        let flow = self.flow.without_affine();
        match saved {
            Some(products) if self.can_store_products() => {
                plan.slabs().rev().for_each(pull);
                self.carry_large(products, &lambda, false, true, true);
            }
            _ if self.owner() == Owner::Unit => {
                // Products go from the beginning.
                let products = self.products(flow, true, false, |_| ());
                plan.slabs().rev().for_each(pull);
                self.carry_back(&products, &lambda);
            }
            _ => {
                // Both go from the end, and share the generators of a slab.
                let products = self.products(flow, true, false, pull);
                self.carry_large(&products, &lambda, false, true, false);
            }
        }
        lambda
    }

    /// All gradients, slab by slab from the end.
    pub(crate) fn differentiate(&self, reverse: &Reverse<'_>) -> Result<(), Error> {
        let (parts, splits) = if self.few > 0 {
            self.differentiate_few(reverse)
        } else if self.is_outer() {
            self.differentiate_outer(reverse)?
        } else {
            self.differentiate_slabs(reverse)
        };
        let Host { run, shapes, .. } = self.host;
        let width = shapes.coefficients * run.entries();
        let units = shapes.batch * shapes.columns * run.count;
        launch!(self.gpu, generators::collect, self.gpu.spread(width.div_ceil(generators::SUMS)), generators::SUMS * generators::LANES;
            [parts, reverse.out.a], splits, run.entry, self.parameters, self.host.launch(width), run.b, self.formed[0].order);
        launch!(self.gpu, carry::first, each units; [reverse.lambda, reverse.out.initial], self.host.launch(units), run.b);
        Ok(())
    }

    /// Few channels: everything at once. The parts of `dA`, and how many.
    pub(crate) fn differentiate_few(&self, reverse: &Reverse<'_>) -> (Handle, usize) {
        let &Reverse { states, gradient, lambda, out, add } = reverse;
        let Host { run, shapes, plan, .. } = self.host;
        // Several chunks a unit, or there would be as many parts of dA as chunks.
        let is_full = self.host.places() * run.count * 2 >= self.gpu.limits().units;
        let per_split = if run.b > 1 && is_full { 2 } else { 1 };
        let splits = shapes.batch * plan.chunks.div_ceil(per_split);
        let parts = self.gpu.floats(splits * shapes.coefficients * run.entries());
        let plane = self.gpu.plane();
        let planes = run.count / plane;
        let numbers = self.call.coefficient_count();
        let of_coefficients = out.coefficients.is_some();
        let d_coefficients = self.gpu.floats(if of_coefficients { numbers * planes } else { 1 });
        let units = splits * run.count;
        for column in 0..shapes.columns {
            launch!(self.gpu, few::differentiate, each units;
                [self.call.arrays.coefficients, self.a(), self.call.beta(), self.call.lengths, self.call.arrays.initial, states,
                gradient, lambda, d_coefficients, parts, self.call.d_beta(out)], column, per_split, self.host.launch(units),
                run.b, self.flow, self.few, of_coefficients, plane);
        }
        if let Some(coefficients) = &out.coefficients {
            launch!(self.gpu, few::join, each numbers; [d_coefficients, coefficients], planes, u32::from(add), numbers);
        }
        (parts, splits)
    }

    /// Slab by slab from the end. The parts of `dA`, and how many.
    pub(crate) fn differentiate_slabs(&self, reverse: &Reverse<'_>) -> (Handle, usize) {
        let &Reverse { states, gradient, lambda, out, add } = reverse;
        let Host { run, shapes, plan, .. } = self.host;
        let places = self.host.places();
        let d_omega = self.gpu.slab(self.slab_count());
        let groups = shapes.coefficients.div_ceil(generators::CHANNELS);
        let per_split = places.div_ceil(SPLITS);
        let splits = places.div_ceil(per_split);
        let width = shapes.coefficients * run.entries();
        let parts = self.gpu.floats(splits * width);
        let rows_of = &self.formed[0];
        for (i, slab) in plan.slabs().rev().enumerate() {
            let host = self.at(slab);
            let units = places * run.count;
            let (omega, initial) = (self.omega(slab, rows_of), &self.call.arrays.initial);
            let (beta, lengths, d_beta) = (self.call.beta(), &self.call.lengths, self.call.d_beta(out));
            for column in 0..shapes.columns {
                let (gpu, b, flow, sizes) = (self.gpu, run.b, self.flow, host.launch(units));
                match self.owner() {
                    Owner::Unit => launch!(gpu, small::differentiate, each units;
                        [omega, beta, lengths, initial, states, gradient, lambda, d_omega, d_beta], column, sizes, b, flow),
                    Owner::Team => {
                        launch!(gpu, middle::differentiate::differentiate, gpu.spread(units.div_ceil(middle::TEAMS)), middle::CUBE;
                        [omega, beta, lengths, initial, states, gradient, lambda, d_omega, d_beta], column, sizes, b, flow)
                    }
                    Owner::Cube => {
                        // Columns are read by exact flows alone.
                        let columns_of = self.omega(slab, self.formed.last().unwrap_or(rows_of));
                        launch!(gpu, wide::differentiate::differentiate, gpu.spread(units), wide::WALKERS;
                            [columns_of, omega, beta, lengths, initial, states, gradient, lambda, d_omega, d_beta], column, sizes,
                            b, flow);
                    }
                }
            }
            if host.is_whole()
                && host.is_product()
                && !add
                && let Ok(parts) = self.products_back(&d_omega, out)
            {
                return (parts, 1);
            }
            let units = places * slab.1.div_ceil(generators::TALL);
            if let (Some(coefficients), CubeCount::Static(x, y, _)) = (&out.coefficients, self.gpu.spread(units)) {
                launch!(self.gpu, generators::contract, CubeCount::Static(x, y, groups as u32), generators::TEAM;
                    [d_omega, rows_of.a, coefficients], u32::from(add), host.launch(units), run.b);
            }
            let units = splits * groups * run.entries();
            launch!(self.gpu, generators::gather, each units;
                [self.call.arrays.coefficients, d_omega, parts], places, per_split, u32::from(i > 0), host.launch(units), run.b);
        }
        (parts, splits)
    }

    /// `dlambda = dOmega A^T` and `dA = lambda^T dOmega` for all rows at once; the latter.
    fn products_back(&self, d_omega: &Handle, out: &Gradients) -> Result<Handle, Error> {
        let Host { run, shapes, .. } = self.host;
        let rows = shapes.batch * shapes.length;
        let d_omega = Matrix::new(d_omega, rows, run.entries());
        if let Some(coefficients) = &out.coefficients {
            let a = Matrix::new(&self.formed[0].a, shapes.coefficients, run.entries());
            self.gpu.product_into(d_omega, a.transposed(), None, coefficients)?;
        }
        let lambda = Matrix::new(&self.call.arrays.coefficients, rows, shapes.coefficients);
        self.gpu.product(lambda.transposed(), d_omega, None)
    }

    /// The same for gradients, from the end.
    pub(crate) fn carry_back(&self, products: &Handle, lambda: &Handle) {
        let (gpu, b, group) = (self.gpu, self.host.run.b, self.host.plan.group());
        let groups = self.grouped(group);
        let (units, all) = (groups.ends(), groups.plan.chunks);
        let sizes = || self.host.launch(units);
        // Through whole series nothing is read from it, and nothing written to it.
        let none = gpu.floats(1);
        if all == 1 {
            launch!(gpu, carry::carry_back, each units; [products, none, lambda], group, sizes(), b, Walk::Series);
            return;
        }
        let (folded, ends, top) = (self.folded(products, group, false), gpu.floats(units * b), units / all);
        launch!(gpu, carry::carry_back, each units; [products, ends, lambda], group, sizes(), b, Walk::Fold);
        launch!(gpu, carry::carry_back, each top; [folded, none, ends], all, groups.launch(top), b, Walk::Series);
        launch!(gpu, carry::carry_back, each units; [products, ends, lambda], group, sizes(), b, Walk::Group);
    }
}
