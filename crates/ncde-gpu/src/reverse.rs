//! The reverse pass of one run of blocks: the gradient at the end of each chunk, then all gradients.

use cubecl::prelude::*;
use cubecl::server::Handle;

use crate::device::array;
use crate::error::Error;
use crate::kernel::wide::Purpose;
use crate::kernel::{carry, few, generators, middle, small, wide};
use crate::plan::Owner;
use crate::product::Matrix;
use crate::recurrence::Gradients;
use crate::sizes::{CUBE, Host};
use crate::work::Work;

/// The most parts that sums over all chunks are cut into.
const SPLITS: usize = 256;

impl<R: Runtime> Work<'_, R> {
    /// The gradient at the end of every chunk, with the products of all chunks where the forward pass kept them.
    pub(crate) fn ends(&self, gradient: &Handle, kept: Option<&Handle>) -> Handle {
        let Host { run, shapes, plan, .. } = self.host;
        let lambda = self.gpu.floats(self.end_count());
        if plan.chunks == 1 {
            return lambda;
        }
        let pull = |slab| {
            if self.owner() != Owner::Unit {
                return self.walk(slab, Purpose::Pull, (&lambda, self.end_count()), gradient);
            }
            let units = shapes.batch * plan.chunks * shapes.columns * run.count;
            // SAFETY: every buffer was made or checked with the size given here.
            unsafe {
                small::pull::launch_unchecked::<R>(
                    self.gpu.client(),
                    self.gpu.cubes(units),
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
        };
        let flow = self.flow.without_affine();
        match kept {
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

    /// All gradients, slab by slab from the end. `add` to those in the coefficients, which other runs have part in.
    pub(crate) fn differentiate(
        &self,
        states: &Handle,
        gradient: &Handle,
        lambda: &Handle,
        out: &Gradients,
        add: bool,
    ) -> Result<(), Error> {
        let (parts, splits) = if self.few > 0 {
            self.differentiate_few(states, gradient, lambda, out, add)
        } else if self.is_outer() {
            self.differentiate_outer(states, gradient, lambda, out, add)?
        } else {
            self.differentiate_slabs(states, gradient, lambda, out, add)
        };
        let Host { run, shapes, .. } = self.host;
        let width = shapes.coefficients * run.entries();
        let units = shapes.batch * shapes.columns * run.count;
        // SAFETY: every buffer was made or checked with the size given here.
        unsafe {
            generators::collect::launch_unchecked::<R>(
                self.gpu.client(),
                self.gpu.spread(width.div_ceil(generators::SUMS)),
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
                self.gpu.client(),
                self.gpu.cubes(units),
                CubeDim::new_1d(CUBE),
                array(lambda, self.end_count()),
                array(&out.initial, self.initial_count()),
                self.host.launch(units),
                run.b,
            );
        }
        Ok(())
    }

    /// Few channels: everything at once. The parts of `dA`, and how many.
    pub(crate) fn differentiate_few(
        &self,
        states: &Handle,
        gradient: &Handle,
        lambda: &Handle,
        out: &Gradients,
        add: bool,
    ) -> (Handle, usize) {
        let Host { run, shapes, plan, .. } = self.host;
        let client = self.gpu.client();
        // Several chunks a unit, or there would be as many parts of dA as chunks.
        let is_full = self.host.places() * run.count * 2 >= self.gpu.limits().units;
        let each = if run.b > 1 && is_full { 2 } else { 1 };
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
                    self.gpu.cubes(units),
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
                    self.gpu.cubes(numbers),
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
    pub(crate) fn d_beta(&self, out: &Gradients, other: &Handle) -> ArrayArg<R> {
        match &out.affine {
            // SAFETY: made with the size of the states.
            Some(affine) => unsafe { array(affine, self.state_count()) },
            // SAFETY: not written where the flow has no affine input.
            None => unsafe { array(other, self.end_count()) },
        }
    }

    /// Slab by slab from the end. The parts of `dA`, and how many.
    pub(crate) fn differentiate_slabs(
        &self,
        states: &Handle,
        gradient: &Handle,
        lambda: &Handle,
        out: &Gradients,
        add: bool,
    ) -> (Handle, usize) {
        let Host { run, shapes, plan, .. } = self.host;
        let (client, places) = (self.gpu.client(), self.host.places());
        let d_omega = self.gpu.slab(self.slab_count());
        let groups = shapes.coefficients.div_ceil(generators::CHANNELS);
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
                    let (beta, lengths, d_beta) = (self.beta(), self.lengths(), self.d_beta(out, lambda));
                    let (b, flow, sizes) = (run.b, self.flow, host.launch(units));
                    match self.owner() {
                        Owner::Unit => {
                            let (cubes, dim) = (self.gpu.cubes(units), CubeDim::new_1d(CUBE));
                            small::differentiate::launch_unchecked::<R>(
                                client, cubes, dim, omega, beta, lengths, initial, states, gradient, lambda_out, d_omega, d_beta,
                                column, sizes, b, flow,
                            );
                        }
                        Owner::Team => {
                            let cubes = self.gpu.spread(units.div_ceil(middle::TEAMS));
                            let dim = CubeDim::new_1d(middle::CUBE as u32);
                            middle::differentiate::differentiate::launch_unchecked::<R>(
                                client, cubes, dim, omega, beta, lengths, initial, states, gradient, lambda_out, d_omega, d_beta,
                                column, sizes, b, flow,
                            );
                        }
                        Owner::Cube => {
                            // Columns are read by exact flows alone.
                            let columns_of = self.omega(slab, self.formed.last().unwrap_or(rows_of));
                            let (cubes, dim) = (self.gpu.spread(units), CubeDim::new_1d(wide::WALKERS as u32));
                            wide::differentiate::differentiate::launch_unchecked::<R>(
                                client, cubes, dim, columns_of, omega, beta, lengths, initial, states, gradient, lambda_out,
                                d_omega, d_beta, column, sizes, b, flow,
                            );
                        }
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
            // SAFETY: every buffer was made or checked with the size given here.
            unsafe {
                let units = places * slab.1.div_ceil(generators::TALL);
                if let (Some(coefficients), CubeCount::Static(x, y, _)) = (&out.coefficients, self.gpu.spread(units)) {
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
                    self.gpu.cubes(units),
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

    /// `dlambda = dOmega A^T` and `dA = lambda^T dOmega` for all rows at once; the latter.
    fn products_back(&self, d_omega: &Handle, out: &Gradients) -> Result<Handle, Error> {
        let Host { run, shapes, .. } = self.host;
        let rows = shapes.batch * shapes.length;
        let d_omega = Matrix::new(d_omega, rows, run.entries());
        if let Some(coefficients) = &out.coefficients {
            let a = Matrix::new(&self.formed[0].a, shapes.coefficients, run.entries());
            self.gpu.product_into(d_omega, a.transposed(), None, coefficients)?;
        }
        let lambda = Matrix::new(&self.arrays.coefficients, rows, shapes.coefficients);
        self.gpu.product(lambda.transposed(), d_omega, None)
    }

    /// The same for gradients, from the end.
    pub(crate) fn carry_back(&self, products: &Handle, lambda: &Handle) {
        let (client, dim, b) = (self.gpu.client(), CubeDim::new_1d(CUBE), self.host.run.b);
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
                    self.gpu.cubes(units),
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
                self.gpu.cubes(count),
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
            carry::fold_back::launch_unchecked::<R>(
                client,
                self.gpu.cubes(units),
                dim,
                own(),
                lambda_of(),
                ends_of(),
                group,
                sizes,
                b,
            );
            let (top, all) = (units / groups.plan.chunks, groups.plan.chunks);
            carry::carry_back::launch_unchecked::<R>(
                client,
                self.gpu.cubes(top),
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
                self.gpu.cubes(units),
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
}
