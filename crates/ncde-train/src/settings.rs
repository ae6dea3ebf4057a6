//! What a run does: every default, decided from the data.

use ncde_data::{Case, Dataset, Targets, TaskName};
use ncde_report::metrics::higher_is_better;
use ncde_runtime::random::Stream;
use ncde_runtime::{At, Forecast, Known, Scaling, Smoothing, Task};

use super::Error;
use super::config::{Config, DataConfig};
use super::fit::scaling;
use super::known;
use super::loss::LossName;
use super::names::{ClassWeights, MissingName, Scale, SplitBy};
use super::optimizer::OptimizerName;
use super::preset::Choice;
use super::schedule::{Schedule, Shape};
use super::season::baseline;
use super::slots::rhythm;
use super::smoothing::{best_experts, smoothing};
use super::split::Split;
use super::threshold::Wanted;
use super::trainer::Plan;

/// With fewer cases than this, none are held back to validate on by default: they are needed to learn from, and too few to choose by.
const MIN_CASES_TO_VALIDATE: usize = 200;

/// With fewer series than this, and an output at every observation, each is split by time.
const MIN_SERIES_TO_HOLD_OUT: usize = 10;
/// A series that is split by time by default has at least so many observations, and so many times the horizon.
const LONG_SERIES_ROWS: usize = 100;
const LONG_SERIES_HORIZONS: usize = 8;
/// Series of a forecast are split by time if the usual one has so many horizons, and so many observations more.
const FORECAST_HORIZONS: usize = 3;
const FORECAST_ROWS: usize = 20;

/// What a run does.
///
/// | key | default |
/// | --- | --- |
/// | `data.split` | as a file of parts says, if there is one; by time for outputs at steps of fewer than 10 long series; by files if there is a test file, else by chance |
/// | `data.validation`, `data.test_share` | 0.15 each; nothing to validate on with fewer than 200 cases, or for a `reservoir`, unless it is a forecast |
/// | `data.stratified` | yes, if there are classes and the split is not the thesis's |
/// | `prepare.scale`, `prepare.time` | min-max, yes; standard, no for a `reservoir`; standard, yes for `gru-d` |
/// | `prepare.missing` | counts if a value is missing and the split is not by time, else forward |
/// | `model` | see `preset` |
/// | `train.steps`, `train.batch`, `train.rate`, `train.schedule` | 1500 (3000 where short words come first), 32, 0.003, cosine after 100 steps of warm-up |
/// | `train.weight_decay`, `train.clip` | 1 (`adamw`), 1 |
/// | `train.loss`, `train.metric` | cross-entropy and loss; squared and mse |
/// | `train.short_first` | half of the steps for tokens with a label each whose lengths differ by a factor of 2, else 0 |
/// | `train.evaluate_every`, `train.patience` | a thirtieth of the steps; a half, and `short_first` |
#[expect(missing_docs, reason = "the names say what the fields are")]
#[derive(Debug, Clone)]
pub struct Settings {
    /// The configuration with every key decided that does not depend on how cases are split.
    pub decided: Config,
    pub(crate) choice: Choice,
    /// The key for which `slice` is trained in place of the default.
    pub(crate) instead_for: Option<String>,
    /// What is predicted; the scaling of a number is fitted later.
    pub task: Task,
    pub split: Split,
    /// Whether each series is split by time.
    pub by_time: bool,
    /// Whether a test file stays as it is.
    pub by_files: bool,
    pub stratified: bool,
    pub scale: Scale,
    pub time: bool,
    pub missing: MissingName,
    /// How a model is trained that is not solved for.
    pub plan: Plan,
    /// Series a step.
    pub batch: usize,
    /// Steps until all cases take part, the shortest first.
    pub short_first: usize,
    pub loss: LossName,
    pub class_weights: ClassWeights,
    pub(crate) threshold: Option<Wanted>,
    /// The metric that decides if it was asked for, and so is shown first; else empty.
    pub headline: String,
}

impl Settings {
    /// Decides everything. `test_file` says whether there is a file to test on.
    ///
    /// # Errors
    /// If the settings make no sense, alone or for this data.
    pub fn of(asked: &Config, data: &Dataset, test_file: bool) -> Result<Self, Error> {
        let mut config = asked.clone();
        let mut task = task(&config, data)?;
        let d = &mut config.data;
        d.task = Some(task_name(&task));
        if let Task::Forecast(forecast) = &task {
            (d.horizon, d.first_horizon) = (Some(forecast.horizon), Some(*forecast.horizons().start()));
        }
        let usual = match (&d.parts, test_file) {
            (Some(_), _) => SplitBy::Parts,
            (None, _) if d.folds.or(d.fold).is_none() && splits_by_time(data, &task) => SplitBy::Time,
            (None, true) => SplitBy::Files,
            (None, false) => SplitBy::Random,
        };
        let split = *d.split.get_or_insert(usual);
        if split == SplitBy::Time && data.groups.is_some() {
            return refuse(
                "data.split",
                "`time`, but a group says which series stay together (`--group`); leave one of them out",
            );
        }
        let by_time = split == SplitBy::Time;
        if by_time && task.at() == At::End {
            return refuse("data.split", "`time`, but series as a whole have labels; it is for forecasts and labels at steps");
        }
        if by_time && (d.folds.or(d.fold).is_some() || d.deduplicate == Some(true)) {
            return refuse(
                "data.split",
                "`time`, by which there are no folds and no duplicates; leave them out, or use `random`",
            );
        }
        if d.stretch.is_some() && !by_time {
            return refuse("data.stretch", "set, but series are not split by time (`split=time`); leave it out");
        }
        if (split == SplitBy::Parts) != d.parts.is_some() {
            return refuse("data.split", "`parts` if there is a file of them (`--split FILE`), and only then");
        }
        if split == SplitBy::Parts && (d.folds.or(d.fold).is_some() || d.deduplicate == Some(true)) {
            return refuse("data.split", "`parts`, which say what every case is for; leave out folds and `deduplicate`");
        }
        if split == SplitBy::Files && !test_file {
            return refuse("data.split", "`files`, but there is no test file; give one (`--test FILE`) or use `random`");
        }
        let tokens = data.vocabulary.is_some();
        let choice = Choice::of(&config.model, &config.train, tokens)?;
        let closed = choice.is_closed_form();
        let is_named = config.model.name.is_some() || !config.model.layers.is_empty();
        let instead_for =
            Choice::key_of_steps(&config.model, &config.train).filter(|key| key.starts_with("train.") && !is_named && !tokens);
        if let Some(key) = config.train.of_steps().filter(|_| closed) {
            return Err(Error::Config(format!(
                "`train.{key}` is set, but a `reservoir` is solved for, without steps; leave it out, or train another model (`--model slice`)"
            )));
        }
        if let Task::Forecast(forecast) = &mut task {
            let smoothing = *d.smoothing.get_or_insert(closed && d.relative.is_none());
            if smoothing && (!closed || d.relative == Some(true)) {
                return refuse(
                    "data.smoothing",
                    "true, but that is for a `reservoir` whose forecasts are not `relative`; leave it out",
                );
            }
            if let (Some(names), false) = (&d.known, smoothing) {
                return refuse("data.known", format!("{names:?}, but that is for forecasts beside smoothing: of a `reservoir`"));
            }
            forecast.relative = *d.relative.get_or_insert(!smoothing);
        }
        let forecast = task.forecast().is_some();
        let whole = match forecast {
            // How far off forecasts are is seen on the validation part, and a series has many of them.
            true => !by_time && data.cases.len() < MIN_SERIES_TO_HOLD_OUT,
            false if by_time => closed,
            false => (closed && split.thesis().is_none()) || data.cases.len() < MIN_CASES_TO_VALIDATE,
        };
        // Parts of a short series that is forecast hold a horizon and a half, if that leaves enough to train on.
        let of_horizons =
            task.forecast().map_or(0.0, |forecast| 1.5 * forecast.horizon as f64 / usual_length(data).max(1) as f64);
        let usual_share = if by_time { (100.0 * of_horizons).round().clamp(15.0, 30.0) / 100.0 } else { 0.15 };
        let validation = share("data.validation", *d.validation.get_or_insert(if whole { 0.0 } else { usual_share }))?;
        let test = share("data.test_share", *d.test_share.get_or_insert(usual_share))?;
        if validation + test >= 1.0 {
            return refuse("data.validation", format!("{validation} and `test_share` {test} leave nothing to train on"));
        }
        let classes = matches!(data.targets, Targets::Classes { .. });
        let thesis = split.thesis();
        let stratified = *d.stratified.get_or_insert(classes && thesis.is_none()) && classes;
        if thesis.is_some() && (stratified || d.folds.is_some() || d.fold.is_some()) {
            return refuse("data.split", "`thesis`, whose parts are neither stratified nor folds; use `random` for those");
        }
        d.deduplicate.get_or_insert(false);
        let fold = match (d.fold, d.folds) {
            (None, None) => None,
            (fold, Some(folds)) if folds >= 2 && fold.unwrap_or(0) < folds => Some((fold.unwrap_or(0), folds)),
            (fold, folds) => {
                return refuse(
                    "data.fold",
                    format!("fold {fold:?} of {folds:?}; write, for example, `folds = 5` and `fold = 0`"),
                );
            }
        };
        let by_files = split == SplitBy::Files || (by_time && test_file);
        let seed = *config.train.seed.get_or_insert(0);
        let split = Split { validation, test: if by_files { 0.0 } else { test }, fold: fold.filter(|_| !by_files), thesis, seed };

        let p = &mut config.prepare;
        // In GRU-D what is missing fades towards 0, which is to be the mean.
        let fades = config.model.name.as_deref() == Some("gru-d");
        let usual = if tokens {
            Scale::None
        } else if closed || fades {
            Scale::Standard
        } else {
            Scale::MinMax
        };
        let scale = *p.scale.get_or_insert(usual);
        let time = *p.time.get_or_insert(!tokens && !closed);
        if tokens && (time || scale != Scale::None) {
            return refuse(
                "prepare.time",
                "true, or `prepare.scale` is set, but the data are tokens, which are taken as they are",
            );
        }
        let gaps = data.cases.iter().any(|case| case.values.iter().any(|x| x.is_nan()));
        // Counts grow as long as a series does, and one that is split by time goes on beyond what was trained on.
        let counts = gaps && !by_time;
        let missing = *p.missing.get_or_insert(if counts { MissingName::Counts } else { MissingName::Forward });
        let time = time || (closed && data.channels.is_empty());
        p.time = Some(time);
        if data.channels.is_empty() && !time {
            return Err(Error::Unfit(
                "the data has no channels, and `prepare.time` is false: there is nothing to drive a model".into(),
            ));
        }

        let t = &mut config.train;
        let lengths = || data.cases.iter().map(Case::len);
        let differ = lengths().min().unwrap_or(0) * 2 <= lengths().max().unwrap_or(0);
        let short_words = tokens && differ && task.at() == At::End;
        let steps = at_least("train.steps", *t.steps.get_or_insert(if short_words { 3000 } else { 1500 }), 1)?;
        let batch = at_least("train.batch", *t.batch.get_or_insert(32), 1)?;
        let short_first = *t.short_first.get_or_insert(if short_words { steps / 2 } else { 0 });
        let rate = positive("train.rate", *t.rate.get_or_insert(0.003))?;
        let shape = *t.schedule.get_or_insert(Shape::Cosine);
        let warmup = *t.warmup.get_or_insert(if shape == Shape::Constant { 0 } else { 100.min(steps / 10) });
        let floor = t.floor.unwrap_or(0.0);
        if !(floor.is_finite() && (0.0..=rate).contains(&floor)) || (t.floor.is_some() && shape == Shape::Constant) {
            return refuse("train.floor", format!("{floor}; it lies between 0 and the rate, {rate}; a constant rate has none"));
        }
        let optimizer = *t.optimizer.get_or_insert(OptimizerName::Adamw);
        let decay = match optimizer.usual_decay() {
            Some(usual) => *t.weight_decay.get_or_insert(usual),
            None if t.weight_decay.is_some_and(|decay| decay != 0.0) => {
                return refuse("train.weight_decay", "Adam has none; use `optimizer = \"adamw\"`, or `penalty`");
            }
            None => 0.0,
        };
        let average = t.average.unwrap_or(0.0);
        if !(0.0..1.0).contains(&average) {
            return refuse("train.average", format!("{average}; it is 0 (no average) or a share below 1, such as 0.999"));
        }
        let penalty = *t.penalty.get_or_insert(0.0);
        let clip = *t.clip.get_or_insert(1.0);
        for (key, value) in [("train.weight_decay", decay), ("train.penalty", penalty), ("train.clip", clip)] {
            if !(value.is_finite() && value >= 0.0) {
                return refuse(key, format!("{value}; it is 0 or more"));
            }
        }
        let evaluate_every = at_least("train.evaluate_every", *t.evaluate_every.get_or_insert((steps / 30).max(1)), 1)?;
        let patience = *t.patience.get_or_insert(steps.div_ceil(2) + short_first);
        let classes = matches!(task, Task::Classification { .. });
        let class_weights = *t.class_weights.get_or_insert(ClassWeights::None);
        if class_weights != ClassWeights::None && !classes {
            return refuse("train.class_weights", "set, but numbers are predicted, not classes; leave it out");
        }
        let loss = *t.loss.get_or_insert(if classes { LossName::CrossEntropy } else { LossName::Squared });
        if loss.is_of_classes() != classes {
            let of = if classes {
                "numbers; of classes there is `cross-entropy`"
            } else {
                "classes; of numbers there are `squared`, `absolute` and `huber`"
            };
            return refuse("train.loss", format!("of {of}"));
        }
        let threshold = Wanted::of(t, &data.targets)?;
        let is_found = threshold.as_ref().is_some_and(|threshold| threshold.known().is_none());
        if is_found && !closed && validation == 0.0 && config.data.parts.is_none() {
            return refuse(
                "train.threshold",
                "found on cases that are held back, but none are; hold some back (`--set validation=0.2`), or give a number",
            );
        }
        let known: &[&str] = match task {
            Task::Classification { .. } => &["loss", "accuracy", "balanced_accuracy", "auroc", "f1"],
            Task::Regression { .. } | Task::Forecast { .. } => &["mse", "mae", "r2"],
        };
        let headline = t.metric.clone().unwrap_or_default();
        let usual = if loss == LossName::Absolute { "mae" } else { known[0] };
        let metric = t.metric.get_or_insert_with(|| usual.into()).clone();
        if !known.contains(&metric.as_str()) {
            return refuse("train.metric", format!("`{metric}`; for this task there are {}", known.join(", ")));
        }
        let minutes = *t.minutes.get_or_insert(0.0);
        if !(minutes.is_finite() && minutes >= 0.0) {
            return refuse("train.minutes", format!("{minutes}; it is 0 (no limit) or more"));
        }
        if closed {
            // There are no steps, so no keys of them.
            *t = std::mem::take(t).without_steps();
        }
        let plan = Plan {
            optimizer: optimizer.optimizer(),
            schedule: Schedule { peak: rate, floor, warmup: warmup as f64, shape },
            decay,
            clip,
            penalty,
            average,
            evaluate_every,
            patience,
            seconds: 60.0 * minutes,
            higher_is_better: higher_is_better(&metric),
            metric,
            seed,
            masks: Stream::new(seed, 5),
            ..Plan::new(steps, rate)
        };
        Ok(Self {
            choice,
            instead_for,
            task,
            split,
            by_time,
            by_files,
            stratified,
            scale,
            time,
            missing,
            plan,
            batch,
            short_first,
            loss,
            class_weights,
            threshold,
            headline,
            decided: config,
        })
    }

    /// Whether the model is solved for in closed form, and not trained step by step.
    pub fn is_closed_form(&self) -> bool {
        self.choice.is_closed_form()
    }
}

/// Whether series are split by time: those of a forecast, as later times are what it is for; labels at steps where there are too few series to keep some of them back. Each must be
/// long enough.
fn splits_by_time(data: &Dataset, task: &Task) -> bool {
    let ahead = task.forecast().map_or(0, |forecast| forecast.horizon);
    if task.forecast().is_some() && data.groups.is_none() && usual_length(data) >= FORECAST_HORIZONS * ahead + FORECAST_ROWS {
        return true;
    }
    let enough = LONG_SERIES_ROWS.max(LONG_SERIES_HORIZONS * (ahead + 1));
    let long = data.cases.iter().map(ncde_data::Case::len).max().is_some_and(|longest| longest >= enough);
    task.at() == At::Steps && data.groups.is_none() && data.cases.len() < MIN_SERIES_TO_HOLD_OUT && long
}

/// The median length.
fn usual_length(data: &Dataset) -> usize {
    let mut lengths: Vec<usize> = data.cases.iter().map(ncde_data::Case::len).collect();
    lengths.sort_unstable();
    lengths.get(lengths.len() / 2).copied().unwrap_or(0)
}

/// The name of a task, as `data.task` has it.
pub fn task_name(task: &Task) -> TaskName {
    match task {
        Task::Classification { .. } => TaskName::Classification,
        Task::Regression { .. } => TaskName::Regression,
        Task::Forecast(_) => TaskName::Forecast,
    }
}

fn task(config: &Config, data: &Dataset) -> Result<Task, Error> {
    let horizon = config.data.horizon;
    let forecast = config.data.is_forecast();
    if forecast && data.vocabulary.is_some() {
        return refuse(
            "data.task",
            "`forecast`, but the data are tokens; give the next token as a label at each observation instead",
        );
    }
    if forecast {
        let horizon = at_least("data.horizon", horizon.unwrap_or(1), 1)?;
        let longest = data.cases.iter().map(ncde_data::Case::len).max().unwrap_or(0);
        if horizon >= longest {
            return refuse("data.horizon", format!("{horizon} observations ahead, but the longest series has {longest}"));
        }
        let from = at_least("data.first_horizon", config.data.first_horizon.unwrap_or(1), 1)?;
        if from > horizon {
            return refuse("data.first_horizon", format!("{from}, but `horizon`, the last one, is {horizon}"));
        }
        let known = channels_named(data, "data.known", config.data.known.as_deref())?;
        let mut targets = channels_named(data, "data.target", config.data.target.as_deref())?;
        if targets.is_empty() {
            let all = || (0..data.channels.len()).filter(|c| !known.contains(c));
            targets = all().filter(|&c| !is_category(data, c)).collect();
            if targets.is_empty() {
                targets = all().collect();
            }
        }
        if let Some(both) = targets.iter().find(|c| known.contains(c)) {
            let name = &data.channels[*both];
            return refuse("data.known", format!("`{name}`, which is a target as well; what is forecast is not known ahead"));
        }
        if targets.is_empty() {
            return refuse("data.known", "all channels; leave one to forecast");
        }
        if targets.len() == data.channels.len() {
            targets.clear();
        }
        let known = (!known.is_empty()).then(|| Known { channels: known, means: Vec::new(), effects: Vec::new() });
        return Ok(Task::Forecast(Forecast { from: Some(from), targets, known, ..Forecast::one(horizon) }));
    }
    let class = |names: &[String], at| {
        if names.len() < 2 {
            let seen = names.first().map_or("there is no class".into(), |name| format!("every case has the class `{name}`"));
            return Err(Error::Unfit(format!("{seen}: there is nothing to tell apart; check the labels")));
        }
        Ok(Task::Classification { classes: names.to_vec(), at })
    };
    let number = |name: &str, at| Ok(Task::Regression { target: name.into(), at, scaling: Scaling::IDENTITY });
    match &data.targets {
        Targets::Classes { names, .. } => class(names, At::End),
        Targets::ClassSteps { names, .. } => class(names, At::Steps),
        Targets::Values { name, .. } => number(name, At::End),
        Targets::ValueSteps { name, .. } => number(name, At::Steps),
        Targets::None => Err(Error::Unfit(
            "the data has no labels; give a second file (`--labels FILE`), say which column holds them (`--label NAME`), or \
             forecast the channels (`--set task=forecast`)"
                .into(),
        )),
    }
}

/// The channels of these names, increasing; the name of a text column is that of the channels of all its words.
fn channels_named(data: &Dataset, key: &str, names: Option<&[String]>) -> Result<Vec<usize>, Error> {
    let mut all = Vec::new();
    for name in names.unwrap_or_default() {
        let is_named = |channel: &String| channel == name || channel.split_once('=').is_some_and(|(column, _)| column == name);
        let before = all.len();
        all.extend(data.channels.iter().enumerate().filter(|(_, channel)| is_named(channel)).map(|(c, _)| c));
        if all.len() == before {
            return refuse(key, format!("`{name}`, but the channels are {}", data.channels.join(", ")));
        }
    }
    all.sort_unstable();
    all.dedup();
    Ok(all)
}

/// Whether a channel says where a text column has a word.
fn is_category(data: &Dataset, c: usize) -> bool {
    let mut values = data.cases.iter().flat_map(|case| case.values.iter().skip(c).step_by(data.channels.len()));
    data.channels[c].contains('=') && values.all(|&x| x == 0.0 || x == 1.0 || x.is_nan())
}

/// The scaling of numbers to be predicted, or what is known of the times and seasons of what is forecast, from the training part. `settings` are those of the data.
pub(super) fn fit_target(task: &mut Task, data: &Dataset, train: &[usize], settings: &DataConfig) {
    if let Task::Forecast(forecast) = task {
        let times: Vec<&[f64]> = train.iter().map(|&i| &data.cases[i].times[..]).collect();
        let seen;
        (forecast.step, forecast.calendar, seen) = rhythm(&times, data.times);
        forecast.grid = settings.grid.unwrap_or(seen) && forecast.step.is_some();
        forecast.baseline = Some(baseline(data, train, forecast));
        if settings.smoothing == Some(true) {
            forecast.smoothing = Some(smoothing(data, train, forecast));
            let channels = data.channels.len();
            let values = |c: usize| train.iter().flat_map(move |&i| data.cases[i].values.iter().skip(c).step_by(channels));
            let targets = (0..forecast.width(channels)).map(|target| forecast.channel(target));
            forecast.nonnegative = targets.map(|c| values(c).all(|x| x.is_nan() || *x >= 0.0)).collect();
            if let Some(mut known) = forecast.known.take() {
                known::fit(&mut known, data, train, forecast);
                forecast.known = Some(known);
            }
            if let Some(smoothing) = &forecast.smoothing {
                let experts = best_experts(smoothing, data, train, forecast);
                forecast.smoothing = Some(Smoothing { experts, ..smoothing.clone() });
            }
        }
    }
    if let Task::Regression { scaling: own, .. } = task {
        let all: Vec<f64> = match &data.targets {
            Targets::Values { of, .. } => train.iter().map(|&i| of[i]).collect(),
            Targets::ValueSteps { of, .. } => train.iter().flat_map(|&i| of[i].iter().copied()).collect(),
            _ => Vec::new(),
        };
        *own = scaling(all, Scale::Standard);
    }
}

pub(super) fn refuse<T>(key: &str, problem: impl std::fmt::Display) -> Result<T, Error> {
    Err(Error::Config(format!("`{key}` is {problem}")))
}

pub(super) fn at_least(key: &str, value: usize, least: usize) -> Result<usize, Error> {
    if value >= least { Ok(value) } else { refuse(key, format!("{value}; it is {least} or more")) }
}

pub(super) fn positive(key: &str, value: f64) -> Result<f64, Error> {
    if value.is_finite() && value > 0.0 { Ok(value) } else { refuse(key, format!("{value}; it is a positive number")) }
}

fn share(key: &str, value: f64) -> Result<f64, Error> {
    if (0.0..1.0).contains(&value) { Ok(value) } else { refuse(key, format!("{value}; it is a share, from 0 to below 1")) }
}
