//! What is learned: targets as tensors, losses, metrics.
//!
//! ```text
//! classes:  -sum_i w_i ln (p_i[y_i] + 1e-8),   numbers:  sum_i w_i |y_i - target_i|^2,   sum_i w_i = 1
//! ```

use burn::tensor::activation::log_softmax;
use burn::tensor::backend::Backend;
use burn::tensor::{Tensor, TensorData};
use ncde_data::{Dataset, Targets};
use ncde_report::{Classification, Metrics, Regression};
use ncde_runtime::{Preparation, Task, softmax};

use super::names::ClassWeights;

/// A probability is never taken for less: a case whose state has grown out of all bounds does not decide a step (as in the thesis's code).
const FLOOR: f64 = 1e-8;

/// The targets of every case: for each place where an output is asked for, what it should be.
#[derive(Debug, Clone)]
pub(super) struct Goal {
    /// How many numbers a model puts out at each place.
    pub(super) outputs: usize,
    classes: bool,
    /// For each case, by place.
    places: Vec<Vec<Place>>,
    class_weights: Vec<f64>,
}

/// What an output should be.
#[derive(Debug, Clone, PartialEq)]
enum Place {
    Unknown,
    Class(usize),
    Values(Vec<f32>),
}

impl Goal {
    /// The targets of a dataset. `window` observations pass from one output to the next, where outputs are asked for at each.
    pub(super) fn new(data: &Dataset, task: &Task, preparation: &Preparation, window: usize) -> Self {
        let outputs = task.outputs(data.channels.len());
        let channels = data.channels.len();
        let value = |y: f64, scale: &ncde_runtime::Scaling| {
            if y.is_nan() { Place::Unknown } else { Place::Values(vec![scale.apply(y) as f32]) }
        };
        let places = (0..data.cases.len()).map(|i| {
            let case = &data.cases[i];
            let ends = || ends(case.len(), window);
            match (task, &data.targets) {
                (Task::Classification { .. }, Targets::Classes { of, .. }) => vec![Place::Class(of[i])],
                (Task::Classification { .. }, Targets::ClassSteps { of, .. }) => {
                    ends().map(|t| of[i][t].map_or(Place::Unknown, Place::Class)).collect()
                }
                (Task::Regression { scaling, .. }, Targets::Values { of, .. }) => vec![value(of[i], scaling)],
                (Task::Regression { scaling, .. }, Targets::ValueSteps { of, .. }) => {
                    ends().map(|t| value(of[i][t], scaling)).collect()
                }
                (Task::Forecast { horizon }, _) => ends()
                    .map(|t| match t + horizon {
                        later if later < case.len() => {
                            let row = case.row(later, channels).iter().zip(&preparation.channels);
                            Place::Values(row.map(|(&x, scaling)| scaling.apply(x) as f32).collect())
                        }
                        _ => Place::Unknown,
                    })
                    .collect(),
                _ => Vec::new(),
            }
        });
        let classes = matches!(task, Task::Classification { .. });
        Self { outputs, classes, places: places.collect(), class_weights: vec![1.0; outputs] }
    }

    /// Every class counts the same in the loss, with the shares that classes have in these cases.
    pub(super) fn weigh(&mut self, train: &[usize], weights: ClassWeights) {
        if !self.classes || weights == ClassWeights::None {
            return;
        }
        let mut counts = vec![0.0; self.outputs];
        for place in train.iter().flat_map(|&i| &self.places[i]) {
            if let Place::Class(class) = place {
                counts[*class] += 1.0;
            }
        }
        let all: f64 = counts.iter().sum();
        let present = counts.iter().filter(|&&count| count > 0.0).count() as f64;
        self.class_weights = counts.iter().map(|&count| if count > 0.0 { all / (present * count) } else { 0.0 }).collect();
    }

    /// The loss of outputs, `[batch, places, outputs]`, for these cases.
    pub(super) fn loss<B: Backend>(&self, outputs: Tensor<B, 3>, cases: &[usize]) -> Tensor<B, 1> {
        let [batch, places, width] = outputs.dims();
        let mut weights = vec![0.0_f32; batch * places * width];
        let mut targets = if self.classes { Vec::new() } else { vec![0.0_f32; batch * places * width] };
        let mut sum = 0.0;
        for (b, &case) in cases.iter().enumerate() {
            for (p, place) in self.places[case].iter().enumerate() {
                let at = (b * places + p) * width;
                match place {
                    Place::Unknown => {}
                    Place::Class(class) => {
                        weights[at + class] = self.class_weights[*class] as f32;
                        sum += self.class_weights[*class];
                    }
                    Place::Values(values) => {
                        for (k, &y) in values.iter().enumerate().filter(|(_, y)| !y.is_nan()) {
                            targets[at + k] = y;
                            weights[at + k] = 1.0;
                            sum += 1.0;
                        }
                    }
                }
            }
        }
        let device = outputs.device();
        let tensor = |values: Vec<f32>| Tensor::<B, 3>::from_data(TensorData::new(values, [batch, places, width]), &device);
        let weights = tensor(weights);
        let share = 1.0 / f64::max(sum, 1e-30);
        if self.classes {
            let p = log_softmax(outputs, 2).exp();
            (weights * (p + FLOOR).log()).sum() * -share
        } else {
            ((outputs - tensor(targets)).square() * weights).sum() * share
        }
    }

    /// How good outputs are, in the units of training: `[places, outputs]` for each of these cases.
    pub(super) fn metrics(&self, outputs: &[Vec<f32>], cases: &[usize]) -> Metrics {
        let (mut predicted, mut values, mut truth, mut classes) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (own, &case) in outputs.iter().zip(cases) {
            for (outputs, place) in own.chunks_exact(self.outputs).zip(&self.places[case]) {
                match place {
                    Place::Unknown => {}
                    Place::Class(class) => {
                        predicted.extend(softmax(outputs));
                        classes.push(*class);
                    }
                    Place::Values(wanted) => {
                        for (&y, &wanted) in outputs.iter().zip(wanted).filter(|(_, wanted)| !wanted.is_nan()) {
                            values.push(f64::from(y));
                            truth.push(f64::from(wanted));
                        }
                    }
                }
            }
        }
        if self.classes {
            Metrics::Classification(Classification::of(&predicted, self.outputs, &classes))
        } else {
            Metrics::Regression(Regression::of(&values, &truth))
        }
    }
}

/// The observations at which outputs are asked for: the first, then the last of each window.
pub(super) fn ends(length: usize, window: usize) -> impl Iterator<Item = usize> {
    (0..1 + (length - 1).div_ceil(window)).map(move |k| (k * window).min(length - 1))
}
