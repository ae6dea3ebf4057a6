//! One call: which kernels are launched in which order.

use cubecl::prelude::*;
use cubecl::server::Handle;

use super::Acting;
use super::cut::Cut;
use super::table::Side;
use crate::device::{Gpu, array};
use crate::error::Error;
use crate::flow::Flow;
use crate::kernel::action::walk::{self, WalkLaunch};
use crate::kernel::action::{back, places, series};
use crate::kernel::rows::activation::Activation;
use crate::kernel::scale;
use crate::plan::Shapes;
use crate::product::Matrix;
use crate::recurrence::{Arrays, Gradients};
use crate::rows::RowsOf;
use crate::sizes::CUBE;

/// One call; sizes have been checked.
pub(super) struct Pass<'a, R: Runtime> {
    pub(super) gpu: &'a Gpu<R>,
    pub(super) of: &'a Acting,
    pub(super) flow: Flow,
    pub(super) cut: Cut,
    pub(super) shapes: Shapes,
    pub(super) arrays: &'a Arrays,
    pub(super) lengths: Handle,
}

/// `A` as a matrix with a channel a row, in the order of the numbers of Omega.
struct Channels {
    numbers: Handle,
    width: usize,
    /// Where parameters went; they are as they lie without it.
    places: Option<Handle>,
}

/// Steps: the first, and how many.
type Slab = (usize, usize);

impl<R: Runtime> Pass<'_, R> {
    fn rows(&self, slab: Slab) -> usize {
        self.shapes.batch * slab.1
    }

    fn state_count(&self) -> usize {
        let Shapes { batch, length, columns, .. } = self.shapes;
        batch * length * columns * self.of.hidden()
    }

    fn initial_count(&self) -> usize {
        self.shapes.batch * self.shapes.columns * self.of.hidden()
    }

    fn parameter_count(&self) -> usize {
        self.of.parameters(self.shapes.coefficients)
    }

    fn coefficient_count(&self) -> usize {
        self.shapes.batch * self.shapes.length * self.shapes.coefficients
    }

    fn lengths(&self) -> ArrayArg<R> {
        // SAFETY: one for each series.
        unsafe { array(&self.lengths, self.shapes.batch) }
    }

    fn initial(&self) -> ArrayArg<R> {
        // SAFETY: checked by the caller of this type.
        unsafe { array(&self.arrays.initial, self.initial_count()) }
    }

    /// Without an affine input the initial state stands in for it, and is not read.
    fn beta(&self) -> ArrayArg<R> {
        match &self.arrays.affine {
            // SAFETY: checked by the caller of this type.
            Some(affine) => unsafe { array(affine, self.state_count()) },
            None => self.initial(),
        }
    }

    fn sizes(&self, slab: Slab, cubes: usize) -> WalkLaunch<R> {
        let [deep, deep_back] = self.of.deep();
        WalkLaunch::new(cubes, self.shapes.length, self.shapes.columns, slab.0, slab.1, deep, deep_back)
    }

    /// Indices on the device.
    fn indices(&self, indices: &[u32]) -> Handle {
        self.gpu.client().create_from_slice(bytemuck::cast_slice(if indices.is_empty() { &[0] } else { indices }))
    }

    /// Which state goes with which number, by rows, then by columns; anything where no table is read.
    fn table(&self) -> (Handle, usize) {
        match self.of.sides() {
            None => (self.lengths.clone(), self.shapes.batch),
            Some(sides) => {
                let both = sides.map(|side| side.table.as_slice()).concat();
                (self.indices(&both), both.len())
            }
        }
    }

    /// `A` with its numbers in the order of a side.
    fn channels(&self, side: Option<&Side>) -> Result<Channels, Error> {
        let (gpu, channels, parameters) = (self.gpu, self.shapes.coefficients, self.parameter_count());
        let Some(side) = side else {
            let width = self.of.hidden();
            let a = &self.arrays.a;
            let bounded = matches!(self.of, Acting::WalshHadamard { bounded: true, .. });
            let rows = RowsOf { numbers: a, rows: channels, width };
            let numbers = if bounded { gpu.activation(Activation::Tanh, rows)?.0 } else { a.clone() };
            return Ok(Channels { numbers, width, places: None });
        };
        let width = side.deep * self.of.hidden();
        let (places, numbers) = (self.indices(&side.places), gpu.floats(channels * width));
        // SAFETY: places lie among the numbers, one for each parameter.
        unsafe {
            let count = channels * width;
            let dim = CubeDim::new_1d(CUBE);
            places::zero::launch_unchecked::<R>(gpu.client(), gpu.cubes(count), dim, array(&numbers, count), count);
            let (from, to, out) = (array(&self.arrays.a, parameters), array(&places, parameters), array(&numbers, count));
            places::scatter::launch_unchecked::<R>(gpu.client(), gpu.cubes(parameters), dim, from, to, out, parameters);
        }
        Ok(Channels { numbers, width, places: Some(places) })
    }

    /// The gradient in the parameters from that in the matrix of [`channels`](Self::channels).
    fn parameters(&self, own: &Channels, gradient: Handle) -> Result<Handle, Error> {
        let (gpu, channels, count) = (self.gpu, self.shapes.coefficients, self.parameter_count());
        let Some(places) = &own.places else {
            let bounded = matches!(self.of, Acting::WalshHadamard { bounded: true, .. });
            let rows = RowsOf { numbers: &self.arrays.a, rows: channels, width: own.width };
            return if bounded { gpu.activation_backward(Activation::Tanh, rows, &gradient) } else { Ok(gradient) };
        };
        let out = gpu.floats(count);
        // SAFETY: as in `channels`.
        unsafe {
            let (from, places, to) = (array(&gradient, channels * own.width), array(places, count), array(&out, count));
            let dim = CubeDim::new_1d(CUBE);
            places::gather::launch_unchecked::<R>(gpu.client(), gpu.cubes(count), dim, from, places, to, count);
        }
        Ok(out)
    }

    /// The coefficients of a slab.
    fn coefficients(&self, slab: Slab) -> Handle {
        let (width, rows) = (self.shapes.coefficients, self.rows(slab));
        let out = self.gpu.floats(rows * width);
        // SAFETY: sizes were checked, or are made here.
        unsafe {
            places::slab::launch_unchecked::<R>(
                self.gpu.client(),
                self.gpu.cubes(rows * width),
                CubeDim::new_1d(CUBE),
                array(&self.arrays.coefficients, self.coefficient_count()),
                self.lengths(),
                array(&out, rows * width),
                self.shapes.length,
                slab.0,
                slab.1,
                width,
                rows * width,
            );
        }
        out
    }

    /// `Omega = lambda A` for the rows of a slab.
    fn numbers(&self, lambda: Matrix<'_>, a: &Channels) -> Result<Handle, Error> {
        self.gpu.product(lambda, Matrix::new(&a.numbers, self.shapes.coefficients, a.width), None)
    }

    /// Stages and terms of every row; anything where the flow is not exact.
    fn series(&self, (numbers, width): (&Handle, usize), rows: usize, back: bool) -> Handle {
        if !self.flow.exact {
            return self.lengths.clone();
        }
        let out = self.gpu.floats(2 * rows);
        let extra = usize::from(back) + usize::from(self.flow.is_inside());
        // SAFETY: sizes are made here.
        unsafe {
            series::series::launch_unchecked::<R>(
                self.gpu.client(),
                self.gpu.spread(rows.div_ceil(series::TEAMS)),
                CubeDim::new_1d((series::TEAM * series::TEAMS) as u32),
                array(numbers, rows * width),
                array(&out, 2 * rows),
                rows,
                width,
                self.of.acts(),
                extra,
            );
        }
        out
    }

    fn series_count(&self, rows: usize) -> usize {
        if self.flow.exact { 2 * rows } else { self.shapes.batch }
    }

    /// The states after each step.
    pub(super) fn states(&self) -> Result<Handle, Error> {
        let (gpu, Shapes { batch, length, columns, coefficients }) = (self.gpu, self.shapes);
        let a = self.channels(self.of.sides().map(|[rows, _]| rows))?;
        let (table, table_count) = self.table();
        let states = gpu.floats(self.state_count());
        for slab in self.cut.slabs(length) {
            let rows = self.rows(slab);
            let lambda = self.coefficients(slab);
            let numbers = self.numbers(Matrix::new(&lambda, rows, coefficients), &a)?;
            let series = self.series((&numbers, a.width), rows, false);
            // SAFETY: sizes were checked, or are made here.
            unsafe {
                walk::states::launch_unchecked::<R>(
                    gpu.client(),
                    gpu.spread(batch * columns),
                    CubeDim::new_1d(self.cut.cube.units as u32),
                    array(&numbers, rows * a.width),
                    array(&table, table_count),
                    array(&series, self.series_count(rows)),
                    self.beta(),
                    self.lengths(),
                    self.initial(),
                    array(&states, self.state_count()),
                    self.sizes(slab, batch * columns),
                    self.cut.cube,
                    self.flow,
                );
            }
        }
        Ok(states)
    }

    /// All gradients.
    pub(super) fn gradients(&self, states: &Handle, gradient: &Handle, of_coefficients: bool) -> Result<Gradients, Error> {
        let (gpu, Shapes { length, coefficients, .. }) = (self.gpu, self.shapes);
        let sides = self.of.sides();
        let a = self.channels(sides.map(|[_, columns]| columns))?;
        // By rows numbers are read by an exact flow alone.
        let by_rows = sides.filter(|_| self.flow.exact).map(|[rows, _]| self.channels(Some(rows))).transpose()?;
        let out = Gradients {
            a: gpu.floats(0),
            coefficients: of_coefficients.then(|| gpu.floats(self.coefficient_count())),
            initial: gpu.floats(self.initial_count()),
            affine: self.flow.is_affine().then(|| gpu.floats(self.state_count())),
        };
        let mut sum: Option<Handle> = None;
        for (i, slab) in self.cut.slabs(length).rev().enumerate() {
            let rows = self.rows(slab);
            let lambda = self.coefficients(slab);
            let lambda = Matrix::new(&lambda, rows, coefficients);
            let numbers = self.numbers(lambda, &a)?;
            let forwards = by_rows.as_ref().map(|own| self.numbers(lambda, own)).transpose()?;
            let forwards = forwards.as_ref().zip(by_rows.as_ref()).map_or((&numbers, a.width), |(own, of)| (own, of.width));
            let d_numbers = self.walk_back(slab, (&numbers, a.width), forwards, (states, gradient), &out, i == 0);
            let d_omega = Matrix::new(&d_numbers, rows, a.width);
            if let Some(all) = &out.coefficients {
                let channels = Matrix::new(&a.numbers, coefficients, a.width);
                self.put_coefficients(slab, &gpu.product(d_omega, channels.transposed(), None)?, all);
            }
            let own = gpu.product(lambda.transposed(), d_omega, None)?;
            let count = coefficients * a.width;
            match &sum {
                None => sum = Some(own),
                // SAFETY: both have been made with this size.
                Some(sum) => unsafe {
                    let (sum, own) = (array(sum, count), array(&own, count));
                    scale::add::launch_unchecked::<R>(gpu.client(), gpu.cubes(count), CubeDim::new_1d(CUBE), sum, own, count);
                },
            }
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
        let (gpu, rows, batch) = (self.gpu, self.rows(slab), self.shapes.batch);
        let (table, table_count) = self.table();
        let series = self.series((forwards, width_forwards), rows, true);
        let d_numbers = gpu.floats(rows * width);
        for column in 0..self.shapes.columns {
            // SAFETY: sizes were checked, or are made here; without an affine input its gradient is not written.
            unsafe {
                let d_beta = match &out.affine {
                    Some(affine) => array(affine, self.state_count()),
                    None => array(&out.initial, self.initial_count()),
                };
                back::adjoints::launch_unchecked::<R>(
                    gpu.client(),
                    gpu.spread(batch),
                    CubeDim::new_1d(self.cut.cube.units as u32),
                    array(forwards, rows * width_forwards),
                    array(numbers, rows * width),
                    array(&table, table_count),
                    array(&series, self.series_count(rows)),
                    self.beta(),
                    self.lengths(),
                    self.initial(),
                    array(states, self.state_count()),
                    array(gradient, self.state_count()),
                    array(&out.initial, self.initial_count()),
                    array(&d_numbers, rows * width),
                    d_beta,
                    column,
                    u32::from(is_last),
                    self.sizes(slab, batch),
                    self.cut.cube,
                    self.flow,
                );
            }
        }
        d_numbers
    }

    /// The gradient in the coefficients of a slab to its place.
    fn put_coefficients(&self, slab: Slab, own: &Handle, all: &Handle) {
        let (width, units) = (self.shapes.coefficients, self.rows(slab) * self.shapes.coefficients);
        // SAFETY: sizes were checked, or are made here.
        unsafe {
            places::unslab::launch_unchecked::<R>(
                self.gpu.client(),
                self.gpu.cubes(units),
                CubeDim::new_1d(CUBE),
                array(own, units),
                array(all, self.coefficient_count()),
                self.shapes.length,
                slab.0,
                slab.1,
                width,
                units,
            );
        }
    }
}
