//! One run: data in, a trained model in a directory out.
//!
//! ```text
//! Config + Dataset -> Settings -> Run (parts, features, targets, layers, method) -> steps or a closed form -> directory of a model
//! ```

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ncde_data::Dataset;
use ncde_report::RunRecord;
use ncde_report::record::StopReason;
use ncde_runtime::ModelSpec;
use ncde_runtime::layer::LayerList;

use crate::by_time::{Cut, Long};
use crate::cases::Cases;
use crate::checkpoint::{self, Progress};
use crate::device::{OnDevice, on_device};
use crate::directory::{self, CONFIG, RECORD};
use crate::features::Features;
use crate::goal::Goal;
use crate::optimizer::{AnyOptimizer, TrainBackend};
use crate::preset::Method;
use crate::resume::steps_of;
use crate::state::State;
use crate::store::{save_model, write_whole};
use crate::trainee::Trainee;
use crate::trainer::{Ended, Trainer};
use crate::{Config, Device, Error, Event, Outcome, Parts, Settings, Warning};

/// A run that is ready to go.
#[derive(Debug)]
pub struct Run {
    pub(crate) settings: Settings,
    /// The effective configuration: every key that has a value.
    pub(crate) config: Config,
    pub(crate) method: Method,
    pub(crate) data: Dataset,
    pub(crate) parts: Parts,
    /// The group of each case, if cases of one group stay together.
    pub(crate) groups: Option<Vec<usize>>,
    /// The series as they are, if they are split by time; `data` and `parts` are then pieces of them.
    pub(crate) long: Option<Long>,
    pub(crate) spec: ModelSpec,
    pub(crate) features: Features,
    pub(crate) goal: Goal,
    pub(crate) removed: usize,
    /// Of the data, with the parts that it is cut into.
    pub(crate) fingerprint: String,
    pub(crate) warnings: Vec<Warning>,
    pub(crate) stop: Option<Arc<AtomicBool>>,
    pub(crate) device: Device,
}

impl Run {
    /// The run on another device.
    #[must_use]
    pub fn with_device(self, device: Device) -> Self {
        Self { device, ..self }
    }

    /// The run with another optimizer than the configuration names, such as one of another crate.
    #[must_use]
    pub fn with_optimizer(mut self, optimizer: Arc<dyn AnyOptimizer>) -> Self {
        self.settings.plan.optimizer = optimizer;
        // The configuration that is saved names none in its place.
        self.config.train.optimizer = None;
        self
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

    /// The effective configuration: every default decided.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// What is done, every default decided.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Which case is for what. Of series that are split by time these are pieces, and nothing to test on is among them.
    pub fn parts(&self) -> &Parts {
        &self.parts
    }

    /// Whether cases have groups, which stay together in every split.
    pub fn is_grouped(&self) -> bool {
        self.groups.is_some()
    }

    /// The group of a case: itself, where there are no groups.
    pub(crate) fn group(&self, case: usize) -> usize {
        self.groups.as_ref().map_or(case, |groups| groups[case])
    }

    /// The training cases, those of one group one after the other.
    pub(crate) fn train_by_group(&self) -> Vec<usize> {
        let mut train = self.parts.train.clone();
        train.sort_by_key(|&case| self.group(case));
        train
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
    /// `on` is shown what happens, and may break off: the run then ends with the best weights so far.
    ///
    /// # Errors
    /// If the directory is another run's, a run is resumed with other data or settings, a step fails, or a file cannot be written.
    pub fn train(&self, request: &TrainRequest<'_>, on: &mut dyn FnMut(Event<'_>) -> ControlFlow<()>) -> Result<Outcome, Error> {
        let _lock = directory::claim(request.directory, request.resume)?;
        match &self.method {
            Method::ClosedForm(closed_form) => self.solve_in(closed_form, request, on),
            Method::Gradient => on_device(self.device, Training { run: self, request, on })?,
        }
    }

    /// Where a run stands before its first step.
    pub(crate) fn beginning(&self) -> Progress {
        Progress { identity: self.identity(), headline: self.settings.headline.clone(), ..Progress::default() }
    }

    /// Takes steps, and writes everything to the directory.
    fn train_on<B: TrainBackend>(
        &self,
        request: &TrainRequest<'_>,
        on: &mut dyn FnMut(Event<'_>) -> ControlFlow<()>,
    ) -> Result<Outcome, Error> {
        let (plan, directory) = (&self.settings.plan, request.directory);
        // Layers that are computed ahead keep their places, and have no weights.
        let layers = LayerList::starting_at(self.features.first, &self.spec.layers);
        let mut trainee =
            Trainee::<B>::new(layers, &self.features.signal, plan.seed, plan.optimizer.clone(), &Default::default())?;
        let mut cases = Cases::<B>::new(self, self.settings.batch);
        let mut saved = if request.resume { checkpoint::load(directory, checkpoint::RUNNING)? } else { None };
        if saved.is_none()
            && let Some(record) = self.finished(directory).filter(|_| request.resume).transpose()?
        {
            if Config::from_toml(&record.config)?.train.steps == self.config.train.steps {
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
        let (state, progress) = match saved {
            Some((saved, tensors)) => {
                self.check_same(&saved.identity)?;
                let is_longer = steps_of(&saved.identity) != self.config.train.steps;
                let extended = if is_longer { saved.step } else { saved.extended };
                let state = State::new(trainee, plan.average).restored(tensors, &saved.counts)?;
                (state, Progress { identity: self.identity(), extended, ..saved })
            }
            None => {
                trainee.network.fit(&mut |visit| cases.over_training(visit))?;
                (State::new(trainee, plan.average), self.beginning())
            }
        };
        write_whole(&directory.join(CONFIG), self.config.to_toml().as_bytes())?;
        let parameters = state.trainee.network.parameters();
        let mut is_over = on(Event::Started { done: progress.step, steps: plan.steps, parameters });
        let mut watch = |event: Event<'_>| {
            if is_over.is_continue() {
                is_over = on(event);
            }
            is_over
        };
        let stop = self.stop.as_deref();
        let mut trainer = Trainer { plan, state, progress, directory: Some(directory), stop, on: &mut watch };
        let ended = trainer.run(&mut cases)?;
        let Trainer { state, progress, .. } = trainer;
        let (stopped, diverged) = match (ended, &progress.best) {
            (Ended::For(reason), _) => (reason, None),
            // What was good before is not lost.
            (Ended::Diverged(source), Some(best)) => {
                (StopReason::Diverged, Some(Error::Stopped { source: Box::new(source), step: best.step }))
            }
            (Ended::Diverged(error), None) => return Err(error),
            (Ended::Interrupted, _) => {
                let (step, steps) = (progress.step, plan.steps);
                return Err(Error::Interrupted { step, steps, directory: directory.into() });
            }
        };
        let _ = on(Event::Testing);
        let mut network = state.into_network(plan.keep_best);
        network.measure(&mut |visit| cases.over_training(visit))?;
        save_model(directory, self.spec.clone(), &network.values())?;
        let record = self.record(&progress, request, stopped, parameters)?;
        write_record(directory, &record)?;
        if diverged.is_none() {
            checkpoint::finish(directory)?;
        } else {
            checkpoint::remove(directory)?;
        }
        tell_overflows(&record, on);
        diverged.map_or(Ok(Outcome { record, already: false }), Err)
    }
}

/// Where a run is trained, and what its record says of that.
#[derive(Debug, Clone, Copy)]
pub struct TrainRequest<'a> {
    /// The directory of the run.
    pub directory: &'a Path,
    /// Whether a run that stands there goes on.
    pub resume: bool,
    /// The command, for the record.
    pub command: &'a str,
    /// When it was begun, for the record.
    pub started: &'a str,
}

impl<'a> TrainRequest<'a> {
    /// A new run in a directory, of which nothing else is recorded.
    pub fn new(directory: &'a (impl AsRef<Path> + ?Sized)) -> Self {
        Self { directory: directory.as_ref(), resume: false, command: "", started: "" }
    }

    /// The same, which goes on with what stands there.
    #[must_use]
    pub fn resumed(self) -> Self {
        Self { resume: true, ..self }
    }
}

struct Training<'a> {
    run: &'a Run,
    request: &'a TrainRequest<'a>,
    on: &'a mut dyn FnMut(Event<'_>) -> ControlFlow<()>,
}

impl OnDevice for Training<'_> {
    type Output = Result<Outcome, Error>;

    fn run<B: TrainBackend>(self) -> Self::Output {
        self.run.train_on::<B>(self.request, self.on)
    }
}

/// Says which cases overflow.
pub(crate) fn tell_overflows(record: &RunRecord, on: &mut dyn FnMut(Event<'_>) -> ControlFlow<()>) {
    for (part, cases) in [("validation", &record.overflowed.validation), ("test", &record.overflowed.test)] {
        if !cases.is_empty() {
            // The run is over.
            let _ = on(Event::Overflowed { part, cases });
        }
    }
}

pub(crate) fn write_record(directory: &Path, record: &RunRecord) -> Result<(), Error> {
    let json = record.to_json().map_err(|e| Error::Unfit(e.to_string()))?;
    write_whole(&directory.join(RECORD), json.as_bytes())
}
