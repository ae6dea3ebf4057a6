//! One row for the series as a whole; see [`ncde_runtime::layer::Pool`].

use std::sync::Arc;

use burn_tensor::Tensor;
use ncde_runtime::layer::Over;

use super::rows::integers;
use super::{Batch, Context, Error, LayerBackend, LayerWeights, Places, Rows};
use crate::dense;

#[derive(Debug)]
pub(super) struct PoolBatch {
    pub(super) over: Over,
}

impl<B: LayerBackend> Batch<B> for PoolBatch {
    fn forward(&self, rows: Rows<B>, _: &LayerWeights<'_, B>, _: &Context<B>) -> Result<Rows<B>, Error> {
        let x = rows.trunk();
        let [batch, trunk, width] = x.dims();
        let lengths = &rows.places.lengths;
        let values: Tensor<B, 3> = match self.over {
            Over::Last => {
                let last = lengths.iter().enumerate().map(|(b, length)| (b * trunk + length - 1) as i64).collect();
                let last = integers(last, &x.device());
                x.reshape([batch * trunk, width]).select(0, last).unsqueeze_dim(1)
            }
            Over::Mean => dense::mean_rows(x, lengths)?,
        };
        let count = rows.places.count();
        let times = lengths.iter().enumerate().map(|(b, length)| rows.places.times[b * count + length - 1]).collect();
        let places = Places { lengths: vec![1; batch], trunk: 1, times, branches: None };
        Ok(Rows { values, places: Arc::new(places) })
    }
}
