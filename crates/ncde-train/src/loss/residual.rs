//! Losses of numbers, sums of a function of each residual `e = y - target`. In the units of training: of a regression 1 is one deviation.
//!
//! | loss | `l(e)` | |
//! | --- | --- | --- |
//! | [`Squared`] | `e^2` | its best answer is the mean |
//! | [`Absolute`] | `abs(e)` | its best answer is the median, so that a few outliers decide little |
//! | [`Huber`] | `c (abs(e) - c / 2)`, `c = min(abs(e), 1)` | squared for errors up to 1, linear beyond |

use burn_tensor::Tensor;
use ncde_layers::layer::{Error, LayerBackend};

use super::{Loss, Wanted};

/// Declares losses by their function of a residual: `share sum w l(y - target)`.
macro_rules! residual_losses {
    ($($(#[doc = $doc:literal])* $name:ident => $l:expr,)*) => {$(
        $(#[doc = $doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Default)]
        pub struct $name;

        impl Loss for $name {
            const OF_CLASSES: bool = false;

            fn loss<B: LayerBackend>(&self, outputs: Tensor<B, 3>, wanted: Wanted<B>) -> Result<Tensor<B, 1>, Error> {
                let shape = outputs.dims();
                let losses = $l(outputs - wanted.targets.reshape(shape));
                Ok((losses * wanted.weights.reshape(shape)).sum() * wanted.share)
            }
        }
    )*};
}

residual_losses! {
    /// The square of the error.
    Squared => Tensor::square,
    /// The absolute error.
    Absolute => Tensor::abs,
    /// Huber's loss.
    Huber => huber,
}

fn huber<B: LayerBackend>(error: Tensor<B, 3>) -> Tensor<B, 3> {
    let size = error.abs();
    let clipped = size.clone().clamp_max(1.0);
    clipped.clone() * (size - clipped * 0.5)
}
