//! One run: data in, steps, the directory of a model out.
//!
//! ```text
//! theta <- theta - 0.3^k rate_t Adam(grad (loss(batch_t) + penalty)),   every `evaluate_every` steps: metric on the validation part, the best is kept
//! ```
//!
//! A step that diverges, for the `k`-th time, goes back to weights and means of 50 to 100 steps before and is taken again at
//! 0.3 of the rate. After the fifth time the run ends there. What it goes back to is decided by steps alone, so that a run that was killed does the same.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use burn_autodiff::Autodiff;
use burn_tensor::ElementConversion;
use ncde_data::Dataset;
use ncde_report::metrics::higher_is_better;
use ncde_report::record::{Best, Point, Recovery};
use ncde_report::{Metrics, RunRecord};
use ncde_runtime::{ModelSpec, NamedWeight};

use super::Error;
use super::batches::Batches;
use super::by_time::{Cut, Long};
use super::checkpoint::{self, Progress};
use super::directory::{self, CONFIG, RECORD};
use super::event::{Device, Event, OnDevice, Outcome, on_device};
use super::features::{Features, Resident};
use super::goal::{Goal, Predicted};
use super::resume::steps_of;
use super::settings::Settings;
use super::split::Parts;
use super::state::{KEPT_EVERY, State};
use super::store::{save_model, write_whole};
use super::warning::Warning;
use ncde_layers::layer::{Begun, InFlight, LayerBackend, Phase, Stepped, Update, Visit};
use ncde_runtime::random::Stream;

/// A checkpoint is written at least this often, in seconds, also between two evaluations of the validation part.
const CHECKPOINT_SECONDS: f64 = 30.0;
/// What the learning rate is multiplied with after a step that diverges.
const LOWER: f64 = 0.3;
/// How often that may happen.
const MAX_RECOVERIES: usize = 5;

/// A run that is ready to go.
#[derive(Debug)]
pub struct Run {
    pub(super) settings: Settings,
    pub(super) data: Dataset,
    pub(super) parts: Parts,
    /// The series as they are, if they are split by time; `data` and `parts` are then pieces of them.
    pub(super) long: Option<Long>,
    pub(super) spec: ModelSpec,
    pub(super) features: Features,
    pub(super) goal: Goal,
    pub(super) removed: usize,
    /// Of the data, with the parts that it is cut into.
    pub(super) fingerprint: String,
    pub(super) warnings: Vec<Warning>,
    /// Set by whoever wants it to stop.
    pub(super) stop: Option<Arc<AtomicBool>>,
    pub(super) device: Device,
}

impl Run {
    /// The run on another device.
    #[must_use]
    pub fn with_device(self, device: Device) -> Self {
        Self { device, ..self }
    }

    /// The run of a model that remembers how the columns of its file are read.
    #[must_use]
    pub fn with_schema(mut self, schema: Option<serde_json::Value>) -> Self {
        self.spec.schema = schema;
        self
    }

    /// The model without its weights.
    pub fn spec(&self) -> &ModelSpec {
        &self.spec
    }

    /// What is done, every default decided.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Which case is for what. Of series that are split by time these are pieces, and nothing to test on is among them.
    pub fn parts(&self) -> &Parts {
        &self.parts
    }

    /// Of series that are split by time, which observations of each are for what.
    pub fn cuts(&self) -> Option<&[Cut]> {
        self.long.as_ref().map(|long| &long.cuts[..])
    }

    /// How many series are trained, validated and tested on.
    pub fn series(&self) -> [usize; 3] {
        let Parts { train, validation, test } = &self.parts;
        self.long.as_ref().map_or([train.len(), validation.len(), test.len()], Long::series)
    }

    /// How many observations that are, if series are split by time.
    pub fn observations(&self) -> Option<[usize; 3]> {
        self.long.as_ref().map(Long::observations)
    }

    /// What looks wrong with the data, though it can be trained on.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// The same run, which stops after the step in which `flag` is set: a checkpoint is written, and training ends with [`Error::Interrupted`].
    #[must_use]
    pub fn stopped_by(self, flag: Arc<AtomicBool>) -> Self {
        Self { stop: Some(flag), ..self }
    }

    /// Trains, and writes everything to a directory. With `resume`, goes on where a run stood that was killed, or that is finished but had fewer steps.
    /// `command` and `started` are for the record.
    ///
    /// # Errors
    /// If the directory is another run's, a run is resumed with other data or settings, a step fails, or a file cannot be written.
    pub fn train(
        &self,
        directory: &Path,
        resume: bool,
        texts: [&str; 2],
        on: &mut dyn FnMut(Event<'_>),
    ) -> Result<Outcome, Error> {
        on_device(self.device, Training { run: self, directory, resume, texts, on })?
    }

    fn train_on<B: LayerBackend>(
        &self,
        directory: &Path,
        resume: bool,
        [command, started]: [&str; 2],
        on: &mut dyn FnMut(Event<'_>),
    ) -> Result<Outcome, Error> {
        let _lock = directory::claim(directory, resume)?;
        let config = self.settings.config.to_toml();
        if let Some(closed) = self.closed() {
            return self.solve_in(closed, directory, resume, [command, started], on);
        }
        let mut state = State::<B>::new(&self.spec.layers[self.features.first..], &self.features.signal, self.settings.seed)?;
        let kept: Option<Resident<B>> =
            if self.device == Device::Cpu { None } else { self.features.resident(&Default::default()) };
        let mut progress = self.beginning();
        let mut saved = if resume { checkpoint::load(directory, checkpoint::RUNNING)? } else { None };
        if saved.is_none()
            && let Some(record) = self.finished(directory).filter(|_| resume).transpose()?
        {
            if steps_of(&record.config) == steps_of(&config) {
                return Ok(Outcome { record, already: true });
            }
            saved = checkpoint::load(directory, checkpoint::FINISHED)?;
            if saved.is_none() {
                return Err(Error::Directory {
                    path: directory.into(),
                    problem: format!("has no `{}`, from which longer training would go on; train anew", checkpoint::FINISHED),
                });
            }
        }
        match saved {
            Some((saved, numbers)) => {
                self.same(&saved.config, &saved.data)?;
                let longer = steps_of(&saved.config) != steps_of(&config);
                progress = Progress { config: config.clone(), ..saved };
                if longer {
                    progress.extended = progress.step;
                }
                let other = || Error::Unfit("the checkpoint is of another model; remove it to begin anew".into());
                state = state.restored(&numbers, &progress.steps).ok_or_else(other)?;
            }
            None => {
                state.trained.network.fit(&mut |visit| self.over_training(kept.as_ref(), visit))?;
                state.begin();
            }
        }
        write_whole(&directory.join(CONFIG), config.as_bytes())?;
        let parameters = state.trained.network.parameters();
        on(Event::Started { done: progress.step, steps: self.settings.steps, parameters });
        let (stopped, exploded) = match (self.steps(&mut state, kept.as_ref(), &mut progress, directory, on), &progress.best) {
            (Ok(stopped), _) => (stopped, None),
            // What was good before is not lost.
            (Err(source), Some(best)) if source.is_explosion() => {
                ("explosion", Some(Error::Stopped { source: Box::new(source), step: best.step }))
            }
            (Err(error), _) => return Err(error),
        };
        on(Event::Testing);
        state.take_best();
        state.trained.network.measure(&mut |visit| self.over_training(kept.as_ref(), visit))?;
        save_model(directory, self.spec.clone(), &self.saved(state.trained.network.values()))?;
        let record = self.record(&progress, directory, [command, started, stopped], parameters)?;
        write_record(directory, &record)?;
        if exploded.is_none() {
            checkpoint::finish(directory)?;
        } else {
            checkpoint::remove(directory)?;
        }
        tell_overflows(&record, on);
        exploded.map_or(Ok(Outcome { record, already: false }), Err)
    }

    /// Where a run stands before its first step.
    pub(super) fn beginning(&self) -> Progress {
        Progress {
            config: self.settings.config.to_toml(),
            data: self.fingerprint.clone(),
            headline: self.settings.headline.clone(),
            ..Progress::default()
        }
    }

    /// The weights by their place in the whole model; the layers that are computed ahead have none.
    fn saved(&self, weights: Vec<NamedWeight>) -> Vec<NamedWeight> {
        let shifted = |name: &str| -> String {
            let (place, rest) = name.strip_prefix("layers.").and_then(|rest| rest.split_once('.')).unwrap_or(("0", name));
            format!("layers.{}.{rest}", place.parse::<usize>().unwrap_or(0) + self.features.first)
        };
        weights.into_iter().map(|weight| NamedWeight { name: shifted(&weight.name), ..weight }).collect()
    }

    /// Shows the batches of the training part, in order.
    fn over_training<B: LayerBackend>(
        &self,
        resident: Option<&Resident<B>>,
        visit: Visit<'_, B>,
    ) -> Result<(), ncde_layers::layer::Error> {
        for cases in self.parts.train.chunks(self.settings.batch) {
            let (rows, context) = self.features.batch::<B>(cases, Phase::Predict, resident);
            visit(rows, context)?;
        }
        Ok(())
    }

    /// Steps until something says stop; says what.
    fn steps<B: LayerBackend>(
        &self,
        state: &mut State<B>,
        resident: Option<&Resident<B>>,
        progress: &mut Progress,
        directory: &Path,
        on: &mut dyn FnMut(Event<'_>),
    ) -> Result<&'static str, Error> {
        let settings = &self.settings;
        let cases = self.parts.train.iter().map(|&i| (i, self.features.rows(i))).collect();
        let mut batches = Batches::new(settings.seed, settings.batch, cases);
        let tracked: Option<Resident<Autodiff<B>>> = resident.map(Resident::tracked);
        let (mut saved, mut clock) = (Instant::now(), Instant::now());
        let is_due = |step: usize| step.is_multiple_of(settings.evaluate_every) || step == settings.steps;
        let mut flight = InFlight::default();
        while progress.step < settings.steps {
            let stopped = self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed));
            if stopped && flight.count() == 0 {
                progress.steps = state.steps();
                checkpoint::save(directory, progress, &state.numbers())?;
                let (step, steps) = (progress.step, settings.steps);
                return Err(Error::Interrupted { step, steps, directory: directory.into() });
            }
            let late = settings.seconds > 0.0 && progress.seconds > settings.seconds;
            let saves = late || saved.elapsed().as_secs_f64() > CHECKPOINT_SECONDS;
            // A device goes on with the next step while this one is looked at, unless the state after this one is asked for.
            let next = progress.step + flight.count();
            let asked = stopped || saves || is_due(next) || next.is_multiple_of(KEPT_EVERY);
            if flight.count() == 0 || (flight.has_room() && !asked) {
                if flight.count() == 0 {
                    clock = Instant::now();
                }
                flight.push(self.begin(state, (batches.at(next), tracked.as_ref()), (next, rate_factor(progress))));
                continue;
            }
            let step = progress.step;
            let Some(taken) = flight.pop() else { continue };
            let loss = match self.taken(taken, step, batches.at(step)) {
                Ok(loss) => loss,
                Err(error) if error.is_explosion() && progress.recoveries.len() < MAX_RECOVERIES => {
                    flight.clear();
                    let (from, reason) = (state.go_back(), error.reason());
                    let factor = LOWER * rate_factor(progress);
                    progress.seconds += clock.elapsed().as_secs_f64();
                    progress.recoveries.push(Recovery { step: step + 1, from, factor, reason });
                    if let Some(recovery) = progress.recoveries.last() {
                        on(Event::Recovered { recovery, count: progress.recoveries.len(), most: MAX_RECOVERIES });
                    }
                    continue;
                }
                Err(error) => return Err(error),
            };
            progress.step += 1;
            if progress.step.is_multiple_of(KEPT_EVERY) {
                state.remember(progress.step);
            }
            progress.losses.0 += loss;
            progress.losses.1 += 1;
            progress.seconds += clock.elapsed().as_secs_f64();
            on(Event::Step { step: progress.step, loss });
            clock = Instant::now();
            if flight.count() > 0 {
                continue;
            }
            let due = is_due(progress.step);
            if due {
                self.evaluate(state, resident, progress)?;
                if let Some(point) = progress.history.last() {
                    on(Event::Evaluated { point, best: progress.best.as_ref() });
                }
            }
            let late = settings.seconds > 0.0 && progress.seconds > settings.seconds;
            let stale = progress.best.as_ref().is_some_and(|best| {
                settings.patience > 0 && progress.step - best.step.max(progress.extended) >= settings.patience
            });
            if due || late || saved.elapsed().as_secs_f64() > CHECKPOINT_SECONDS {
                progress.steps = state.steps();
                checkpoint::save(directory, progress, &state.numbers())?;
                saved = Instant::now();
            }
            if due && stale {
                return Ok("patience");
            }
            if late {
                return Ok("time");
            }
        }
        Ok("steps")
    }

    /// Begins a step, with what its rate is multiplied with.
    fn begin<B: LayerBackend>(
        &self,
        state: &mut State<B>,
        (cases, resident): (&[usize], Option<&Resident<Autodiff<B>>>),
        (step, factor): (usize, f64),
    ) -> Result<Begun, ncde_layers::layer::Error> {
        let settings = &self.settings;
        let masks = Stream::new(settings.seed, 5).child(step as u64);
        let batch = self.features.batch(cases, Phase::Train(masks), resident);
        let (decay, clip, penalty) = (settings.weight_decay, settings.clip, settings.penalty);
        let update = Update { decay, clip, penalty, ..Update::rate(factor * settings.rate_at(step)) };
        let members = self.spec.members() as f64;
        // The sum over members, not their mean: with its own gradient and penalty each is clipped as if it were alone.
        let loss = |rows| self.goal.loss(rows, cases).map(|(loss, _)| if members > 1.0 { loss * members } else { loss });
        state.trained.begin(update, batch, loss)
    }

    /// The loss of a step that was taken.
    fn taken(&self, taken: Result<Stepped, ncde_layers::layer::Error>, step: usize, cases: &[usize]) -> Result<f64, Error> {
        let (step, rate) = (step + 1, self.settings.rate / 3.0);
        let cases = || names(&self.data, cases);
        match taken {
            Ok(seen) if seen.is_finite() => Ok(seen.loss / self.spec.members() as f64),
            Ok(seen) => {
                let loss = if seen.loss.is_finite() { seen.norm } else { seen.loss };
                Err(Error::NotFinite { loss, step, cases: cases(), rate })
            }
            Err(source) => Err(Error::Step { step, cases: cases(), source: Box::new(source.into()), rate }),
        }
    }

    /// Evaluates the validation part, and keeps the weights if they are the best.
    fn evaluate<B: LayerBackend>(
        &self,
        state: &mut State<B>,
        resident: Option<&Resident<B>>,
        progress: &mut Progress,
    ) -> Result<(), Error> {
        let (loss, metric) = match self.validation(state, resident) {
            Ok(Some((metrics, loss))) if loss.is_finite() => (Some(loss), metrics.get(&self.settings.metric)),
            Ok(_) => (None, None),
            // Weights under which the state of a validation case overflows are not the best, but training may leave them.
            Err(error) if error.is_overflow() => (None, None),
            Err(error) => return Err(error),
        };
        let (sum, count) = std::mem::take(&mut progress.losses);
        progress.history.push(Point {
            step: progress.step,
            seconds: progress.seconds,
            loss: sum / count.max(1) as f64,
            rate: rate_factor(progress) * self.settings.rate_at(progress.step - 1),
            validation: loss,
            metric,
        });
        let sign = if higher_is_better(&self.settings.metric) { 1.0 } else { -1.0 };
        let better = match (&progress.best, metric) {
            (Some(best), Some(metric)) => {
                let gain = sign * (metric - best.value);
                gain > 0.0 || (gain == 0.0 && loss.is_some_and(|loss| loss < progress.best_loss))
            }
            (None, Some(_)) => true,
            (_, None) => false,
        };
        if let Some(value) = metric.filter(|_| better) {
            progress.best = Some(Best { step: progress.step, metric: self.settings.metric.clone(), value });
            progress.best_loss = loss.unwrap_or(f64::MAX);
            state.keep();
        }
        Ok(())
    }

    /// Metrics and loss of the validation part; none if it is empty.
    fn validation<B: LayerBackend>(
        &self,
        state: &State<B>,
        resident: Option<&Resident<B>>,
    ) -> Result<Option<(Metrics, f64)>, Error> {
        if self.parts.validation.is_empty() {
            return Ok(None);
        }
        let (mut predicted, mut losses, mut weight) = (Predicted::default(), 0.0, 0.0);
        for batch in self.features.batches(&self.parts.validation) {
            let (rows, context) = self.features.batch::<B>(&batch, Phase::Predict, resident);
            let outputs = state.trained.network.forward(rows, &context)?;
            self.goal.collect(&outputs, &batch, &mut predicted);
            let (loss, own) = self.goal.loss(outputs, &batch)?;
            losses += own * loss.into_scalar().elem::<f64>();
            weight += own;
        }
        Ok(Some((self.goal.metrics(&predicted), losses / f64::max(weight, 1e-30))))
    }
}

/// A run that is being trained.
struct Training<'a> {
    run: &'a Run,
    directory: &'a Path,
    resume: bool,
    texts: [&'a str; 2],
    on: &'a mut dyn FnMut(Event<'_>),
}

impl OnDevice for Training<'_> {
    type Output = Result<Outcome, Error>;

    fn run<B: LayerBackend>(self) -> Self::Output {
        self.run.train_on::<B>(self.directory, self.resume, self.texts, self.on)
    }
}

/// What the learning rate is multiplied with after all that has happened.
fn rate_factor(progress: &Progress) -> f64 {
    progress.recoveries.last().map_or(1.0, |recovery| recovery.factor)
}

/// The first few cases by name.
fn names(data: &Dataset, cases: &[usize]) -> String {
    let mut names: Vec<String> = cases.iter().take(3).map(|&i| format!("`{}`", data.cases[i].id)).collect();
    if cases.len() > names.len() {
        names.push("...".into());
    }
    names.join(", ")
}

/// Says which cases overflow.
pub(super) fn tell_overflows(record: &RunRecord, on: &mut dyn FnMut(Event<'_>)) {
    for (part, cases) in [("validation", &record.overflowed.validation), ("test", &record.overflowed.test)] {
        if !cases.is_empty() {
            on(Event::Overflowed { part, cases });
        }
    }
}

/// Writes the record of a run.
pub(super) fn write_record(directory: &Path, record: &RunRecord) -> Result<(), Error> {
    let json = record.to_json().map_err(|e| Error::Unfit(e.to_string()))?;
    write_whole(&directory.join(RECORD), json.as_bytes())
}
