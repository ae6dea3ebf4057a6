//! An LSTM with exponential gates; see [`ncde_runtime::layer::Slstm`].
//!
//! What rows bring to the gates is two products for all of them; the states are one kernel. Cost: `O(rows x H (n + H / heads))`.

use burn_tensor::Tensor;
use ncde_kernels::neural::Activation::Silu;
use ncde_kernels::recurrent::{Cell, Recurrent};
use ncde_runtime::layer::{Function, Slstm};

use super::convolution::convolve;
use super::recurrent::states;
use super::rows::clear_padding;
use super::spread::{for_all, gained, times};
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
    let convolved = convolve(rows, weights.weight("convolution")?)?;
    let [batch, count, _] = convolved.dims();
    Ok(dense::activation(SILU, convolved + for_all(weights.weight("convolution_bias")?, [batch, count])?)?)
}

impl<B: LayerBackend> Batch<B> for SlstmBatch {
    fn forward(&self, rows: Rows<B>, weights: &LayerWeights<'_, B>, _: &Context<B>) -> Result<Rows<B>, Error> {
        let Slstm { hidden, heads, .. } = self.spec;
        let d = hidden / heads;
        let x = clear_padding(rows.values.clone(), &rows.places.lengths, rows.places.trunk);
        let input = weights.weight::<2>("input")?;
        let half = |from: Tensor<B, 3>, first: usize| times(from, input.clone().narrow(1, first, 2 * hidden));
        let u = convolved(&rows.with(x.clone()), weights)?;
        let gates = Tensor::cat(vec![half(u, 0)?, half(x, 2 * hidden)?], 2);
        // From gates of all heads to heads of all gates.
        let bias = weights.weight::<1>("bias")?.reshape([4, heads, d]).swap_dims(0, 1).reshape([heads, 1, 4 * d]);
        let kernel = Recurrent { cell: Cell::Slstm, heads, size: d };
        let y = states(kernel, &rows, gates, weights.weight::<3>("recurrent")?, bias)?;
        Ok(rows.with(norm_heads(y, heads, weights.weight("norm")?)?))
    }
}
