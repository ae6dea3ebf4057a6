//! What changes from step to step: weights with what the optimizer keeps, their moving average, the best weights so far, and those to go back to.
//!
//! ```text
//! average <- a average + (1 - a) theta,   a = min(decay, (1 + n) / (10 + n)) after n updates
//! ```

use burn_tensor::{Tensor, TensorData};
use ncde_layers::layer::Network;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::checkpoint::NamedTensors;
use crate::optimizer::TrainBackend;
use crate::trainee::{Snapshot, Trainee};

/// After how many steps the state is kept to go back to.
pub(crate) const SNAPSHOT_EVERY: usize = 50;

/// What changes from step to step.
#[derive(Debug)]
pub(crate) struct State<B: TrainBackend> {
    pub(crate) trainee: Trainee<B>,
    /// The moving average of weights, and its decay.
    average: Option<(Vec<Tensor<B, 1>>, f64)>,
    best: Option<Vec<Tensor<B, 1>>>,
    /// What a step that diverges goes back to, the older first. The older was followed by [`SNAPSHOT_EVERY`] finite steps, or is the beginning: weights
    /// that were just changed may be what diverges.
    snapshots: [After<B>; 2],
}

/// A state after a step of the run.
#[derive(Debug, Clone)]
struct After<B: TrainBackend> {
    trainee: Snapshot<B>,
    average: Option<Vec<Tensor<B, 1>>>,
    step: usize,
}

/// The counts that go with the tensors of a checkpoint.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Counts {
    updates: usize,
    /// Of the two snapshots: updates, and steps of the run.
    snapshots: [(usize, usize); 2],
}

impl Counts {
    /// Whether none lies after this step.
    pub(crate) fn are_within(&self, step: usize) -> bool {
        self.updates <= step && self.snapshots.iter().all(|&(updates, after)| updates <= step && after <= step)
    }
}

/// The names of the parts of a checkpoint.
const NOW: &str = "now";
const SNAPSHOTS: [&str; 2] = ["older", "newer"];
const BEST: &str = "best";

impl<B: TrainBackend> State<B> {
    /// Before the first step; weights are averaged if `decay` is above 0.
    pub(crate) fn new(trainee: Trainee<B>, decay: f64) -> Self {
        let average = (decay > 0.0).then(|| (trainee.network.tensors.clone(), decay));
        let first = After { trainee: trainee.snapshot(), average: average.as_ref().map(|(all, _)| all.clone()), step: 0 };
        Self { trainee, average, best: None, snapshots: [first.clone(), first] }
    }

    fn after(&self, step: usize) -> After<B> {
        After { trainee: self.trainee.snapshot(), average: self.average.as_ref().map(|(all, _)| all.clone()), step }
    }

    pub(crate) fn update_average(&mut self) {
        let Some((average, decay)) = &mut self.average else { return };
        let n = self.trainee.updates as f64;
        // At first the average follows closely: it begins with weights that were drawn.
        let decay = decay.min((1.0 + n) / (10.0 + n));
        for (average, weight) in average.iter_mut().zip(&self.trainee.network.tensors) {
            *average = average.clone() * decay + weight.clone() * (1.0 - decay);
        }
    }

    /// Does something with the network that is evaluated: the average, where there is one.
    pub(crate) fn evaluated<T>(&mut self, work: impl FnOnce(&Network<B>) -> T) -> T {
        self.swap_average();
        let done = work(&self.trainee.network);
        self.swap_average();
        done
    }

    fn swap_average(&mut self) {
        if let Some((average, _)) = &mut self.average {
            std::mem::swap(average, &mut self.trainee.network.tensors);
        }
    }

    /// Keeps the state after a step of the run to go back to.
    pub(crate) fn take_snapshot(&mut self, step: usize) {
        self.snapshots.swap(0, 1);
        self.snapshots[1] = self.after(step);
    }

    /// Goes back to the older snapshot; the step after which it was taken.
    pub(crate) fn go_back(&mut self) -> usize {
        let [older, newer] = &mut self.snapshots;
        newer.clone_from(older);
        self.trainee.restore(&older.trainee);
        if let (Some((average, _)), Some(before)) = (&mut self.average, &older.average) {
            average.clone_from(before);
        }
        older.step
    }

    /// Marks the weights that are evaluated as the best so far.
    pub(crate) fn mark_best(&mut self) {
        self.best = Some(self.evaluated(|network| network.tensors.clone()));
    }

    /// The network as it is saved: with the best weights if some were marked, else the average, else the last.
    pub(crate) fn into_network(mut self, keep_best: bool) -> Network<B> {
        match self.best.take().filter(|_| keep_best) {
            Some(best) => self.trainee.network.tensors = best,
            None => self.swap_average(),
        }
        self.trainee.network
    }

    /// All tensors by name, for a checkpoint, and the counts that go with them.
    pub(crate) fn tensors(&self) -> (NamedTensors, Counts) {
        let mut all = NamedTensors::default();
        let now = self.after(0);
        for (part, after) in std::iter::once((NOW, &now)).chain(SNAPSHOTS.into_iter().zip(&self.snapshots)) {
            let names = |i: usize| format!("{part}/{}", self.trainee.network.weights()[i].name);
            for (i, (weight, slots)) in after.trainee.weights.iter().zip(&after.trainee.slots).enumerate() {
                all.insert(names(i), numbers(weight));
                for (slot, name) in slots.iter().zip(self.trainee.slot_names()) {
                    all.insert(format!("{}/{name}", names(i)), numbers(slot));
                }
                if let Some(average) = &after.average {
                    all.insert(format!("{}/average", names(i)), numbers(&average[i]));
                }
            }
        }
        for (weight, best) in self.trainee.network.weights().iter().zip(self.best.iter().flatten()) {
            all.insert(format!("{BEST}/{}", weight.name), numbers(best));
        }
        let of = |after: &After<B>| (after.trainee.updates, after.step);
        (all, Counts { updates: self.trainee.updates, snapshots: self.snapshots.each_ref().map(of) })
    }

    /// The state of a checkpoint.
    ///
    /// # Errors
    /// If its tensors are not those of this network and optimizer.
    pub(crate) fn restored(self, tensors: NamedTensors, counts: &Counts) -> Result<Self, Error> {
        let other = || Error::Unfit("the checkpoint is of another model or optimizer; remove it to begin anew".into());
        self.with_tensors(tensors, counts).ok_or_else(other)
    }

    fn with_tensors(mut self, mut tensors: NamedTensors, counts: &Counts) -> Option<Self> {
        let like = self.after(0);
        let names: Vec<String> = self.trainee.network.weights().iter().map(|weight| weight.name.clone()).collect();
        let slot_names = self.trainee.slot_names();
        let mut next = |name: String, like: &Tensor<B, 1>| -> Option<Tensor<B, 1>> {
            let values = tensors.remove(&name).filter(|values| values.len() == like.dims()[0])?;
            let count = values.len();
            Some(Tensor::from_data(TensorData::new(values, [count]), &like.device()))
        };
        let mut read = |part: &str, (updates, step): (usize, usize)| -> Option<After<B>> {
            let mut after = After { step, ..like.clone() };
            after.trainee.updates = updates;
            for (i, name) in names.iter().enumerate() {
                after.trainee.weights[i] = next(format!("{part}/{name}"), &like.trainee.weights[i])?;
                for (slot, slot_name) in after.trainee.slots[i].iter_mut().zip(slot_names) {
                    *slot = next(format!("{part}/{name}/{slot_name}"), slot)?;
                }
                if let Some(average) = &mut after.average {
                    average[i] = next(format!("{part}/{name}/average"), &average[i])?;
                }
            }
            Some(after)
        };
        let now = read(NOW, (counts.updates, 0))?;
        self.snapshots = [read(SNAPSHOTS[0], counts.snapshots[0])?, read(SNAPSHOTS[1], counts.snapshots[1])?];
        let best: Vec<_> =
            names.iter().zip(&now.trainee.weights).filter_map(|(name, like)| next(format!("{BEST}/{name}"), like)).collect();
        self.best = (best.len() == names.len() && !best.is_empty()).then_some(best);
        self.trainee.restore(&now.trainee);
        if let (Some((average, _)), Some(now)) = (&mut self.average, now.average) {
            *average = now;
        }
        tensors.is_empty().then_some(self)
    }
}

fn numbers<B: TrainBackend>(tensor: &Tensor<B, 1>) -> Vec<f32> {
    tensor.to_data().iter().collect()
}
