//! The reverse pass of one run of blocks: the gradient at the end of each chunk, then all gradients.

use cubecl::prelude::*;
use cubecl::server::Handle;

use crate::device::{array, launch};
use crate::error::Error;
use crate::kernel::wide::Purpose;
use crate::kernel::{carry, few, generators, middle, small, wide};
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
        let Host { run, shapes, plan, .. } = self.host;
        let lambda = self.gpu.floats(self.end_count());
        if plan.chunks == 1 {
            return lambda;
        }
        let pull = |slab| {
            if self.owner() != Owner::Unit {
                return self.walk(slab, Purpose::Pull, self.end_array(&lambda), gradient, None);
            }
            let units = shapes.batch * plan.chunks * shapes.columns * run.count;
            launch!(self.gpu, small::pull, each units;
                self.source(slab), self.a(), self.call.state_array(gradient), self.call.lengths(), self.end_array(&lambda),
                self.at(slab).launch(units), run.b, self.flow, self.few);
        };
        let flow = self.flow.without_affine();
        match saved {
            Some(products) if self.keeps() => {
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
            array(&parts, splits * width), array(&reverse.out.a, shapes.coefficients * self.parameters), splits, run.entry,
            self.parameters, self.host.launch(width), run.b, self.formed[0].order);
        launch!(self.gpu, carry::first, each units;
            self.end_array(reverse.lambda), array(&reverse.out.initial, self.call.initial_count()), self.host.launch(units),
            run.b);
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
                array(&self.call.arrays.coefficients, numbers), self.a(), self.call.beta(), self.call.lengths(),
                self.call.initial(), self.call.state_array(states), self.call.state_array(gradient), self.end_array(lambda),
                array(&d_coefficients, if of_coefficients { numbers * planes } else { 1 }),
                array(&parts, splits * shapes.coefficients * run.entries()), self.call.d_beta(out), column, per_split,
                self.host.launch(units), run.b, self.flow, self.few, of_coefficients, plane);
        }
        if let Some(coefficients) = &out.coefficients {
            launch!(self.gpu, few::join, each numbers;
                array(&d_coefficients, numbers * planes), array(coefficients, numbers), planes, u32::from(add), numbers);
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
            let units = shapes.batch * plan.chunks * run.count;
            for column in 0..shapes.columns {
                let omega = self.omega(slab, rows_of);
                let initial = self.call.initial();
                let (states, gradient) = (self.call.state_array(states), self.call.state_array(gradient));
                let (lambda_out, d_omega) = (self.end_array(lambda), self.slab_array(&d_omega));
                let (beta, lengths, d_beta) = (self.call.beta(), self.call.lengths(), self.call.d_beta(out));
                let (b, flow, sizes) = (run.b, self.flow, host.launch(units));
                match self.owner() {
                    Owner::Unit => {
                        launch!(self.gpu, small::differentiate, each units;
                            omega, beta, lengths, initial, states, gradient, lambda_out, d_omega, d_beta, column, sizes, b, flow);
                    }
                    Owner::Team => {
                        let cubes = self.gpu.spread(units.div_ceil(middle::TEAMS));
                        launch!(self.gpu, middle::differentiate::differentiate, cubes, middle::CUBE;
                            omega, beta, lengths, initial, states, gradient, lambda_out, d_omega, d_beta, column, sizes, b, flow);
                    }
                    Owner::Cube => {
                        // Columns are read by exact flows alone.
                        let columns_of = self.omega(slab, self.formed.last().unwrap_or(rows_of));
                        launch!(self.gpu, wide::differentiate::differentiate, self.gpu.spread(units), wide::WALKERS;
                            columns_of, omega, beta, lengths, initial, states, gradient, lambda_out, d_omega, d_beta, column,
                            sizes, b, flow);
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
                    self.slab_array(&d_omega), array(&rows_of.a, width), array(coefficients, self.call.coefficient_count()),
                    u32::from(add), host.launch(units), run.b);
            }
            let units = splits * groups * run.entries();
            launch!(self.gpu, generators::gather, each units;
                self.call.coefficient_array(), self.slab_array(&d_omega), array(&parts, splits * width), places, per_split,
                u32::from(i > 0), host.launch(units), run.b);
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
        let b = self.host.run.b;
        let group = self.host.plan.group();
        let groups = self.grouped(group);
        let units = groups.ends();
        let chunks = || self.product_array(products);
        let lambda_of = || self.end_array(lambda);
        let sizes = self.host.launch(units);
        if groups.plan.chunks == 1 {
            launch!(self.gpu, carry::carry_back, each units; chunks(), lambda_of(), lambda_of(), group, sizes, b, false);
            return;
        }
        let folded = self.gpu.floats(groups.products());
        let folded_of = || array(&folded, groups.products());
        let count = units / self.host.shapes.columns * b;
        launch!(self.gpu, carry::fold, each count; chunks(), folded_of(), group, self.host.launch(count), b, false);
        let ends = self.gpu.floats(units * b);
        let ends_of = || array(&ends, units * b);
        launch!(self.gpu, carry::fold_back, each units; chunks(), lambda_of(), ends_of(), group, sizes, b);
        let (top, all) = (units / groups.plan.chunks, groups.plan.chunks);
        launch!(self.gpu, carry::carry_back, each top; folded_of(), ends_of(), ends_of(), all, groups.launch(top), b, false);
        launch!(self.gpu, carry::carry_back, each units;
            chunks(), ends_of(), lambda_of(), group, self.host.launch(units), b, true);
    }
}
