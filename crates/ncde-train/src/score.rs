//! Metrics of predictions: of classes, of numbers, and of forecasts compared with naive ones.
//!
//! ```text
//! last value:  x_{t+k} = x_t (the last one that is known)     seasonal:  x_{t+k} = x_{t+k-jm}, the last one of its kind that is known     mean:  that of training
//! ```

use ncde_data::{Case, Dataset, Targets};
use ncde_report::metrics::Tally;
use ncde_report::{Classification, Metrics, Regression};
use ncde_runtime::{Baseline, Forecast, Forecasts, Prediction, Task};

use super::slots::Slots;

/// How many periods back a seasonal forecast looks for a value that is known.
const PERIODS: usize = 4;

/// Predictions at some observations of a case: `first`, `first + every`, and so on.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PredictedRange {
    pub(super) first: usize,
    pub(super) every: usize,
    /// Values from this observation on are not compared with.
    pub(super) end: usize,
    pub(super) predictions: Vec<Prediction>,
}

impl PredictedRange {
    /// Predictions at every observation, or one of the case as a whole.
    pub(super) fn everywhere(predictions: Vec<Prediction>, case: &Case) -> Self {
        Self { first: 0, every: 1, end: case.len(), predictions }
    }

    /// Whether no prediction is missing at the end.
    pub(super) fn is_whole(&self) -> bool {
        self.first + self.predictions.len() * self.every >= self.end
    }

    /// Observations and their predictions.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, &Prediction)> {
        self.predictions.iter().enumerate().map(|(i, prediction)| (self.first + i * self.every, prediction))
    }
}

/// How good predictions are; none if the data has no labels of this kind. A class that has no prediction counts as wrong, a number is left out.
pub fn score(task: &Task, data: &Dataset, predictions: &[Vec<Prediction>]) -> Option<Metrics> {
    let all = predictions.iter().zip(&data.cases).map(|(range, case)| PredictedRange::everywhere(range.clone(), case));
    score_ranges(task, data, &all.collect::<Vec<_>>())
}

/// The same for predictions at some observations.
pub(super) fn score_ranges(task: &Task, data: &Dataset, ranges: &[PredictedRange]) -> Option<Metrics> {
    match task {
        Task::Classification { classes, .. } => classified(classes.len(), data, ranges),
        Task::Regression { .. } => regressed(data, ranges),
        Task::Forecast(forecast) => forecasted(forecast, data, ranges),
    }
}

/// Predictions of classes that have a label.
#[derive(Debug, Default)]
pub(super) struct Labelled {
    /// `[labels, classes]`.
    pub(super) probabilities: Vec<f64>,
    predicted: Vec<usize>,
    pub(super) truth: Vec<usize>,
    /// The labels without a prediction.
    missed: Vec<usize>,
    /// How many are right of how many, for each series.
    series: Vec<(u64, u64)>,
}

impl Labelled {
    pub(super) fn of(data: &Dataset, ranges: &[PredictedRange]) -> Self {
        let mut all = Self::default();
        for (i, range) in ranges.iter().enumerate() {
            let (mut right, from) = (0, all.truth.len() + all.missed.len());
            let wanted = |t: usize| match &data.targets {
                Targets::Classes { of, .. } => Some(of[i]),
                Targets::ClassSteps { of, .. } => of[i][t],
                _ => None,
            };
            for (t, prediction) in range.iter() {
                if let (Prediction::Class { class, probabilities }, Some(wanted)) = (prediction, wanted(t)) {
                    right += u64::from(*class == wanted);
                    all.probabilities.extend(probabilities);
                    all.predicted.push(*class);
                    all.truth.push(wanted);
                }
            }
            match &data.targets {
                Targets::Classes { of, .. } if range.predictions.is_empty() => all.missed.push(of[i]),
                Targets::ClassSteps { of, .. } => {
                    let next = range.first + range.predictions.len() * range.every;
                    all.missed.extend((next..range.end).step_by(range.every).filter_map(|t| of[i][t]));
                }
                _ => {}
            }
            all.series.push((right, (all.truth.len() + all.missed.len() - from) as u64));
        }
        all
    }
}

fn classified(classes: usize, data: &Dataset, ranges: &[PredictedRange]) -> Option<Metrics> {
    let all = Labelled::of(data, ranges);
    if all.truth.is_empty() && all.missed.is_empty() {
        return None;
    }
    let metrics = Classification::decided(&all.probabilities, classes, &all.predicted, &all.truth).with_missed(&all.missed);
    let is_steps = matches!(data.targets, Targets::ClassSteps { .. });
    Some(Metrics::Classification(if is_steps { metrics.with_series(&all.series) } else { metrics }))
}

fn regressed(data: &Dataset, ranges: &[PredictedRange]) -> Option<Metrics> {
    let (mut values, mut truth, mut series) = (Vec::new(), Vec::new(), 0);
    for (i, range) in ranges.iter().enumerate() {
        let before = truth.len();
        for (t, prediction) in range.iter() {
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

fn forecasted(forecast: &Forecast, data: &Dataset, ranges: &[PredictedRange]) -> Option<Metrics> {
    let channels = data.channels.len();
    let targets: Vec<String> = forecast.of_targets(&data.channels).cloned().collect();
    let unknown = Baseline { period: None, means: vec![f64::NAN; targets.len()], scales: vec![0.0; targets.len()] };
    let baseline = forecast.baseline.as_ref().unwrap_or(&unknown);
    let mut names = vec!["last value"];
    names.extend(baseline.period.map(|_| "seasonal"));
    names.extend(forecast.baseline.as_ref().map(|_| "mean"));
    let horizons: Vec<usize> = forecast.horizons().collect();
    let level = forecast.intervals.as_ref().map(|intervals| intervals.level);
    let mut tally = Tally::new(&horizons, &targets, &baseline.scales, level, &names).with_period(baseline.period);
    let mut series = 0;
    for (case, range) in data.cases.iter().zip(ranges) {
        let mut compared = false;
        tally.begin(&case.id);
        compare(forecast, case, channels, range, |t, [place, c], truth, [value, width], naive: &Naive<'_>| {
            compared = true;
            let mean = baseline.means[c];
            let channel = forecast.channel(c);
            let last = naive.last(t, channel).unwrap_or(mean);
            let seasonal = baseline.period.map(|m| naive.seasonal(t, horizons[place], channel, m).unwrap_or(last));
            let rivals: Vec<f64> = [Some(last), seasonal, Some(mean)].into_iter().flatten().collect();
            let width = forecast.intervals.is_some().then_some(width);
            tally.push([place, c], truth, value, width, &rivals);
        });
        series += usize::from(compared);
    }
    tally.finish(series).map(Metrics::Forecast)
}

/// Calls `show` for every forecast of a case whose truth is known, with observation, indices of horizon and target, truth, forecast and width.
pub(super) fn compare(
    forecast: &Forecast,
    case: &Case,
    channels: usize,
    range: &PredictedRange,
    mut show: impl FnMut(usize, [usize; 2], f64, [f64; 2], &Naive<'_>),
) {
    let slots = Slots::new(&case.times, forecast);
    let naive = Naive { case, channels, slots: &slots };
    for (t, prediction) in range.iter() {
        let Prediction::Values(Forecasts { values, widths }) = prediction else { continue };
        let targets = forecast.width(channels).max(1);
        let rows = values.chunks_exact(targets).zip(widths.chunks_exact(targets));
        for (place, (k, (row, widths))) in forecast.horizons().zip(rows).enumerate() {
            let Some(later) = slots.find(slots.slot(t) + k).filter(|later| *later < range.end) else { continue };
            let truth = forecast.of_targets(case.row(later, channels));
            for (c, (&x, &y)) in truth.zip(row).enumerate().filter(|(_, (x, _))| !x.is_nan()) {
                show(t, [place, c], x, [y, widths[c]], &naive);
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
