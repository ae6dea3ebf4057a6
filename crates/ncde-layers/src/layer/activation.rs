//! A function of each number, or a gated linear unit; see [`ncde_runtime::layer::Activation`].

use ncde_runtime::layer::Function;

use super::{Batch, Context, Error, LayerBackend, LayerWeights, Rows};
use crate::dense;

#[derive(Debug)]
pub(super) struct ActivationBatch {
    pub(super) function: Function,
}

impl<B: LayerBackend> Batch<B> for ActivationBatch {
    fn forward(&self, rows: Rows<B>, _: &LayerWeights<'_, B>, _: &Context<B>) -> Result<Rows<B>, Error> {
        let y = dense::activation(self.function, rows.values.clone())?;
        Ok(rows.with(y))
    }
}
