//! States that a row sends to each other; see [`ncde_runtime::layer::PermutationDiagonal`].
//!
//! Cost: that of the recurrence in `ncde-kernels`. Memory: `O(batch x rows x H)`.

use std::sync::Arc;

use burn_tensor::Tensor;
use ncde_kernels::permutation::PermutationDiagonal as Kernel;
use ncde_runtime::layer::{Initial, PermutationDiagonal, Signal};

use super::linear_cde::begin;
use super::rows::clear_padding;
use super::{Batch, Context, Error, FieldNorm, LayerBackend, LayerWeights, Rows};
use crate::dense;
use crate::permutation::{Arguments, Timing, recurrence};

#[derive(Debug)]
pub(super) struct PermutationBatch {
    spec: PermutationDiagonal,
    kernel: Kernel,
    /// The numbers of a row.
    inputs: usize,
}

impl PermutationBatch {
    pub(super) fn new(spec: &PermutationDiagonal, input: &Signal) -> Result<Self, Error> {
        Ok(Self { spec: spec.clone(), kernel: spec.prepare(input)?, inputs: input.width() })
    }

    /// From rows to scores, numbers of the diagonal and inputs.
    fn control<B: LayerBackend>(&self, rows: Tensor<B, 3>, weights: &LayerWeights<'_, B>) -> Result<Tensor<B, 3>, Error> {
        let (kernel, select) = (&self.kernel, weights.weight::<2>("select")?);
        let (device, dtype) = (select.device(), select.dtype());
        let zeros = |count: usize| Tensor::<B, 1>::zeros([count], (&device, dtype));
        let raw = kernel.diagonal.raw(kernel.hidden);
        let (mut maps, mut biases) = (vec![select], vec![zeros(kernel.matrices)]);
        if raw > 0 {
            maps.push(weights.weight("rate")?);
            biases.push(weights.weight("rate_bias")?);
        }
        if self.spec.input {
            maps.push(weights.weight("b")?);
            biases.push(zeros(kernel.width()));
        }
        Ok(dense::affine(rows, Tensor::cat(maps, 1), Tensor::cat(biases, 0))?)
    }

    /// States after each of some rows, from `[batch, 1, width]`, with the time before each.
    fn run<B: LayerBackend>(
        &self,
        rows: Tensor<B, 3>,
        initial: Tensor<B, 3>,
        weights: &LayerWeights<'_, B>,
        timing: Timing,
    ) -> Result<Tensor<B, 3>, Error> {
        let dictionary = weights.weight("dictionary")?;
        let sharpness = self.spec.sharpness;
        let arguments = Arguments {
            dictionary: if sharpness == 1.0 { dictionary } else { dictionary * sharpness },
            control: self.control(rows, weights)?,
            initial: initial.squeeze_dim(1),
            timing: Arc::new(timing),
        };
        Ok(recurrence(self.kernel, arguments)?)
    }
}

impl<B: LayerBackend> Batch<B> for PermutationBatch {
    fn forward(&self, rows: Rows<B>, weights: &LayerWeights<'_, B>, context: &Context<B>) -> Result<Rows<B>, Error> {
        let (trunk, width) = (rows.trunk(), self.kernel.width());
        let [batch, length, _] = trunk.dims();
        // The first row sets the state, or moves the one that all series begin with.
        let first = usize::from(self.spec.initial == Initial::First);
        let start = begin((self.spec.initial, width), &rows, (0, self.inputs), weights, context)?;
        let spans = self.spec.time.then(|| rows.places.spans());
        let all = rows.places.count() - 1;
        let mut states = start.clone();
        if length > first {
            // No time has passed before the first row.
            let of_trunk = |spans: &[f64]| {
                let series = |b: usize| {
                    let before = (first == 0).then_some(0.0);
                    before.into_iter().chain(spans[b * all..][..length - 1].iter().copied()).collect::<Vec<f64>>()
                };
                (0..batch).flat_map(series).collect()
            };
            let lengths: Vec<usize> = rows.places.lengths.iter().map(|length| length - first).collect();
            let mut moves = dense::some_rows(trunk, first, length - first)?;
            if lengths.contains(&0) {
                // A series of one row, which sets its state, takes one step that nobody sees.
                moves = clear_padding(moves, &lengths, length - first);
            }
            let timing = Timing {
                spans: spans.as_deref().map(of_trunk),
                lengths: Some(lengths.into_iter().map(|length| length.max(1)).collect()),
            };
            let moved = self.run(moves, start.clone(), weights, timing)?;
            states = if first == 1 { dense::join_rows(start, moved)? } else { moved };
        }
        let Some((branches, from)) = rows.branches(&states) else { return Ok(rows.with(states)) };
        let [_, count, numbers] = branches.dims();
        let timing = Timing {
            spans: spans.map(|spans| spans.chunks_exact(all).flat_map(|series| series[length - 1..].to_vec()).collect()),
            lengths: None,
        };
        let (branches, from) = (branches.reshape([batch * count, 1, numbers]), from.reshape([batch * count, 1, width]));
        let ends = self.run(branches, from, weights, timing)?;
        Ok(rows.with(Tensor::cat(vec![states, ends.reshape([batch, count, width])], 1)))
    }

    /// The Euclidean norm of the dictionary: that of each matrix, their mean, or of all.
    fn penalty(&self, weights: &LayerWeights<'_, B>, norm: FieldNorm) -> Option<Tensor<B, 1>> {
        let squares = weights.weight::<3>("dictionary").ok()?.square().sum_dim(2).sum_dim(1);
        let squares = squares.reshape([self.kernel.matrices]);
        Some(norm.of_squares(squares))
    }
}
