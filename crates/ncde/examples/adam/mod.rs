//! Adam, on the weights of a network.

use burn::backend::{Autodiff, Flex};
use burn::tensor::Tensor;
use ncde::layer::{Error, Network};

/// The means of gradients and of their squares.
pub(crate) struct Adam {
    means: Vec<[Tensor<Flex, 1>; 2]>,
    step: i32,
}

impl Adam {
    pub(crate) fn new(network: &Network<Flex>) -> Self {
        let zeros = |own: &Tensor<Flex, 1>| [own.zeros_like(), own.zeros_like()];
        Self { means: network.tensors.iter().map(zeros).collect(), step: 0 }
    }

    /// One step down the gradient of a loss, which `loss` computes from a network whose weights are variables.
    pub(crate) fn step(
        &mut self,
        weights: &mut Network<Flex>,
        tracked: &mut Network<Autodiff<Flex>>,
        rate: f64,
        loss: impl FnOnce(&Network<Autodiff<Flex>>) -> Result<Tensor<Autodiff<Flex>, 1>, Error>,
    ) -> Result<(), Error> {
        let _graph = ncde::graph::lock();
        tracked.track(weights);
        let gradients = tracked.gradients(&loss(tracked)?.backward())?;
        self.step += 1;
        let whole = |beta: f64| 1.0 - beta.powi(self.step);
        for ((weight, [mean, square]), gradient) in weights.tensors.iter_mut().zip(&mut self.means).zip(gradients) {
            // What is not trained has none.
            let Some(gradient) = gradient else { continue };
            *mean = mean.clone() * 0.9 + gradient.clone() * 0.1;
            *square = square.clone() * 0.999 + gradient.square() * 0.001;
            let root = (square.clone() / whole(0.999)).sqrt() + 1e-8;
            *weight = weight.clone() - mean.clone() / root * (rate / whole(0.9));
        }
        Ok(())
    }
}

/// The logistic loss of outputs times signs, without overflow.
pub(crate) fn logistic(margin: Tensor<Autodiff<Flex>, 3>) -> Tensor<Autodiff<Flex>, 1> {
    (burn::tensor::activation::relu(margin.clone().neg()) + margin.abs().neg().exp().log1p()).mean()
}
