//! The square of the error: `(y - target)^2`; its best answer is the mean.

use burn_tensor::Tensor;
use ncde_layers::layer::{Error, LayerBackend};

use super::{Loss, Wanted, of_residuals};

/// The square of the error.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Squared;

impl Loss for Squared {
    const OF_CLASSES: bool = false;

    fn loss<B: LayerBackend>(&self, outputs: Tensor<B, 3>, wanted: Wanted<B>) -> Result<Tensor<B, 1>, Error> {
        Ok(of_residuals(outputs, wanted, Tensor::square))
    }
}
