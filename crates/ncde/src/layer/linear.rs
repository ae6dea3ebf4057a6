//! A linear layer; see [`ncde_runtime::layer::Linear`].

use super::{Batch, Context, Error, LayerBackend, Own, Rows};
use crate::dense;

#[derive(Debug)]
pub(super) struct LinearBatch;

impl<B: LayerBackend> Batch<B> for LinearBatch {
    fn forward(&self, rows: Rows<B>, own: &Own<'_, B>, _: &Context<B>) -> Result<Rows<B>, Error> {
        let y = dense::affine(rows.values.clone(), own.weight("weight")?, own.weight("bias")?)?;
        Ok(rows.with(y))
    }
}
