//! What inputs that are known ahead do to the targets, from the training part; and what is known ahead of each observation.
//!
//! ```text
//! D y = theta D u + noise,     D = (1 - B) (1 - B^m),   m: the longest season;   y in logarithms where those are followed
//! theta by ridge regression whose penalty weighs as much as 10 observations
//! ```

use ncde_data::{Case, Dataset};
use ncde_reservoir::sums::Sums;
use ncde_runtime::{Forecast, Known, ModelSpec, Prediction, Session};

use super::slots::Slots;

/// The observations that a penalty weighs as much as.
const PRIOR: f64 = 10.0;

/// Fills in means and effects of the known channels of a forecast.
pub(super) fn fit(known: &mut Known, data: &Dataset, train: &[usize], forecast: &Forecast) {
    let channels = data.channels.len();
    let values = |c: usize| train.iter().flat_map(move |&i| data.cases[i].values.iter().skip(c).step_by(channels));
    let mean = |&c: &usize| {
        let (sum, count) = values(c).filter(|x| !x.is_nan()).fold((0.0, 0.0), |(sum, count), x| (sum + x, count + 1.0));
        sum / f64::max(count, 1.0)
    };
    known.means = known.channels.iter().map(mean).collect();
    let logs = forecast.smoothing.iter().flat_map(|smoothing| &smoothing.log);
    let effects = |(target, &log): (usize, &bool)| {
        let mut sums = Sums::new(known.channels.len(), 1);
        for &i in train {
            changes(&data.cases[i], channels, forecast, &known.channels, forecast.channel(target), log, &mut sums);
        }
        let scale: Vec<f64> = sums.deviations().into_iter().map(|x| if x > 0.0 { 1.0 / x } else { 0.0 }).collect();
        sums.fit(&scale, PRIOR / sums.rows().max(1.0)).map_or_else(|| vec![0.0; scale.len()], |line| line.weight)
    };
    known.effects = logs.enumerate().map(effects).collect();
}

/// Adds the changes of known channels and of a target, where all are known.
fn changes(case: &Case, channels: usize, forecast: &Forecast, known: &[usize], target: usize, log: bool, sums: &mut Sums) {
    let slots = Slots::new(&case.times, forecast);
    let seasons = forecast.smoothing.iter().flat_map(|smoothing| &smoothing.experts).flat_map(|expert| &expert.seasons);
    let season = seasons.copied().filter(|season| 3 * season < case.len()).max().unwrap_or(0);
    let columns: Vec<usize> = known.iter().copied().chain([target]).collect();
    for t in 0..case.len() {
        let Some(slot) = slots.slot(t).checked_sub(season + 1) else { continue };
        let earlier = if season == 0 { vec![slot] } else { vec![slot + season, slot + 1, slot] };
        let earlier: Option<Vec<usize>> = earlier.into_iter().map(|slot| slots.find(slot)).collect();
        let Some(earlier) = earlier else { continue };
        let change = |&c: &usize| {
            let value = |t: usize| {
                let x = case.values[t * channels + c];
                if log && c == target { x.ln() } else { x }
            };
            let signs = if season == 0 { &[-1.0][..] } else { &[-1.0, -1.0, 1.0][..] };
            (value(t) + earlier.iter().zip(signs).map(|(&t, sign)| sign * value(t)).sum::<f64>()) as f32
        };
        let row: Vec<f32> = columns.iter().map(change).collect();
        if row.iter().all(|x| x.is_finite()) {
            sums.add(&row, &[1.0]);
        }
    }
}

/// What is known ahead of the observations of a case.
pub struct KnownAhead<'a> {
    known: Option<(&'a Known, Slots)>,
    case: &'a Case,
    channels: usize,
    horizon: usize,
}

impl<'a> KnownAhead<'a> {
    /// What a model takes of a case.
    pub fn new(spec: &'a ModelSpec, case: &'a Case) -> Self {
        let forecast = spec.task.forecast();
        let known = forecast.and_then(|forecast| Some((forecast.known.as_ref()?, Slots::new(&case.times, forecast))));
        Self { known, case, channels: spec.channels.len(), horizon: forecast.map_or(0, |forecast| forecast.horizon) }
    }

    /// The rows after an observation, `[horizons, known channels]`; NaN where nothing is known. Empty if the model takes none.
    pub fn at(&self, t: usize) -> Vec<f64> {
        let Some((known, slots)) = &self.known else { return Vec::new() };
        let row = |k: usize| {
            let observation = slots.find(slots.slot(t) + k);
            let value = move |&c: &usize| observation.map_or(f64::NAN, |t| self.case.values[t * self.channels + c]);
            known.channels.iter().map(value)
        };
        (1..=self.horizon).flat_map(row).collect()
    }

    /// Whether the model takes something that is known ahead.
    pub(super) fn is_some(&self) -> bool {
        self.known.is_some()
    }

    /// The prediction after an observation, told what is known ahead of it.
    pub(super) fn predict(&self, series: &mut Session, t: usize) -> Result<Prediction, ncde_runtime::Error> {
        if self.is_some() && t < self.case.len() {
            series.know_ahead(&self.at(t))?;
        }
        series.predict()
    }

    /// How many observations come before those of which only known channels have a value: these are the future.
    pub fn observed(&self) -> usize {
        let Some((known, _)) = &self.known else { return self.case.len() };
        observed(self.case, self.channels, &known.channels)
    }
}

/// The data without the rows of the future.
pub(super) fn past(mut data: Dataset, known: &[usize]) -> Dataset {
    let channels = data.channels.len();
    for case in &mut data.cases {
        let observed = observed(case, channels, known);
        case.times.truncate(observed);
        case.values.truncate(observed * channels);
    }
    data
}

/// How many observations of a case come before those of which only these channels have a value.
pub(super) fn observed(case: &Case, channels: usize, known: &[usize]) -> usize {
    let is_observed = |row: &[f64]| row.iter().enumerate().any(|(c, x)| !x.is_nan() && !known.contains(&c));
    case.values.chunks_exact(channels.max(1)).rposition(is_observed).map_or(0, |t| t + 1)
}
