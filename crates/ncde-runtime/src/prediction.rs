//! From the outputs of the last layer to what a model says.

use serde::Serialize;

use crate::Error;
use crate::forecast::Forecasts;
use crate::prepare::Track;
use crate::smoothing::Smoothing;
use crate::spec::{ModelSpec, Task};
use crate::threshold::largest;

/// What a model predicts for a series.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Prediction {
    /// A class.
    Class {
        /// The most probable one, counted from 0.
        class: usize,
        /// The probability of each.
        probabilities: Vec<f64>,
    },
    /// A number.
    Value(f64),
    /// Forecasts.
    Values(Forecasts),
}

impl ModelSpec {
    /// A series without observations.
    pub fn track(&self) -> Track {
        let smoothing = self.task.forecast().and_then(|forecast| forecast.smoothing.as_ref());
        Track { smoothed: smoothing.map_or_else(Vec::new, Smoothing::start), ..self.preparation.start() }
    }

    /// Takes an observation into a track: its knot, and the smoothing of a forecast.
    ///
    /// # Errors
    /// As for [`Preparation::push`](crate::Preparation::push); nothing has changed then.
    pub fn follow(&self, track: &mut Track, time: f64, values: &[f64]) -> Result<(), Error> {
        let before = (track.observations > 0).then_some(track.time);
        self.preparation.push(track, time, values)?;
        if let Some(forecast) = self.task.forecast() {
            forecast.follow(track, before, values);
        }
        Ok(())
    }

    /// From the outputs of the last layer to the prediction for a series that stands there.
    pub fn prediction(&self, outputs: &[f64], track: &Track) -> Prediction {
        let members = self.members().max(1);
        let by_member = outputs.chunks_exact((outputs.len() / members).max(1));
        match &self.task {
            Task::Classification { classes, .. } => {
                let probabilities = mean_of_members(by_member.map(softmax));
                // Of one member the outputs decide: probabilities may round to the same.
                let scores = if members == 1 { outputs } else { &probabilities };
                let class = match &self.threshold {
                    Some(threshold) => threshold.class_of(classes, &probabilities, scores),
                    None => largest(scores.iter().enumerate()),
                };
                Prediction::Class { class, probabilities }
            }
            Task::Regression { scaling, .. } => {
                let value = mean_of_members(by_member.map(<[f64]>::to_vec)).first().copied().unwrap_or(f64::NAN);
                Prediction::Value(scaling.undo(value))
            }
            Task::Forecast(forecast) => {
                Prediction::Values(forecast.values(&mean_of_members(by_member.map(<[f64]>::to_vec)), &self.preparation, track))
            }
        }
    }
}

/// The mean of the outputs of the members of a model; that of one is its output, to the last bit.
pub fn mean_of_members(members: impl Iterator<Item = Vec<f64>>) -> Vec<f64> {
    let (mut count, mut sum) = (0.0, Vec::new());
    for outputs in members {
        count += 1.0;
        if sum.is_empty() {
            sum = outputs;
        } else {
            sum.iter_mut().zip(outputs).for_each(|(sum, y)| *sum += y);
        }
    }
    sum.iter_mut().for_each(|sum| *sum /= count);
    sum
}

/// `e^{y_i} / sum_j e^{y_j}`.
pub fn softmax(outputs: &[f64]) -> Vec<f64> {
    let most = outputs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let powers: Vec<f64> = outputs.iter().map(|&y| (y - most).exp()).collect();
    let sum: f64 = powers.iter().sum();
    powers.into_iter().map(|p| p / sum).collect()
}
