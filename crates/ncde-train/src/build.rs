//! From a configuration and data to a run, in stages; what one has decided the next is given and does not change.
//!
//! ```text
//! Config + Dataset -> Settings -> Prepared (cases, their parts, what is fitted to them) -> Resolved (layers, method) -> Run (rows, targets)
//! ```

use std::ops::Range;

use ncde_data::{Dataset, Targets};
use ncde_runtime::{At, Extent, Forecast, ModelSpec, Preparation, Task};

use super::by_time::Long;
use super::config::{Config, DataConfig};
use super::features::Features;
use super::goal::{Goal, labelled};
use super::known;
use super::preset::{self, Clock, Facts, Resolved};
use super::settings::{Settings, at_least, fit_target, refuse};
use super::split::Parts;
use super::threshold::Wanted;
use super::warning::{self, Warning};
use super::{Device, Error, Run, fingerprint, fit};

/// The cases of a run and what each is for, before a model is chosen.
struct Prepared {
    settings: Settings,
    data: Dataset,
    /// Exact copies that were removed.
    removed: usize,
    parts: Parts,
    /// The observations of each case that are learned from.
    learned: Vec<Range<usize>>,
    /// The series as they are, if they are split by time.
    long: Option<Long>,
    /// How many observations of a series that is split by time are looked at together.
    stretch: Option<usize>,
    task: Task,
    /// What was seen in training.
    seen: Extent,
    preparation: Preparation,
}

impl Run {
    /// From a configuration and data; `test` is the file to test on.
    ///
    /// # Errors
    /// If the settings make no sense for the data, the parts of a dataset do not fit together, or the test data has other channels or classes.
    pub fn new(config: &Config, train: Dataset, test: Option<Dataset>) -> Result<Self, Error> {
        train.check()?;
        test.as_ref().map_or(Ok(()), Dataset::check)?;
        let train = if config.data.columns.unknown == Some(true) { train.with_unknown() } else { train };
        // Where others have drawn the parts, places in the file count; everywhere else only ids do.
        let by_place = config.data.parts.is_some() || config.data.split.is_some_and(|split| split.thesis().is_some());
        let ordered = |data: Dataset| if by_place { data } else { data.by_id() };
        let (train, test) = (ordered(train), test.map(ordered));
        let settings = Settings::of(config, &train, test.is_some())?;
        let prepared = Prepared::new(settings, train, test)?;
        let facts = prepared.facts();
        let resolved = preset::resolve(prepared.settings.choice, &prepared.settings.decided.model, &facts)?;
        prepared.run(resolved)
    }
}

impl Prepared {
    /// Joins the files, decides which case is for what, and fits what is fitted to the training part.
    fn new(settings: Settings, train: Dataset, test: Option<Dataset>) -> Result<Self, Error> {
        let deduplicate = settings.decided.data.deduplicate == Some(true);
        let once = |data: Dataset| if deduplicate { data.without_duplicates() } else { (data, 0) };
        let test = test.map(|test| test.aligned(&train.schema())).transpose()?;
        let known = settings.task.forecast().and_then(|forecast| forecast.known.as_ref()).map(|known| &known.channels[..]);
        // Rows behind the last observation say what is known of the future, of which nothing can be learned.
        let past = |data: Dataset| match known {
            Some(known) => known::past(data, known),
            None => data,
        };
        let (train, test) = (past(train), test.map(past));
        let (data, removed, trained) = match test {
            // A test file that stays as it is comes behind, with its copies.
            Some(test) if settings.by_files => {
                let (train, removed) = once(train);
                let trained = train.cases.len();
                (train.concat(test)?, removed, trained)
            }
            test => {
                let (data, removed) = once(if let Some(test) = test { train.concat(test)? } else { train });
                let trained = data.cases.len();
                (data, removed, trained)
            }
        };
        let (mut task, of_data) = (settings.task.clone(), &settings.decided.data);
        let extent = |data: &Dataset, train: &[usize]| {
            let series = train.iter().map(|&i| (&data.cases[i].times[..], &data.cases[i].values[..]));
            Extent::of(data.channels.len(), series)
        };
        let (data, parts, learned, long, stretch, seen) = if settings.by_time {
            let ahead = task.forecast().map_or(0, |forecast| forecast.horizon);
            // Stretches have targets behind their end. The training part of a closed form has none beyond its own.
            let gap = if settings.is_closed_form() { 0 } else { ahead };
            let long = Long::new(data, trained, [settings.split.validation, settings.split.test], gap);
            let whole = long.whole();
            fit_target(&mut task, &whole.data, &whole.parts.train, of_data);
            let seen = extent(&whole.data, &whole.parts.train);
            let stretch = at_least("data.stretch", settings.decided.data.stretch.unwrap_or_else(|| usual_stretch(&task)), 2)?;
            let pieces = if settings.is_closed_form() { whole } else { long.stretches(stretch, ahead) };
            (pieces.data, pieces.parts, pieces.learned, Some(long), Some(stretch), seen)
        } else {
            let parts = parts(&settings, &data, trained)?;
            fit_target(&mut task, &data, &parts.train, of_data);
            let learned = data.cases.iter().map(|case| 0..case.len()).collect();
            let seen = extent(&data, &parts.train);
            (data, parts, learned, None, None, seen)
        };
        if parts.train.is_empty() {
            return Err(Error::Unfit(format!("{} cases leave nothing to train on", data.cases.len())));
        }
        let nothing = |&i: &usize| labelled(&data, &task, i, learned[i].clone()).is_empty();
        if task.at() == At::Steps && parts.train.iter().all(nothing) {
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
        Ok(Self { settings, data, removed, parts, learned, long, stretch, task, seen, preparation })
    }

    /// The model without layers and weights.
    fn spec(&self) -> ModelSpec {
        ModelSpec {
            statics: self.data.statics.clone(),
            vocabulary: self.data.vocabulary.clone(),
            threshold: self.settings.threshold.as_ref().and_then(Wanted::known),
            trained: Some(self.seen.clone()),
            preparation: self.preparation.clone(),
            ..ModelSpec::new(&self.data.channels, self.task.clone(), Vec::new())
        }
    }

    /// What the defaults of a model depend on.
    fn facts(&self) -> Facts {
        let train = || self.parts.train.iter().map(|&i| &self.data.cases[i]);
        let most = self.stretch.unwrap_or(usize::MAX);
        let lengths = train().map(|case| case.len().min(most)).collect();
        let unit = self.preparation.time.map_or(1.0, |scaling| scaling.factor);
        let clock = Clock::of(train().map(|case| &case.times[..]), unit).within(most);
        let period = self.task.forecast().and_then(|forecast| {
            let observations = forecast.baseline.as_ref()?.period? as f64;
            Some(observations * forecast.step.map_or(clock.gap, |step| step * unit))
        });
        let facts = Facts::new(self.spec().signal(), lengths, &self.task, self.data.channels.len(), self.settings.time);
        Facts { period, clock, ..facts }
    }

    fn run(self, resolved: Resolved) -> Result<Run, Error> {
        let Resolved { name, layers, method, model } = resolved;
        let spec = ModelSpec { name, layers, ..self.spec() };
        let Self { settings, data, removed, parts, learned, long, stretch, task, .. } = self;
        spec.check()?;
        let wanted = |i: usize| labelled(&data, &task, i, learned[i].clone());
        let features = Features::new(&data, &spec.preparation, &spec.layers, &spec.signal(), wanted)?;
        let goal = Goal::new(&data, &spec, settings.loss, features.window, &learned);
        let goal = goal.weighed(&parts.train, settings.class_weights);
        let fingerprint = match &long {
            Some(long) => long.fingerprint(),
            None => fingerprint::of(&data, &parts),
        };
        let mut warnings = warning::of(&data, &parts, &settings, &spec.task);
        // What is tested on of series that are split by time is no case of its own.
        if long.as_ref().is_some_and(|long| long.series()[2] > 0) {
            warnings.retain(|warning| *warning != Warning::NothingToTest);
        }
        let decided = settings.decided.clone();
        let config = Config { data: DataConfig { stretch, ..decided.data }, model, ..decided };
        Ok(Run {
            groups: data.group_numbers(),
            settings,
            config,
            method,
            data,
            parts,
            long,
            spec,
            features,
            goal,
            removed,
            fingerprint,
            warnings,
            stop: None,
            device: Device::default(),
        })
    }
}

/// Which case is for what, where cases are whole.
fn parts(settings: &Settings, data: &Dataset, trained: usize) -> Result<Parts, Error> {
    let classes = match &data.targets {
        Targets::Classes { of, .. } if settings.stratified => Some(&of[..trained]),
        _ => None,
    };
    let mut parts = match &settings.decided.data.parts {
        Some(path) => super::parts::read(path, settings.plan.seed, &data.cases)?,
        None => match data.group_numbers() {
            Some(groups) => settings.split.parts_of_groups(&groups[..trained], classes),
            None => settings.split.parts(trained, classes),
        },
    };
    parts.test.extend(trained..data.cases.len());
    Ok(parts)
}

/// How much of a long series is looked at together: some times what is looked ahead, or what repeats.
fn usual_stretch(task: &Task) -> usize {
    let period = |forecast: &Forecast| forecast.baseline.as_ref().and_then(|baseline| baseline.period).unwrap_or(1);
    let longest = task.forecast().map_or(1, |forecast| forecast.horizon.max(period(forecast)));
    (8 * longest).clamp(256, 2048)
}
