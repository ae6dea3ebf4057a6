//! Signature features, on tensors; see [`ncde_runtime::layer::SignatureFeatures`].
//!
//! Where they are the first layer, training computes them once, in f64, and this is not called.

use std::sync::Arc;

use burn_tensor::Tensor;
use ncde_runtime::layer::{Signal, SignatureFeatures};
use ncde_signature::Signature;

use super::{Batch, Context, Error, LayerBackend, LayerWeights, Rows};
use crate::signature::stream;

#[derive(Debug)]
pub(super) struct SignatureBatch {
    transform: Arc<Signature>,
}

impl SignatureBatch {
    pub(super) fn new(spec: &SignatureFeatures, input: &Signal) -> Result<Self, Error> {
        Ok(Self { transform: spec.transform(input)? })
    }
}

impl<B: LayerBackend> Batch<B> for SignatureBatch {
    fn forward(&self, rows: Rows<B>, _: &LayerWeights<'_, B>, context: &Context<B>) -> Result<Rows<B>, Error> {
        if rows.places.branches.is_some() {
            let (seen, wanted) = ("rows in the middle of windows".to_owned(), "rows that follow each other".to_owned());
            return Err(Error::Shape { operation: "signature", what: "the batch of rows", seen, wanted });
        }
        let x = rows.values.clone();
        let [batch, length, _] = x.dims();
        let mut all = vec![x.clone().narrow(1, 0, 1).repeat_dim(1, length)];
        all.extend(context.statics.clone().map(|statics| statics.unsqueeze_dim::<3>(1).repeat_dim(1, length)));
        let zero = Tensor::zeros([batch, 1, self.transform.len()], (&x.device(), x.dtype()));
        let mut prefixes = vec![zero];
        if length > 1 {
            // Past the end of a series the padding is read and not used.
            prefixes.push(stream(&self.transform, super::rows::clear_padding(x, &rows.places.lengths, rows.places.trunk))?);
        }
        all.push(Tensor::cat(prefixes, 1));
        Ok(rows.with(Tensor::cat(all, 2)))
    }
}
