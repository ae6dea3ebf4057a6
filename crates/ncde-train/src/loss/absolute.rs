//! The absolute error: `|y - target|`; its best answer is the median, so that a few wild values decide little.

use burn_tensor::Tensor;
use ncde_layers::layer::{Error, LayerBackend};

use super::{Loss, Wanted, of_residuals};

/// The absolute error.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Absolute;

impl Loss for Absolute {
    const OF_CLASSES: bool = false;

    fn loss<B: LayerBackend>(&self, outputs: Tensor<B, 3>, wanted: Wanted<B>) -> Result<Tensor<B, 1>, Error> {
        Ok(of_residuals(outputs, wanted, Tensor::abs))
    }
}
