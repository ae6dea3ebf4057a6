//! A network that is trained: its weights, the means of Adam, and one step, at once or in two halves.
//!
//! ```text
//! theta <- (1 - rate decay) theta - rate m / (sqrt(v) + 1e-8),   m, v the corrected means of the gradient and of its square
//! ```

use std::collections::VecDeque;

use burn_tensor::backend::{AutodiffBackend, BackendTypes};
use burn_tensor::{Tensor, TensorPrimitive};
use ncde_runtime::layer::{LayerList, Role, Signal};

use super::{Context, Error, FieldNorm, LayerBackend, Network, Rows};
use crate::dense::{Adam, DenseOps, Seen};

/// A network that is trained; `B` is the backend with gradients, and weights live on the one inside it.
#[derive(Debug)]
pub struct Optimizer<B: LayerBackend + AutodiffBackend<InnerBackend: LayerBackend>> {
    /// The network.
    pub network: Network<B::InnerBackend>,
    /// The means of gradients and of their squares; none for a weight that is not trained.
    pub means: Vec<Option<[Tensor<B::InnerBackend, 1>; 2]>>,
    /// How many steps were taken.
    pub steps: usize,
    /// The same layers, where gradients are.
    tracked: Network<B>,
}

/// How a step is taken.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Update {
    /// The learning rate.
    pub rate: f64,
    /// The decay of weights.
    pub decay: f64,
    /// The largest norm of a gradient over all weights; 0 for no limit.
    pub clip: f64,
    /// The factor of the penalty on vector fields.
    pub penalty: f64,
    /// Which norm of linear fields that is.
    pub norm: FieldNorm,
}

impl Update {
    /// Adam with this learning rate, and nothing else.
    pub fn rate(rate: f64) -> Self {
        Self { rate, decay: 0.0, clip: 0.0, penalty: 0.0, norm: FieldNorm::Channels }
    }
}

/// What a step saw.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stepped {
    /// The loss, without the penalty.
    pub loss: f64,
    /// The norm of the gradient over all weights.
    pub norm: f64,
}

impl Stepped {
    /// Whether both are numbers; else nothing was changed.
    pub fn is_finite(&self) -> bool {
        self.loss.is_finite() && self.norm.is_finite()
    }
}

/// A step that was begun: on a processor it is done, on another device what it saw may be on its way.
#[derive(Debug)]
pub struct Begun(Seen);

impl Begun {
    /// Whether nothing has to be waited for.
    pub fn is_done(&self) -> bool {
        matches!(self.0, Seen::Now(_))
    }

    /// What the step saw; waits for it.
    ///
    /// # Errors
    /// If the device failed.
    pub fn seen(self) -> Result<Stepped, Error> {
        let [loss, squares] = match self.0 {
            Seen::Now(seen) => seen,
            Seen::Later(seen) => seen()?,
        };
        Ok(Stepped { loss, norm: squares.sqrt() })
    }
}

/// Steps that were begun, in order: a device is busy with the newer while the older is looked at. What could not be begun is among them, so that errors come in order, too.
#[derive(Debug, Default)]
pub struct InFlight(VecDeque<Result<Begun, Error>>);

impl InFlight {
    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Whether another one may be begun before the oldest is looked at.
    pub fn has_room(&self) -> bool {
        match self.0.front() {
            None => true,
            Some(Ok(oldest)) => self.count() < 2 && !oldest.is_done(),
            Some(Err(_)) => false,
        }
    }

    /// Another one.
    pub fn push(&mut self, step: Result<Begun, Error>) {
        self.0.push_back(step);
    }

    /// What the oldest saw, or why it could not be begun; none if there is none.
    pub fn pop(&mut self) -> Option<Result<Stepped, Error>> {
        self.0.pop_front().map(|oldest| oldest?.seen())
    }

    /// Forgets all, once the device is done with them: the caller undoes what they did.
    pub fn clear(&mut self) {
        while self.pop().is_some() {}
    }
}

impl<B: LayerBackend + AutodiffBackend<InnerBackend: LayerBackend>> Optimizer<B> {
    /// Layers for rows like these, with weights drawn from a seed.
    ///
    /// # Errors
    /// If the layers do not fit together.
    pub fn new<'a>(
        layers: impl Into<LayerList<'a>>,
        input: &Signal,
        seed: u64,
        device: &<B as BackendTypes>::Device,
    ) -> Result<Self, Error> {
        let layers = layers.into();
        let network = Network::<B::InnerBackend>::drawn(layers, input, seed, device)?;
        let tracked = Network::<B>::with_values(layers, input, &network.values(), device)?;
        let zeros = |count: usize| Tensor::zeros([count], device);
        let means = network.weights().iter().map(|own| own.is_trained().then(|| [zeros(own.count()), zeros(own.count())]));
        Ok(Self { means: means.collect(), network, tracked, steps: 0 })
    }

    /// One step on a batch, down the gradient of what `loss` makes of the outputs. Where the loss or the norm of the gradient is no number, nothing changes.
    ///
    /// # Errors
    /// If a layer or the loss fails, or a trained weight has no gradient.
    pub fn step(
        &mut self,
        update: Update,
        (rows, context): (Rows<B>, Context<B>),
        loss: impl FnOnce(Rows<B>) -> Result<Tensor<B, 1>, Error>,
    ) -> Result<Stepped, Error> {
        let before = self.steps;
        let stepped = self.begin(update, (rows, context), loss)?.seen()?;
        if !stepped.is_finite() {
            self.steps = before;
        }
        Ok(stepped)
    }

    /// The same without waiting for a device, which is then busy while the next step is begun. Where the loss or the norm turns out to be no number, no weight has changed, and on a device
    /// [`steps`](Self::steps) counts one too many.
    ///
    /// # Errors
    /// As for [`step`](Self::step).
    pub fn begin(
        &mut self,
        update: Update,
        (rows, context): (Rows<B>, Context<B>),
        loss: impl FnOnce(Rows<B>) -> Result<Tensor<B, 1>, Error>,
    ) -> Result<Begun, Error> {
        let primitive = |tensor: Tensor<B::InnerBackend, 1>| tensor.into_primitive().tensor();
        let (value, gradients) = {
            let _graph = crate::graph::lock();
            self.tracked.track(&self.network);
            let loss = loss(self.tracked.forward(rows, &context)?)?;
            let value = loss.clone().inner();
            let penalty = if update.penalty > 0.0 { self.tracked.penalty(update.norm) } else { None };
            let loss = penalty.map_or(loss.clone(), |penalty| loss + penalty * update.penalty);
            (value, self.tracked.gradients(&loss.backward())?)
        };
        // One look at the device for all of them, later.
        let all: Vec<_> = gradients.iter().flatten().map(|gradient| primitive(gradient.clone())).collect();
        let (seen, factor) = <B::InnerBackend as DenseOps>::outcome(primitive(value), &all, update.clip)?;
        if matches!(seen, Seen::Now(seen) if !seen.iter().all(|x| x.is_finite())) {
            return Ok(Begun(seen));
        }
        self.steps += 1;
        // Weights that decay, then those that do not: each are updated together.
        for decays in [true, false] {
            let is_one = |i: &usize| (self.network.weights()[*i].role != Role::Undecayed) == decays;
            let adam = Adam { rate: update.rate, decay: if decays { update.decay } else { 0.0 }, step: self.steps };
            let (mut places, mut old) = (Vec::new(), Vec::new());
            for i in (0..gradients.len()).filter(is_one) {
                let (Some(gradient), Some([mean, square])) = (&gradients[i], &self.means[i]) else { continue };
                places.push(i);
                let weight = [self.network.tensors[i].clone(), mean.clone(), square.clone()].map(primitive);
                old.push((weight, primitive(gradient.clone())));
            }
            let new = <B::InnerBackend as DenseOps>::update(adam, &factor, old)?;
            for (i, new) in places.into_iter().zip(new) {
                let [weight, mean, square] = new.map(|own| Tensor::from_primitive(TensorPrimitive::Float(own)));
                self.network.tensors[i] = weight;
                self.means[i] = Some([mean, square]);
            }
        }
        Ok(Begun(seen))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test")]
mod tests {
    use super::*;

    fn later(loss: f64) -> Result<Begun, Error> {
        Ok(Begun(Seen::Later(Box::new(move || Ok([loss, 4.0])))))
    }

    #[test]
    fn two_steps_are_in_flight_at_most_and_are_seen_in_order() {
        let mut flight = InFlight::default();
        flight.push(later(1.0));
        assert!(flight.has_room());
        flight.push(later(2.0));
        assert!(!flight.has_room());
        assert_eq!(flight.pop().unwrap().unwrap(), Stepped { loss: 1.0, norm: 2.0 });
        assert!(flight.has_room() && flight.count() == 1);
        flight.clear();
        assert!(flight.count() == 0 && flight.pop().is_none());
        // What is done is looked at before the next one is begun.
        flight.push(Ok(Begun(Seen::Now([3.0, 4.0]))));
        assert!(!flight.has_room());
    }
}
