//! An LSTM with exponential gates; see [`ncde_runtime::layer::Slstm`].
//!
//! Cost: `O(rows x H (n + H / heads))`.

use burn_tensor::Tensor;
use ncde_kernels::neural::Activation::Silu;
use ncde_kernels::recurrent::{Cell, Recurrent};
use ncde_runtime::layer::{Function, Slstm};

use super::convolution::convolve;
use super::recurrent::states;
use super::rows::clear_padding;
use super::spread::gained;
use super::{Batch, Context, Error, LayerBackend, LayerWeights, Rows};
use crate::dense;

/// `x sigmoid(x)`.
pub(super) const SILU: Function = Function::Each(Silu);

#[derive(Debug)]
pub(super) struct SlstmBatch {
    pub(super) spec: Slstm,
}

/// The numbers of each head with mean 0 and variance 1, times `norm`.
pub(super) fn norm_heads<B: LayerBackend>(x: Tensor<B, 3>, heads: usize, norm: Tensor<B, 1>) -> Result<Tensor<B, 3>, Error> {
    let [batch, count, width] = x.dims();
    let normed = dense::layer_norm(x.reshape([batch, count * heads, width / heads]), None)?;
    gained(normed.reshape([batch, count, width]), norm)
}

/// Rows through a convolution with a bias, then `silu`.
pub(super) fn convolved<B: LayerBackend>(rows: &Rows<B>, weights: &LayerWeights<'_, B>) -> Result<Tensor<B, 3>, Error> {
    convolve(rows, weights.weight("convolution")?, Some(weights.weight("convolution_bias")?), true)
}

impl<B: LayerBackend> Batch<B> for SlstmBatch {
    fn forward(&self, rows: Rows<B>, weights: &LayerWeights<'_, B>, _: &Context<B>) -> Result<Rows<B>, Error> {
        let Slstm { hidden, heads, .. } = self.spec;
        let x = clear_padding(rows.values.clone(), &rows.places.lengths, rows.places.trunk);
        let kernel = Recurrent { cell: Cell::Slstm, inputs: x.dims()[2], heads, size: hidden / heads };
        // Two gates read the convolved row, two the row.
        let both = Tensor::cat(vec![convolved(&rows.with(x.clone()), weights)?, x], 2);
        let y = states(kernel, &rows, both, weights.weight::<3>("recurrent")?, weights)?;
        Ok(rows.with(norm_heads(y, heads, weights.weight("norm")?)?))
    }
}
