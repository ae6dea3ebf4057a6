//! A long short-term memory; see [`ncde_runtime::layer::Lstm`].
//!
//! What rows bring to the gates is one product for all of them; the states are one kernel. Cost: `O(rows x H (n + H))`.

use ncde_kernels::recurrent::{Cell, Recurrent};

use super::recurrent::states;
use super::rows::clear_padding;
use super::spread::times;
use super::{Batch, Context, Error, LayerBackend, LayerWeights, Rows};

#[derive(Debug)]
pub(super) struct LstmBatch {
    pub(super) hidden: usize,
}

impl<B: LayerBackend> Batch<B> for LstmBatch {
    fn forward(&self, rows: Rows<B>, weights: &LayerWeights<'_, B>, _: &Context<B>) -> Result<Rows<B>, Error> {
        let n = self.hidden;
        let x = clear_padding(rows.values.clone(), &rows.places.lengths, rows.places.trunk);
        let recurrent = weights.weight::<2>("recurrent")?.reshape([1, n, 4 * n]);
        let bias = weights.weight::<1>("bias")?.reshape([1, 1, 4 * n]);
        let kernel = Recurrent { cell: Cell::Lstm, heads: 1, size: n };
        let h = states(kernel, &rows, times(x, weights.weight("input")?)?, recurrent, bias)?;
        Ok(rows.with(h))
    }
}
