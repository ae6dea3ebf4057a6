//! Diagonal plus low rank of first order: a step is two products with the `u` and `v` of all channels, and what comes of a slab of steps, with `g` and `h` a row each, `p = V^T h` and `q = U^T g`, is
//!
//! ```text
//! dU = (lambda p)^T g,   dV = (lambda q)^T h,   dD = lambda^T (g h),   dlambda = (g h) D^T + sum over coordinates of p q
//! ```
//!
//! products of matrices all.

use cubecl::prelude::*;
use cubecl::server::Handle;

use super::LowRank;
use super::cut::Steps;
use crate::call::{Call, Slab};
use crate::device::launch;
use crate::error::Error;
use crate::kernel::action::lowrank;
use crate::kernel::action::parts::{self, ChannelLaunch};
use crate::kernel::action::walk::WalkLaunch;
use crate::plan::Shapes;
use crate::product::Matrix;
use crate::recurrence::Gradients;

/// The parts of a channel: `D`, the columns of `u`, those of `v`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    D,
    U,
    V,
}

/// A call of the first order.
pub(super) struct FirstOrder<'a, R: Runtime> {
    pub(super) call: Call<'a, R>,
    pub(super) of: LowRank,
    pub(super) steps: Steps,
}

impl<R: Runtime> FirstOrder<'_, R> {
    /// Numbers that a step of the batch takes in a reverse pass: `h` and `g`, `p` and `q`, `delta` and its gradient.
    pub(super) fn numbers(of: LowRank, shapes: Shapes) -> usize {
        shapes.batch * (2 * shapes.columns * (of.hidden + of.coordinates()) + 2 * of.hidden)
    }

    /// Where a part lies in a channel, and how many numbers it has.
    fn place(&self, part: Part) -> (usize, usize) {
        let LowRank { hidden, rank, .. } = self.of;
        match part {
            Part::D => (0, hidden),
            Part::U => (hidden, hidden * rank),
            Part::V => (hidden * (1 + rank), hidden * rank),
        }
    }

    fn parameter_count(&self) -> usize {
        self.of.channels * self.of.hidden * (1 + 2 * self.of.rank)
    }

    /// A part of all channels, a column a row, or with a state a row.
    fn take(&self, part: Part, by_states: bool) -> Handle {
        let (gpu, (first, width)) = (self.call.gpu, self.place(part));
        let count = self.of.channels * width;
        let out = gpu.floats(count);
        launch!(gpu, parts::take, each count;
            [self.call.arrays.a, out], first, width, ChannelLaunch::new(self.of.hidden, self.of.rank, count), by_states);
        out
    }

    /// A part of all channels to its place.
    fn give(&self, part: Part, values: &Handle, all: &Handle) {
        let (gpu, (first, width)) = (self.call.gpu, self.place(part));
        let count = self.of.channels * width;
        launch!(gpu, parts::give, each count;
            [values, all], first, width, ChannelLaunch::new(self.of.hidden, self.of.rank, count));
    }

    fn vectors(&self) -> usize {
        self.of.coordinates() * self.of.hidden
    }

    fn cubes(&self) -> usize {
        self.call.shapes.batch * self.call.shapes.columns
    }

    fn sizes(&self, slab: Slab) -> WalkLaunch<R> {
        WalkLaunch::new(self.cubes(), self.call.shapes.length, self.call.shapes.columns, slab.0, slab.1, 1, 1)
    }

    /// `D` as a matrix with a channel a row.
    fn diagonals<'a>(&self, d: &'a Handle) -> Matrix<'a> {
        Matrix::new(d, self.of.channels, self.of.hidden)
    }

    /// The states after each step.
    pub(super) fn states(&self) -> Result<Handle, Error> {
        let (call, of, gpu) = (&self.call, self.of, self.call.gpu);
        let (d, u, v) = (self.take(Part::D, false), self.take(Part::U, false), self.take(Part::V, true));
        let states = gpu.floats(call.state_count());
        for slab in self.steps.slabs(call.shapes.length) {
            let rows = call.rows(slab);
            let lambda = call.slab_coefficients(slab);
            let delta = gpu.product(Matrix::new(&lambda, rows, of.channels), self.diagonals(&d), None)?;
            launch!(gpu, lowrank::states, gpu.spread(self.cubes()), of.units;
                [delta, lambda, u, v, call.beta(), call.lengths, call.arrays.initial, states], self.sizes(slab), of,
                call.flow.is_affine());
        }
        Ok(states)
    }

    /// All gradients.
    pub(super) fn gradients(&self, states: &Handle, gradient: &Handle, of_coefficients: bool) -> Result<Gradients, Error> {
        let (call, of, gpu) = (&self.call, self.of, self.call.gpu);
        let (d, u, v) = (self.take(Part::D, false), self.take(Part::U, false), self.take(Part::V, false));
        let u_by_states = self.take(Part::U, true);
        let (all_u, all_v) = (Matrix::new(&u, of.coordinates(), of.hidden), Matrix::new(&v, of.coordinates(), of.hidden));
        let out = call.gradients(of_coefficients);
        let [mut d_sum, mut u_sum, mut v_sum] = [const { None }; 3];
        for (i, slab) in self.steps.slabs(call.shapes.length).rev().enumerate() {
            let rows = call.rows(slab);
            let lambda = call.slab_coefficients(slab);
            let delta = gpu.product(Matrix::new(&lambda, rows, of.channels), self.diagonals(&d), None)?;
            let g = self.walk_back(slab, [&delta, &lambda, &v, &u_by_states], gradient, &out, i == 0);
            let (count, units) = (rows * call.shapes.columns, rows * of.hidden);
            let (h, d_delta, d_lambda) = (gpu.floats(count * of.hidden), gpu.floats(units), gpu.floats(rows * of.channels));
            launch!(gpu, lowrank::slopes, each units;
                [call.arrays.initial, states, g, h, d_delta], units, self.sizes(slab), of);
            let (g, h) = (Matrix::new(&g, count, of.hidden), Matrix::new(&h, count, of.hidden));
            let (p, q) = (gpu.product(h, all_v.transposed(), None)?, gpu.product(g, all_u.transposed(), None)?);
            launch!(gpu, lowrank::scale, each rows * of.channels;
                [lambda, p, q, d_lambda], call.shapes.columns, rows * of.channels, of);
            let (p, q) = (Matrix::new(&p, count, of.coordinates()), Matrix::new(&q, count, of.coordinates()));
            u_sum = Some(gpu.add(u_sum, gpu.product(p.transposed(), g, None)?, self.vectors()));
            v_sum = Some(gpu.add(v_sum, gpu.product(q.transposed(), h, None)?, self.vectors()));
            let d_delta = Matrix::new(&d_delta, rows, of.hidden);
            let of_d = gpu.product(Matrix::new(&lambda, rows, of.channels).transposed(), d_delta, None)?;
            d_sum = Some(gpu.add(d_sum, of_d, of.channels * of.hidden));
            if let Some(all) = &out.coefficients {
                let of_delta = gpu.product(d_delta, self.diagonals(&d).transposed(), None)?;
                call.put_coefficients(slab, &gpu.add(Some(of_delta), d_lambda, rows * of.channels), all);
            }
        }
        let a = gpu.floats(self.parameter_count());
        for (part, sum) in [(Part::D, d_sum), (Part::U, u_sum), (Part::V, v_sum)] {
            self.give(part, &sum.ok_or(Error::Empty { what: "the number of steps" })?, &a);
        }
        Ok(Gradients { a, ..out })
    }

    /// `g` of a slab; those in `beta` go to their places, that in the state before the slab to that in `h_0`.
    fn walk_back(
        &self,
        slab: Slab,
        [delta, lambda, v, u]: [&Handle; 4],
        gradient: &Handle,
        out: &Gradients,
        is_last: bool,
    ) -> Handle {
        let (call, of, gpu) = (&self.call, self.of, self.call.gpu);
        let rows = call.rows(slab);
        let g = gpu.floats(rows * call.shapes.columns * of.hidden);
        launch!(gpu, lowrank::adjoints, gpu.spread(self.cubes()), of.units;
            [delta, lambda, v, u, call.lengths, gradient, out.initial, g, call.d_beta(out)], u32::from(is_last),
            self.sizes(slab), of, call.flow.is_affine());
        g
    }
}
