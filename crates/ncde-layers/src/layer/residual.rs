//! A skip connection around a list of layers; see [`ncde_runtime::layer::Residual`].

use super::{Batch, Context, Error, LayerBackend, LayerWeights, Rows};

#[derive(Debug)]
pub(super) struct ResidualBatch;

impl<B: LayerBackend> Batch<B> for ResidualBatch {
    fn forward(&self, rows: Rows<B>, weights: &LayerWeights<'_, B>, context: &Context<B>) -> Result<Rows<B>, Error> {
        let x = rows.values.clone();
        let y = weights.inside(rows, context)?;
        Ok(y.with(y.values.clone() + x))
    }
}
