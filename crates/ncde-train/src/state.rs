//! What changes from step to step: weights, the means of Adam, the best weights so far, and those to go back to.

use burn_autodiff::Autodiff;
use burn_tensor::{Tensor, TensorData};
use ncde_runtime::LayerSpec;
use ncde_runtime::layer::Signal;
use serde::{Deserialize, Serialize};

use super::Error;
use ncde_layers::layer::{LayerBackend, Optimizer};

type Number<B> = Tensor<B, 1>;

/// What changes from step to step.
#[derive(Debug)]
pub(super) struct State<B: LayerBackend> {
    pub(super) trained: Optimizer<Autodiff<B>>,
    /// The best weights so far.
    best: Option<Vec<Number<B>>>,
    /// What a step that explodes goes back to, the older first. The older was followed by [`KEPT_EVERY`] steps of finite numbers, or is the beginning: weights
    /// that were just changed may be what explodes.
    kept: [Kept<B>; 2],
}

/// After how many steps the state is kept to go back to.
pub(super) const KEPT_EVERY: usize = 50;

/// Weights, means and steps of Adam, after a step of the run. Tensors are shared, not copied.
#[derive(Debug, Clone)]
struct Kept<B: LayerBackend> {
    weights: Vec<Number<B>>,
    means: Vec<Option<[Number<B>; 2]>>,
    adam: usize,
    step: usize,
}

/// The steps of what a checkpoint holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Steps {
    /// Of Adam.
    adam: usize,
    /// Of what is kept: of Adam, and of the run.
    kept: [(usize, usize); 2],
}

impl Steps {
    /// Whether none lies after this step.
    pub(super) fn are_within(&self, step: usize) -> bool {
        self.adam <= step && self.kept.iter().all(|&(adam, kept)| adam <= step && kept <= step)
    }
}

impl<B: LayerBackend> State<B> {
    /// Layers for rows like these, with weights drawn from the seed.
    pub(super) fn new(layers: &[LayerSpec], signal: &Signal, seed: u64) -> Result<Self, Error> {
        let trained = Optimizer::new(layers, signal, seed, &Default::default())?;
        let first = Kept::of(&trained, 0);
        Ok(Self { trained, best: None, kept: [first.clone(), first] })
    }

    /// The weights as they are now are where the run begins.
    pub(super) fn begin(&mut self) {
        let first = Kept::of(&self.trained, 0);
        self.kept = [first.clone(), first];
    }

    /// Keeps the state after a step of the run.
    pub(super) fn remember(&mut self, step: usize) {
        self.kept.swap(0, 1);
        self.kept[1] = Kept::of(&self.trained, step);
    }

    /// Goes back to the older of the states that were kept; the step it was kept after.
    pub(super) fn go_back(&mut self) -> usize {
        let [good, newer] = &mut self.kept;
        newer.clone_from(good);
        self.trained.network.tensors.clone_from(&good.weights);
        self.trained.means.clone_from(&good.means);
        self.trained.steps = good.adam;
        good.step
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
        let kept = self.kept.iter().flat_map(|kept| kept.weights.iter().chain(kept.means.iter().flatten().flatten()));
        let all = weights.chain(self.trained.means.iter().flatten().flatten()).chain(kept).chain(self.best.iter().flatten());
        all.flat_map(|tensor| tensor.to_data().iter::<f32>().collect::<Vec<_>>()).collect()
    }

    /// The steps that go with them.
    pub(super) fn steps(&self) -> Steps {
        Steps { adam: self.trained.steps, kept: self.kept.each_ref().map(|kept| (kept.adam, kept.step)) }
    }

    /// The state of a checkpoint; none if it is of another model.
    pub(super) fn restored(mut self, numbers: &[f32], steps: &Steps) -> Option<Self> {
        let mut rest = numbers;
        let mut next = |like: &Number<B>| -> Option<Number<B>> {
            let (own, after) = rest.split_at_checked(like.dims()[0])?;
            rest = after;
            Some(Tensor::from_data(TensorData::new(own.to_vec(), [own.len()]), &like.device()))
        };
        let mut read = |like: &Kept<B>, (adam, step): (usize, usize)| -> Option<Kept<B>> {
            let weights = like.weights.iter().map(&mut next).collect::<Option<Vec<_>>>()?;
            let mut means = like.means.clone();
            for pair in means.iter_mut().flatten() {
                *pair = [next(&pair[0])?, next(&pair[1])?];
            }
            Some(Kept { weights, means, adam, step })
        };
        let like = Kept::of(&self.trained, 0);
        let Kept { weights, means, adam, .. } = read(&like, (steps.adam, 0))?;
        self.kept = [read(&like, steps.kept[0])?, read(&like, steps.kept[1])?];
        let mut best = Vec::new();
        for weight in &weights {
            best.extend(next(weight));
        }
        self.best = (best.len() == weights.len()).then_some(best);
        (self.trained.network.tensors, self.trained.means, self.trained.steps) = (weights, means, adam);
        rest.is_empty().then_some(self)
    }
}

impl<B: LayerBackend> Kept<B> {
    fn of(trained: &Optimizer<Autodiff<B>>, step: usize) -> Self {
        Self { weights: trained.network.tensors.clone(), means: trained.means.clone(), adam: trained.steps, step }
    }
}
