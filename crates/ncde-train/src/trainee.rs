//! A network that is trained: its weights, what the optimizer keeps for them, and one step, at once or in two halves.
//!
//! ```text
//! theta <- update(theta, grad (loss + penalty)),   gradients clipped to a norm over all weights
//! ```

use std::sync::Arc;

use burn_autodiff::Autodiff;
use burn_tensor::Tensor;
use ncde_layers::dense::{DenseOps, Seen};
use ncde_layers::layer::{Context, Error, FieldNorm, Network, Rows};
use ncde_runtime::layer::{LayerList, Role, Signal};

use crate::in_flight::{Begun, Stepped};
use crate::optimizer::{AnyOptimizer, Moment, Parameter, TrainBackend};

/// A network that is trained on a backend; gradients are computed on [`Autodiff`] of it.
#[derive(Debug)]
pub struct Trainee<B: TrainBackend> {
    /// The network.
    pub network: Network<B>,
    /// What the optimizer keeps for each weight, in the order of its slots; nothing for a frozen one.
    pub slots: Vec<Vec<Tensor<B, 1>>>,
    /// How many updates there were.
    pub updates: usize,
    optimizer: Arc<dyn AnyOptimizer>,
    /// The same layers, where gradients are.
    tracked: Network<Autodiff<B>>,
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
    /// A step with this learning rate, and nothing else.
    pub fn rate(rate: f64) -> Self {
        Self { rate, decay: 0.0, clip: 0.0, penalty: 0.0, norm: FieldNorm::Channels }
    }
}

impl<B: TrainBackend> Trainee<B> {
    /// Layers for rows like these, with weights drawn from a seed.
    ///
    /// # Errors
    /// If the layers do not fit together.
    pub fn new<'a>(
        layers: impl Into<LayerList<'a>>,
        input: &Signal,
        seed: u64,
        optimizer: Arc<dyn AnyOptimizer>,
        device: &B::Device,
    ) -> Result<Self, Error> {
        let layers = layers.into();
        let network = Network::<B>::drawn(layers, input, seed, device)?;
        let tracked = Network::<Autodiff<B>>::with_values(layers, input, &network.values(), device)?;
        let slots = network.weights().iter().map(|weight| {
            let count = if weight.is_trained() { optimizer.slots().len() } else { 0 };
            (0..count).map(|_| Tensor::zeros([weight.count()], device)).collect()
        });
        Ok(Self { slots: slots.collect(), network, tracked, updates: 0, optimizer })
    }

    /// The names of what the optimizer keeps for each trained weight.
    pub fn slot_names(&self) -> &'static [&'static str] {
        self.optimizer.slots()
    }

    /// One step on a batch, down the gradient of what `loss` makes of the outputs. Where the loss or the norm of the gradient is not finite, nothing changes.
    ///
    /// # Errors
    /// If a layer or the loss fails, or a trained weight has no gradient.
    pub fn step(
        &mut self,
        update: Update,
        batch: (Rows<Autodiff<B>>, Context<Autodiff<B>>),
        loss: impl FnOnce(Rows<Autodiff<B>>) -> Result<Tensor<Autodiff<B>, 1>, Error>,
    ) -> Result<Stepped, Error> {
        let before = self.updates;
        let stepped = self.begin(update, batch, loss)?.seen()?;
        if !stepped.is_finite() {
            self.updates = before;
        }
        Ok(stepped)
    }

    /// The same without waiting for a device, which is then busy while the next step is begun. Where the loss or the norm turns out not to be finite, no weight has changed, and on a device
    /// [`updates`](Self::updates) counts one too many.
    ///
    /// # Errors
    /// As for [`step`](Self::step).
    pub fn begin(
        &mut self,
        update: Update,
        (rows, context): (Rows<Autodiff<B>>, Context<Autodiff<B>>),
        loss: impl FnOnce(Rows<Autodiff<B>>) -> Result<Tensor<Autodiff<B>, 1>, Error>,
    ) -> Result<Begun, Error> {
        let primitive = |tensor: Tensor<B, 1>| tensor.into_primitive().tensor();
        let (value, mut gradients) = {
            let _graph = ncde_layers::graph::lock();
            self.tracked.track(&self.network);
            let loss = loss(self.tracked.forward(rows, &context)?)?;
            let value = loss.clone().inner();
            let penalty = if update.penalty > 0.0 { self.tracked.penalty(update.norm) } else { None };
            let loss = penalty.map_or(loss.clone(), |penalty| loss + penalty * update.penalty);
            (value, self.tracked.gradients(&loss.backward())?)
        };
        // One look at the device for all of them, later.
        let all: Vec<_> = gradients.iter().flatten().map(|gradient| primitive(gradient.clone())).collect();
        let (seen, factor) = <B as DenseOps>::outcome(primitive(value), &all, update.clip)?;
        if matches!(seen, Seen::Now(seen) if !seen.iter().all(|x| x.is_finite())) {
            return Ok(Begun::new(seen));
        }
        self.updates += 1;
        let mut moment = Moment { rate: update.rate, decay: 0.0, step: self.updates, factor };
        // Weights that decay, then those that do not: each are updated together.
        for decays in [true, false] {
            moment.decay = if decays { update.decay } else { 0.0 };
            let (mut places, mut old) = (Vec::new(), Vec::new());
            for (i, weight) in self.network.weights().iter().enumerate() {
                if (weight.role != Role::Undecayed) != decays {
                    continue;
                }
                let Some(gradient) = gradients[i].take() else { continue };
                let (values, slots) = (self.network.tensors[i].clone(), std::mem::take(&mut self.slots[i]));
                places.push(i);
                old.push(Parameter { shape: weight.shape.clone(), weight: values, gradient, slots });
            }
            let new = B::update_with(&*self.optimizer, &moment, old)?;
            for (i, new) in places.into_iter().zip(new) {
                self.network.tensors[i] = new.weight;
                self.slots[i] = new.slots;
            }
        }
        Ok(Begun::new(seen))
    }
}

/// A copy of all numbers of a network that is trained, by name: for checkpoints, and to go back to. Tensors are shared, not copied.
#[derive(Debug, Clone)]
pub(crate) struct Snapshot<B: TrainBackend> {
    pub(crate) weights: Vec<Tensor<B, 1>>,
    pub(crate) slots: Vec<Vec<Tensor<B, 1>>>,
    pub(crate) updates: usize,
}

impl<B: TrainBackend> Trainee<B> {
    pub(crate) fn snapshot(&self) -> Snapshot<B> {
        Snapshot { weights: self.network.tensors.clone(), slots: self.slots.clone(), updates: self.updates }
    }

    pub(crate) fn restore(&mut self, snapshot: &Snapshot<B>) {
        self.network.tensors.clone_from(&snapshot.weights);
        self.slots.clone_from(&snapshot.slots);
        self.updates = snapshot.updates;
    }
}
