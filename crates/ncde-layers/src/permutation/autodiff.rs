//! Any backend under `Autodiff`: the forward pass is the backend's, the reverse pass ours.

use burn_autodiff::Autodiff;
use burn_autodiff::checkpoint::strategy::CheckpointStrategy;
use burn_tensor::ops::FloatTensor;

use super::{Arrays, Error, PermutationDiagonal, PermutationOps};
use crate::operation::differentiable;

impl<B: PermutationOps, C: CheckpointStrategy> PermutationOps for Autodiff<B, C> {
    fn permutation(spec: PermutationDiagonal, arrays: Arrays<Self>) -> Result<FloatTensor<Self>, Error> {
        let Arrays { dictionary, control, initial, timing } = arrays;
        differentiable::<_, C, _, _>([dictionary, control, initial], |[dictionary, control, initial], _| {
            let arrays = Arrays { dictionary, control, initial, timing };
            let states = B::permutation(spec, arrays.clone())?;
            Ok((states.clone(), move |gradient, _| B::permutation_backward(spec, arrays, states, gradient)))
        })
    }
}
