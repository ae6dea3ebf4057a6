//! Losses: how far the outputs of a batch are from what should come out.
//!
//! ```text
//! L = share sum_i w_i l(y_i, target_i),      w_i = 0 where nothing is known
//! ```
//!
//! | loss | of | `l(y, target)` | file |
//! | --- | --- | --- | --- |
//! | `cross-entropy` | classes | `-ln (softmax(y)[target] + floor)` | `cross_entropy` |
//! | `squared`, `absolute`, `huber` | numbers | a function of `y - target` | `residual` |
//!
//! A new loss is a file (of residuals, a line in `residual`) and a line in `losses!`.

mod cross_entropy;
mod residual;

use std::fmt::Debug;

use burn_tensor::Tensor;
use ncde_layers::layer::{Error, LayerBackend};
use serde::{Deserialize, Serialize};

pub use cross_entropy::CrossEntropy;
pub use residual::{Absolute, Huber, Squared};

/// What should come out of a batch, flat and in the order of its outputs.
#[derive(Debug, Clone)]
pub struct Wanted<B: LayerBackend> {
    /// For each row its class, or for each output its number.
    pub targets: Tensor<B, 1>,
    /// What each of them counts; 0 where it is not known.
    pub weights: Tensor<B, 1>,
    /// What the sum is multiplied with.
    pub share: f64,
}

/// How far outputs are from what should come out.
pub trait Loss: Debug + Send + Sync + 'static {
    /// Whether targets are classes, one a row, and not numbers, one an output.
    const OF_CLASSES: bool;

    /// The loss of a batch.
    ///
    /// # Shapes
    /// `outputs`: `[batch, places, width]`, to `[1]`.
    ///
    /// # Errors
    /// If the backend has no kernel for its numbers.
    fn loss<B: LayerBackend>(&self, outputs: Tensor<B, 3>, wanted: Wanted<B>) -> Result<Tensor<B, 1>, Error>;
}

/// Declares the losses that a configuration can name.
macro_rules! losses {
    ($($(#[doc = $doc:literal])* $name:ident,)*) => {
        /// The losses, as a configuration names them.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        #[non_exhaustive]
        pub enum LossName { $($(#[doc = $doc])* $name,)* }

        impl LossName {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// Whether targets are classes, and not numbers.
            pub fn is_of_classes(self) -> bool {
                match self { $(Self::$name => $name::OF_CLASSES,)* }
            }

            /// The loss of a batch, see [`Loss::loss`].
            pub(crate) fn of<B: LayerBackend>(self, outputs: Tensor<B, 3>, wanted: Wanted<B>) -> Result<Tensor<B, 1>, Error> {
                match self { $(Self::$name => $name::default().loss(outputs, wanted),)* }
            }
        }
    };
}

losses! {
    /// Cross entropy, of classes.
    CrossEntropy,
    /// The square of the error.
    Squared,
    /// The absolute error.
    Absolute,
    /// The square of small errors, the absolute value of large ones.
    Huber,
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test")]
mod tests {
    use burn_autodiff::Autodiff;
    use burn_flex::Flex;
    use burn_tensor::TensorData;

    use super::*;

    type Backend = Autodiff<Flex>;

    fn tensor(values: &[f32]) -> Tensor<Backend, 1> {
        Tensor::from_data(TensorData::new(values.to_vec(), [values.len()]), &Default::default())
    }

    /// Values by hand, gradients against central differences; what has no weight changes nothing.
    #[test]
    fn every_loss_has_its_value_and_its_gradient() {
        let outputs = [0.3_f32, -2.0, 1.5, 0.4, 0.7, -0.2];
        let value = |name: LossName, outputs: &[f32]| {
            let (targets, weights) = match name.is_of_classes() {
                true => (vec![1.0, 0.0, 7.0], vec![1.0, 2.0, 0.0]),
                false => (vec![0.0, 1.0, 1.0, 0.0, 9.0, 0.0], vec![1.0, 1.0, 2.0, 0.5, 0.0, 1.0]),
            };
            let targets = if name.is_of_classes() { vec![targets[0], targets[1], 0.0] } else { targets };
            let outputs = tensor(outputs).require_grad();
            let wanted = Wanted { targets: tensor(&targets), weights: tensor(&weights), share: 0.25 };
            let loss = name.of(outputs.clone().reshape([1, 3, 2]), wanted).unwrap();
            let gradient = outputs.grad(&loss.backward()).unwrap();
            (loss.into_scalar(), gradient.to_data().to_vec::<f32>().unwrap())
        };
        let ce = |row: [f32; 2], class: usize| -(row[class].exp() / (row[0].exp() + row[1].exp())).ln();
        let by_hand = |name| match name {
            LossName::CrossEntropy => 0.25 * (ce([0.3, -2.0], 1) + 2.0 * ce([1.5, 0.4], 0)),
            LossName::Squared => 0.25 * (0.09 + 9.0 + 2.0 * 0.25 + 0.5 * 0.16 + 0.04),
            LossName::Absolute => 0.25 * (0.3 + 3.0 + 2.0 * 0.5 + 0.5 * 0.4 + 0.2),
            LossName::Huber => 0.25 * (0.045 + 2.5 + 2.0 * 0.125 + 0.5 * 0.08 + 0.02),
        };
        for &name in LossName::ALL {
            let (loss, gradient) = value(name, &outputs);
            assert!((loss - by_hand(name)).abs() < 1e-5, "{name:?}: {loss} {}", by_hand(name));
            for k in 0..outputs.len() {
                let moved = |by: f32| {
                    let mut outputs = outputs;
                    outputs[k] += by;
                    value(name, &outputs).0
                };
                let slope = (moved(0.01) - moved(-0.01)) / 0.02;
                assert!((slope - gradient[k]).abs() < 2e-3, "{name:?} {k}: {slope} {}", gradient[k]);
            }
        }
    }
}
