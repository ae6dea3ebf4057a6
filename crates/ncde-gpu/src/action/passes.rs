//! One call: which kernels are launched in which order.

use cubecl::prelude::*;
use cubecl::server::Handle;

use super::Acting;
use super::cut::Cut;
use super::table::Side;
use crate::call::{Call, Slab};
use crate::device::launch;
use crate::error::Error;
use crate::kernel::action::walk::{self, WalkLaunch};
use crate::kernel::action::{back, places, series};
use crate::kernel::rows::activation::Activation;
use crate::plan::Shapes;
use crate::product::Matrix;
use crate::recurrence::Gradients;
use crate::rows::RowsOf;

/// One call.
pub(super) struct Pass<'a, R: Runtime> {
    call: Call<'a, R>,
    of: &'a Acting,
    cut: Cut,
    /// Which state goes with which number, by rows, then by columns; anything where no table is read.
    table: Handle,
}

/// `A` as a matrix with a channel a row, in the order of the numbers of Omega.
struct Channels {
    numbers: Handle,
    width: usize,
    /// Where parameters went; they are as they lie without it.
    places: Option<Handle>,
}

impl<'a, R: Runtime> Pass<'a, R> {
    pub(super) fn new(call: Call<'a, R>, of: &'a Acting, cut: Cut) -> Self {
        let table = match of.sides() {
            None => call.lengths.clone(),
            Some(sides) => call.gpu.indices(&sides.map(|side| side.table.as_slice()).concat()),
        };
        Self { call, of, cut, table }
    }

    fn parameter_count(&self) -> usize {
        self.of.parameters(self.call.shapes.coefficients)
    }

    fn sizes(&self, slab: Slab, cubes: usize) -> WalkLaunch<R> {
        let [deep, deep_back] = self.of.deep();
        WalkLaunch::new(cubes, self.call.shapes.length, self.call.shapes.columns, slab.0, slab.1, deep, deep_back)
    }

    /// `A` with its numbers in the order of a side.
    fn channels(&self, side: Option<&Side>) -> Result<Channels, Error> {
        let (gpu, channels, parameters) = (self.call.gpu, self.call.shapes.coefficients, self.parameter_count());
        let Some(side) = side else {
            let width = self.of.hidden();
            let a = &self.call.arrays.a;
            let bounded = matches!(self.of, Acting::WalshHadamard { bounded: true, .. });
            let rows = RowsOf { numbers: a, rows: channels, width };
            let numbers = if bounded { gpu.activation(Activation::Tanh, rows)?.0 } else { a.clone() };
            return Ok(Channels { numbers, width, places: None });
        };
        let width = side.deep * self.of.hidden();
        let (places, numbers) = (gpu.indices(&side.places), gpu.floats(channels * width));
        let count = channels * width;
        launch!(gpu, places::zero, each count; [numbers], count);
        launch!(gpu, places::scatter, each parameters; [self.call.arrays.a, places, numbers], parameters);
        Ok(Channels { numbers, width, places: Some(places) })
    }

    /// The gradient in the parameters from that in the matrix of [`channels`](Self::channels).
    fn parameters(&self, matrix: &Channels, gradient: Handle) -> Result<Handle, Error> {
        let (gpu, channels, count) = (self.call.gpu, self.call.shapes.coefficients, self.parameter_count());
        let Some(places) = &matrix.places else {
            let bounded = matches!(self.of, Acting::WalshHadamard { bounded: true, .. });
            let rows = RowsOf { numbers: &self.call.arrays.a, rows: channels, width: matrix.width };
            return if bounded { gpu.activation_backward(Activation::Tanh, rows, &gradient) } else { Ok(gradient) };
        };
        let out = gpu.floats(count);
        launch!(gpu, places::gather, each count; [gradient, places, out], 1, count);
        Ok(out)
    }

    /// `Omega = lambda A` for the rows of a slab.
    fn numbers(&self, lambda: Matrix<'_>, a: &Channels) -> Result<Handle, Error> {
        self.call.gpu.product(lambda, Matrix::new(&a.numbers, self.call.shapes.coefficients, a.width), None)
    }

    /// Stages and terms of every row; anything where the flow is not exact.
    fn series(&self, (numbers, width): (&Handle, usize), rows: usize, back: bool) -> Handle {
        if !self.call.flow.exact {
            return self.call.lengths.clone();
        }
        let out = self.call.gpu.floats(2 * rows);
        let extra = usize::from(back) + usize::from(self.call.flow.is_inside());
        launch!(self.call.gpu, series::series, self.call.gpu.spread(rows.div_ceil(series::TEAMS)), series::TEAM * series::TEAMS;
            [numbers, out], rows, width, self.cut.cube.acts, extra);
        out
    }

    /// The states after each step.
    pub(super) fn states(&self) -> Result<Handle, Error> {
        let (gpu, Shapes { batch, length, columns, coefficients }) = (self.call.gpu, self.call.shapes);
        let a = self.channels(self.of.sides().map(|[rows, _]| rows))?;
        let states = gpu.floats(self.call.state_count());
        for slab in self.cut.steps.slabs(length) {
            let rows = self.call.rows(slab);
            let lambda = self.call.slab_coefficients(slab);
            let numbers = self.numbers(Matrix::new(&lambda, rows, coefficients), &a)?;
            let series = self.series((&numbers, a.width), rows, false);
            launch!(gpu, walk::states, gpu.spread(batch * columns), self.cut.cube.units;
                [numbers, self.table, series, self.call.beta(), self.call.lengths, self.call.arrays.initial, states],
                self.sizes(slab, batch * columns), self.cut.cube, self.call.flow);
        }
        Ok(states)
    }

    /// All gradients.
    pub(super) fn gradients(&self, states: &Handle, gradient: &Handle, of_coefficients: bool) -> Result<Gradients, Error> {
        let (gpu, Shapes { length, coefficients, .. }) = (self.call.gpu, self.call.shapes);
        let sides = self.of.sides();
        let a = self.channels(sides.map(|[_, columns]| columns))?;
        // By rows numbers are read by an exact flow alone.
        let by_rows = sides.filter(|_| self.call.flow.exact).map(|[rows, _]| self.channels(Some(rows))).transpose()?;
        let out = self.call.gradients(of_coefficients);
        let mut sum: Option<Handle> = None;
        for (i, slab) in self.cut.steps.slabs(length).rev().enumerate() {
            let rows = self.call.rows(slab);
            let lambda = self.call.slab_coefficients(slab);
            let lambda = Matrix::new(&lambda, rows, coefficients);
            let numbers = self.numbers(lambda, &a)?;
            let forwards = by_rows.as_ref().map(|matrix| self.numbers(lambda, matrix)).transpose()?;
            let forwards = forwards.as_ref().zip(by_rows.as_ref()).map_or((&numbers, a.width), |(handle, of)| (handle, of.width));
            let d_numbers = self.walk_back(slab, (&numbers, a.width), forwards, (states, gradient), &out, i == 0);
            let d_omega = Matrix::new(&d_numbers, rows, a.width);
            if let Some(all) = &out.coefficients {
                let channels = Matrix::new(&a.numbers, coefficients, a.width);
                self.call.put_coefficients(slab, &gpu.product(d_omega, channels.transposed(), None)?, all);
            }
            let part = gpu.product(lambda.transposed(), d_omega, None)?;
            sum = Some(gpu.add(sum, part, coefficients * a.width));
        }
        let sum = sum.ok_or(Error::Empty { what: "the number of steps" })?;
        Ok(Gradients { a: self.parameters(&a, sum)?, ..out })
    }

    /// The gradient in the numbers of a slab; those in `beta` go to their places, that in the state before the slab to that in `h_0`.
    fn walk_back(
        &self,
        slab: Slab,
        (numbers, width): (&Handle, usize),
        (forwards, width_forwards): (&Handle, usize),
        (states, gradient): (&Handle, &Handle),
        out: &Gradients,
        is_last: bool,
    ) -> Handle {
        let (gpu, rows, batch) = (self.call.gpu, self.call.rows(slab), self.call.shapes.batch);
        let series = self.series((forwards, width_forwards), rows, true);
        let d_numbers = gpu.floats(rows * width);
        for column in 0..self.call.shapes.columns {
            // Without an affine input its gradient is not written.
            launch!(gpu, back::adjoints, gpu.spread(batch), self.cut.cube.units;
                [forwards, numbers, self.table, series, self.call.beta(), self.call.lengths, self.call.arrays.initial, states,
                gradient, out.initial, d_numbers, self.call.d_beta(out)], column, u32::from(is_last), self.sizes(slab, batch),
                self.cut.cube, self.call.flow);
        }
        d_numbers
    }
}
