//! A saved model, ready to predict.
//!
//! ```text
//! observation -> knot -> layer after layer -> outputs -> prediction
//! ```

use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::layer::{Ended, Kept, Row, StepChain};
use crate::prepare::Track;
use crate::random::Stream;
use crate::spec::{FORMAT, ModelSpec, Task};
use crate::weights::{NamedWeight, WEIGHTS, Weights};
use crate::{Beyond, Error};

/// The name of the description in the directory of a model.
pub const SPEC: &str = "model.json";

/// A model with its weights and its working memory. Series are apart from it: any number of them share one model.
#[derive(Debug)]
pub struct Model {
    spec: ModelSpec,
    weights: Arc<[NamedWeight]>,
    chain: StepChain,
    /// What a push works on: a series changes only if it succeeds.
    scratch: Kept,
    /// What a look at an open window works on.
    ahead: Kept,
}

/// All that is remembered of one series, constant in size. It can be written to a file and read again in another process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Series {
    track: Track,
    statics: Vec<f64>,
    /// What the layers remember.
    memory: Kept,
    /// The layer with an open window; none if the last observation came through to the end.
    open: Option<usize>,
    /// What came out last.
    outputs: Vec<f64>,
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
    /// Forecasts, `[horizons, channels]`.
    Values(Vec<f64>),
}

impl Model {
    /// Reads the directory of a model. Nothing in it is executed.
    ///
    /// # Errors
    /// If a file is missing, damaged, of another version, or does not belong to the others.
    pub fn load(directory: &Path) -> Result<Self, Error> {
        let spec = read_spec(&directory.join(SPEC))?;
        let weights = Weights::read(&directory.join(WEIGHTS), &spec.weights)?;
        Self::new(spec, weights)
    }

    /// From its parts.
    ///
    /// # Errors
    /// If they do not fit together.
    pub fn new(spec: ModelSpec, weights: Weights) -> Result<Self, Error> {
        let all = weights.all().into();
        Self::with(spec, weights, all)
    }

    fn with(spec: ModelSpec, mut weights: Weights, all: Arc<[NamedWeight]>) -> Result<Self, Error> {
        let chain = spec.chain(&mut weights)?;
        weights.finish()?;
        Ok(Self { scratch: Kept::new(chain.memory()), ahead: Kept::new(chain.memory()), weights: all, spec, chain })
    }

    /// The same model with working memory of its own, for another thread.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn twin(&self) -> Result<Self, Error> {
        Self::with(self.spec.clone(), Weights::of(self.weights.to_vec()), self.weights.clone())
    }

    /// The weights by name, with their values.
    pub fn weights(&self) -> &[NamedWeight] {
        &self.weights
    }

    /// A model whose weights are drawn from a seed and not trained.
    ///
    /// # Errors
    /// If the layers do not fit together.
    pub fn drawn(spec: ModelSpec, seed: u64) -> Result<Self, Error> {
        let stream = Stream::new(seed, 2);
        let all = spec.all_weights()?.into_iter().enumerate();
        let drawn = all.map(|(i, weight)| {
            let values = weight.draw(&stream.child(i as u64));
            NamedWeight { name: weight.name, shape: weight.shape, values }
        });
        let weights = Weights::of(drawn.collect());
        Self::new(spec, weights)
    }

    /// What the model is.
    pub fn spec(&self) -> &ModelSpec {
        &self.spec
    }

    /// A new series with these static covariates; a NaN is a missing one.
    ///
    /// # Errors
    /// If there are more or fewer than the model has.
    pub fn start(&self, statics: &[f64]) -> Result<Series, Error> {
        Ok(Series {
            track: self.spec.preparation.start(),
            statics: self.spec.preparation.statics(statics)?,
            memory: Kept::new(self.chain.memory()),
            open: None,
            outputs: Vec::new(),
        })
    }

    /// Takes the next observation of a series; a NaN is a missing value.
    ///
    /// # Errors
    /// If it cannot be taken, or a state overflows: the series is then as it was.
    pub fn push(&mut self, series: &mut Series, time: f64, values: &[f64]) -> Result<(), Error> {
        let (track, ended) = self.advance(series, time, values)?;
        self.keep(series, track, ended);
        Ok(())
    }

    /// Takes the next observation, and says what [`predict`](Self::predict) would after it.
    ///
    /// # Errors
    /// If the observation cannot be taken, or there is no finite prediction after it: the series is then as it was.
    pub fn step(&mut self, series: &mut Series, time: f64, values: &[f64]) -> Result<Prediction, Error> {
        let (track, ended) = self.advance(series, time, values)?;
        let prediction = match ended {
            Ended::Out => self.spec.prediction(self.chain.last(), &track),
            Ended::At(layer) => {
                self.ahead.copy_from(&self.scratch);
                self.look(layer, &track, &series.statics)?
            }
        };
        self.keep(series, track, ended);
        Ok(prediction)
    }

    /// Where a series would stand after an observation; what it would remember is in `scratch`.
    fn advance(&mut self, series: &Series, time: f64, values: &[f64]) -> Result<(Track, Ended), Error> {
        let track = self.spec.preparation.pushed(&series.track, time, values)?;
        self.scratch.copy_from(&series.memory);
        let row = Row { time: self.spec.preparation.clock(&track), values: &track.knot, statics: &series.statics };
        let ended = self.chain.push(0, self.scratch.share(), row)?;
        finite(self.chain.last())?;
        if let Some((place, value)) = self.scratch.overflow() {
            return Err(Error::Overflow { place, value });
        }
        Ok((track, ended))
    }

    /// Makes a series what [`advance`](Self::advance) found.
    fn keep(&mut self, series: &mut Series, track: Track, ended: Ended) {
        std::mem::swap(&mut self.scratch, &mut series.memory);
        series.track = track;
        match ended {
            Ended::Out => {
                series.open = None;
                series.outputs.clear();
                series.outputs.extend_from_slice(self.chain.last());
            }
            Ended::At(layer) => series.open = Some(layer),
        }
    }

    /// The prediction if the open window of a layer ended here; what is remembered is in `ahead`, and used up.
    fn look(&mut self, layer: usize, track: &Track, statics: &[f64]) -> Result<Prediction, Error> {
        let row = Row { time: self.spec.preparation.clock(track), values: &[], statics };
        self.chain.open(layer, self.ahead.share(), row)?;
        finite(self.chain.last())?;
        Ok(self.spec.prediction(self.chain.last(), track))
    }

    /// Takes the next observations of a series, `[times, channels]`, as [`push`](Self::push) would one after the other, but faster where the model allows it.
    ///
    /// # Errors
    /// If one cannot be taken, or a state overflows: the series is then as it was.
    pub fn push_all(&mut self, series: &mut Series, times: &[f64], values: &[f64]) -> Result<(), Error> {
        let channels = self.spec.preparation.channels.len();
        let row = |i: usize| values.get(i * channels..(i + 1) * channels).unwrap_or_default();
        let Some((&time, before)) = times.split_last() else { return Ok(()) };
        let mut own = series.clone();
        if self.chain.may_pass() {
            let (mut knots, mut clocks) = (Vec::new(), Vec::new());
            for (i, &time) in before.iter().enumerate() {
                self.spec.preparation.push(&mut own.track, time, row(i))?;
                knots.extend_from_slice(&own.track.knot);
                clocks.push(self.spec.preparation.clock(&own.track));
            }
            let rows = knots.chunks_exact(self.spec.preparation.width().max(1)).zip(&clocks);
            let rows: Vec<Row<'_>> = rows.map(|(values, &time)| Row { time, values, statics: &own.statics }).collect();
            self.chain.pass(own.memory.share(), &rows)?;
        } else {
            before.iter().enumerate().try_for_each(|(i, &time)| self.push(&mut own, time, row(i)))?;
        }
        self.push(&mut own, time, row(before.len()))?;
        *series = own;
        Ok(())
    }

    /// What the model says of the series as it is now: what it would say if the series ended here.
    ///
    /// # Errors
    /// If there was no observation yet, or a state overflows.
    pub fn predict(&mut self, series: &Series) -> Result<Prediction, Error> {
        if series.track.observations == 0 {
            return Err(Error::State("there is no observation yet".into()));
        }
        let Some(layer) = series.open else { return Ok(self.spec.prediction(&series.outputs, &series.track)) };
        self.ahead.copy_from(&series.memory);
        self.look(layer, &series.track, &series.statics)
    }

    /// Where the last observation of a series, with these values, lies beyond what was seen in training.
    pub fn beyond(&self, series: &Series, values: &[f64]) -> Beyond {
        let duration = series.track.time - series.track.start;
        let trained = self.spec.trained.as_ref();
        trained.map_or_else(Beyond::default, |extent| extent.beyond(series.track.observations, duration, values))
    }

    /// A series that was saved, if it is one of this model.
    ///
    /// # Errors
    /// If it is not.
    pub fn check(&self, series: &Series) -> Result<(), Error> {
        let outputs = self.spec.members() * self.spec.task.outputs(self.spec.channels.len());
        let came_out = series.track.observations > 0 && series.open.is_none();
        let sizes = [
            ("channels", series.track.knot.len(), self.spec.preparation.width()),
            ("static covariates", series.statics.len(), self.spec.statics.len()),
            ("numbers remembered", series.memory.wide.len(), self.chain.memory().wide),
            ("numbers remembered in single precision", series.memory.narrow.len(), self.chain.memory().narrow),
            ("outputs", if came_out { series.outputs.len() } else { outputs }, outputs),
        ];
        match sizes.into_iter().find(|(_, seen, wanted)| seen != wanted) {
            Some((what, seen, wanted)) => Err(Error::State(format!("{seen} {what}, but the model has {wanted}"))),
            None if series.open.is_some_and(|layer| layer >= self.spec.layers.len()) => {
                Err(Error::State("an open window of a layer that the model does not have".into()))
            }
            None if series.track.observations > MAX_OBSERVATIONS || !series.track.is_finite() => {
                Err(Error::State("observations that nobody can have made".into()))
            }
            None if !(series.memory.wide.iter().all(|x| x.is_finite()) && series.memory.narrow.iter().all(|x| x.is_finite())) => {
                Err(Error::State("a number that is not finite".into()))
            }
            None => Ok(()),
        }
    }
}

/// Counted one by one, nobody gets further: all counts below it are exact as numbers, too.
const MAX_OBSERVATIONS: usize = 1 << 53;

/// Refuses numbers that are not finite.
fn finite(values: &[f64]) -> Result<(), Error> {
    match values.iter().position(|x| !x.is_finite()) {
        Some(i) => Err(Error::Overflow { place: i, value: values[i] }),
        None => Ok(()),
    }
}

impl ModelSpec {
    /// From the outputs of the last layer to what they say of a series that stands there.
    pub fn prediction(&self, outputs: &[f64], track: &Track) -> Prediction {
        let each = outputs.chunks_exact((outputs.len() / self.members()).max(1));
        match &self.task {
            Task::Classification { .. } => {
                let probabilities = mean_of_members(each.map(softmax));
                // Of one member the outputs decide: probabilities may round to the same.
                let scores = if self.members() == 1 { outputs } else { &probabilities };
                let class = (0..scores.len()).fold(0, |best, i| if scores[i] > scores[best] { i } else { best });
                Prediction::Class { class, probabilities }
            }
            Task::Regression { scaling, .. } => {
                let value = mean_of_members(each.map(<[f64]>::to_vec)).first().copied().unwrap_or(f64::NAN);
                Prediction::Value(scaling.undo(value))
            }
            Task::Forecast(forecast) => {
                Prediction::Values(forecast.values(&mean_of_members(each.map(<[f64]>::to_vec)), &self.preparation, track))
            }
        }
    }
}

/// The mean of what members of a model say; that of one is what it says, to the last bit.
pub fn mean_of_members(each: impl Iterator<Item = Vec<f64>>) -> Vec<f64> {
    let (mut count, mut sum) = (0.0, Vec::new());
    for own in each {
        count += 1.0;
        if sum.is_empty() {
            sum = own;
        } else {
            sum.iter_mut().zip(own).for_each(|(sum, y)| *sum += y);
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

/// Reads `model.json`. The format is looked at first: another one may hold anything else.
fn read_spec(path: &Path) -> Result<ModelSpec, Error> {
    #[derive(Deserialize)]
    struct Head {
        format: u32,
        #[serde(default)]
        ncde: String,
    }
    let failed = |problem: String| Error::File { path: path.into(), problem };
    let bytes = ncde_files::read_plain(path).map_err(|e| failed(e.to_string()))?;
    let text = String::from_utf8(bytes).map_err(|_| failed("it is no text".into()))?;
    let corrupt =
        |e: serde_json::Error| Error::Corrupt { path: path.into(), problem: format!("not the description of a model: {e}") };
    // Serde takes a list for an object, value by value; a description has objects by name alone.
    let no_object = |place: &str| {
        let problem = format!("not the description of a model: {place} is a list or a value, but an object is wanted");
        Error::Corrupt { path: path.into(), problem }
    };
    let value: serde_json::Value = serde_json::from_str(&text).map_err(corrupt)?;
    if !value.is_object() {
        return Err(no_object("it"));
    }
    let head = Head::deserialize(&value).map_err(corrupt)?;
    if head.format != FORMAT {
        return Err(Error::Format { path: path.into(), seen: head.format, known: FORMAT, writer: head.ncde });
    }
    let spec: ModelSpec = serde_json::from_str(&text).map_err(corrupt)?;
    match serde_json::to_value(&spec).ok().and_then(|again| list_for_object(&value, &again)) {
        None => Ok(spec),
        Some(place) => Err(no_object(&format!("`{}`", place.trim_end_matches('/')))),
    }
}

/// Where a list stands in `read` that is an object in `wanted`.
fn list_for_object(read: &serde_json::Value, wanted: &serde_json::Value) -> Option<String> {
    use serde_json::Value::{Array, Object};
    let below = |key: String, read, wanted| list_for_object(read, wanted).map(|rest| format!("{key}/{rest}"));
    match (read, wanted) {
        (Array(_), Object(_)) => Some(String::new()),
        (Array(read), Array(wanted)) => read.iter().zip(wanted).enumerate().find_map(|(i, (r, w))| below(i.to_string(), r, w)),
        (Object(read), Object(wanted)) => read.iter().find_map(|(key, r)| below(key.clone(), r, wanted.get(key)?)),
        _ => None,
    }
}
