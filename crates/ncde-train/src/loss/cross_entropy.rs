//! Cross entropy: `-ln (softmax(y)[target] + floor)`.

use burn_tensor::Tensor;
use ncde_layers::dense;
use ncde_layers::layer::{Error, LayerBackend};

use super::{Loss, Wanted};

/// Cross entropy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CrossEntropy {
    /// Added to a probability: a case whose state has overflowed does not decide a step (as in the thesis's code).
    pub floor: f64,
}

impl Default for CrossEntropy {
    fn default() -> Self {
        Self { floor: 1e-8 }
    }
}

impl Loss for CrossEntropy {
    const OF_CLASSES: bool = true;

    fn loss<B: LayerBackend>(&self, outputs: Tensor<B, 3>, wanted: Wanted<B>) -> Result<Tensor<B, 1>, Error> {
        Ok(dense::class_loss(outputs, wanted.targets, wanted.weights, self.floor, wanted.share)?)
    }
}
