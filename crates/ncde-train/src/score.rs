//! How good predictions are: of classes, of numbers, and of forecasts beside naive ones.
//!
//! ```text
//! last value:  x_{t+k} = x_t (the last one that is known)     seasonal:  x_{t+k} = x_{t+k-jm}, the last one of its kind that is known     mean:  that of training
//! ```

use ncde_data::{Case, Dataset, Targets};
use ncde_report::metrics::{Tally, predicted};
use ncde_report::{Classification, Metrics, Regression};
use ncde_runtime::{Baseline, Forecast, Prediction, Task};

use super::slots::Slots;

/// How many periods back a seasonal forecast looks for a value that is known.
const PERIODS: usize = 4;

/// What a model says at some observations of a case: `first`, `first + every`, and so on.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Said {
    pub(super) first: usize,
    pub(super) every: usize,
    /// What lies from here on is not compared with.
    pub(super) end: usize,
    pub(super) predictions: Vec<Prediction>,
}

impl Said {
    /// At every observation from the first one on, or of the case as a whole.
    pub(super) fn everywhere(predictions: Vec<Prediction>, case: &Case) -> Self {
        Self { first: 0, every: 1, end: case.len(), predictions }
    }

    /// Whether something is said wherever it should be.
    pub(super) fn is_whole(&self) -> bool {
        self.first + self.predictions.len() * self.every >= self.end
    }

    /// Observations and what is said there.
    pub(super) fn each(&self) -> impl Iterator<Item = (usize, &Prediction)> {
        self.predictions.iter().enumerate().map(|(i, prediction)| (self.first + i * self.every, prediction))
    }
}

/// How good predictions are; none if the data has no labels of this kind. A class that has no prediction counts as wrong, a number is left out.
pub fn score(task: &Task, data: &Dataset, predictions: &[Vec<Prediction>]) -> Option<Metrics> {
    let all = predictions.iter().zip(&data.cases).map(|(own, case)| Said::everywhere(own.clone(), case));
    score_said(task, data, &all.collect::<Vec<_>>())
}

/// The same of predictions at some observations.
pub(super) fn score_said(task: &Task, data: &Dataset, said: &[Said]) -> Option<Metrics> {
    match task {
        Task::Classification { classes, .. } => classified(classes.len(), data, said),
        Task::Regression { .. } => regressed(data, said),
        Task::Forecast(forecast) => forecasted(forecast, data, said),
    }
}

fn classified(classes: usize, data: &Dataset, said: &[Said]) -> Option<Metrics> {
    let (mut probabilities, mut truth, mut missed, mut series) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut steps = false;
    for (i, own) in said.iter().enumerate() {
        let (mut right, from) = (0, truth.len() + missed.len());
        let wanted = |t: usize| match &data.targets {
            Targets::Classes { of, .. } => Some(of[i]),
            Targets::ClassSteps { of, .. } => of[i][t],
            _ => None,
        };
        for (t, prediction) in own.each() {
            if let (Prediction::Class { probabilities: p, .. }, Some(class)) = (prediction, wanted(t)) {
                right += u64::from(predicted(p) == class);
                probabilities.extend(p);
                truth.push(class);
            }
        }
        match &data.targets {
            Targets::Classes { of, .. } if own.predictions.is_empty() => missed.push(of[i]),
            Targets::ClassSteps { of, .. } => {
                steps = true;
                let next = own.first + own.predictions.len() * own.every;
                missed.extend((next..own.end).step_by(own.every).filter_map(|t| of[i][t]));
            }
            _ => {}
        }
        series.push((right, (truth.len() + missed.len() - from) as u64));
    }
    if truth.is_empty() && missed.is_empty() {
        return None;
    }
    let metrics = Classification::of(&probabilities, classes, &truth).with_missed(&missed);
    Some(Metrics::Classification(if steps { metrics.with_series(&series) } else { metrics }))
}

fn regressed(data: &Dataset, said: &[Said]) -> Option<Metrics> {
    let (mut values, mut truth, mut series) = (Vec::new(), Vec::new(), 0);
    for (i, own) in said.iter().enumerate() {
        let before = truth.len();
        for (t, prediction) in own.each() {
            let wanted = match &data.targets {
                Targets::Values { of, .. } => of[i],
                Targets::ValueSteps { of, .. } => of[i][t],
                _ => f64::NAN,
            };
            if let (Prediction::Value(y), false) = (prediction, wanted.is_nan()) {
                values.push(*y);
                truth.push(wanted);
            }
        }
        series += usize::from(truth.len() > before);
    }
    if truth.is_empty() {
        return None;
    }
    let steps = matches!(data.targets, Targets::ValueSteps { .. });
    Some(Metrics::Regression(Regression { series: steps.then_some(series), ..Regression::of(&values, &truth) }))
}

fn forecasted(forecast: &Forecast, data: &Dataset, said: &[Said]) -> Option<Metrics> {
    let channels = data.channels.len();
    let unknown = Baseline { period: None, means: vec![f64::NAN; channels], scales: vec![0.0; channels] };
    let baseline = forecast.baseline.as_ref().unwrap_or(&unknown);
    let mut names = vec!["last value"];
    names.extend(baseline.period.map(|_| "seasonal"));
    names.extend(forecast.baseline.as_ref().map(|_| "mean"));
    let horizons: Vec<usize> = forecast.horizons().collect();
    let level = forecast.intervals.as_ref().map(|intervals| intervals.level);
    let mut tally = Tally::new(&horizons, &data.channels, &baseline.scales, level, &names).with_period(baseline.period);
    let mut series = 0;
    for (case, own) in data.cases.iter().zip(said) {
        let mut compared = false;
        compare(forecast, case, channels, own, |t, [place, c], truth, value, naive: &Naive<'_>| {
            compared = true;
            let mean = baseline.means[c];
            let last = naive.last(t, c).unwrap_or(mean);
            let seasonal = baseline.period.map(|m| naive.seasonal(t, horizons[place], c, m).unwrap_or(last));
            let rivals: Vec<f64> = [Some(last), seasonal, Some(mean)].into_iter().flatten().collect();
            let width = forecast.intervals.as_ref().map(|intervals| intervals.widths[place][c]);
            tally.push([place, c], truth, value, width, &rivals);
        });
        series += usize::from(compared);
    }
    tally.finish(series).map(Metrics::Forecast)
}

/// Shows every forecast of a case that something is known of: observation, place of the horizon and channel, truth, forecast.
pub(super) fn compare(
    forecast: &Forecast,
    case: &Case,
    channels: usize,
    said: &Said,
    mut show: impl FnMut(usize, [usize; 2], f64, f64, &Naive<'_>),
) {
    let slots = Slots::new(&case.times, forecast);
    let naive = Naive { case, channels, slots: &slots };
    for (t, prediction) in said.each() {
        let Prediction::Values(values) = prediction else { continue };
        for (place, (k, own)) in forecast.horizons().zip(values.chunks_exact(channels.max(1))).enumerate() {
            let Some(later) = slots.find(slots.slot(t) + k).filter(|later| *later < said.end) else { continue };
            for (c, (&x, &y)) in case.row(later, channels).iter().zip(own).enumerate().filter(|(_, (x, _))| !x.is_nan()) {
                show(t, [place, c], x, y, &naive);
            }
        }
    }
}

/// Forecasts that need no model.
pub(super) struct Naive<'a> {
    case: &'a Case,
    channels: usize,
    slots: &'a Slots,
}

/// How far back the last known value is looked for.
const BACK: usize = 1 << 12;

impl Naive<'_> {
    fn value(&self, t: usize, c: usize) -> Option<f64> {
        Some(self.case.values[t * self.channels + c]).filter(|x| !x.is_nan())
    }

    /// The last value of a channel that is known at an observation.
    fn last(&self, t: usize, c: usize) -> Option<f64> {
        (t.saturating_sub(BACK)..=t).rev().find_map(|t| self.value(t, c))
    }

    /// The last value that is known some whole periods before what is `k` ahead of an observation.
    fn seasonal(&self, t: usize, k: usize, c: usize, period: usize) -> Option<f64> {
        let ahead = self.slots.slot(t) + k;
        (0..PERIODS).map(|more| period * (k.div_ceil(period) + more)).find_map(|back| {
            let observation = self.slots.find(ahead.checked_sub(back)?).filter(|observation| *observation <= t)?;
            self.value(observation, c)
        })
    }
}
