//! One run: data in, steps, the directory of a model out.
//!
//! ```text
//! theta <- theta - rate_t Adam(grad (loss(batch_t) + penalty)),   every `evaluate_every` steps: metric on the validation part, the best is kept
//! ```

use std::path::Path;
use std::time::Instant;

use burn::backend::{Autodiff, Flex};
use burn::module::{AutodiffModule, Module};
use burn::optim::adaptor::OptimizerAdaptor;
use burn::optim::{AdamW, AdamWConfig, GradientsParams, Optimizer};
use ncde_data::{Dataset, Targets};
use ncde_report::metrics::higher_is_better;
use ncde_report::record::{Best, Point};
use ncde_report::{Metrics, RunRecord};
use ncde_runtime::{Architecture, FORMAT, ModelSpec, Skip, WeightsSpec};

use super::batches::Batches;
use super::checkpoint::{self, Progress};
use super::config::Config;
use super::features::Features;
use super::goal::Goal;
use super::network::Network;
use super::settings::{Settings, fit_target};
use super::split::Parts;
use super::store::{save_model, write_whole};
use super::{Error, clip, fit};
use crate::model::Phase;
use crate::random::Stream;

type Inner = Flex;
type Outer = Autodiff<Flex>;
type Optimiser = OptimizerAdaptor<AdamW, Network<Outer>, Outer>;

/// A checkpoint is written at least this often, in seconds, also between two looks at the validation part.
const CHECKPOINT_SECONDS: f64 = 30.0;
/// The most numbers fed at once when a part is evaluated.
const EVALUATION_NUMBERS: usize = 1 << 22;

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
    /// The validation part was looked at.
    Evaluated {
        /// What was seen.
        point: &'a Point,
        /// The best so far.
        best: Option<&'a Best>,
    },
    /// The weights are there, and are being tested.
    Testing,
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
    pub(super) spec: ModelSpec,
    pub(super) features: Features,
    pub(super) goal: Goal,
    pub(super) removed: usize,
}

impl Run {
    /// From a configuration and data; `test` is the file to test on.
    ///
    /// # Errors
    /// If the settings make no sense for the data, or the test data has other channels or classes.
    pub fn new(config: &Config, train: Dataset, test: Option<Dataset>) -> Result<Self, Error> {
        let settings = Settings::of(config, &train, test.is_some())?;
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
        let classes = match &data.targets {
            Targets::Classes { of, .. } if settings.stratified => Some(&of[..trained]),
            _ => None,
        };
        let mut parts = settings.split.parts(trained, classes);
        parts.test.extend(trained..data.cases.len());
        if parts.train.is_empty() {
            return Err(Error::Unfit(format!("{} cases leave nothing to train on", data.cases.len())));
        }
        let preparation = fit::fit(&data, &parts.train, settings.scale, settings.time, settings.missing);
        let mut task = settings.task.clone();
        fit_target(&mut task, &data, &parts.train);
        let mut features = Features::new(&data, &preparation, &settings.model, task.at())?;
        let seen = match &settings.model {
            Architecture::Slice(slice) => Some(slice.plan(settings.width)?.0.matrix_places().to_vec()),
            Architecture::Neural(neural) => Some(neural.seen(settings.width)?),
            Architecture::Signature(_) => None,
        };
        if let (Some(seen), Some(read)) = (seen, settings.model.read()) {
            let coordinates = if let Skip::Window { coordinates } = read.skip { coordinates } else { 0 };
            features.look(&parts.train, &seen[..coordinates]);
        }
        let mut goal = Goal::new(&data, &task, &preparation, settings.model.window());
        goal.weigh(&parts.train, settings.class_weights);
        let spec = ModelSpec {
            format: FORMAT,
            ncde: env!("CARGO_PKG_VERSION").into(),
            weights: WeightsSpec { bytes: 0, crc32: 0 },
            channels: data.channels.clone(),
            statics: data.statics.clone(),
            task,
            preparation,
            model: settings.model.clone(),
        };
        Ok(Self { settings, data, parts, spec, features, goal, removed })
    }

    /// What is done, every default decided.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Which case is for what.
    pub fn parts(&self) -> &Parts {
        &self.parts
    }

    /// Trains, and writes everything to a directory. With `resume`, goes on where a killed run stood. `command` and `started` are
    /// for the record.
    ///
    /// # Errors
    /// If a step fails, or a file cannot be written.
    pub fn train(
        &self,
        directory: &Path,
        resume: bool,
        [command, started]: [&str; 2],
        on: &mut dyn FnMut(Event<'_>),
    ) -> Result<Outcome, Error> {
        let failed = |e: std::io::Error| Error::File { path: directory.into(), problem: e.to_string() };
        std::fs::create_dir_all(directory).map_err(failed)?;
        let config = self.settings.config.to_toml();
        let device = Default::default();
        let mut state = State::new(self, config.clone(), &device)?;
        if resume {
            match checkpoint::load::<Outer, _>(directory, &device)? {
                Some((progress, record)) => state.restore(progress, record)?,
                None => {
                    let path = directory.join("run.json");
                    if path.exists() && directory.join(ncde_runtime::SPEC).exists() {
                        let record = RunRecord::read(&path).map_err(|e| Error::Unfit(e.to_string()))?;
                        same(&record.config, &config)?;
                        return Ok(Outcome { record, already: true });
                    }
                }
            }
        }
        write_whole(&directory.join("config.toml"), config.as_bytes())?;
        let parameters = state.network.num_params();
        on(Event::Started { done: state.progress.step, steps: self.settings.steps, parameters });
        let (stopped, exploded) = match (state.steps(self, directory, on), &state.progress.best) {
            (Ok(stopped), _) => (stopped, None),
            // What was good before is not lost.
            (Err(source), Some(best)) if source.is_explosion() => {
                ("explosion", Some(Error::Stopped { source: Box::new(source), step: best.step }))
            }
            (Err(error), _) => return Err(error),
        };
        on(Event::Testing);
        let network = state.best.unwrap_or_else(|| state.network.valid());
        let mut spec = self.spec.clone();
        if let Architecture::Neural(neural) = &mut spec.model {
            neural.radius = self.radius(&network)?;
        }
        save_model(directory, spec, &network.weights(&self.features.skip))?;
        let (record, trouble) = self.record(&state.progress, directory, [command, started, stopped], parameters)?;
        let json = record.to_json().map_err(|e| Error::Unfit(e.to_string()))?;
        write_whole(&directory.join("run.json"), json.as_bytes())?;
        checkpoint::remove(directory)?;
        exploded.or(trouble).map_or(Ok(Outcome { record, already: false }), Err)
    }

    /// `C`: the largest `|h|` over the training part.
    fn radius(&self, network: &Network<Inner>) -> Result<f64, Error> {
        let mut most = 0.0_f64;
        for cases in self.parts.train.chunks(self.settings.batch) {
            most = most.max(network.radius(&self.features.batch(cases, &Default::default()))?.unwrap_or(0.0));
        }
        Ok(most)
    }
}

/// What changes from step to step.
struct State {
    network: Network<Outer>,
    optimiser: Optimiser,
    best: Option<Network<Inner>>,
    progress: Progress,
}

/// As it is written to a file.
type Saved = (
    <Network<Outer> as Module<Outer>>::Record,
    <Optimiser as Optimizer<Network<Outer>, Outer>>::Record,
    Option<<Network<Outer> as Module<Outer>>::Record>,
);

impl State {
    fn new(run: &Run, config: String, device: &<Outer as burn::tensor::backend::BackendTypes>::Device) -> Result<Self, Error> {
        let network = Network::<Outer>::new(&run.settings, &run.features, run.goal.outputs, &run.parts.train, device)?;
        let optimiser = AdamWConfig::new()
            .with_epsilon(1e-8)
            .with_weight_decay(run.settings.weight_decay as f32)
            .init::<Outer, Network<Outer>>();
        Ok(Self { network, optimiser, best: None, progress: Progress { config, ..Progress::default() } })
    }

    fn restore(&mut self, progress: Progress, (network, optimiser, best): Saved) -> Result<(), Error> {
        same(&progress.config, &self.progress.config)?;
        self.network = self.network.clone().load_record(network);
        self.optimiser = self.optimiser.clone().load_record(optimiser);
        self.best = best.map(|record| self.network.clone().load_record(record).valid());
        self.progress = progress;
        Ok(())
    }

    fn save(&self, directory: &Path) -> Result<(), Error> {
        let best = self.best.clone().map(|best| Network::<Outer>::from_inner(best).into_record());
        let record: Saved = (self.network.clone().into_record(), self.optimiser.to_record(), best);
        checkpoint::save::<Outer>(directory, &self.progress, record)
    }

    /// Steps until something says stop; says what.
    fn steps(&mut self, run: &Run, directory: &Path, on: &mut dyn FnMut(Event<'_>)) -> Result<&'static str, Error> {
        let settings = &run.settings;
        let cases = run.parts.train.iter().map(|&i| (i, run.features.rows(i))).collect();
        let mut batches = Batches::new(settings.seed, settings.batch, cases);
        let mut saved = Instant::now();
        while self.progress.step < settings.steps {
            let begun = Instant::now();
            let step = self.progress.step;
            let cases = batches.at(step);
            let loss = self.step(run, cases, step).map_err(|source| match source {
                Error::NotFinite { .. } => source,
                source => Error::Step {
                    step: step + 1,
                    cases: names(&run.data, cases),
                    source: Box::new(source),
                    rate: settings.rate / 3.0,
                    init: settings.init / 2.0,
                },
            })?;
            let progress = &mut self.progress;
            progress.step += 1;
            progress.losses.0 += loss;
            progress.losses.1 += 1;
            progress.seconds += begun.elapsed().as_secs_f64();
            on(Event::Step { step: progress.step, loss });
            let look = progress.step.is_multiple_of(settings.evaluate_every) || progress.step == settings.steps;
            if look {
                self.look(run)?;
                if let Some(point) = self.progress.history.last() {
                    on(Event::Evaluated { point, best: self.progress.best.as_ref() });
                }
            }
            let progress = &self.progress;
            let late = settings.seconds > 0.0 && progress.seconds > settings.seconds;
            let stale = progress
                .best
                .as_ref()
                .is_some_and(|best| settings.patience > 0 && progress.step - best.step >= settings.patience);
            if look || late || saved.elapsed().as_secs_f64() > CHECKPOINT_SECONDS {
                self.save(directory)?;
                saved = Instant::now();
            }
            if look && stale {
                return Ok("patience");
            }
            if late {
                return Ok("time");
            }
        }
        Ok("steps")
    }

    /// One step; its loss.
    fn step(&mut self, run: &Run, cases: &[usize], step: usize) -> Result<f64, Error> {
        let settings = &run.settings;
        let device = Default::default();
        let masks = Stream::new(settings.seed, 5).child(step as u64);
        let outputs = self.network.forward(run.features.batch(cases, &device), settings.dropout, Phase::Train(masks))?;
        let loss = run.goal.loss(outputs, cases);
        let value = f64::from(loss.clone().into_scalar());
        let loss = match self.network.penalty() {
            Some(penalty) if settings.penalty > 0.0 => loss + penalty * settings.penalty,
            _ => loss,
        };
        let mut gradients = GradientsParams::from_grads(loss.backward(), &self.network);
        let norm = clip::norm(&self.network, &gradients);
        if !(value.is_finite() && norm.is_finite()) {
            return Err(Error::NotFinite {
                loss: if value.is_finite() { norm } else { value },
                step: step + 1,
                cases: names(&run.data, cases),
                rate: settings.rate / 3.0,
                init: settings.init / 2.0,
            });
        }
        if settings.clip > 0.0 && norm > settings.clip {
            clip::scale(&self.network, &mut gradients, settings.clip / norm);
        }
        self.network = self.optimiser.step(settings.rate_at(step), self.network.clone(), gradients);
        Ok(value)
    }

    /// Looks at the validation part, and keeps the weights if they are the best.
    fn look(&mut self, run: &Run) -> Result<(), Error> {
        let network = self.network.valid();
        let (loss, metric) = match evaluate(run, &network, &run.parts.validation) {
            Ok(Some((metrics, loss))) => (Some(loss), metrics.get(&run.settings.metric)),
            Ok(None) => (None, None),
            // Weights under which the state of a validation case grows out of all bounds are not the best, but training may leave them.
            Err(error) if error.is_overflow() => (None, None),
            Err(error) => return Err(error),
        };
        let progress = &mut self.progress;
        let (sum, count) = std::mem::take(&mut progress.losses);
        progress.history.push(Point {
            step: progress.step,
            seconds: progress.seconds,
            loss: sum / count.max(1) as f64,
            rate: run.settings.rate_at(progress.step - 1),
            validation: loss,
            metric,
        });
        let sign = if higher_is_better(&run.settings.metric) { 1.0 } else { -1.0 };
        let better = match (&progress.best, metric) {
            (Some(best), Some(metric)) => {
                let gain = sign * (metric - best.value);
                gain > 0.0 || (gain == 0.0 && loss.is_some_and(|loss| loss < progress.best_loss))
            }
            (None, Some(_)) => true,
            (_, None) => false,
        };
        if let Some(value) = metric.filter(|_| better) {
            progress.best = Some(Best { step: progress.step, metric: run.settings.metric.clone(), value });
            progress.best_loss = loss.unwrap_or(f64::MAX);
            self.best = Some(network);
        }
        Ok(())
    }
}

/// Metrics and loss of a part; none if it is empty.
fn evaluate(run: &Run, network: &Network<Inner>, cases: &[usize]) -> Result<Option<(Metrics, f64)>, Error> {
    if cases.is_empty() {
        return Ok(None);
    }
    let device = Default::default();
    let mut order = cases.to_vec();
    order.sort_by_key(|&i| run.features.rows(i));
    let (mut outputs, mut losses, mut weight) = (Vec::with_capacity(order.len()), 0.0, 0.0);
    let mut rest = &order[..];
    while let Some(&longest) = rest.last() {
        // From the longest down, so that the first batch is the largest in memory.
        let each = (run.features.rows(longest).max(1) * run.features.widths[1]).max(1);
        let count = (EVALUATION_NUMBERS / each).clamp(1, rest.len());
        let (before, batch) = rest.split_at(rest.len() - count);
        let out = network.forward(run.features.batch::<Inner>(batch, &device), 0.0, Phase::Predict)?;
        losses += count as f64 * f64::from(run.goal.loss(out.clone(), batch).into_scalar());
        weight += count as f64;
        let each = out.dims()[1] * out.dims()[2];
        let all: Vec<f32> = out.into_data().iter().collect();
        outputs.extend(all.chunks_exact(each).map(<[f32]>::to_vec).zip(batch.iter().copied()));
        rest = before;
    }
    let (outputs, cases): (Vec<Vec<f32>>, Vec<usize>) = outputs.into_iter().unzip();
    Ok(Some((run.goal.metrics(&outputs, &cases), losses / weight)))
}

/// The first few cases by name.
fn names(data: &Dataset, cases: &[usize]) -> String {
    let mut names: Vec<String> = cases.iter().take(3).map(|&i| format!("`{}`", data.cases[i].id)).collect();
    if cases.len() > names.len() {
        names.push("...".into());
    }
    names.join(", ")
}

/// A run that is resumed must have the settings it was begun with.
fn same(begun: &str, now: &str) -> Result<(), Error> {
    if begun == now {
        return Ok(());
    }
    let differs = begun.lines().find(|line| !now.lines().any(|other| other == *line)).unwrap_or("another key");
    Err(Error::Config(format!(
        "the run was begun with other settings (`{differs}`); give the same ones to resume it, or another directory to begin anew"
    )))
}
