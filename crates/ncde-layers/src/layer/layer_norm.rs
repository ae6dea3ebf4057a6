//! Rows of mean 0 and variance 1; see [`ncde_runtime::layer::LayerNorm`].

use super::{Batch, Context, Error, LayerBackend, LayerWeights, Rows};
use crate::dense;

#[derive(Debug)]
pub(super) struct LayerNormBatch {
    pub(super) affine: bool,
}

impl<B: LayerBackend> Batch<B> for LayerNormBatch {
    fn forward(&self, rows: Rows<B>, weights: &LayerWeights<'_, B>, _: &Context<B>) -> Result<Rows<B>, Error> {
        let affine = if self.affine { Some([weights.weight("gain")?, weights.weight("offset")?]) } else { None };
        let y = dense::layer_norm(rows.values.clone(), affine)?;
        Ok(rows.with(y))
    }
}
