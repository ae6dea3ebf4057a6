//! A saved model, ready to predict.
//!
//! ```text
//! observation -> knot -> state -> outputs -> prediction
//! ```

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::prepare::Track;
use crate::signature_model::{SignatureCore, SignatureState};
use crate::spec::{Architecture, FORMAT, ModelSpec, Task};
use crate::states::{StateCore, WindowState};
use crate::weights::{WEIGHTS, Weights};

/// The name of the description in the directory of a model.
pub const SPEC: &str = "model.json";

/// A model with its weights and its working memory. Series are apart from it: any number of them share one model.
#[derive(Debug)]
pub struct Model {
    spec: ModelSpec,
    core: Core,
}

#[derive(Debug)]
enum Core {
    States(Box<StateCore>),
    Signature(Box<SignatureCore>),
}

/// All that is remembered of one series, constant in size. It can be written to a file and read again in another process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Series {
    track: Track,
    statics: Vec<f64>,
    state: State,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum State {
    States(WindowState),
    Signature(SignatureState),
}

impl Series {
    /// How many observations were taken.
    pub fn observations(&self) -> usize {
        self.track.observations
    }

    /// The time of the last one; none before the first.
    pub fn time(&self) -> Option<f64> {
        (self.track.observations > 0).then_some(self.track.time)
    }
}

/// What a model says of a series.
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
    /// One number for each channel.
    Values(Vec<f64>),
}

impl Model {
    /// Reads the directory of a model. Nothing in it is executed.
    ///
    /// # Errors
    /// If a file is missing, damaged, of a later version, or does not belong to the others.
    pub fn load(directory: &Path) -> Result<Self, Error> {
        let spec = read_spec(&directory.join(SPEC))?;
        let weights = Weights::read(&directory.join(WEIGHTS), &spec.weights)?;
        Self::new(spec, weights)
    }

    /// From its parts.
    ///
    /// # Errors
    /// If they do not fit together.
    pub fn new(spec: ModelSpec, mut weights: Weights) -> Result<Self, Error> {
        let channels = spec.channels.len();
        let counts = [
            ("channels", spec.preparation.channels.len(), channels),
            ("static covariates", spec.preparation.statics.len(), spec.statics.len()),
        ];
        if let Some((what, seen, wanted)) = counts.into_iter().find(|(_, seen, wanted)| seen != wanted) {
            let problem = format!("scalings of {seen} {what}, but there are {wanted}");
            return Err(Error::Corrupt { path: SPEC.into(), problem });
        }
        let sizes = [spec.preparation.width(), spec.statics.len(), spec.task.outputs(channels)];
        let core = match &spec.model {
            Architecture::Slice(slice) => Core::States(Box::new(StateCore::slice(slice, sizes, &mut weights)?)),
            Architecture::Neural(neural) => Core::States(Box::new(StateCore::neural(neural, sizes, &mut weights)?)),
            Architecture::Signature(signature) => Core::Signature(Box::new(SignatureCore::new(signature, sizes, &mut weights)?)),
        };
        weights.finish()?;
        Ok(Self { spec, core })
    }

    /// What the model is.
    pub fn spec(&self) -> &ModelSpec {
        &self.spec
    }

    /// A new series with these static covariates, a NaN where one is missing.
    ///
    /// # Errors
    /// If there are more or fewer than the model has.
    pub fn start(&self, statics: &[f64]) -> Result<Series, Error> {
        let state = match &self.core {
            Core::States(core) => State::States(core.fresh()),
            Core::Signature(core) => State::Signature(core.fresh()),
        };
        Ok(Series { track: self.spec.preparation.start(), statics: self.spec.preparation.statics(statics)?, state })
    }

    /// Takes the next observation of a series; a NaN is a missing value.
    ///
    /// # Errors
    /// If it cannot be taken: the series is then as it was. Also if a state overflows; the series cannot go on then.
    pub fn push(&mut self, series: &mut Series, time: f64, values: &[f64]) -> Result<(), Error> {
        self.spec.preparation.push(&mut series.track, time, values)?;
        match (&mut self.core, &mut series.state) {
            (Core::States(core), State::States(state)) => {
                core.push(state, series.track.time, &series.track.knot, &series.statics)
            }
            (Core::Signature(core), State::Signature(state)) => core.push(state, &series.track.knot, &series.statics),
            _ => Err(Error::State("it is of another kind of model".into())),
        }
    }

    /// What the model says of the series as it is now.
    ///
    /// # Errors
    /// If there was no observation yet, or a state overflows.
    pub fn predict(&mut self, series: &mut Series) -> Result<Prediction, Error> {
        if series.track.observations == 0 {
            return Err(Error::State("there is no observation yet".into()));
        }
        let outputs = match (&mut self.core, &mut series.state) {
            (Core::States(core), State::States(state)) => core.outputs(state),
            (Core::Signature(core), State::Signature(state)) => core.outputs(state),
            _ => Err(Error::State("it is of another kind of model".into())),
        }?;
        Ok(self.spec.prediction(&outputs))
    }

    /// A series that was saved, if it is one of this model.
    ///
    /// # Errors
    /// If it is not.
    pub fn check(&self, series: &Series) -> Result<(), Error> {
        let (seen, wanted) = (series.track.knot.len(), self.spec.preparation.width());
        if seen != wanted {
            return Err(Error::State(format!("{seen} channels, but the model has {wanted}")));
        }
        match (&self.core, &series.state) {
            (Core::States(core), State::States(state)) => core.check(state),
            (Core::Signature(core), State::Signature(state)) => core.check(state),
            _ => Err(Error::State("it is of another kind of model".into())),
        }
    }
}

impl ModelSpec {
    /// From the outputs of a model to what they say.
    pub fn prediction(&self, outputs: &[f32]) -> Prediction {
        match &self.task {
            Task::Classification { .. } => {
                let probabilities = softmax(outputs);
                let class = (0..outputs.len()).fold(0, |best, i| if outputs[i] > outputs[best] { i } else { best });
                Prediction::Class { class, probabilities }
            }
            Task::Regression { scaling, .. } => {
                Prediction::Value(scaling.undo(outputs.first().copied().map_or(f64::NAN, f64::from)))
            }
            Task::Forecast { .. } => Prediction::Values(
                outputs.iter().zip(&self.preparation.channels).map(|(&y, scaling)| scaling.undo(f64::from(y))).collect(),
            ),
        }
    }
}

/// `e^{y_i} / sum_j e^{y_j}`.
pub fn softmax(outputs: &[f32]) -> Vec<f64> {
    let most = outputs.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let powers: Vec<f64> = outputs.iter().map(|&y| f64::from(y - most).exp()).collect();
    let sum: f64 = powers.iter().sum();
    powers.into_iter().map(|p| p / sum).collect()
}

/// Reads `model.json`. The format is looked at first: a later one may hold anything else.
fn read_spec(path: &Path) -> Result<ModelSpec, Error> {
    #[derive(Deserialize)]
    struct Head {
        format: u32,
        #[serde(default)]
        ncde: String,
    }
    let text = std::fs::read_to_string(path).map_err(|e| Error::File { path: path.into(), problem: e.to_string() })?;
    let corrupt =
        |e: serde_json::Error| Error::Corrupt { path: path.into(), problem: format!("not the description of a model: {e}") };
    let head: Head = serde_json::from_str(&text).map_err(corrupt)?;
    if head.format > FORMAT {
        return Err(Error::Newer { path: path.into(), seen: head.format, known: FORMAT, writer: head.ncde });
    }
    serde_json::from_str(&text).map_err(corrupt)
}
