//! What changes from step to step: weights, the means of Adam, the best weights so far.
//!
//! ```text
//! theta <- (1 - rate decay) theta - rate m / (sqrt(v) + 1e-8),   m, v the corrected means of the gradient and of its square
//! ```

use burn::backend::{Autodiff, Flex};
use burn::tensor::{Tensor, TensorData, TensorPrimitive};
use ncde_runtime::layer::{Role, Signal};
use ncde_runtime::{LayerSpec, NamedWeight};

use super::Error;
use super::settings::Settings;
use crate::dense::{Adam, DenseOps};
use crate::layer::{Context, Network, Rows};

pub(super) type Inner = Flex;
type Outer = Autodiff<Flex>;
type Number = Tensor<Inner, 1>;

/// What changes from step to step.
#[derive(Debug)]
pub(super) struct State {
    pub(super) network: Network<Inner>,
    /// The same layers, where gradients are.
    tracked: Network<Outer>,
    /// The means of gradients and of their squares; none for a weight that is not trained.
    means: Vec<Option<[Number; 2]>>,
    /// The best weights so far.
    best: Option<Vec<Number>>,
}

/// What one step saw.
pub(super) struct Stepped {
    pub(super) loss: f64,
    /// The norm of the gradient over all weights.
    pub(super) norm: f64,
}

impl State {
    /// Layers for rows like these, with weights drawn from the seed.
    pub(super) fn new(layers: &[LayerSpec], signal: &Signal, seed: u64) -> Result<Self, Error> {
        let device = Default::default();
        let network = Network::<Inner>::drawn(layers, signal, seed, &device)?;
        let tracked = Network::<Outer>::with_values(layers, signal, &network.values(), &device)?;
        let means = network.weights().iter().map(|weight| {
            weight.is_trained().then(|| [Number::zeros([weight.count()], &device), Number::zeros([weight.count()], &device)])
        });
        Ok(Self { means: means.collect(), network, tracked, best: None })
    }

    /// One step; the gradients are not applied where the loss or their norm is no number.
    pub(super) fn step(
        &mut self,
        settings: &Settings,
        step: usize,
        (rows, context): (Rows<Outer>, Context<Outer>),
        loss: impl FnOnce(Rows<Outer>) -> Tensor<Outer, 1>,
    ) -> Result<Stepped, Error> {
        let (value, gradients) = {
            let _graph = crate::graph::lock();
            self.tracked.track(&self.network);
            let loss = loss(self.tracked.forward(rows, &context)?);
            let value = f64::from(loss.clone().into_scalar());
            let loss = match self.tracked.penalty().filter(|_| settings.penalty > 0.0) {
                Some(penalty) => loss + penalty * settings.penalty,
                None => loss,
            };
            (value, self.tracked.gradients(&loss.backward())?)
        };
        let primitive = |tensor: Number| tensor.into_primitive().tensor();
        let mut squares = 0.0;
        for gradient in gradients.iter().flatten() {
            squares += Inner::sum_squares(&primitive(gradient.clone())).map_err(crate::layer::Error::from)?;
        }
        let stepped = Stepped { loss: value, norm: squares.sqrt() };
        if !(stepped.loss.is_finite() && stepped.norm.is_finite()) {
            return Ok(stepped);
        }
        let factor = if settings.clip > 0.0 && stepped.norm > settings.clip { settings.clip / stepped.norm } else { 1.0 };
        let adam = Adam { rate: settings.rate_at(step), decay: settings.weight_decay, factor, step: step + 1 };
        for (i, gradient) in gradients.into_iter().enumerate() {
            let (Some(gradient), Some([mean, square])) = (gradient, self.means[i].clone()) else { continue };
            let decay = if self.network.weights()[i].role == Role::Undecayed { 0.0 } else { adam.decay };
            let weight = [self.network.tensors[i].clone(), mean, square].map(primitive);
            let updated =
                Inner::update(Adam { decay, ..adam }, weight, primitive(gradient)).map_err(crate::layer::Error::from)?;
            let [weight, mean, square] = updated.map(|own| Tensor::from_primitive(TensorPrimitive::Float(own)));
            self.network.tensors[i] = weight;
            self.means[i] = Some([mean, square]);
        }
        Ok(stepped)
    }

    /// Remembers the weights as the best so far.
    pub(super) fn keep(&mut self) {
        self.best = Some(self.network.tensors.clone());
    }

    /// Goes back to the best weights, if there are some.
    pub(super) fn take_best(&mut self) {
        if let Some(best) = self.best.take() {
            self.network.tensors = best;
        }
    }

    /// All numbers, for a checkpoint.
    pub(super) fn numbers(&self) -> Vec<f32> {
        let all = self.network.tensors.iter().chain(self.means.iter().flatten().flatten()).chain(self.best.iter().flatten());
        all.flat_map(|tensor| tensor.to_data().iter::<f32>().collect::<Vec<_>>()).collect()
    }

    /// The state of a checkpoint; none if it is of another model.
    pub(super) fn restored(mut self, numbers: &[f32]) -> Option<Self> {
        let mut rest = numbers;
        let mut next = |like: &Number| -> Option<Number> {
            let (own, after) = rest.split_at_checked(like.dims()[0])?;
            rest = after;
            Some(Tensor::from_data(TensorData::new(own.to_vec(), [own.len()]), &like.device()))
        };
        let weights = self.network.tensors.iter().map(&mut next).collect::<Option<Vec<_>>>()?;
        for pair in self.means.iter_mut().flatten() {
            *pair = [next(&pair[0])?, next(&pair[1])?];
        }
        let mut best = Vec::new();
        for weight in &weights {
            best.extend(next(weight));
        }
        self.best = (best.len() == weights.len()).then_some(best);
        self.network.tensors = weights;
        rest.is_empty().then_some(self)
    }

    /// The weights by name, as they are saved.
    pub(super) fn values(&self) -> Vec<NamedWeight> {
        self.network.values()
    }
}
