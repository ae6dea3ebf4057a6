//! What is learned: targets as tensors, losses, metrics.
//!
//! ```text
//! classes:  -sum_i w_i ln (p_i[y_i] + 1e-8),   numbers:  sum_i w_i |y_i - target_i|^2,   sum_i w_i = 1
//! ```

use std::ops::Range;
use std::sync::Arc;

use burn_tensor::backend::Backend;
use burn_tensor::{Tensor, TensorData};
use ncde_data::{Dataset, Targets};
use ncde_report::{Classification, Metrics, Regression};
use ncde_runtime::{At, Forecast, Preparation, Scaling, Task, softmax};

use super::ahead::Ahead;
use super::names::ClassWeights;
use crate::dense::{self, DenseOps};
use crate::layer::Rows;

/// A probability is never taken for less: a case whose state has grown out of all bounds does not decide a step (as in the thesis's code).
const FLOOR: f64 = 1e-8;

/// The targets of every case: for each place where an output is asked for, what it should be.
#[derive(Debug, Clone)]
pub(super) struct Goal {
    /// How many numbers a model puts out at each place.
    pub(super) outputs: usize,
    classes: bool,
    /// For each case.
    targets: Vec<Known>,
    class_weights: Vec<f64>,
}

/// What is known of a case.
#[derive(Debug, Clone)]
enum Known {
    Labels(Vec<(Place, Target)>),
    /// What lies ahead of each place, of an observation each.
    Ahead {
        of: Ahead,
        places: Vec<(Place, usize)>,
        forecast: Arc<Forecast>,
    },
}

/// Where an output is, see [`Places`](crate::layer::Places).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// A row of the trunk.
    Trunk(usize),
    /// A row in the middle of a window.
    Branch(usize),
}

/// What an output should be.
#[derive(Debug, Clone, PartialEq)]
enum Target {
    Class(usize),
    Values(Vec<f32>),
}

/// The observations of a case at which there is something to learn, among these.
pub(super) fn labelled(data: &Dataset, task: &Task, case: usize, among: Range<usize>) -> Vec<usize> {
    let length = data.cases[case].len();
    let has = |t: &usize| match (task, &data.targets) {
        (Task::Classification { .. }, Targets::ClassSteps { of, .. }) => of[case][*t].is_some(),
        (Task::Regression { .. }, Targets::ValueSteps { of, .. }) => !of[case][*t].is_nan(),
        // On a grid with places left out the last of a series may have nothing ahead; they count for nothing then.
        (Task::Forecast(forecast), _) => t + forecast.horizons().start() < length || (forecast.grid && t + 1 < length),
        _ => false,
    };
    (among.start.min(length)..among.end.min(length)).filter(has).collect()
}

impl Goal {
    /// The targets of a dataset, for each case at the observations in `learned`; windows hold `window` observations, where outputs are asked for at each.
    pub(super) fn new(data: &Dataset, task: &Task, preparation: &Preparation, window: usize, learned: &[Range<usize>]) -> Self {
        let outputs = task.outputs(data.channels.len());
        let target = |i: usize, t: usize| match (task, &data.targets) {
            (Task::Classification { .. }, Targets::Classes { of, .. }) => Some(Target::Class(of[i])),
            (Task::Classification { .. }, Targets::ClassSteps { of, .. }) => of[i][t].map(Target::Class),
            (Task::Regression { scaling, .. }, Targets::Values { of, .. }) => number(of[i], scaling),
            (Task::Regression { scaling, .. }, Targets::ValueSteps { of, .. }) => number(of[i][t], scaling),
            _ => None,
        };
        let forecast = task.forecast().cloned().map(Arc::new);
        let of = |i: usize| -> Known {
            if task.at() == At::End {
                return Known::Labels(target(i, 0).map(|target| (Place::Trunk(0), target)).into_iter().collect());
            }
            let (mut branches, last) = (0, data.cases[i].len() - 1);
            let places = labelled(data, task, i, learned[i].clone()).into_iter().map(|t| {
                // As the features have them: ends of windows in the trunk, the others beside it.
                let place = if t % window == 0 || t == last {
                    Place::Trunk(t.div_ceil(window))
                } else {
                    branches += 1;
                    Place::Branch(branches - 1)
                };
                (place, t)
            });
            match &forecast {
                Some(forecast) => Known::Ahead {
                    places: places.collect(),
                    of: Ahead::new(&data.cases[i], forecast, preparation),
                    forecast: forecast.clone(),
                },
                None => Known::Labels(places.filter_map(|(place, t)| Some((place, target(i, t)?))).collect()),
            }
        };
        let classes = matches!(task, Task::Classification { .. });
        Self { outputs, classes, targets: (0..data.cases.len()).map(of).collect(), class_weights: vec![1.0; outputs] }
    }

    /// Shows the targets of a case, one of `every` so many; values that are missing are NaN, or bridged where they can be if they are to be `whole`.
    fn some(&self, case: usize, every: usize, whole: bool, mut show: impl FnMut(Place, &Target)) {
        match &self.targets[case] {
            Known::Labels(all) => all.iter().step_by(every).for_each(|(place, target)| show(*place, target)),
            Known::Ahead { of, places, forecast } => {
                for (place, t) in places.iter().step_by(every) {
                    show(*place, &Target::Values(of.targets(*t, forecast, whole)));
                }
            }
        }
    }

    /// Shows all targets of a case; values that are missing are NaN.
    fn each(&self, case: usize, show: impl FnMut(Place, &Target)) {
        self.some(case, 1, false, show);
    }

    /// How many places of a case have a target.
    pub(super) fn places(&self, case: usize) -> usize {
        match &self.targets[case] {
            Known::Labels(all) => all.len(),
            Known::Ahead { places, .. } => places.len(),
        }
    }

    /// The rows of a case in windows of one observation, one of `every` so many, and what should come out there; of classes, 1 for the right one and 0 for the others. What is missing of
    /// a forecast is on the line between its neighbours; NaN where there is nothing after it.
    pub(super) fn asked(&self, case: usize, every: usize) -> Vec<(usize, Vec<f64>)> {
        let mut all = Vec::new();
        self.some(case, every, true, |place, target| {
            let Place::Trunk(row) = place else { return };
            let numbers = match target {
                Target::Class(own) => (0..self.outputs).map(|class| f64::from(u8::from(class == *own))).collect(),
                Target::Values(values) => values.iter().map(|&x| f64::from(x)).collect(),
            };
            all.push((row, numbers));
        });
        all
    }

    /// Every class counts the same in the loss, with the shares that classes have in these cases.
    pub(super) fn weigh(&mut self, train: &[usize], weights: ClassWeights) {
        if !self.classes || weights == ClassWeights::None {
            return;
        }
        let mut counts = vec![0.0; self.outputs];
        for &case in train {
            self.each(case, |_, target| {
                if let Target::Class(class) = target {
                    counts[*class] += 1.0;
                }
            });
        }
        let all: f64 = counts.iter().sum();
        let present = counts.iter().filter(|&&count| count > 0.0).count() as f64;
        self.class_weights = counts.iter().map(|&count| if count > 0.0 { all / (present * count) } else { 0.0 }).collect();
    }

    /// The loss of the outputs for these cases, and the weight of what it is the mean of.
    ///
    /// # Errors
    /// If the backend has no kernel for its numbers.
    pub(super) fn loss<B: DenseOps>(&self, rows: Rows<B>, cases: &[usize]) -> Result<(Tensor<B, 1>, f64), crate::layer::Error> {
        let (outputs, trunk) = (rows.values, rows.places.trunk);
        let [batch, places, width] = outputs.dims();
        let mut weights = vec![0.0_f32; batch * places * width];
        let mut targets = if self.classes { Vec::new() } else { vec![0.0_f32; batch * places * width] };
        let mut sum = 0.0;
        for (b, &case) in cases.iter().enumerate() {
            self.each(case, |place, target| {
                let at = (b * places + place.index(trunk)) * width;
                match target {
                    Target::Class(class) => {
                        weights[at + class] = self.class_weights[*class] as f32;
                        sum += self.class_weights[*class];
                    }
                    Target::Values(values) => {
                        for (k, &y) in values.iter().enumerate().filter(|(_, y)| !y.is_nan()) {
                            targets[at + k] = y;
                            weights[at + k] = 1.0;
                            sum += 1.0;
                        }
                    }
                }
            });
        }
        let device = outputs.device();
        let tensor = |values: Vec<f32>| Tensor::<B, 3>::from_data(TensorData::new(values, [batch, places, width]), &device);
        let weights = tensor(weights);
        let share = 1.0 / f64::max(sum, 1e-30);
        let loss = if self.classes {
            dense::class_loss(outputs, weights, FLOOR, share)?
        } else {
            ((outputs - tensor(targets)).square() * weights).sum() * share
        };
        Ok((loss, sum))
    }

    /// The outputs of a batch where there is a target, with it.
    pub(super) fn collect<B: Backend>(&self, rows: &Rows<B>, cases: &[usize], into: &mut Predicted) {
        let [_, places, width] = rows.values.dims();
        let values: Vec<f64> = rows.values.to_data().iter().collect();
        for (b, &case) in cases.iter().enumerate() {
            self.each(case, |place, target| {
                let outputs = &values[(b * places + place.index(rows.places.trunk)) * width..][..width];
                match target {
                    Target::Class(class) => {
                        into.probabilities.extend(softmax(outputs));
                        into.classes.push(*class);
                    }
                    Target::Values(wanted) => {
                        for (&y, &wanted) in outputs.iter().zip(wanted).filter(|(_, wanted)| !wanted.is_nan()) {
                            into.values.push(y);
                            into.truth.push(f64::from(wanted));
                        }
                    }
                }
            });
        }
    }

    /// How good outputs are, in the units of training.
    pub(super) fn metrics(&self, of: &Predicted) -> Metrics {
        if self.classes {
            Metrics::Classification(Classification::of(&of.probabilities, self.outputs, &of.classes))
        } else {
            Metrics::Regression(Regression::of(&of.values, &of.truth))
        }
    }
}

/// Outputs and targets, side by side.
#[derive(Debug, Default)]
pub(super) struct Predicted {
    probabilities: Vec<f64>,
    classes: Vec<usize>,
    values: Vec<f64>,
    truth: Vec<f64>,
}

impl Place {
    /// Its place in a batch whose trunk has so many rows.
    fn index(self, trunk: usize) -> usize {
        match self {
            Self::Trunk(k) => k,
            Self::Branch(j) => trunk + j,
        }
    }
}

/// A number to be predicted; none where there is no label.
fn number(y: f64, scaling: &Scaling) -> Option<Target> {
    (!y.is_nan()).then(|| Target::Values(vec![scaling.apply(y) as f32]))
}
