//! A gated recurrent unit; see [`ncde_runtime::layer::Gru`].
//!
//! What rows bring to the gates is one product for all of them; only the part of the state goes row after row. Cost: `O(rows x H (n + H))`.

use burn_tensor::Tensor;
use burn_tensor::activation::sigmoid;

use super::cell::unroll;
use super::{Batch, Context, Error, LayerBackend, LayerWeights, Rows};
use crate::dense;

#[derive(Debug)]
pub(super) struct GruBatch;

/// What the state needs from row to row.
#[derive(Debug)]
pub(super) struct Cell<B: LayerBackend> {
    recurrent: Tensor<B, 2>,
    bias: Tensor<B, 2>,
}

impl<B: LayerBackend> Cell<B> {
    pub(super) fn new(weights: &LayerWeights<'_, B>) -> Result<Self, Error> {
        let bias = weights.weight::<1>("recurrent_bias")?.unsqueeze();
        Ok(Self { recurrent: weights.weight("recurrent")?, bias })
    }

    /// The states of several cases, from what a row brings to their gates, `[cases, 3 H]`, and the states before it.
    pub(super) fn next(&self, gates: Tensor<B, 2>, before: Option<Tensor<B, 2>>) -> Result<Tensor<B, 2>, Error> {
        let (cases, [n, _]) = (gates.dims()[0], self.recurrent.dims());
        let part = |of: &Tensor<B, 2>, place: usize| of.clone().narrow(1, place * n, n);
        let before = before.unwrap_or_else(|| Tensor::zeros([cases, n], (&gates.device(), gates.dtype())));
        let from_state = dense::product(before.clone(), self.recurrent.clone())?;
        let [r, z] = [0, 1].map(|gate| sigmoid(part(&gates, gate) + part(&from_state, gate)));
        let new = (part(&gates, 2) + r * (part(&from_state, 2) + self.bias.clone().repeat_dim(0, cases))).tanh();
        Ok(new.clone() + z * (before - new))
    }
}

impl<B: LayerBackend> Batch<B> for GruBatch {
    fn forward(&self, rows: Rows<B>, weights: &LayerWeights<'_, B>, _: &Context<B>) -> Result<Rows<B>, Error> {
        let cell = Cell::new(weights)?;
        let gates = dense::affine(rows.values.clone(), weights.weight("input")?, weights.weight("bias")?)?;
        let states = unroll(&rows, gates, |gates, before| cell.next(gates, before))?;
        Ok(rows.with(states))
    }
}
