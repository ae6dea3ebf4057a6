//! A linear layer; see [`ncde_runtime::layer::Linear`].

use super::{Batch, Context, Error, LayerBackend, LayerWeights, Rows};
use crate::dense;

#[derive(Debug)]
pub(super) struct LinearBatch;

impl<B: LayerBackend> Batch<B> for LinearBatch {
    fn forward(&self, rows: Rows<B>, weights: &LayerWeights<'_, B>, _: &Context<B>) -> Result<Rows<B>, Error> {
        let y = dense::affine(rows.values.clone(), weights.weight("weight")?, weights.weight("bias")?)?;
        Ok(rows.with(y))
    }
}
