//! The NCDE, the NRDE and the Log-NCDE; see [`ncde_runtime::layer::NeuralCde`].
//!
//! Cost: that of the solve in `ncde-kernels`; of a Log-NCDE of depth 3 or more that of `ncde-solve`, much higher. Memory: `O(batch x steps x H)` in
//! training, `O(batch x windows x H)` else.

use std::sync::Arc;

use burn_tensor::Tensor;
use ncde_runtime::layer::{NeuralCde, NeuralKind, Signal};

use super::linear_cde::first_state;
use super::standardise::unpadded_rows;
use super::{Batch, Context, Error, FieldNorm, LayerBackend, LayerWeights, Measure, Rows};
use crate::dense;
use crate::neural::{Arguments, Outputs, Schedule, Solve, solve};

#[derive(Debug)]
pub(super) struct NeuralCdeBatch {
    spec: NeuralCde,
    solve: Arc<Solve>,
    /// How many numbers of a row drive, and how many channels the knot after them has.
    coordinates: usize,
    channels: usize,
}

impl NeuralCdeBatch {
    pub(super) fn new(spec: &NeuralCde, input: &Signal) -> Result<Self, Error> {
        let solve = Solve::new(spec.network(input)?).with_method(spec.solver).with_depth(spec.depth(input)?)?;
        let (channels, coordinates, ..) = input.windows("neural-cde")?;
        Ok(Self { spec: spec.clone(), solve: Arc::new(solve), coordinates, channels })
    }

    /// The rows of the controls of windows: `[batch, windows, numbers]` to `[batch, windows x rows, channels or coordinates]`.
    fn controls<B: LayerBackend>(&self, numbers: Tensor<B, 3>) -> Tensor<B, 3> {
        if self.spec.kind != NeuralKind::Ncde {
            return numbers;
        }
        let ([batch, windows, _], rows) = (numbers.dims(), self.spec.rows());
        let (x, m) = (numbers.clone().narrow(2, 0, self.channels), numbers.narrow(2, self.channels, self.channels));
        let change = x - m.clone();
        let row = |row: usize| {
            let u = row as f64 / (rows - 1) as f64;
            (m.clone() + change.clone() * ((4.0 - 3.0 * u) * u)).unsqueeze_dim::<4>(2)
        };
        Tensor::cat((0..rows).map(row).collect(), 2).reshape([batch, windows * rows, self.channels])
    }

    /// The steps of a batch: as many in each window, states at the ends of windows. A shorter series stands still after its end.
    fn schedule(&self, lengths: &[usize], longest: usize) -> Schedule {
        let (steps, reads) = (self.spec.steps, self.spec.reads());
        let (mut dt, mut rows, mut at) = (Vec::new(), Vec::new(), Vec::new());
        for (b, &length) in lengths.iter().enumerate() {
            dt.resize(b * longest * steps + length * steps, 1.0 / steps as f64);
            dt.resize((b + 1) * longest * steps, 0.0);
            rows.extend((0..longest).flat_map(|k| reads.iter().map(move |read| k * self.spec.rows() + read)));
            at.extend((0..longest).map(|k| (k + 1) * steps - 1));
        }
        Schedule { steps: longest * steps, dt, rows, outputs: Outputs::At(at) }
    }

    /// States at the ends of windows, from `[batch, H]`.
    fn run<B: LayerBackend>(
        &self,
        weights: &LayerWeights<'_, B>,
        initial: Tensor<B, 2>,
        windows: Tensor<B, 3>,
        lengths: &[usize],
    ) -> Result<Tensor<B, 3>, Error> {
        let schedule = Arc::new(self.schedule(lengths, windows.dims()[1]));
        let coefficients = self.controls(windows.narrow(2, 0, self.coordinates));
        Ok(solve(&self.solve, Arguments { parameters: weights.weight("field")?, coefficients, initial, schedule })?)
    }
}

impl<B: LayerBackend> Batch<B> for NeuralCdeBatch {
    fn forward(&self, rows: Rows<B>, weights: &LayerWeights<'_, B>, context: &Context<B>) -> Result<Rows<B>, Error> {
        let start = first_state(&rows, (self.coordinates, self.channels), weights, context)?;
        let trunk = rows.trunk();
        let [batch, length, _] = trunk.dims();
        let mut states = start.clone();
        if length > 1 {
            let lengths: Vec<usize> = rows.places.lengths.iter().map(|length| length - 1).collect();
            let windows = dense::some_rows(trunk, 1, length - 1)?;
            states = dense::join_rows(start.clone(), self.run(weights, start.squeeze_dim(1), windows, &lengths)?)?;
        }
        let Some((branches, from)) = rows.branches(&states) else { return Ok(rows.with(states)) };
        let ([_, count, width], hidden) = (branches.dims(), self.spec.hidden);
        let from = from.reshape([batch * count, hidden]);
        let ends = self.run(weights, from, branches.reshape([batch * count, 1, width]), &vec![1; batch * count])?;
        Ok(rows.with(Tensor::cat(vec![states, ends.reshape([batch, count, hidden])], 1)))
    }

    /// The thesis's: the sum over the layers of the field of the Euclidean norms of weight and bias. Times a small number and added to a loss, it
    /// keeps the field's Lip norm small.
    fn penalty(&self, weights: &LayerWeights<'_, B>, _: FieldNorm) -> Option<Tensor<B, 1>> {
        let (field, network) = (weights.weight::<1>("field").ok()?, self.solve.network());
        let parts = (0..network.layers()).flat_map(|l| {
            let layer = network.layer(l);
            [layer.weight, layer.bias]
        });
        // The square root has no slope at 0; a number that f32 still holds gives it one.
        let norms = parts.map(|part| (field.clone().slice([part]).square().sum() + 1e-30).sqrt());
        Some(Tensor::cat(norms.collect(), 0).sum())
    }

    fn measured(&self) -> Option<Measure<B>> {
        Some(("radius", |states| {
            let norms = unpadded_rows(states).into_iter().map(|h| h.iter().map(|x| x * x).sum::<f64>().sqrt());
            norms.fold(0.0, f64::max)
        }))
    }
}
