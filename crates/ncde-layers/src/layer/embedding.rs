//! A vector for each token; see [`ncde_runtime::layer::Embedding`].

use super::rows::clear_padding;
use super::{Batch, Context, Error, LayerBackend, LayerWeights, Rows};
use crate::dense;

#[derive(Debug)]
pub(super) struct EmbeddingBatch;

impl<B: LayerBackend> Batch<B> for EmbeddingBatch {
    fn forward(&self, rows: Rows<B>, weights: &LayerWeights<'_, B>, _: &Context<B>) -> Result<Rows<B>, Error> {
        let [batch, places, _] = rows.values.dims();
        // Whatever padding holds, it stands for token 0.
        let tokens = clear_padding(rows.values.clone(), &rows.places.lengths, rows.places.trunk);
        Ok(rows.with(dense::lookup(tokens.reshape([batch, places]), weights.weight("weight")?)?))
    }
}
