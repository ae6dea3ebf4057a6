//! A gated recurrent unit; see [`ncde_runtime::layer::Gru`].
//!
//! What rows bring to the gates is one product for all of them; the states are one kernel. Cost: `O(rows x H (n + H))`.

use burn_tensor::Tensor;
use ncde_kernels::recurrent::{Cell, Recurrent};

use super::recurrent::states;
use super::rows::clear_padding;
use super::{Batch, Context, Error, LayerBackend, LayerWeights, Rows};
use crate::dense;

#[derive(Debug)]
pub(super) struct GruBatch {
    pub(super) hidden: usize,
}

impl<B: LayerBackend> Batch<B> for GruBatch {
    fn forward(&self, rows: Rows<B>, weights: &LayerWeights<'_, B>, _: &Context<B>) -> Result<Rows<B>, Error> {
        let n = self.hidden;
        let x = clear_padding(rows.values.clone(), &rows.places.lengths, rows.places.trunk);
        let gates = dense::affine(x, weights.weight("input")?, weights.weight("bias")?)?;
        let recurrent = weights.weight::<2>("recurrent")?.reshape([1, n, 3 * n]);
        // What the state brings has a bias for the last gate alone.
        let bias = weights.weight::<1>("recurrent_bias")?.reshape([1, 1, n]);
        let none = Tensor::zeros([1, 1, 2 * n], (&bias.device(), bias.dtype()));
        let kernel = Recurrent { cell: Cell::Gru, heads: 1, size: n };
        let h = states(kernel, &rows, gates, recurrent, Tensor::cat(vec![none, bias], 2))?;
        Ok(rows.with(h))
    }
}
