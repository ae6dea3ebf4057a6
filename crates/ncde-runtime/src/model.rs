//! A saved model, ready to predict.
//!
//! ```text
//! observation -> knot -> layer after layer -> outputs -> prediction
//! ```
//!
//! A [`Model`] never changes and is shared between threads; a [`Series`] is what changes, one for each time series. [`Session`](crate::Session) is both together.

use std::cell::Cell;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use serde::{Deserialize, Serialize};

use crate::layer::{Ended, Row, Size, StateMemory, StepChain};
use crate::prediction::Prediction;
use crate::prepare::Track;
use crate::spec::ModelSpec;
use crate::weights::{NamedWeight, WEIGHTS, Weights};
use crate::{Beyond, Error};

/// The name of the description in the directory of a model.
pub const SPEC: &str = "model.json";

/// A model with its weights. Clones are cheap and share them; every method takes `&self`, so that one model serves many threads and any number of series.
#[derive(Debug, Clone)]
pub struct Model {
    parts: Arc<Parts>,
}

/// What clones share.
#[derive(Debug)]
struct Parts {
    spec: ModelSpec,
    weights: Vec<NamedWeight>,
    /// How many numbers layers remember of a series.
    memory: Size,
    /// How many numbers the smoothing of forecasts remembers.
    smoothed: usize,
    /// How many numbers come out of the last layer.
    outputs: usize,
    /// Layers with working memory, for as many threads as have computed at once. Each thread has a slot of its own, so that locks are free.
    workers: Box<[Mutex<Option<Worker>>]>,
}

/// More threads than this at once share slots, and wait for each other.
const SLOTS: usize = 128;

/// The layers with their working memory, for one thread at a time.
#[derive(Debug)]
struct Worker {
    chain: StepChain,
    /// The state after an observation. A series takes it over only if all of the observation could be taken.
    state: StateMemory,
    /// A copy of a state, used up by closing its open window for a prediction.
    closed: StateMemory,
    /// Where the series stands after the observation.
    track: Track,
}

/// All that is remembered of one series, constant in size. It can be written to a file and read again in another process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Series {
    track: Track,
    statics: Vec<f64>,
    /// What the layers remember.
    memory: StateMemory,
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

impl Model {
    /// Reads the directory of a model. Nothing in it is executed.
    ///
    /// # Errors
    /// If a file is missing, damaged, of another version, or does not belong to the others, or the model asks for more memory or work than is allowed.
    pub fn load(directory: impl AsRef<Path>) -> Result<Self, Error> {
        let directory = directory.as_ref();
        let spec = ModelSpec::read(directory.join(SPEC))?;
        let weights = Weights::read(directory.join(WEIGHTS), &spec.weights)?;
        Self::new(spec, weights)
    }

    /// From the contents of the two files of a model, `model.json` and `model.safetensors`: for models inside a program, a database or an archive.
    ///
    /// ```
    /// # use ncde_runtime::{Model, ModelSpec};
    /// # let spec = include_bytes!("../tests/fixtures/slice/model.json");
    /// # let weights = include_bytes!("../tests/fixtures/slice/model.safetensors");
    /// let model = Model::from_bytes(spec, weights)?;
    /// let (again, same) = model.to_bytes()?;
    /// assert_eq!(Model::from_bytes(&again, &same)?.weights(), model.weights());
    /// # Ok::<(), ncde_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`load`](Self::load).
    pub fn from_bytes(spec: &[u8], weights: &[u8]) -> Result<Self, Error> {
        let spec = ModelSpec::from_bytes(spec)?;
        let weights = Weights::from_bytes(weights, &spec.weights)?;
        Self::new(spec, weights)
    }

    /// The contents of `model.json` and of `model.safetensors`, in this order.
    ///
    /// # Errors
    /// If they cannot be written as such.
    pub fn to_bytes(&self) -> Result<(Vec<u8>, Vec<u8>), Error> {
        let (weights, file) = crate::to_bytes(self.weights())?;
        let spec = ModelSpec { weights: file, ..self.spec().clone() };
        let mut text = serde_json::to_vec_pretty(&spec)
            .map_err(|e| Error::Corrupt { path: SPEC.into(), problem: format!("cannot be written: {e}") })?;
        text.push(b'\n');
        Ok((text, weights))
    }

    /// Writes the two files of a model into a directory, each whole or not at all.
    ///
    /// # Errors
    /// If one cannot be written.
    pub fn save(&self, directory: impl AsRef<Path>) -> Result<(), Error> {
        let directory = directory.as_ref();
        let (spec, weights) = self.to_bytes()?;
        std::fs::create_dir_all(directory).map_err(|e| Error::File { path: directory.into(), problem: e.to_string() })?;
        for (name, bytes) in [(WEIGHTS, weights), (SPEC, spec)] {
            let path = directory.join(name);
            ncde_files::write_whole(&path, &bytes).map_err(|e| Error::File { path, problem: e.to_string() })?;
        }
        Ok(())
    }

    /// From its parts.
    ///
    /// # Errors
    /// If they do not fit together.
    pub fn new(spec: ModelSpec, mut weights: Weights) -> Result<Self, Error> {
        let all = weights.all();
        let chain = spec.chain(&mut weights)?;
        weights.finish()?;
        let parts = Parts {
            weights: all,
            memory: chain.memory(),
            smoothed: spec.track().smoothed.len(),
            outputs: spec.members() * spec.task.outputs(spec.channels.len()),
            workers: (0..SLOTS).map(|_| Mutex::new(None)).collect(),
            spec,
        };
        let first = parts.worker(chain);
        *lock(&parts.workers[slot()]) = Some(first);
        Ok(Self { parts: Arc::new(parts) })
    }

    /// The weights by name, with their values.
    pub fn weights(&self) -> &[NamedWeight] {
        &self.parts.weights
    }

    /// A model whose weights are drawn from a seed and not trained.
    ///
    /// # Errors
    /// If the layers do not fit together.
    pub fn drawn(spec: ModelSpec, seed: u64) -> Result<Self, Error> {
        let weights = Weights::of(spec.resolved()?.drawn(seed));
        Self::new(spec, weights)
    }

    /// What the model is.
    pub fn spec(&self) -> &ModelSpec {
        &self.parts.spec
    }

    /// A new series with these static covariates; a NaN is a missing one.
    ///
    /// # Errors
    /// If there are more or fewer than the model has.
    pub fn start(&self, statics: &[f64]) -> Result<Series, Error> {
        Ok(Series {
            track: self.spec().track(),
            statics: self.spec().preparation.statics(statics)?,
            memory: StateMemory::new(self.parts.memory),
            open: None,
            outputs: Vec::new(),
        })
    }

    /// A new series with the static covariates of another one.
    pub fn begin_again(&self, series: &Series) -> Series {
        Series {
            track: self.spec().track(),
            statics: series.statics.clone(),
            memory: StateMemory::new(self.parts.memory),
            open: None,
            outputs: Vec::new(),
        }
    }

    /// Takes the next observation of a series; a NaN is a missing value.
    ///
    /// # Errors
    /// If it cannot be taken, a state overflows, or the series is one of another model: the series is then as it was.
    pub fn push(&self, series: &mut Series, time: f64, values: &[f64]) -> Result<(), Error> {
        self.check_sizes(series)?;
        self.parts.compute(|worker| worker.take(self.spec(), series, time, values))
    }

    /// Takes the next observation, and returns what [`predict`](Self::predict) would after it.
    ///
    /// # Errors
    /// As for [`push`](Self::push), and if there is no finite prediction: the series is then as it was.
    pub fn step(&self, series: &mut Series, time: f64, values: &[f64]) -> Result<Prediction, Error> {
        self.step_knowing(series, time, values, &[])
    }

    /// The same, told what is known of later times as [`know_ahead`](Self::know_ahead) is.
    ///
    /// # Errors
    /// As for both: the series is then as it was.
    pub fn step_knowing(&self, series: &mut Series, time: f64, values: &[f64], ahead: &[f64]) -> Result<Prediction, Error> {
        self.check_sizes(series)?;
        let ahead = if ahead.is_empty() { ahead } else { self.checked_ahead(series, ahead)? };
        self.parts.compute(|worker| {
            let ended = worker.advance(self.spec(), series, time, values)?;
            if let Ended::At(layer) = ended {
                worker.closed.copy_from(&worker.state);
                let row = Row { time: self.spec().preparation.clock(&worker.track), values: &[], statics: &series.statics };
                worker.close(layer, row)?;
            }
            worker.track.ahead.extend_from_slice(ahead);
            let prediction = self.spec().prediction(worker.chain.last(), &worker.track);
            worker.hand_over(series, ended);
            Ok(prediction)
        })
    }

    /// Takes the next observations of a series, `[times, channels]`, as [`push`](Self::push) would one after the other, but faster where the model allows it.
    ///
    /// # Errors
    /// If there are not as many values as times and channels ask for, one observation cannot be taken, or a state overflows: the series is then as it was.
    pub fn push_all(&self, series: &mut Series, times: &[f64], values: &[f64]) -> Result<(), Error> {
        self.check_sizes(series)?;
        let preparation = &self.spec().preparation;
        let channels = preparation.channels.len();
        if Some(values.len()) != times.len().checked_mul(channels) {
            return Err(Error::ValueCount { seen: values.len(), times: times.len(), channels });
        }
        let row = |i: usize| &values[i * channels..(i + 1) * channels];
        let Some((&time, before)) = times.split_last() else { return Ok(()) };
        let mut after = series.clone();
        self.parts.compute(|worker| {
            if worker.chain.may_pass() {
                let (mut knots, mut clocks) = (Vec::new(), Vec::new());
                for (i, &time) in before.iter().enumerate() {
                    self.spec().follow(&mut after.track, time, row(i))?;
                    knots.extend_from_slice(&after.track.knot);
                    clocks.push(preparation.clock(&after.track));
                }
                let rows = knots.chunks_exact(preparation.width().max(1)).zip(&clocks);
                let rows: Vec<Row<'_>> = rows.map(|(values, &time)| Row { time, values, statics: &after.statics }).collect();
                worker.chain.pass(after.memory.share(), &rows)?;
            } else {
                before.iter().enumerate().try_for_each(|(i, &time)| worker.take(self.spec(), &mut after, time, row(i)))?;
            }
            worker.take(self.spec(), &mut after, time, row(before.len()))
        })?;
        *series = after;
        Ok(())
    }

    /// The prediction for the series as it is now, as if it ended here.
    ///
    /// # Errors
    /// If there was no observation yet, a state overflows, or the series is one of another model.
    pub fn predict(&self, series: &Series) -> Result<Prediction, Error> {
        self.check_sizes(series)?;
        if series.track.observations == 0 {
            return Err(Error::NoObservation);
        }
        let Some(layer) = series.open else { return Ok(self.spec().prediction(&series.outputs, &series.track)) };
        self.parts.compute(|worker| {
            worker.closed.copy_from(&series.memory);
            let row = Row { time: self.spec().preparation.clock(&series.track), values: &[], statics: &series.statics };
            worker.close(layer, row)?;
            Ok(self.spec().prediction(worker.chain.last(), &series.track))
        })
    }

    /// Tells what is known of later times, `[steps ahead, known channels]`, for predictions until the next observation; a NaN is not known.
    ///
    /// # Errors
    /// If the model has no known channels, there are not whole rows of them, or one is infinite.
    pub fn know_ahead(&self, series: &mut Series, values: &[f64]) -> Result<(), Error> {
        series.track.ahead = self.checked_ahead(series, values)?.to_vec();
        Ok(())
    }

    /// What counts of values that are known ahead.
    fn checked_ahead<'v>(&self, series: &Series, values: &'v [f64]) -> Result<&'v [f64], Error> {
        let forecast = self.spec().task.forecast();
        let channels = forecast.and_then(|forecast| forecast.known.as_ref()).map_or(0, |known| known.channels.len());
        let index = series.track.observations;
        let refuse = |problem| Err(Error::Observation { index, problem });
        if channels == 0 || !values.len().is_multiple_of(channels) {
            return refuse(format!("{} values that are known ahead, but the model takes rows of {channels}", values.len()));
        }
        if let Some(place) = values.iter().position(|x| x.is_infinite()) {
            return refuse(format!("value {place} that is known ahead is {}", values[place]));
        }
        let most = forecast.map_or(0, |forecast| forecast.horizon).saturating_mul(channels);
        Ok(&values[..values.len().min(most)])
    }

    /// Where the last observation of a series, with these values, lies beyond what was seen in training.
    pub fn beyond(&self, series: &Series, values: &[f64]) -> Beyond {
        let duration = series.track.time - series.track.start;
        let trained = self.spec().trained.as_ref();
        trained.map_or_else(Beyond::default, |extent| extent.beyond(series.track.observations, duration, values))
    }

    /// Whether a series that was saved can be one of this model: sizes, which every method looks at, and that all its numbers are finite.
    ///
    /// # Errors
    /// If it cannot.
    pub fn check(&self, series: &Series) -> Result<(), Error> {
        self.check_sizes(series)?;
        if !series.track.is_finite() || series.outputs.iter().any(|y| !y.is_finite()) || series.memory.overflow().is_some() {
            return Err(Error::State("a number that is not finite".into()));
        }
        Ok(())
    }

    /// Whether nothing of a series lies outside of what layers look at.
    fn check_sizes(&self, series: &Series) -> Result<(), Error> {
        let Parts { spec, memory, outputs, .. } = &*self.parts;
        let came_out = series.track.observations > 0 && series.open.is_none();
        let sizes = [
            ("channels", series.track.knot.len(), spec.preparation.width()),
            ("static covariates", series.statics.len(), spec.statics.len()),
            ("numbers of smoothing", series.track.smoothed.len(), self.parts.smoothed),
            ("numbers remembered", series.memory.wide.len(), memory.wide),
            ("numbers remembered in single precision", series.memory.narrow.len(), memory.narrow),
            ("outputs", if came_out { series.outputs.len() } else { *outputs }, *outputs),
        ];
        if let Some((what, seen, wanted)) = sizes.into_iter().find(|(_, seen, wanted)| seen != wanted) {
            return Err(Error::State(format!("{seen} {what}, but the model has {wanted}")));
        }
        if series.open.is_some_and(|layer| layer >= spec.layers.len()) {
            return Err(Error::State("an open window of a layer that the model does not have".into()));
        }
        if series.track.observations as u64 > MAX_OBSERVATIONS {
            return Err(Error::State(format!(
                "{} observations; at most {MAX_OBSERVATIONS} are possible",
                series.track.observations
            )));
        }
        Ok(())
    }
}

/// All counts up to it are exact as numbers, too.
const MAX_OBSERVATIONS: u64 = 1 << 53;

/// The slot of this thread. Threads are counted as they come.
fn slot() -> usize {
    static THREADS: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static SLOT: Cell<usize> = Cell::new(THREADS.fetch_add(1, Ordering::Relaxed) % SLOTS);
    }
    SLOT.get()
}

/// Locks a slot. A worker that was left in the middle of something by a panic is dropped.
fn lock(slot: &Mutex<Option<Worker>>) -> MutexGuard<'_, Option<Worker>> {
    slot.lock().unwrap_or_else(|poisoned| {
        slot.clear_poison();
        let mut left = poisoned.into_inner();
        *left = None;
        left
    })
}

impl Parts {
    /// Computes something with the worker of this thread: that of its slot, one that is idle elsewhere, or a new one.
    fn compute<T>(&self, run: impl FnOnce(&mut Worker) -> Result<T, Error>) -> Result<T, Error> {
        let mut slot = lock(&self.workers[slot()]);
        let worker = match &mut *slot {
            Some(worker) => worker,
            empty => {
                let idle = self.workers.iter().find_map(|other| other.try_lock().ok()?.take());
                empty.insert(idle.map_or_else(|| self.new_worker(), Ok)?)
            }
        };
        run(worker)
    }

    fn new_worker(&self) -> Result<Worker, Error> {
        Ok(self.worker(self.spec.chain(&mut Weights::of(self.weights.clone()))?))
    }

    fn worker(&self, chain: StepChain) -> Worker {
        let (state, closed) = (StateMemory::new(self.memory), StateMemory::new(self.memory));
        Worker { chain, state, closed, track: self.spec.track() }
    }
}

impl Worker {
    /// Takes an observation into a series.
    fn take(&mut self, spec: &ModelSpec, series: &mut Series, time: f64, values: &[f64]) -> Result<(), Error> {
        let ended = self.advance(spec, series, time, values)?;
        self.hand_over(series, ended);
        Ok(())
    }

    /// Where a series would stand after an observation: `track` and `state`.
    fn advance(&mut self, spec: &ModelSpec, series: &Series, time: f64, values: &[f64]) -> Result<Ended, Error> {
        self.track.copy_from(&series.track);
        spec.follow(&mut self.track, time, values)?;
        self.state.copy_from(&series.memory);
        let row = Row { time: spec.preparation.clock(&self.track), values: &self.track.knot, statics: &series.statics };
        let ended = self.chain.push(0, self.state.share(), row)?;
        finite(self.chain.last())?;
        if let Some((place, value)) = self.state.overflow() {
            return Err(Error::Overflow { place, value });
        }
        Ok(ended)
    }

    /// Makes a series what [`advance`](Self::advance) found.
    fn hand_over(&mut self, series: &mut Series, ended: Ended) {
        std::mem::swap(&mut self.state, &mut series.memory);
        std::mem::swap(&mut self.track, &mut series.track);
        match ended {
            Ended::Out => {
                series.open = None;
                series.outputs.clear();
                series.outputs.extend_from_slice(self.chain.last());
            }
            Ended::At(layer) => series.open = Some(layer),
        }
    }

    /// What comes out if the open window of a layer ends here: the state in `closed` is used up.
    fn close(&mut self, layer: usize, row: Row<'_>) -> Result<(), Error> {
        self.chain.open(layer, self.closed.share(), row)?;
        finite(self.chain.last())
    }
}

/// Refuses numbers that are not finite.
fn finite(values: &[f64]) -> Result<(), Error> {
    match values.iter().position(|x| !x.is_finite()) {
        Some(i) => Err(Error::Overflow { place: i, value: values[i] }),
        None => Ok(()),
    }
}
