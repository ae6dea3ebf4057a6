//! A long short-term memory; see [`ncde_runtime::layer::Lstm`].
//!
//! Cost: `O(rows x H (n + H))`.

use ncde_kernels::recurrent::{Cell, Recurrent};

use super::recurrent::states;
use super::rows::clear_padding;
use super::{Batch, Context, Error, LayerBackend, LayerWeights, Rows};

#[derive(Debug)]
pub(super) struct LstmBatch {
    pub(super) hidden: usize,
}

impl<B: LayerBackend> Batch<B> for LstmBatch {
    fn forward(&self, rows: Rows<B>, weights: &LayerWeights<'_, B>, _: &Context<B>) -> Result<Rows<B>, Error> {
        let x = clear_padding(rows.values.clone(), &rows.places.lengths, rows.places.trunk);
        let kernel = Recurrent { cell: Cell::Lstm, inputs: x.dims()[2], heads: 1, size: self.hidden };
        let h = states(kernel, &rows, x, weights.weight::<2>("recurrent")?, weights)?;
        Ok(rows.with(h))
    }
}
