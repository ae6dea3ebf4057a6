//! A gated recurrent unit; see [`ncde_runtime::layer::Gru`].
//!
//! What rows bring to the gates is one product for all of them; only the part of the state goes row after row.
//! Cost: `O(rows x H (n + H))`, in as many steps as rows. Memory: `O(batch x rows x H)`.

use burn_tensor::Tensor;
use burn_tensor::activation::sigmoid;

use super::{Batch, Context, Error, LayerBackend, LayerWeights, Rows};
use crate::dense;

#[derive(Debug)]
pub(super) struct GruBatch {
    pub(super) hidden: usize,
}

/// What turns a state into the next.
struct Recurrence<B: LayerBackend> {
    recurrent: Tensor<B, 2>,
    /// `[1, H]`.
    bias: Tensor<B, 2>,
    hidden: usize,
}

impl<B: LayerBackend> Recurrence<B> {
    /// `h`, `[cases, H]`, after a row that brings `gates`, `[cases, 3 H]`.
    fn next(&self, gates: &Tensor<B, 2>, before: Tensor<B, 2>) -> Result<Tensor<B, 2>, Error> {
        let n = self.hidden;
        let part = |of: &Tensor<B, 2>, place: usize| of.clone().narrow(1, place * n, n);
        let from_state = dense::product(before.clone(), self.recurrent.clone())?;
        let [r, z] = [0, 1].map(|gate| sigmoid(part(gates, gate) + part(&from_state, gate)));
        let bias = self.bias.clone().repeat_dim(0, before.dims()[0]);
        let new = (part(gates, 2) + r * (part(&from_state, 2) + bias)).tanh();
        Ok(new.clone() + z * (before - new))
    }
}

impl<B: LayerBackend> Batch<B> for GruBatch {
    fn forward(&self, rows: Rows<B>, weights: &LayerWeights<'_, B>, _: &Context<B>) -> Result<Rows<B>, Error> {
        let gates = dense::affine(rows.values.clone(), weights.weight("input")?, weights.weight("bias")?)?;
        let ([batch, _, width], trunk, n) = (gates.dims(), rows.places.trunk, self.hidden);
        let bias = weights.weight::<1>("recurrent_bias")?.reshape([1, n]);
        let recurrence = Recurrence { recurrent: weights.weight("recurrent")?, bias, hidden: n };
        let mut states: Vec<Tensor<B, 3>> = Vec::with_capacity(trunk);
        let mut state = Tensor::zeros([batch, n], (&gates.device(), gates.dtype()));
        for t in 0..trunk {
            state = recurrence.next(&gates.clone().narrow(1, t, 1).squeeze_dim(1), state)?;
            states.push(state.clone().unsqueeze_dim(1));
        }
        let mut states = Tensor::cat(states, 1);
        // A branch follows the state of its parent.
        if let Some((branches, before)) = rows.with(gates).branches(&states) {
            let count = branches.dims()[1];
            let (branches, before) = (branches.reshape([batch * count, width]), before.reshape([batch * count, n]));
            let ends = recurrence.next(&branches, before)?;
            states = Tensor::cat(vec![states, ends.reshape([batch, count, n])], 1);
        }
        Ok(rows.with(states))
    }
}
