//! Lion: steps of one size, in the direction of the sign of a mean of gradients (Chen and others 2023). Its rate is a third to a tenth of Adam's.
//!
//! ```text
//! theta <- (1 - rate decay) theta - rate sign(b_1 m + (1 - b_1) g),   m <- b_2 m + (1 - b_2) g
//! ```

use ncde_layers::layer::{Error, LayerBackend};

use super::{Moment, Optimizer, Parameter, Updated, one_by_one};

/// Lion.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lion {
    /// `b_1` and `b_2`.
    pub betas: [f64; 2],
}

impl Default for Lion {
    fn default() -> Self {
        Self { betas: [0.9, 0.99] }
    }
}

impl Optimizer for Lion {
    fn slots(&self) -> &'static [&'static str] {
        &["mean"]
    }

    fn update<B: LayerBackend>(&self, moment: &Moment<B>, parameters: Vec<Parameter<B>>) -> Result<Vec<Updated<B>>, Error> {
        let [b1, b2] = self.betas;
        Ok(one_by_one(moment, parameters, |Parameter { weight, gradient, mut slots, .. }| {
            let mean = slots.pop().unwrap_or_else(|| gradient.zeros_like());
            let direction = (mean.clone() * b1 + gradient.clone() * (1.0 - b1)).sign();
            let weight = weight * (1.0 - moment.rate * moment.decay) - direction * moment.rate;
            Updated { weight, slots: vec![mean * b2 + gradient * (1.0 - b2)] }
        }))
    }
}
