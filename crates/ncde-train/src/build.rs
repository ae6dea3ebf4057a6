//! From a configuration and data to a run: what is done, on what, and the model without its weights.

use ncde_data::{Dataset, Targets};
use ncde_runtime::{At, Extent, FORMAT, Forecast, ModelSpec, Task, WeightsSpec};

use super::by_time::Long;
use super::config::Config;
use super::features::Features;
use super::goal::{Goal, labelled};
use super::preset::{self, Clock, Facts};
use super::settings::{Settings, at_least, fit_target, refuse};
use super::split::Parts;
use super::warning::{self, Warning};
use super::{Device, Error, Run, fingerprint, fit};

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
        let mut config = settings.decided.clone();
        let deduplicate = config.data.deduplicate == Some(true);
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
        let grid = config.data.grid;
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
            let length = at_least("data.stretch", *config.data.stretch.get_or_insert(usual), 2)?;
            let own = if settings.is_closed_form() { whole } else { long.stretches(length, ahead) };
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
        let most = config.data.stretch.unwrap_or(usize::MAX);
        let lengths = parts.train.iter().map(|&i| data.cases[i].len().min(most)).collect();
        let mut facts = Facts::new(spec.signal(), lengths, &spec.task, data.channels.len(), settings.time);
        let unit = spec.preparation.time.map_or(1.0, |scaling| scaling.factor);
        facts.clock = Clock::of(parts.train.iter().map(|&i| &data.cases[i].times[..]), unit).within(most);
        facts.period = spec.task.forecast().and_then(|forecast| {
            let observations = forecast.baseline.as_ref()?.period? as f64;
            Some(observations * forecast.step.map_or(facts.clock.gap, |step| step * unit))
        });
        let resolved = preset::resolve(settings.choice, &config.model, &facts)?;
        (spec.name, spec.layers, config.model) = (resolved.name, resolved.layers, resolved.model);
        spec.check()?;
        let features = Features::new(&data, &spec.preparation, &spec.layers, &spec.signal(), wanted)?;
        let mut goal = Goal::new(&data, &spec.task, &spec.preparation, features.window, &learned);
        goal.weigh(&parts.train, settings.class_weights);
        let fingerprint = match &long {
            Some(long) => long.fingerprint(),
            None => fingerprint::of(&data, &parts),
        };
        let mut warnings = warning::of(&data, &parts, &settings, &spec.task);
        // What is tested on of series that are split by time is no case of its own.
        if long.as_ref().is_some_and(|long| long.series()[2] > 0) {
            warnings.retain(|own| *own != Warning::NothingToTest);
        }
        Ok(Self {
            settings,
            config,
            closed_form: resolved.closed_form,
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
