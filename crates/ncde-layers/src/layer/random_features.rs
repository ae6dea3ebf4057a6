//! A row, and random functions of it; see [`ncde_runtime::layer::RandomFeatures`].

use burn_tensor::Tensor;

use super::{Batch, Context, Error, LayerBackend, LayerWeights, Rows};
use crate::dense;

#[derive(Debug)]
pub(super) struct RandomFeaturesBatch;

impl<B: LayerBackend> Batch<B> for RandomFeaturesBatch {
    fn forward(&self, rows: Rows<B>, weights: &LayerWeights<'_, B>, _: &Context<B>) -> Result<Rows<B>, Error> {
        let y = dense::affine(rows.values.clone(), weights.weight("weight")?, weights.weight("bias")?)?.tanh();
        let all = Tensor::cat(vec![rows.values.clone(), y], 2);
        Ok(rows.with(all))
    }
}
