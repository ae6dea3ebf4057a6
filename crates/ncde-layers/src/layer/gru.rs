//! A gated recurrent unit; see [`ncde_runtime::layer::Gru`].
//!
//! Cost: `O(rows x H (n + H))`.

use burn_tensor::Tensor;
use ncde_kernels::recurrent::{Cell, Recurrent};

use super::recurrent::states;
use super::rows::clear_padding;
use super::{Batch, Context, Error, LayerBackend, LayerWeights, Rows};

#[derive(Debug)]
pub(super) struct GruBatch {
    pub(super) hidden: usize,
}

impl<B: LayerBackend> Batch<B> for GruBatch {
    fn forward(&self, rows: Rows<B>, weights: &LayerWeights<'_, B>, _: &Context<B>) -> Result<Rows<B>, Error> {
        let n = self.hidden;
        let x = clear_padding(rows.values.clone(), &rows.places.lengths, rows.places.trunk);
        // What the state brings has a bias for the last gate alone.
        let bias = weights.weight::<1>("recurrent_bias")?.reshape([1, n]);
        let none = Tensor::zeros([1, 2 * n], (&bias.device(), bias.dtype()));
        let recurrent = Tensor::cat(vec![weights.weight("recurrent")?, Tensor::cat(vec![none, bias], 1)], 0);
        let kernel = Recurrent { cell: Cell::Gru, inputs: x.dims()[2], heads: 1, size: n };
        let h = states(kernel, &rows, x, recurrent, weights)?;
        Ok(rows.with(h))
    }
}
