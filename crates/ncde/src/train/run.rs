//! One run: data in, steps, the directory of a model out.
//!
//! ```text
//! theta <- theta - 0.3^k rate_t Adam(grad (loss(batch_t) + penalty)),   every `evaluate_every` steps: metric on the validation part, the best is kept
//! ```
//!
//! A step in which numbers grow out of all bounds, for the `k`-th time, goes back to weights and means of 50 to 100 steps before and is taken again at
//! 0.3 of the rate. After the fifth time the run ends there. What it goes back to is decided by steps alone, so that a run that was killed does the same.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use ncde_data::{Dataset, Targets};
use ncde_report::metrics::higher_is_better;
use ncde_report::record::{Best, Point, Recovery};
use ncde_report::{Metrics, RunRecord};
use ncde_runtime::layer::Windows;
use ncde_runtime::{At, Extent, FORMAT, Forecast, LayerSpec, ModelSpec, NamedWeight, Task, WeightsSpec};

use super::batches::Batches;
use super::by_time::{Cut, Long};
use super::checkpoint::{self, Progress};
use super::config::Config;
use super::directory::{self, CONFIG, RECORD};
use super::features::Features;
use super::fingerprint;
use super::goal::{Goal, Predicted, labelled};
use super::names::SplitBy;
use super::preset::{self, Clock, Facts};
use super::settings::{Settings, at_least, fit_target, refuse};
use super::split::Parts;
use super::state::{Inner, KEPT_EVERY, State};
use super::store::{save_model, write_whole};
use super::warning::{self, Warning};
use super::{Error, fit};
use crate::layer::{Phase, Update, Visit};
use crate::random::Stream;

/// A checkpoint is written at least this often, in seconds, also between two evaluations of the validation part.
const CHECKPOINT_SECONDS: f64 = 30.0;
/// The most numbers of a batch when a part is evaluated.
const EVALUATION_NUMBERS: usize = 1 << 22;
/// What the learning rate is multiplied with after a step in which numbers grow out of all bounds.
const LOWER: f64 = 0.3;
/// How often that may happen.
const MOST_RECOVERIES: usize = 5;

/// What happens while a run goes on.
#[derive(Debug)]
pub enum Event<'a> {
    /// Training begins, or goes on after `done` steps.
    Started {
        /// Steps already done.
        done: usize,
        /// Steps in all.
        steps: usize,
        /// Weights that are trained.
        parameters: usize,
    },
    /// A step is done.
    Step {
        /// How many are done.
        step: usize,
        /// Its loss.
        loss: f64,
    },
    /// Numbers grew out of all bounds in a step; it is taken again from earlier weights, at a lower learning rate.
    Recovered {
        /// What happened.
        recovery: &'a Recovery,
        /// How often it has happened.
        count: usize,
        /// How often it may.
        most: usize,
    },
    /// The validation part was evaluated.
    Evaluated {
        /// What was seen.
        point: &'a Point,
        /// The best so far.
        best: Option<&'a Best>,
    },
    /// The readout of a reservoir is solved for.
    Solved {
        /// The features that were chosen, in words.
        chosen: &'a str,
        /// The mean square of leave-out errors.
        error: f64,
    },
    /// The weights are there, and are being tested.
    Testing,
    /// Cases on which states grow out of all bounds: they have no prediction, and count as wrong.
    Overflowed {
        /// Of which part.
        part: &'a str,
        /// Their names.
        cases: &'a [String],
    },
}

/// What a run leaves.
#[derive(Debug)]
pub struct Outcome {
    /// All that was seen.
    pub record: RunRecord,
    /// Whether it was already finished, and nothing was done.
    pub already: bool,
}

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
    stop: Option<Arc<AtomicBool>>,
}

impl Run {
    /// From a configuration and data; `test` is the file to test on.
    ///
    /// # Errors
    /// If the settings make no sense for the data, or the test data has other channels or classes.
    pub fn new(config: &Config, train: Dataset, test: Option<Dataset>) -> Result<Self, Error> {
        let train = if config.data.unknown == Some(true) { train.with_unknown() } else { train };
        // Where others have drawn the parts, places in the file count; everywhere else only ids do.
        let by_place = config.data.parts.is_some() || config.data.split == Some(SplitBy::ThesisJax05);
        let ordered = |data: Dataset| if by_place { data } else { data.by_id() };
        let (train, test) = (ordered(train), test.map(ordered));
        let mut settings = Settings::of(config, &train, test.is_some())?;
        let deduplicate = settings.config.data.deduplicate == Some(true);
        let once = |data: Dataset| if deduplicate { data.without_duplicates() } else { (data, 0) };
        let (data, removed, trained) = match test {
            Some(test) => {
                let test = test.aligned(&train.schema())?;
                if settings.by_files {
                    let (train, removed) = once(train);
                    let trained = train.cases.len();
                    (train.concat(test)?, removed, trained)
                } else {
                    let (data, removed) = once(train.concat(test)?);
                    let trained = data.cases.len();
                    (data, removed, trained)
                }
            }
            None => {
                let (data, removed) = once(train);
                let trained = data.cases.len();
                (data, removed, trained)
            }
        };
        let mut task = settings.task.clone();
        let grid = settings.config.data.grid;
        let extent = |data: &Dataset, train: &[usize]| {
            let series = train.iter().map(|&i| (&data.cases[i].times[..], &data.cases[i].values[..]));
            Extent::of(data.channels.len(), series)
        };
        let (data, parts, learned, long, seen) = if settings.by_time {
            let ahead = task.forecast().map_or(0, |forecast| forecast.horizon);
            let long = Long::new(data, trained, [settings.split.validation, settings.split.test], ahead);
            let whole = long.whole();
            fit_target(&mut task, &whole.data, &whole.parts.train, grid);
            let seen = extent(&whole.data, &whole.parts.train);
            let usual = stretch(&task);
            let length = at_least("data.stretch", *settings.config.data.stretch.get_or_insert(usual), 2)?;
            let own = if settings.closed { whole } else { long.stretches(length, ahead) };
            (own.data, own.parts, own.learned, Some(long), seen)
        } else {
            let parts = parts(&settings, &data, trained)?;
            fit_target(&mut task, &data, &parts.train, grid);
            let learned = data.cases.iter().map(|case| 0..case.len()).collect();
            let seen = extent(&data, &parts.train);
            (data, parts, learned, None, seen)
        };
        if parts.train.is_empty() {
            return Err(Error::Unfit(format!("{} cases leave nothing to train on", data.cases.len())));
        }
        let wanted = |i: usize| labelled(&data, &task, i, learned[i].clone());
        if task.at() == At::Steps && parts.train.iter().all(|&i| wanted(i).is_empty()) {
            return Err(Error::Unfit("the training part has nothing to learn from: no label, and nothing to forecast".into()));
        }
        let longest = parts.train.iter().map(|&i| data.cases[i].len()).max().unwrap_or(0);
        if let Some(forecast) = task.forecast().filter(|forecast| forecast.horizon >= longest) {
            let horizon = forecast.horizon;
            return refuse(
                "data.horizon",
                format!("{horizon}, but the training part of a series has at most {longest} observations"),
            );
        }
        let preparation = fit::fit(&data, &parts.train, settings.scale, settings.time, settings.missing);
        let mut spec = ModelSpec {
            format: FORMAT,
            ncde: env!("CARGO_PKG_VERSION").into(),
            name: String::new(),
            weights: WeightsSpec { bytes: 0, crc32: 0 },
            channels: data.channels.clone(),
            statics: data.statics.clone(),
            vocabulary: data.vocabulary.clone(),
            schema: None,
            task: task.clone(),
            trained: Some(seen),
            preparation,
            layers: Vec::new(),
        };
        let most = settings.config.data.stretch.unwrap_or(usize::MAX);
        let lengths = parts.train.iter().map(|&i| data.cases[i].len().min(most)).collect();
        let mut facts = Facts::new(spec.signal(), lengths, &spec.task, data.channels.len(), settings.time);
        let unit = spec.preparation.time.map_or(1.0, |scaling| scaling.factor);
        facts.clock = Clock::of(parts.train.iter().map(|&i| &data.cases[i].times[..]), unit).within(most);
        facts.period = spec.task.forecast().and_then(|forecast| {
            let observations = forecast.baseline.as_ref()?.period? as f64;
            Some(observations * forecast.step.map_or(facts.clock.gap, |step| step * unit))
        });
        (spec.name, spec.layers) = preset::resolve(&mut settings.config.model, &facts, settings.closed)?;
        spec.check()?;
        let features = Features::new(&data, &spec.preparation, &spec.layers, &spec.signal(), wanted)?;
        let window = if let Some(LayerSpec::Windows(Windows { window, .. })) = spec.layers.first() { *window } else { 1 };
        let mut goal = Goal::new(&data, &spec.task, &spec.preparation, window, &learned);
        goal.weigh(&parts.train, settings.class_weights);
        let fingerprint = fingerprint::of(&data, &parts);
        let mut warnings = warning::of(&data, &parts, &settings, &spec.task);
        // What is tested on of series that are split by time is no case of its own.
        if long.as_ref().is_some_and(|long| long.series()[2] > 0) {
            warnings.retain(|own| *own != Warning::NothingToTest);
        }
        Ok(Self { settings, data, parts, long, spec, features, goal, removed, fingerprint, warnings, stop: None })
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
        [command, started]: [&str; 2],
        on: &mut dyn FnMut(Event<'_>),
    ) -> Result<Outcome, Error> {
        let _lock = directory::claim(directory, resume)?;
        let config = self.settings.config.to_toml();
        if let Some(closed) = self.closed() {
            return self.solve_in(closed, directory, resume, [command, started], on);
        }
        let mut state = State::new(&self.spec.layers[self.features.first..], &self.features.signal, self.settings.seed)?;
        let mut progress = Progress { config: config.clone(), data: self.fingerprint.clone(), ..Progress::default() };
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
                state.trained.network.fit(&mut |visit| self.over_training(visit))?;
                state.begin();
            }
        }
        write_whole(&directory.join(CONFIG), config.as_bytes())?;
        let parameters = state.trained.network.parameters();
        on(Event::Started { done: progress.step, steps: self.settings.steps, parameters });
        let (stopped, exploded) = match (self.steps(&mut state, &mut progress, directory, on), &progress.best) {
            (Ok(stopped), _) => (stopped, None),
            // What was good before is not lost.
            (Err(source), Some(best)) if source.is_explosion() => {
                ("explosion", Some(Error::Stopped { source: Box::new(source), step: best.step }))
            }
            (Err(error), _) => return Err(error),
        };
        on(Event::Testing);
        state.take_best();
        state.trained.network.measure(&mut |visit| self.over_training(visit))?;
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

    /// The weights by their place in the whole model; the layers that are computed ahead have none.
    fn saved(&self, weights: Vec<NamedWeight>) -> Vec<NamedWeight> {
        let shifted = |name: &str| -> String {
            let (place, rest) = name.strip_prefix("layers.").and_then(|rest| rest.split_once('.')).unwrap_or(("0", name));
            format!("layers.{}.{rest}", place.parse::<usize>().unwrap_or(0) + self.features.first)
        };
        weights.into_iter().map(|weight| NamedWeight { name: shifted(&weight.name), ..weight }).collect()
    }

    /// Shows the batches of the training part, in order.
    fn over_training(&self, visit: Visit<'_, Inner>) -> Result<(), crate::layer::Error> {
        for cases in self.parts.train.chunks(self.settings.batch) {
            let (rows, context) = self.features.batch::<Inner>(cases, Phase::Predict, &Default::default());
            visit(rows, context)?;
        }
        Ok(())
    }

    /// Steps until something says stop; says what.
    fn steps(
        &self,
        state: &mut State,
        progress: &mut Progress,
        directory: &Path,
        on: &mut dyn FnMut(Event<'_>),
    ) -> Result<&'static str, Error> {
        let settings = &self.settings;
        let cases = self.parts.train.iter().map(|&i| (i, self.features.rows(i))).collect();
        let mut batches = Batches::new(settings.seed, settings.batch, cases);
        let mut saved = Instant::now();
        while progress.step < settings.steps {
            if self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                progress.steps = state.steps();
                checkpoint::save(directory, progress, &state.numbers())?;
                let (step, steps) = (progress.step, settings.steps);
                return Err(Error::Interrupted { step, steps, directory: directory.into() });
            }
            let begun = Instant::now();
            let step = progress.step;
            let cases = batches.at(step);
            let taken = self.step(state, cases, (step, rate_factor(progress))).map_err(|source| match source {
                Error::NotFinite { .. } => source,
                source => Error::Step {
                    step: step + 1,
                    cases: names(&self.data, cases),
                    source: Box::new(source),
                    rate: settings.rate / 3.0,
                },
            });
            let loss = match taken {
                Ok(loss) => loss,
                Err(error) if error.is_explosion() && progress.recoveries.len() < MOST_RECOVERIES => {
                    let (from, reason) = (state.go_back(), error.reason());
                    let factor = LOWER * rate_factor(progress);
                    progress.seconds += begun.elapsed().as_secs_f64();
                    progress.recoveries.push(Recovery { step: step + 1, from, factor, reason });
                    if let Some(recovery) = progress.recoveries.last() {
                        on(Event::Recovered { recovery, count: progress.recoveries.len(), most: MOST_RECOVERIES });
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
            progress.seconds += begun.elapsed().as_secs_f64();
            on(Event::Step { step: progress.step, loss });
            let due = progress.step.is_multiple_of(settings.evaluate_every) || progress.step == settings.steps;
            if due {
                self.evaluate(state, progress)?;
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

    /// One step, with what its rate is multiplied with; its loss.
    fn step(&self, state: &mut State, cases: &[usize], (step, factor): (usize, f64)) -> Result<f64, Error> {
        let settings = &self.settings;
        let masks = Stream::new(settings.seed, 5).child(step as u64);
        let batch = self.features.batch(cases, Phase::Train(masks), &Default::default());
        let (decay, clip, penalty) = (settings.weight_decay, settings.clip, settings.penalty);
        let update = Update { rate: factor * settings.rate_at(step), decay, clip, penalty };
        let stepped = state.trained.step(update, batch, |rows| Ok(self.goal.loss(rows, cases).0))?;
        if stepped.is_finite() {
            return Ok(stepped.loss);
        }
        Err(Error::NotFinite {
            loss: if stepped.loss.is_finite() { stepped.norm } else { stepped.loss },
            step: step + 1,
            cases: names(&self.data, cases),
            rate: settings.rate / 3.0,
        })
    }

    /// Evaluates the validation part, and keeps the weights if they are the best.
    fn evaluate(&self, state: &mut State, progress: &mut Progress) -> Result<(), Error> {
        let (loss, metric) = match self.validation(state) {
            Ok(Some((metrics, loss))) if loss.is_finite() => (Some(loss), metrics.get(&self.settings.metric)),
            Ok(_) => (None, None),
            // Weights under which the state of a validation case grows out of all bounds are not the best, but training may leave them.
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
    fn validation(&self, state: &State) -> Result<Option<(Metrics, f64)>, Error> {
        let mut order = self.parts.validation.clone();
        if order.is_empty() {
            return Ok(None);
        }
        order.sort_by_key(|&i| self.features.rows(i));
        let (mut predicted, mut losses, mut weight) = (Predicted::default(), 0.0, 0.0);
        let mut rest = &order[..];
        while let Some(&longest) = rest.last() {
            // From the longest down, so that the first batch is the largest in memory.
            let count = (EVALUATION_NUMBERS / self.features.numbers(longest).max(1)).clamp(1, rest.len());
            let (before, batch) = rest.split_at(rest.len() - count);
            let (rows, context) = self.features.batch::<Inner>(batch, Phase::Predict, &Default::default());
            let outputs = state.trained.network.forward(rows, &context)?;
            self.goal.collect(&outputs, batch, &mut predicted);
            let (loss, own) = self.goal.loss(outputs, batch);
            losses += own * f64::from(loss.into_scalar());
            weight += own;
            rest = before;
        }
        Ok(Some((self.goal.metrics(&predicted), losses / f64::max(weight, 1e-30))))
    }
}

/// Which case is for what, where cases are whole.
fn parts(settings: &Settings, data: &Dataset, trained: usize) -> Result<Parts, Error> {
    let classes = match &data.targets {
        Targets::Classes { of, .. } if settings.stratified => Some(&of[..trained]),
        _ => None,
    };
    let mut parts = match &settings.config.data.parts {
        Some(path) => super::parts::read(path, settings.seed, &data.cases)?,
        None => settings.split.parts(trained, classes),
    };
    parts.test.extend(trained..data.cases.len());
    Ok(parts)
}

/// How much of a long series is looked at together: some times what is looked ahead, or what repeats.
fn stretch(task: &Task) -> usize {
    let period = |forecast: &Forecast| forecast.baseline.as_ref().and_then(|baseline| baseline.period).unwrap_or(1);
    let longest = task.forecast().map_or(1, |forecast| forecast.horizon.max(period(forecast)));
    (8 * longest).clamp(256, 2048)
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

/// How many steps a configuration asks for; none of a model that is solved for.
fn steps_of(config: &str) -> Option<usize> {
    Config::from_toml(config).ok()?.train.steps
}

/// What may differ between a run and its resumption: where files are (what is in them may not), and how many steps there are.
fn comparable(config: &str) -> impl Iterator<Item = &str> {
    const PATHS: &[&str] = &["train", "test", "labels", "test_labels", "parts", "steps"];
    config.lines().filter(|line| !line.split_once(" = ").is_some_and(|(key, _)| PATHS.contains(&key)))
}

impl Run {
    /// The record of the finished run in a directory, if there is one; an error if it was another.
    pub(super) fn finished(&self, directory: &Path) -> Option<Result<RunRecord, Error>> {
        let path = directory.join(RECORD);
        (path.exists() && directory.join(ncde_runtime::SPEC).exists()).then(|| {
            let record = RunRecord::read(&path).map_err(|e| Error::Unfit(e.to_string()))?;
            self.same(&record.config, &record.data.fingerprint)?;
            Ok(record)
        })
    }

    /// A run that is resumed must have the data and the settings it was begun with, and at least as many steps.
    fn same(&self, begun: &str, data: &str) -> Result<(), Error> {
        let now = self.settings.config.to_toml();
        if let Some(differs) = comparable(begun).find(|line| !comparable(&now).any(|other| other == *line)) {
            return Err(Error::Config(format!(
                "the run was begun with other settings (`{differs}`); give the same ones to resume it, or another directory to begin anew"
            )));
        }
        if let Some(more) = comparable(&now).find(|line| !comparable(begun).any(|other| other == *line)) {
            return Err(Error::Config(format!(
                "the run was begun without `{more}`; leave it out to resume it, or give another directory to begin anew"
            )));
        }
        // Records of earlier versions have no fingerprint.
        if !data.is_empty() && data != self.fingerprint {
            return Err(Error::Unfit(
                "the run was begun with other data: cases, values or labels have changed since; give the same files to resume it, \
                 or another directory to begin anew"
                    .into(),
            ));
        }
        match (steps_of(begun), steps_of(&now)) {
            (Some(begun), Some(now)) if now < begun => Err(Error::Config(format!(
                "`train.steps` is {now}, but the run was begun with {begun}; it can be trained longer, not shorter"
            ))),
            _ => Ok(()),
        }
    }
}
