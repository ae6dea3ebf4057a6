//! Adam, with decoupled weight decay where that is not 0 (Kingma and Ba 2015; Loshchilov and Hutter 2019).
//!
//! ```text
//! m <- b_1 m + (1 - b_1) g,   v <- b_2 v + (1 - b_2) g^2
//! theta <- (1 - rate decay) theta - rate m / (1 - b_1^n) / (sqrt(v / (1 - b_2^n)) + 1e-8)
//! ```
//!
//! One fused pass over all weights, on the processor and on GPUs ([`ncde_layers::dense`]).

use burn_tensor::{Tensor, TensorPrimitive};
use ncde_layers::dense;
use ncde_layers::layer::{Error, LayerBackend};

use super::{Moment, Optimizer, Parameter, Updated};

/// Adam with `b_1 = 0.9` and `b_2 = 0.999`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Adam;

impl Optimizer for Adam {
    fn slots(&self) -> &'static [&'static str] {
        &["mean", "square"]
    }

    fn update<B: LayerBackend>(&self, moment: &Moment<B>, parameters: Vec<Parameter<B>>) -> Result<Vec<Updated<B>>, Error> {
        let primitive = |tensor: Tensor<B, 1>| tensor.into_primitive().tensor();
        let mut old = Vec::with_capacity(parameters.len());
        for Parameter { weight, gradient, slots, .. } in parameters {
            let Ok([mean, square]) = <[Tensor<B, 1>; 2]>::try_from(slots) else { continue };
            old.push(([weight, mean, square].map(primitive), primitive(gradient)));
        }
        let adam = dense::Adam { rate: moment.rate, decay: moment.decay, step: moment.step };
        let updated = |new: [_; 3]| {
            let [weight, mean, square] = new.map(|tensor| Tensor::from_primitive(TensorPrimitive::Float(tensor)));
            Updated { weight, slots: vec![mean, square] }
        };
        Ok(B::update(adam, &moment.factor, old)?.into_iter().map(updated).collect())
    }
}
