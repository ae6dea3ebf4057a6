//! Any backend under `Autodiff`: the forward pass is the backend's, the reverse pass ours.

use std::sync::Arc;

use burn_autodiff::Autodiff;
use burn_autodiff::checkpoint::base::Checkpointer;
use burn_autodiff::checkpoint::strategy::CheckpointStrategy;
use burn_autodiff::grads::Gradients;
use burn_autodiff::ops::{Backward, Ops, unary};
use burn_tensor::ops::FloatTensor;
use ncde_signature::Signature;

use super::{Error, Over, SignatureOps};
use crate::operation::{OrNan, finish, nan_like};

#[derive(Debug)]
struct Reverse;

impl<B: SignatureOps> Backward<B, 1> for Reverse {
    type State = (Arc<Signature>, Over, FloatTensor<B>);

    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let (transform, over, path) = ops.state;
        unary::<B, _>(ops.parents, ops.node, grads, |gradient| {
            B::signature_backward(&transform, over, path.clone(), gradient).or_nan(|| nan_like::<B>(path))
        });
    }
}

impl<B: SignatureOps, C: CheckpointStrategy> SignatureOps for Autodiff<B, C> {
    fn signature(transform: &Arc<Signature>, over: Over, path: FloatTensor<Self>) -> Result<FloatTensor<Self>, Error> {
        let output = B::signature(transform, over, path.primitive.clone())?;
        Ok(finish(Reverse.prepare::<C>([path.node]).compute_bound(), (transform.clone(), over, path.primitive), output))
    }

    fn signature_backward(
        _: &Arc<Signature>,
        _: Over,
        _: FloatTensor<Self>,
        _: FloatTensor<Self>,
    ) -> Result<FloatTensor<Self>, Error> {
        Err(Error::SecondOrder)
    }
}
