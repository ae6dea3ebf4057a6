//! Any backend under `Autodiff`: the forward pass is the backend's, the reverse pass ours.

use std::sync::Arc;

use burn_autodiff::Autodiff;
use burn_autodiff::checkpoint::strategy::CheckpointStrategy;
use burn_tensor::ops::FloatTensor;
use ncde_signature::Signature;

use super::{Error, Over, SignatureOps};
use crate::operation::differentiable_unary;

impl<B: SignatureOps, C: CheckpointStrategy> SignatureOps for Autodiff<B, C> {
    fn signature(transform: &Arc<Signature>, over: Over, path: FloatTensor<Self>) -> Result<FloatTensor<Self>, Error> {
        differentiable_unary::<_, C, _>(path, |path| {
            let (transform, values) = (transform.clone(), B::signature(transform, over, path.clone())?);
            Ok((values, move |gradient| B::signature_backward(&transform, over, path, gradient)))
        })
    }
}
