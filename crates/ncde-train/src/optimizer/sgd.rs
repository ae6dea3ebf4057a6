//! Stochastic gradient descent with momentum (Polyak 1964).
//!
//! ```text
//! v <- mu v + g,   theta <- (1 - rate decay) theta - rate v
//! ```

use ncde_layers::layer::{Error, LayerBackend};

use super::{Moment, Optimizer, Parameter, Updated, one_by_one};

/// Gradient descent with momentum.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sgd {
    /// `mu`.
    pub momentum: f64,
}

impl Default for Sgd {
    fn default() -> Self {
        Self { momentum: 0.9 }
    }
}

impl Optimizer for Sgd {
    fn slots(&self) -> &'static [&'static str] {
        &["momentum"]
    }

    fn update<B: LayerBackend>(&self, moment: &Moment<B>, parameters: Vec<Parameter<B>>) -> Result<Vec<Updated<B>>, Error> {
        Ok(one_by_one(moment, parameters, |Parameter { weight, gradient, slots, .. }| {
            let velocity = slots.into_iter().fold(gradient, |gradient, velocity| velocity * self.momentum + gradient);
            let weight = weight * (1.0 - moment.rate * moment.decay) - velocity.clone() * moment.rate;
            Updated { weight, slots: vec![velocity] }
        }))
    }
}
