//! How much of a readout is added to exponential smoothing, and how sure forecasts of smoothing alone are.
//!
//! ```text
//! forecast = g + s W^T f,     s of 0, 1/4, ..., 1: the least sum of |error| / size on the validation part, which comes after what W was fitted to
//! ```
//!
//! A readout helps where channels or series tell something of each other. On a single short series it mostly fits noise, so it must be better by more than chance: by twice the
//! standard error over stretches of one horizon.

use std::ops::Range;

use ncde_runtime::layer::Linear;
use ncde_runtime::{Model, ModelSpec, NamedWeight, Task, Weights};

use super::Solved;
use crate::by_time::{Cut, Long};
use crate::conformal::intervals;
use crate::score::{PredictedRange, compare};
use crate::store::predict_ranges;
use crate::{Error, Run};

const SHARES: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];
/// Stretches that an error of a mean is taken of.
const MIN_STRETCHES: usize = 5;
/// So many standard errors are more than chance.
const SURE: f64 = 2.0;

impl Run {
    /// The same with the share of the readout that serves each target best; none of it where no validation part says so.
    pub(super) fn beside_smoothing(&self, mut solved: Solved) -> Result<Solved, Error> {
        let Task::Forecast(forecast) = &self.spec.task else { return Ok(solved) };
        if forecast.smoothing.is_none() {
            return Ok(solved);
        }
        let targets = forecast.width(self.data.channels.len());
        let (spec, weights) = self.without_readout();
        let alone = model(&spec, &weights)?;
        let shares = match &self.long {
            Some(long) => {
                let validation = |model: &Model| predict(model, long, |cut| cut.validation.clone());
                shares(forecast, long, &validation(&model(&solved.spec, &solved.weights)?), &validation(&alone), targets)
            }
            None => vec![0.0; targets],
        };
        if shares.iter().all(|&share| share == 0.0) {
            solved = Solved { spec, weights, parameters: 0, chosen: "exponential smoothing alone".into(), ..solved };
            if let (Some(long), Task::Forecast(forecast)) = (&self.long, &mut solved.spec.task) {
                // Smoothing has seen nothing of what it forecasts, so most of the training part says how far off it is.
                let seen =
                    predict(&alone, long, |cut| cut.train.start + cut.train.len() / 3..cut.validation.end.max(cut.train.end));
                forecast.intervals = intervals(forecast, &long.data, &seen).ok();
            }
            return Ok(solved);
        }
        for weight in readout(&solved.spec, &mut solved.weights) {
            for (i, value) in weight.values.iter_mut().enumerate() {
                *value *= shares[i % targets.max(1)] as f32;
            }
        }
        let [low, high] = [f64::min, f64::max].map(|of| 100.0 * shares.iter().copied().reduce(of).unwrap_or(0.0));
        let share = if low == high { format!("{high:.0} %") } else { format!("{low:.0} to {high:.0} %") };
        solved.chosen = format!("exponential smoothing, and {share} of a readout of {}", solved.chosen);
        Ok(solved)
    }

    /// A model that adds nothing to smoothing: one layer whose weights are 0.
    fn without_readout(&self) -> (ModelSpec, Vec<NamedWeight>) {
        let (width, outputs) = (self.spec.signal().width(), self.goal.outputs);
        let zeros = |name: &str, shape: Vec<usize>| NamedWeight {
            name: format!("layers.0.{name}"),
            values: vec![0.0; shape.iter().product()],
            shape,
        };
        let weights = vec![zeros("weight", vec![width, outputs]), zeros("bias", vec![outputs])];
        (ModelSpec { layers: vec![Linear { outputs }.into()], ..self.spec.clone() }, weights)
    }
}

fn model(spec: &ModelSpec, weights: &[NamedWeight]) -> Result<Model, Error> {
    Ok(Model::new(spec.clone(), Weights::of(weights.to_vec()))?)
}

/// Weights and biases of the last layer; their outputs come last, target by target.
fn readout<'a>(spec: &ModelSpec, weights: &'a mut [NamedWeight]) -> impl Iterator<Item = &'a mut NamedWeight> {
    let last = format!("layers.{}.", spec.layers.len().saturating_sub(1));
    weights.iter_mut().filter(move |weight| weight.name.starts_with(&last))
}

fn predict(model: &Model, long: &Long, range: impl Fn(&Cut) -> Range<usize>) -> Vec<PredictedRange> {
    let ranges: Vec<[Range<usize>; 2]> = long.cuts.iter().map(|cut| [range(cut), 0..0]).collect();
    predict_ranges(model, &long.data, &ranges).into_iter().map(|([range, _], _)| range).collect()
}

/// The best share for each target.
fn shares(
    forecast: &ncde_runtime::Forecast,
    long: &Long,
    all: &[PredictedRange],
    alone: &[PredictedRange],
    targets: usize,
) -> Vec<f64> {
    let channels = long.data.channels.len();
    // For each target and share, what the share adds to the error in each stretch.
    let mut added = vec![vec![Vec::new(); SHARES.len()]; targets];
    for ((case, all), alone) in long.data.cases.iter().zip(all).zip(alone) {
        // Both make forecasts at the same observations.
        let mut truths = Vec::new();
        compare(forecast, case, channels, alone, |t, [_, c], truth, [value, size], _| truths.push((t, c, truth, value, size)));
        let mut truths = truths.into_iter();
        let mut stretches = vec![None; targets];
        compare(forecast, case, channels, all, |_, _, _, [value, _], _| {
            let Some((t, c, truth, alone, size)) = truths.next().filter(|truth| truth.4 > 0.0) else { return };
            let stretch = t / forecast.horizon;
            for (added, share) in added[c].iter_mut().zip(SHARES) {
                if stretches[c] != Some(stretch) {
                    added.push(0.0);
                }
                let error = |share: f64| (alone + share * (value - alone) - truth).abs() / size;
                if let Some(sum) = added.last_mut() {
                    *sum += error(share) - error(0.0);
                }
            }
            stretches[c] = Some(stretch);
        });
    }
    let best = |added: &Vec<Vec<f64>>| {
        let sure = |i: usize| {
            let n = added[i].len() as f64;
            let mean = added[i].iter().sum::<f64>() / n;
            let error = (added[i].iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n * (n - 1.0))).sqrt();
            (mean, mean + SURE * error < 0.0 && added[i].len() >= MIN_STRETCHES)
        };
        let all = (1..SHARES.len()).map(|i| (SHARES[i], sure(i))).filter(|(_, (_, is_sure))| *is_sure);
        all.min_by(|a, b| a.1.0.total_cmp(&b.1.0)).map_or(0.0, |(share, _)| share)
    };
    added.iter().map(best).collect()
}
