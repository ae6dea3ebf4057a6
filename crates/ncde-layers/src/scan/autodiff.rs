//! Any backend under `Autodiff`: the forward pass is the backend's, the reverse pass ours.

use burn_autodiff::Autodiff;
use burn_autodiff::checkpoint::strategy::CheckpointStrategy;
use burn_tensor::ops::FloatTensor;

use super::{Arrays, Error, Numbers, ScanOps};
use crate::operation::differentiable;

impl<B: ScanOps, C: CheckpointStrategy> ScanOps for Autodiff<B, C> {
    fn scan(numbers: Numbers, arrays: Arrays<Self>) -> Result<FloatTensor<Self>, Error> {
        let Arrays { a, b, initial } = arrays;
        differentiable::<_, C, _, _>([a, b, initial], |[a, b, initial], _| {
            let arrays = Arrays { a, b, initial };
            let states = B::scan(numbers, arrays.clone())?;
            Ok((states.clone(), move |gradient, _| B::scan_backward(numbers, arrays, states, gradient)))
        })
    }
}
