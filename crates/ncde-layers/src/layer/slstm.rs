//! An LSTM with exponential gates; see [`ncde_runtime::layer::Slstm`].
//!
//! What rows bring to the gates is two products for all of them; only the part of the state goes row after row. Cost: `O(rows x H (n + H / heads))`.

use burn_tensor::Tensor;
use burn_tensor::activation::{log_sigmoid, sigmoid};
use ncde_kernels::neural::Activation::Silu;
use ncde_runtime::layer::{Function, Slstm};

use super::cell::unroll;
use super::convolution::convolve;
use super::rows::clear_padding;
use super::spread::{for_all, gained};
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
        let (input, bias) = (weights.weight::<2>("input")?, weights.weight::<1>("bias")?);
        let half = |from: Tensor<B, 3>, first: usize| {
            let (map, bias) = (input.clone().narrow(1, first, 2 * hidden), bias.clone().narrow(0, first, 2 * hidden));
            dense::affine(from, map, bias)
        };
        let u = convolved(&rows.with(x.clone()), weights)?;
        let gates = Tensor::cat(vec![half(u, 0)?, half(x, 2 * hidden)?], 2);
        let recurrent = weights.weight::<3>("recurrent")?;
        let part = |of: &Tensor<B, 2>, place: usize| of.clone().narrow(1, place * hidden, hidden);
        // `y`, `c`, `n` and `m` side by side.
        let states = unroll(&rows, gates, |gates, before| {
            let cases = gates.dims()[0];
            let gates = match &before {
                Some(before) => {
                    let y = part(before, 0).reshape([cases, heads, d]).swap_dims(0, 1);
                    let of_heads = y.matmul(recurrent.clone()).reshape([heads, cases, 4, d]);
                    gates + of_heads.swap_dims(0, 1).swap_dims(1, 2).reshape([cases, 4 * hidden])
                }
                None => gates,
            };
            let (i, z) = (part(&gates, 0), part(&gates, 2).tanh());
            let (c, n, m) = match &before {
                Some(before) => {
                    let kept = log_sigmoid(part(&gates, 1)) + part(before, 3);
                    let m = i.clone().max_pair(kept.clone());
                    let (fill, keep) = ((i - m.clone()).exp(), (kept - m.clone()).exp());
                    (keep.clone() * part(before, 1) + fill.clone() * z, keep * part(before, 2) + fill, m)
                }
                None => (z.clone(), z.ones_like(), i),
            };
            let y = sigmoid(part(&gates, 3)) * c.clone() / n.clone();
            Ok(Tensor::cat(vec![y, c, n, m], 1))
        })?;
        let y = norm_heads(states.narrow(2, 0, hidden), heads, weights.weight("norm")?)?;
        Ok(rows.with(y))
    }
}
