//! What changes from step to step: weights, the means of Adam, the best weights so far.

use burn_autodiff::Autodiff;
use burn_flex::Flex;
use burn_tensor::{Tensor, TensorData};
use ncde_runtime::LayerSpec;
use ncde_runtime::layer::Signal;

use super::Error;
use crate::layer::Optimiser;

pub(super) type Inner = Flex;
type Number = Tensor<Inner, 1>;

/// What changes from step to step.
#[derive(Debug)]
pub(super) struct State {
    pub(super) trained: Optimiser<Autodiff<Inner>>,
    /// The best weights so far.
    best: Option<Vec<Number>>,
}

impl State {
    /// Layers for rows like these, with weights drawn from the seed.
    pub(super) fn new(layers: &[LayerSpec], signal: &Signal, seed: u64) -> Result<Self, Error> {
        Ok(Self { trained: Optimiser::new(layers, signal, seed, &Default::default())?, best: None })
    }

    /// Remembers the weights as the best so far.
    pub(super) fn keep(&mut self) {
        self.best = Some(self.trained.network.tensors.clone());
    }

    /// Goes back to the best weights, if there are some.
    pub(super) fn take_best(&mut self) {
        if let Some(best) = self.best.take() {
            self.trained.network.tensors = best;
        }
    }

    /// All numbers, for a checkpoint.
    pub(super) fn numbers(&self) -> Vec<f32> {
        let weights = self.trained.network.tensors.iter();
        let all = weights.chain(self.trained.means.iter().flatten().flatten()).chain(self.best.iter().flatten());
        all.flat_map(|tensor| tensor.to_data().iter::<f32>().collect::<Vec<_>>()).collect()
    }

    /// The state of a checkpoint after so many steps; none if it is of another model.
    pub(super) fn restored(mut self, numbers: &[f32], steps: usize) -> Option<Self> {
        let mut rest = numbers;
        let mut next = |like: &Number| -> Option<Number> {
            let (own, after) = rest.split_at_checked(like.dims()[0])?;
            rest = after;
            Some(Tensor::from_data(TensorData::new(own.to_vec(), [own.len()]), &like.device()))
        };
        let weights = self.trained.network.tensors.iter().map(&mut next).collect::<Option<Vec<_>>>()?;
        for pair in self.trained.means.iter_mut().flatten() {
            *pair = [next(&pair[0])?, next(&pair[1])?];
        }
        let mut best = Vec::new();
        for weight in &weights {
            best.extend(next(weight));
        }
        self.best = (best.len() == weights.len()).then_some(best);
        (self.trained.network.tensors, self.trained.steps) = (weights, steps);
        rest.is_empty().then_some(self)
    }
}
