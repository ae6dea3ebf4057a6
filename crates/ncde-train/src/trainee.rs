//! A network that is trained: its weights, what the optimizer keeps for them, and one step.
//!
//! ```text
//! theta <- update(theta, grad (loss + penalty)),   gradients clipped to a norm over all weights
//! ```

use std::sync::Arc;

use burn_autodiff::Autodiff;
use burn_tensor::Tensor;
use ncde_layers::dense::{DenseOps, Seen};
use ncde_layers::layer::{Context, Error, Network, Rows};
use ncde_runtime::layer::{LayerList, Role, Signal};

use crate::optimizer::{AnyOptimizer, Moment, Parameter, TrainBackend};
use crate::trainer::Plan;

/// A network that is trained on a backend; gradients are computed on [`Autodiff`] of it.
#[derive(Debug)]
pub(crate) struct Trainee<B: TrainBackend> {
    pub(crate) network: Network<B>,
    /// What the optimizer keeps for each weight, in the order of its slots; nothing for a frozen one.
    slots: Vec<Vec<Tensor<B, 1>>>,
    pub(crate) updates: usize,
    optimizer: Arc<dyn AnyOptimizer>,
    /// The same layers, where gradients are.
    tracked: Network<Autodiff<B>>,
}

impl<B: TrainBackend> Trainee<B> {
    /// Layers for rows like these, with weights drawn from a seed.
    ///
    /// # Errors
    /// If the layers do not fit together.
    pub(crate) fn new<'a>(
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
    pub(crate) fn slot_names(&self) -> &'static [&'static str] {
        self.optimizer.slots()
    }

    /// Begins a step on a batch, down the gradient of what `loss` makes of the outputs, without waiting for a device, which is then busy while the next step is begun.
    /// Where the loss or the norm of the gradient turns out not to be finite, no weight has changed, but on a device `updates` counts one too many.
    ///
    /// # Errors
    /// If a layer or the loss fails, or a trained weight has no gradient.
    pub(crate) fn begin(
        &mut self,
        (plan, rate): (&Plan, f64),
        (rows, context): (Rows<Autodiff<B>>, Context<Autodiff<B>>),
        loss: impl FnOnce(Rows<Autodiff<B>>) -> Result<Tensor<Autodiff<B>, 1>, Error>,
    ) -> Result<Seen, Error> {
        let primitive = |tensor: Tensor<B, 1>| tensor.into_primitive().tensor();
        let (value, mut gradients) = {
            let _graph = ncde_layers::graph::lock();
            self.tracked.track(&self.network);
            let loss = loss(self.tracked.forward(rows, &context)?)?;
            let value = loss.clone().inner();
            let penalty = if plan.penalty > 0.0 { self.tracked.penalty(plan.norm) } else { None };
            let loss = penalty.map_or(loss.clone(), |penalty| loss + penalty * plan.penalty);
            (value, self.tracked.gradients(&loss.backward())?)
        };
        // One look at the device for all of them, later.
        let all: Vec<_> = gradients.iter().flatten().map(|gradient| primitive(gradient.clone())).collect();
        let (seen, factor) = <B as DenseOps>::outcome(primitive(value), &all, plan.clip)?;
        if matches!(seen, Seen::Now(seen) if !seen.iter().all(|x| x.is_finite())) {
            return Ok(seen);
        }
        self.updates += 1;
        let mut moment = Moment { rate, decay: 0.0, step: self.updates, factor };
        // Weights that decay, then those that do not: each are updated together.
        for decays in [true, false] {
            moment.decay = if decays { plan.decay } else { 0.0 };
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
        Ok(seen)
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
