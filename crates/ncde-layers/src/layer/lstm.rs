//! A long short-term memory; see [`ncde_runtime::layer::Lstm`].
//!
//! What rows bring to the gates is one product for all of them; only the part of the state goes row after row.
//! Cost: `O(rows x H (n + H))`, in as many steps as rows. Memory: `O(batch x rows x H)`.

use burn_tensor::Tensor;
use burn_tensor::activation::sigmoid;

use super::{Batch, Context, Error, LayerBackend, LayerWeights, Rows};
use crate::dense;

#[derive(Debug)]
pub(super) struct LstmBatch {
    pub(super) hidden: usize,
}

impl LstmBatch {
    /// `(h, c)` side by side, `[cases, 2 H]`, after a row that brings `gates`, `[cases, 4 H]`.
    fn next<B: LayerBackend>(
        &self,
        gates: Tensor<B, 2>,
        before: Option<&Tensor<B, 2>>,
        recurrent: &Tensor<B, 2>,
    ) -> Result<Tensor<B, 2>, Error> {
        let n = self.hidden;
        let part = |of: &Tensor<B, 2>, place: usize| of.clone().narrow(1, place * n, n);
        let gates = match before {
            Some(before) => gates + dense::product(part(before, 0), recurrent.clone())?,
            None => gates,
        };
        let new = sigmoid(part(&gates, 0)) * part(&gates, 2).tanh();
        let c = match before {
            Some(before) => sigmoid(part(&gates, 1)) * part(before, 1) + new,
            None => new,
        };
        Ok(Tensor::cat(vec![sigmoid(part(&gates, 3)) * c.clone().tanh(), c], 1))
    }
}

impl<B: LayerBackend> Batch<B> for LstmBatch {
    fn forward(&self, rows: Rows<B>, weights: &LayerWeights<'_, B>, _: &Context<B>) -> Result<Rows<B>, Error> {
        let recurrent = weights.weight::<2>("recurrent")?;
        let gates = dense::affine(rows.values.clone(), weights.weight("input")?, weights.weight("bias")?)?;
        let ([batch, _, width], trunk, n) = (gates.dims(), rows.places.trunk, self.hidden);
        let mut states: Vec<Tensor<B, 3>> = Vec::with_capacity(trunk);
        let mut state = None;
        for t in 0..trunk {
            let next = self.next(gates.clone().narrow(1, t, 1).squeeze_dim(1), state.as_ref(), &recurrent)?;
            states.push(next.clone().unsqueeze_dim(1));
            state = Some(next);
        }
        let mut states = Tensor::cat(states, 1);
        // A branch follows the state of its parent.
        if let Some((branches, before)) = rows.with(gates).branches(&states) {
            let count = branches.dims()[1];
            let (branches, before) = (branches.reshape([batch * count, width]), before.reshape([batch * count, 2 * n]));
            let ends = self.next(branches, Some(&before), &recurrent)?;
            states = Tensor::cat(vec![states, ends.reshape([batch, count, 2 * n])], 1);
        }
        Ok(rows.with(states.narrow(2, 0, n)))
    }
}
