//! Lists of layers whose rows are multiplied; see [`ncde_runtime::layer::Product`].

use super::{Batch, Context, Error, LayerBackend, LayerWeights, Rows};

#[derive(Debug)]
pub(super) struct ProductBatch;

impl<B: LayerBackend> Batch<B> for ProductBatch {
    fn forward(&self, rows: Rows<B>, weights: &LayerWeights<'_, B>, context: &Context<B>) -> Result<Rows<B>, Error> {
        let all = weights.each_inside(&rows, context)?;
        let values = all.into_iter().map(|list| list.values).reduce(|product, values| product * values);
        Ok(values.map_or(rows.clone(), |values| rows.with(values)))
    }
}
