//! A long short-term memory; see [`ncde_runtime::layer::Lstm`].
//!
//! What rows bring to the gates is one product for all of them; only the part of the state goes row after row. Cost: `O(rows x H (n + H))`.

use burn_tensor::Tensor;
use burn_tensor::activation::sigmoid;

use super::cell::unroll;
use super::{Batch, Context, Error, LayerBackend, LayerWeights, Rows};
use crate::dense;

#[derive(Debug)]
pub(super) struct LstmBatch {
    pub(super) hidden: usize,
}

impl<B: LayerBackend> Batch<B> for LstmBatch {
    fn forward(&self, rows: Rows<B>, weights: &LayerWeights<'_, B>, _: &Context<B>) -> Result<Rows<B>, Error> {
        let (recurrent, n) = (weights.weight::<2>("recurrent")?, self.hidden);
        let gates = dense::affine(rows.values.clone(), weights.weight("input")?, weights.weight("bias")?)?;
        let part = |of: &Tensor<B, 2>, place: usize| of.clone().narrow(1, place * n, n);
        // `h` and `c` side by side.
        let states = unroll(&rows, gates, |gates, before| {
            let gates = match &before {
                Some(before) => gates + dense::product(part(before, 0), recurrent.clone())?,
                None => gates,
            };
            let new = sigmoid(part(&gates, 0)) * part(&gates, 2).tanh();
            let c = match &before {
                Some(before) => sigmoid(part(&gates, 1)) * part(before, 1) + new,
                None => new,
            };
            Ok(Tensor::cat(vec![sigmoid(part(&gates, 3)) * c.clone().tanh(), c], 1))
        })?;
        Ok(rows.with(states.narrow(2, 0, n)))
    }
}
