//! Targets as tensors, losses and metrics of each task.
//!
//! The loss of a model with several members is the mean of their losses, so that each learns by itself; its prediction is the mean of their probabilities or numbers.

use std::ops::Range;
use std::sync::Arc;

use burn_tensor::Tensor;
use burn_tensor::backend::Backend;
use ncde_data::{Dataset, Targets};
use ncde_report::{Classification, Metrics, Regression};
use ncde_runtime::layer::is_end;
use ncde_runtime::{At, Forecast, ModelSpec, Scaling, Task, mean_of_members, softmax};

use super::ahead::{Ahead, Bases};
use super::loss::{LossName, Wanted};
use super::names::ClassWeights;
use ncde_layers::layer::{LayerBackend, Rows};
use ncde_layers::operation::put;

/// The targets of every case at the rows where an output is wanted.
#[derive(Debug, Clone)]
pub(super) struct Goal {
    /// How many numbers a model puts out at each place.
    pub(super) outputs: usize,
    loss: LossName,
    targets: Vec<Known>,
    class_weights: Vec<f64>,
}

/// The targets of a case.
#[derive(Debug, Clone)]
enum Known {
    Labels(Vec<(OutputSlot, Target)>),
    /// Later values, computed on demand; each output row has its observation.
    Ahead {
        of: Ahead,
        places: Vec<(OutputSlot, usize)>,
        forecast: Arc<Forecast>,
    },
}

/// The row of an output, see [`Places`](ncde_layers::layer::Places).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OutputSlot {
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

/// The observations of a case, in this range, that have a target.
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
    /// The targets of each case at the observations in `learned`; a window holds `window` observations.
    pub(super) fn new(data: &Dataset, spec: &ModelSpec, loss: LossName, window: usize, learned: &[Range<usize>]) -> Self {
        let (task, preparation) = (&spec.task, &spec.preparation);
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
                return Known::Labels(target(i, 0).map(|target| (OutputSlot::Trunk(0), target)).into_iter().collect());
            }
            let at = labelled(data, task, i, learned[i].clone());
            let places = places(&at, data.cases[i].len(), window).into_iter().zip(at);
            match &forecast {
                Some(forecast) => Known::Ahead {
                    places: places.collect(),
                    of: Ahead::new(&data.cases[i], forecast, preparation),
                    forecast: forecast.clone(),
                },
                None => Known::Labels(places.filter_map(|(place, t)| Some((place, target(i, t)?))).collect()),
            }
        };
        Self { outputs, loss, targets: (0..data.cases.len()).map(of).collect(), class_weights: vec![1.0; outputs] }
    }

    /// Calls `show` with every `every`-th target of a case; missing values are NaN. With `bases`, forecasts are less those, and missing values interpolated where possible.
    fn for_every(&self, case: usize, every: usize, mut bases: Option<Bases<'_>>, mut show: impl FnMut(OutputSlot, &Target)) {
        match &self.targets[case] {
            Known::Labels(all) => all.iter().step_by(every).for_each(|(place, target)| show(*place, target)),
            Known::Ahead { of, places, forecast } => {
                for (place, t) in places.iter().step_by(every) {
                    let base = bases.as_mut().and_then(|bases| bases.at(*t));
                    show(*place, &Target::Values(of.targets(*t, forecast, base.as_deref(), bases.is_some())));
                }
            }
        }
    }

    /// Calls `show` with all targets of a case; missing values are NaN.
    fn for_each(&self, case: usize, show: impl FnMut(OutputSlot, &Target)) {
        self.for_every(case, 1, None, show);
    }

    /// How many places of a case have a target.
    pub(super) fn places(&self, case: usize) -> usize {
        match &self.targets[case] {
            Known::Labels(all) => all.len(),
            Known::Ahead { places, .. } => places.len(),
        }
    }

    /// Every `every`-th row of a case with its targets as numbers, one-hot for classes, for windows of one observation. Missing values of a forecast are interpolated; NaN where no
    /// value follows.
    pub(super) fn numeric_targets(&self, case: usize, every: usize, bases: Option<Bases<'_>>) -> Vec<(usize, Vec<f64>)> {
        let mut all = Vec::new();
        self.for_every(case, every, bases, |place, target| {
            let OutputSlot::Trunk(row) = place else { return };
            let numbers = match target {
                Target::Class(own) => (0..self.outputs).map(|class| f64::from(u8::from(class == *own))).collect(),
                Target::Values(values) => values.iter().map(|&x| f64::from(x)).collect(),
            };
            all.push((row, numbers));
        });
        all
    }

    /// With weights of classes, each inversely proportional to its share of these cases, if that is wanted.
    pub(super) fn weighed(mut self, train: &[usize], weights: ClassWeights) -> Self {
        if !self.loss.is_of_classes() || weights == ClassWeights::None {
            return self;
        }
        let mut counts = vec![0.0; self.outputs];
        for &case in train {
            self.for_each(case, |_, target| {
                if let Target::Class(class) = target {
                    counts[*class] += 1.0;
                }
            });
        }
        let all: f64 = counts.iter().sum();
        let present = counts.iter().filter(|&&count| count > 0.0).count() as f64;
        self.class_weights = counts.iter().map(|&count| if count > 0.0 { all / (present * count) } else { 0.0 }).collect();
        self
    }

    /// How much a row with these numeric targets counts.
    pub(super) fn row_weight(&self, targets: &[f64]) -> f64 {
        if self.loss.is_of_classes() { targets.iter().zip(&self.class_weights).map(|(y, weight)| y * weight).sum() } else { 1.0 }
    }

    /// The weight of each class in a row; empty if rows count the same.
    pub(super) fn class_weights_of_rows(&self) -> &[f64] {
        if self.loss.is_of_classes() { &self.class_weights } else { &[] }
    }

    /// The loss of the outputs for these cases, and the weight of what it is the mean of.
    ///
    /// # Errors
    /// If the backend has no kernel for its numbers.
    pub(super) fn loss<B: LayerBackend>(
        &self,
        rows: Rows<B>,
        cases: &[usize],
    ) -> Result<(Tensor<B, 1>, f64), ncde_layers::layer::Error> {
        let (outputs, trunk) = (rows.values, rows.places.trunk);
        let [batch, places, width] = outputs.dims();
        let members = width / self.outputs;
        // Of classes a label and a weight for each member at each place, of numbers one for each.
        let each = if self.loss.is_of_classes() { self.outputs } else { 1 };
        let [mut targets, mut weights] = [(); 2].map(|()| vec![0.0_f32; batch * places * width / each]);
        let mut sum = 0.0;
        for (b, &case) in cases.iter().enumerate() {
            self.for_each(case, |place, target| {
                let row = (b * places + place.index(trunk)) * width;
                for at in (row..row + width).step_by(self.outputs) {
                    match target {
                        Target::Class(class) => {
                            targets[at / each] = *class as f32;
                            weights[at / each] = self.class_weights[*class] as f32;
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
                }
            });
        }
        let (device, count, share) = (outputs.device(), targets.len(), 1.0 / f64::max(sum, 1e-30));
        let [targets, weights] = [targets, weights].map(|values| put(values, [count], &device));
        // A row for each member, as if there were so many more places.
        let outputs = if members == 1 { outputs } else { outputs.reshape([batch, places * members, self.outputs]) };
        Ok((self.loss.of(outputs, Wanted { targets, weights, share })?, sum / members as f64))
    }

    /// Collects the outputs of a batch that have a target, with their targets.
    pub(super) fn collect<B: Backend>(&self, rows: &Rows<B>, cases: &[usize], into: &mut Predicted) {
        let [_, places, width] = rows.values.dims();
        let values: Vec<f64> = rows.values.to_data().iter().collect();
        for (b, &case) in cases.iter().enumerate() {
            self.for_each(case, |place, target| {
                let outputs = &values[(b * places + place.index(rows.places.trunk)) * width..][..width];
                let each = outputs.chunks_exact(self.outputs);
                match target {
                    Target::Class(class) => {
                        into.probabilities.extend(mean_of_members(each.map(softmax)));
                        into.classes.push(*class);
                    }
                    Target::Values(wanted) => {
                        let said = mean_of_members(each.map(<[f64]>::to_vec));
                        for (y, &wanted) in said.into_iter().zip(wanted).filter(|(_, wanted)| !wanted.is_nan()) {
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
        if self.loss.is_of_classes() {
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

/// The output rows of some observations of a series, as in [`Features`](super::features::Features): ends of windows are rows of the trunk, the others are branches.
pub(super) fn places(at: &[usize], length: usize, window: usize) -> Vec<OutputSlot> {
    let mut branches = 0..;
    let place = |&t: &usize| match is_end(t, length, window) {
        true => OutputSlot::Trunk(t.div_ceil(window)),
        false => OutputSlot::Branch(branches.next().unwrap_or(0)),
    };
    at.iter().map(place).collect()
}

impl OutputSlot {
    /// The row in a batch whose trunk has so many rows.
    pub(super) fn index(self, trunk: usize) -> usize {
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

#[cfg(test)]
mod tests {
    use burn_flex::Flex;
    use burn_tensor::Distribution;

    use super::*;
    use ncde_layers::layer::Places;

    /// The loss of two members is the mean of theirs, and what they say is the mean of what each says.
    #[test]
    fn members_are_taught_and_heard_each_by_itself() {
        let classes = Known::Labels(vec![(OutputSlot::Trunk(0), Target::Class(2))]);
        let other = Known::Labels(vec![(OutputSlot::Trunk(0), Target::Class(0))]);
        let values = |y: [f32; 3]| Known::Labels(vec![(OutputSlot::Trunk(0), Target::Values(y.to_vec()))]);
        let goals = [
            (LossName::CrossEntropy, vec![classes, other]),
            (LossName::Squared, vec![values([0.3, f32::NAN, -1.0]), values([2.0, 0.1, 0.0])]),
        ];
        for (loss, targets) in goals {
            let (goal_loss, classes) = (loss, loss.is_of_classes());
            let goal = Goal { outputs: 3, loss: goal_loss, targets, class_weights: vec![0.5, 1.0, 2.0] };
            let both: Tensor<Flex, 3> = Tensor::random([2, 1, 6], Distribution::Normal(0.0, 1.0), &Default::default());
            let rows = |values: Tensor<Flex, 3>| Rows { values, places: Places::regular(&[1, 1]).into() };
            let one = |member: usize| rows(both.clone().narrow(2, 3 * member, 3));
            let loss = |rows: Rows<Flex>| goal.loss(rows, &[0, 1]).map(|(loss, sum)| (loss.into_scalar(), sum)).unwrap();
            let ((first, weight), (second, _), whole) = (loss(one(0)), loss(one(1)), loss(rows(both.clone())));
            assert!((whole.0 - (first + second) / 2.0).abs() < 1e-5 && whole.1 == weight, "{whole:?} {first} {second}");
            let said = |rows: Rows<Flex>| {
                let mut said = Predicted::default();
                goal.collect(&rows, &[0, 1], &mut said);
                [said.probabilities, said.values].concat()
            };
            let (first, second, whole) = (said(one(0)), said(one(1)), said(rows(both.clone())));
            assert_eq!((whole.len(), first.len()), (if classes { 6 } else { 5 }, whole.len()));
            let mean = first.iter().zip(&second).map(|(a, b)| (a + b) / 2.0);
            assert!(whole.iter().zip(mean).all(|(seen, wanted)| (seen - wanted).abs() < 1e-6));
        }
    }
}
