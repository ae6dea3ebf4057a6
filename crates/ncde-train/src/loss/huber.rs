//! Huber's loss: `e^2 / 2` for errors up to 1, `|e| - 1/2` beyond. In the units of training: of a regression 1 is one deviation.
//!
//! ```text
//! with c = min(|e|, 1):   c (|e| - c / 2)
//! ```

use burn_tensor::Tensor;
use ncde_layers::layer::{Error, LayerBackend};

use super::{Loss, Wanted, of_residuals};

/// Huber's loss.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Huber;

impl Loss for Huber {
    const OF_CLASSES: bool = false;

    fn loss<B: LayerBackend>(&self, outputs: Tensor<B, 3>, wanted: Wanted<B>) -> Result<Tensor<B, 1>, Error> {
        Ok(of_residuals(outputs, wanted, |error| {
            let size = error.abs();
            let clipped = size.clone().clamp_max(1.0);
            clipped.clone() * (size - clipped * 0.5)
        }))
    }
}
