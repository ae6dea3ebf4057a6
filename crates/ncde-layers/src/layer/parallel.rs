//! Lists of layers, each given the same rows; see [`ncde_runtime::layer::Parallel`].

use burn_tensor::Tensor;

use super::{Batch, Context, Error, LayerBackend, LayerWeights, Rows};

#[derive(Debug)]
pub(super) struct ParallelBatch;

impl<B: LayerBackend> Batch<B> for ParallelBatch {
    fn forward(&self, rows: Rows<B>, weights: &LayerWeights<'_, B>, context: &Context<B>) -> Result<Rows<B>, Error> {
        let all = weights.each_inside(&rows, context)?;
        let values = Tensor::cat(all.iter().map(|list| list.values.clone()).collect(), 2);
        // A `pool` inside leaves other places, the same in all lists.
        Ok(all.into_iter().next().unwrap_or(rows).with(values))
    }
}
