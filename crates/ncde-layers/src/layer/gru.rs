//! A gated recurrent unit; see [`ncde_runtime::layer::Gru`].
//!
//! What rows bring to the gates is one product for all of them; only the part of the state goes row after row. Cost: `O(rows x H (n + H))`.

use burn_tensor::Tensor;
use burn_tensor::activation::sigmoid;

use super::cell::unroll;
use super::{Batch, Context, Error, LayerBackend, LayerWeights, Rows};
use crate::dense;

#[derive(Debug)]
pub(super) struct GruBatch {
    pub(super) hidden: usize,
}

impl<B: LayerBackend> Batch<B> for GruBatch {
    fn forward(&self, rows: Rows<B>, weights: &LayerWeights<'_, B>, _: &Context<B>) -> Result<Rows<B>, Error> {
        let (recurrent, n) = (weights.weight::<2>("recurrent")?, self.hidden);
        let gates = dense::affine(rows.values.clone(), weights.weight("input")?, weights.weight("bias")?)?;
        let bias = weights.weight::<1>("recurrent_bias")?.reshape([1, n]);
        let part = |of: &Tensor<B, 2>, place: usize| of.clone().narrow(1, place * n, n);
        let states = unroll(&rows, gates, |gates, before| {
            let cases = gates.dims()[0];
            let before = before.unwrap_or_else(|| Tensor::zeros([cases, n], (&gates.device(), gates.dtype())));
            let from_state = dense::product(before.clone(), recurrent.clone())?;
            let [r, z] = [0, 1].map(|gate| sigmoid(part(&gates, gate) + part(&from_state, gate)));
            let new = (part(&gates, 2) + r * (part(&from_state, 2) + bias.clone().repeat_dim(0, cases))).tanh();
            Ok(new.clone() + z * (before - new))
        })?;
        Ok(rows.with(states))
    }
}
