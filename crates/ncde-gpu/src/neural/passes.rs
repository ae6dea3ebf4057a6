//! One call: which kernels are launched in which order.

use cubecl::prelude::*;
use cubecl::server::Handle;

use super::cut::Cut;
use super::shape::{FOUR, Rows, Shape};
use super::{Arrays, Gradients};
use crate::device::{Gpu, launch};
use crate::error::Error;
use crate::kernel::action::places;
use crate::kernel::neural::field::Purpose;
use crate::kernel::neural::pack::LayerLaunch;
use crate::kernel::neural::{RunLaunch, back, pack, walk};
use crate::product::Matrix;

/// One call; sizes have been checked.
pub(super) struct Pass<'a, R: Runtime> {
    gpu: &'a Gpu<R>,
    shape: Shape,
    cut: Cut,
    arrays: &'a Arrays<'a>,
    /// `a`, `b` and the lengths of steps.
    schedule: Handle,
}

/// Steps that are differentiated together.
#[derive(Debug, Clone, Copy)]
struct Slab {
    first: usize,
    count: usize,
    /// Steps of a cube, where a series has several.
    per_cube: usize,
    evaluations: usize,
    rows: Rows,
}

/// What the stages of a slab leave: inputs of layers and records.
struct Tape {
    inputs: Handle,
    records: Handle,
}

/// What goes from slab to slab: gradients of states and of biases, of the controls if requested.
struct Carried {
    states: Handle,
    controls: Option<Handle>,
}

impl<'a, R: Runtime> Pass<'a, R> {
    pub(super) fn new(gpu: &'a Gpu<R>, shape: Shape, cut: Cut, tableau: &[f32], arrays: &'a Arrays<'a>) -> Self {
        let schedule = [tableau, arrays.dt].concat();
        Self { gpu, shape, cut, arrays, schedule: gpu.put(&schedule) }
    }

    fn slab(&self, first: usize, count: usize) -> Slab {
        let evaluations = self.arrays.batch * count * self.shape.stages;
        let per_cube = Cut::steps(self.arrays.batch, count, self.gpu.multiprocessors());
        Slab { first, count, per_cube, evaluations, rows: self.shape.rows(evaluations) }
    }

    fn run(&self, slab: Slab) -> RunLaunch<R> {
        let &Arrays { batch, steps, control, .. } = self.arrays;
        let Slab { first, count, per_cube, evaluations, rows } = slab;
        RunLaunch::new(batch, steps, control, first, count, per_cube, evaluations, rows.values, rows.tangents)
    }

    /// Room for so many fours.
    fn fours(&self, count: usize) -> Handle {
        self.gpu.floats(FOUR * count)
    }

    /// Weights and biases in fours; weights alone, transposed.
    fn packed(&self, transposed: bool) -> Handle {
        let fours = self.shape.weights() + if transposed { 0 } else { self.shape.biases() };
        let to = self.fours(fours);
        launch!(self.gpu, pack::pack, each fours; FOUR; [self.arrays.parameters, to], fours, self.shape, transposed);
        to
    }

    /// Places on the device.
    fn places(&self, places: impl Iterator<Item = usize>) -> Handle {
        let places: Vec<u32> = places.map(|place| place as u32).collect();
        self.gpu.indices(&places)
    }

    /// The states at the ends of all steps.
    pub(super) fn states(&self) -> Handle {
        let &Arrays { batch, steps, .. } = self.arrays;
        let states = self.gpu.floats(batch * steps * self.shape.hidden);
        let rows = self.places(self.arrays.rows.iter().copied());
        // Nothing is written to it.
        let tape = Tape { inputs: self.fours(1), records: self.fours(1) };
        self.walk(&self.packed(false), &rows, &states, &tape, self.slab(0, steps), Purpose::Solve);
        states
    }

    /// States of some steps.
    pub(super) fn chosen(&self, states: &Handle, at: &[usize], count: usize) -> Handle {
        let hidden = self.shape.hidden;
        let places = self.places(at.iter().enumerate().map(|(i, step)| i / count * self.arrays.steps + step));
        let units = at.len() * hidden;
        let out = self.gpu.floats(units);
        launch!(self.gpu, places::gather, each units; [states, places, out], hidden, units);
        out
    }

    /// A walk through all steps, or through the stages of a slab.
    fn walk(&self, weights: &Handle, rows: &Handle, states: &Handle, tape: &Tape, slab: Slab, purpose: Purpose) {
        let &Arrays { batch, ref coefficients, ref initial, .. } = self.arrays;
        let cubes = if purpose == Purpose::Tape { batch * slab.count.div_ceil(slab.per_cube) } else { batch };
        launch!(self.gpu, walk::walk, self.gpu.spread(cubes), self.cut.units;
            FOUR; [weights, coefficients, self.schedule, rows, initial, states, tape.inputs, tape.records], self.run(slab),
            self.shape, self.cut, purpose);
    }

    /// All gradients.
    pub(super) fn gradients(
        &self,
        states: &Handle,
        gradient: &Handle,
        at: Option<&[usize]>,
        outputs: usize,
        of_controls: bool,
    ) -> Result<Gradients, Error> {
        let (gpu, shape, &Arrays { batch, steps, control, .. }) = (self.gpu, self.shape, self.arrays);
        let (weights, transposed) = (self.packed(false), self.packed(true));
        let places = self.places(self.arrays.rows.iter().copied().chain(ends(at, batch, steps)));
        let count = batch * control * shape.coefficients();
        let carried = Carried {
            states: self.fours(batch * (shape.h() + shape.biases())),
            controls: of_controls.then(|| gpu.put(&vec![0.0; count])),
        };
        let parameters = gpu.floats(shape.parameters());
        let most = Cut::slab(&shape, batch, steps, gpu.limits().slab);
        let mut end = steps;
        while end > 0 {
            let slab = self.slab(end - most.min(end), most.min(end));
            let tape = self.tape(&weights, &places, states, slab);
            let gradients = self.back(&transposed, &places, (gradient, outputs), &tape.records, &carried, slab);
            self.collect(&tape.inputs, &gradients, &parameters, slab, end < steps)?;
            end = slab.first;
        }
        let initial = self.finish(&carried.states, &parameters);
        Ok(Gradients { parameters, coefficients: carried.controls, initial })
    }

    /// Stages of all steps of a slab at once.
    fn tape(&self, weights: &Handle, rows: &Handle, states: &Handle, slab: Slab) -> Tape {
        let inputs = self.shape.input_at(self.shape.top + 1, true, slab.rows);
        let records = slab.evaluations * self.shape.record();
        let tape = Tape { inputs: self.fours(inputs), records: self.fours(records) };
        self.walk(weights, rows, states, &tape, slab, Purpose::Tape);
        tape
    }

    /// Gradients in what layers give, in a slab.
    fn back(
        &self,
        weights: &Handle,
        places: &Handle,
        (seed, outputs): (&Handle, usize),
        records: &Handle,
        carried: &Carried,
        slab: Slab,
    ) -> Handle {
        let (gpu, shape, &Arrays { batch, ref coefficients, .. }) = (self.gpu, self.shape, self.arrays);
        let gradients = self.fours(shape.gradient_at(shape.top + 1, true, slab.rows));
        // Without gradients of the controls this is not written to.
        let none = self.fours(1);
        launch!(gpu, back::back, gpu.spread(batch), self.cut.units;
            FOUR; [weights, coefficients, self.schedule, places, seed, records, gradients, carried.states,
            carried.controls.as_ref().unwrap_or(&none)], self.run(slab), outputs, shape, self.cut, carried.controls.is_some());
        gradients
    }

    /// A layer, in numbers.
    fn layer(&self, l: usize) -> LayerLaunch<R> {
        let shape = self.shape;
        let real = if l == shape.top { shape.hidden } else { shape.numbers(l) };
        let [block, deep, wide] = [shape.block(l), shape.inputs(l), shape.outputs(l)].map(|fours| FOUR * fours);
        LayerLaunch::new(shape.size(l), shape.numbers(l), real, block, deep, wide, shape.parameter(l))
    }

    /// Adds a slab to the gradients of weights: products of matrices, of values and of tangents.
    fn collect(&self, inputs: &Handle, gradients: &Handle, parameters: &Handle, slab: Slab, add: bool) -> Result<(), Error> {
        let (gpu, shape, Slab { evaluations, rows, .. }) = (self.gpu, self.shape, slab);
        for l in 0..=shape.top {
            let columns = (FOUR * shape.inputs(l), FOUR * shape.outputs(l), FOUR * shape.block(l));
            let x = from(inputs, shape.input_at(l, false, rows));
            let z = from(gradients, shape.gradient_at(l, false, rows));
            let (x, z) = (Matrix::new(&x, evaluations, columns.0), Matrix::new(&z, evaluations, columns.1));
            let values = gpu.product(x.transposed(), z, None)?;
            let mut tangents = (values.clone(), 0);
            if shape.brackets {
                let all = shape.channels * evaluations;
                let t = from(inputs, shape.input_at(l, true, rows));
                let u = from(gradients, shape.gradient_at(l, true, rows));
                let (t, u) = (Matrix::new(&t, all, columns.0), Matrix::new(&u, all, columns.2));
                if l < shape.top {
                    tangents = (gpu.product(t.transposed(), u, None)?, 1);
                } else {
                    // In the last layer each channel has a separate block.
                    tangents = gpu.products(t.transposed(), u, shape.channels)?;
                }
            }
            let units = shape.size(l) * shape.numbers(l);
            launch!(gpu, pack::gather, each units; [values, tangents.0, parameters], self.layer(l), tangents.1, u32::from(add));
        }
        Ok(())
    }

    /// Gradients of biases and of the initial states, from what was carried to the first step.
    fn finish(&self, carried: &Handle, parameters: &Handle) -> Handle {
        let (gpu, shape, batch) = (self.gpu, self.shape, self.arrays.batch);
        let (initial, units) = (gpu.floats(batch * shape.hidden), batch * shape.h());
        for l in 0..=shape.top {
            launch!(gpu, pack::biases, each shape.numbers(l);
                [carried, parameters], self.layer(l), batch, FOUR * (shape.h() + shape.biases()),
                FOUR * (shape.h() + shape.output(l)));
        }
        launch!(gpu, back::initial, each units; FOUR; [carried, initial], units, shape);
        initial
    }
}

/// A buffer from a section on.
fn from(handle: &Handle, fours: usize) -> Handle {
    handle.clone().offset_start((fours * FOUR * size_of::<f32>()) as u64)
}

/// For each series and step the first of the outputs there, and behind the last step their end.
fn ends(at: Option<&[usize]>, batch: usize, steps: usize) -> impl Iterator<Item = usize> {
    let count = at.map_or(steps, |at| at.len() / batch);
    (0..batch).flat_map(move |b| {
        (0..=steps).map(move |n| at.map_or(n, |at| at[b * count..(b + 1) * count].partition_point(|&step| step < n)))
    })
}

#[cfg(test)]
mod tests {
    use super::ends;

    #[test]
    fn every_output_is_met_once() {
        assert_eq!(ends(None, 2, 3).collect::<Vec<_>>(), [0, 1, 2, 3, 0, 1, 2, 3]);
        // Outputs after steps 0 and 2 of the first series, twice after step 1 of the other.
        assert_eq!(ends(Some(&[0, 2, 1, 1]), 2, 3).collect::<Vec<_>>(), [0, 1, 1, 2, 0, 0, 2, 2]);
    }
}
