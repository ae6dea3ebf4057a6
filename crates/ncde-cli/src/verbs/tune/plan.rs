//! From what is typed to a search: all that can be wrong with it is said before anything runs.

use std::path::{Path, PathBuf};

use ncde_experiment::Seeds;
use ncde_train::{Config, Settings, SplitBy};
use ncde_tune::{Method, Space, Sweep, Trial, grid, random, rungs};

use crate::args::TuneArgs;
use crate::error::{Failure, refuse};
use crate::output;
use crate::verbs::train::{self, Files};

/// The share of cases that trials are compared on, where a run by itself would hold none back.
const VALIDATION: f64 = 0.15;
/// Keys that decide between runs, and so are not varied.
const FIXED: [(&str, &str); 4] = [
    ("train.metric", "it decides between runs; set it (`--set metric=auroc`)"),
    ("train.seed", "runs with several seeds are one trial; use `--seeds`"),
    ("data.folds", "folds are parts of one trial; use `--folds`"),
    ("data.fold", "folds are parts of one trial; use `--folds`"),
];

/// A search and what its runs share.
pub(super) struct Plan {
    pub(super) sweep: Sweep,
    pub(super) base: Config,
}

pub(super) fn plan(args: &TuneArgs) -> Result<Plan, Failure> {
    let (mut space, mut base) = (Space::default(), Config::default());
    if let Some(path) = &args.settings.config {
        base = train::read_config(path)?;
    }
    if let Some(path) = &args.grid {
        space = read(path, &mut base)?;
    }
    let mut typed = Space::default();
    for text in &args.vary {
        typed.vary(text)?;
    }
    train::set(&mut base, &args.settings)?;
    space.resolve(Config::full_key)?;
    typed.resolve(Config::full_key)?;
    space.join(typed)?;
    if let Some((key, why)) = FIXED.iter().find(|(key, _)| space.keys().any(|varied| varied == *key)) {
        refuse!("`{key}` cannot be varied: {why}");
    }
    absolute(&mut base)?;

    let seed = base.train.seed.unwrap_or(0);
    let seeds = args.seeds.clone().unwrap_or(Seeds::First(1)).of(&[seed]);
    if let Some(twice) = seeds.iter().enumerate().find(|(i, seed)| seeds[..*i].contains(seed)) {
        refuse!("seed {} is given twice", twice.1);
    }
    let method = args.method.unwrap_or(if args.trials.is_some() { Method::Random } else { Method::Grid });
    let trials = match (method, args.trials) {
        (Method::Grid, Some(_)) => {
            refuse!("`--trials` is how many are drawn, but a grid has all; leave it out, or use `--method random`");
        }
        (Method::Random, None) => refuse!("how many trials are to be drawn? say so: `--trials 20`"),
        (_, Some(count)) => {
            let trials = random(&space, count, seed)?;
            if trials.len() < count {
                output::info(&format!("the space has {} trials, fewer than {count}: all are taken", trials.len()));
            }
            trials
        }
        (_, None) => grid(&space)?,
    };
    // A value that no run could have is told by its trial, before any is begun.
    for (i, trial) in trials.iter().enumerate() {
        with(&base, trial).map_err(|e| Failure::Refused(format!("trial {}: {e}", i + 1)))?;
    }
    let settings = settle(&mut base, &trials)?;
    let mut sweep = Sweep {
        format: Sweep::FORMAT,
        method,
        metric: settings.plan.metric.clone(),
        device: args.device.to_string(),
        trials,
        seeds,
        folds: args.folds,
        rungs: Vec::new(),
    };
    if method == Method::Halving {
        halve(&mut sweep, &mut base, &space, &settings, args.factor)?;
    }
    Ok(Plan { sweep, base })
}

/// A file with a space; its other tables are settings.
fn read(path: &Path, base: &mut Config) -> Result<Space, Failure> {
    let named = |e: &dyn std::fmt::Display| Failure::Refused(format!("`{}`: {e}", path.display()));
    let bytes = ncde_files::read_plain(path).map_err(|e| named(&e))?;
    let space = Space::from_toml(&String::from_utf8_lossy(&bytes)).map_err(|e| named(&e))?;
    let mut all = toml::Table::try_from(&*base).map_err(|e| named(&e))?;
    for (table, keys) in &space.base {
        match (all.get_mut(table).and_then(toml::Value::as_table_mut), keys) {
            (Some(settings), toml::Value::Table(keys)) => settings.extend(keys.clone()),
            _ => drop(all.insert(table.clone(), keys.clone())),
        }
    }
    *base = Config::from_toml(&all.to_string()).map_err(|e| named(&e))?;
    Ok(space)
}

pub(super) fn with(base: &Config, trial: &Trial) -> Result<Config, Failure> {
    let mut config = base.clone();
    for assignment in trial.assignments() {
        config.set(&assignment)?;
    }
    Ok(config)
}

/// Runs begin anywhere, so files are named from the root.
fn absolute(base: &mut Config) -> Result<(), Failure> {
    let data = &mut base.data;
    for path in [&mut data.train, &mut data.test, &mut data.labels, &mut data.test_labels, &mut data.parts].into_iter().flatten()
    {
        if path.as_os_str() == "-" {
            refuse!("each run reads the data, so they cannot come from standard input; give a file");
        }
        let whole: PathBuf = std::path::absolute(&*path).map_err(|e| Failure::Refused(format!("`{}`: {e}", path.display())))?;
        *path = whole;
    }
    Ok(())
}

/// Reads the data once and decides a trial on them; the first that is none of the mistakes of its own decides for all.
fn settle(base: &mut Config, trials: &[Trial]) -> Result<Settings, Failure> {
    let files = Files::read(base)?;
    files.told.iter().for_each(|line| crate::output::info(line));
    let try_one = |config: &Config| -> Result<Settings, Failure> {
        Ok(ncde_train::Run::new(config, files.train.clone(), files.test.clone())?.settings().clone())
    };
    let mut first = None;
    for trial in trials {
        match try_one(&with(base, trial)?) {
            Ok(settings) => {
                let parts = settings.decided.data.split == Some(SplitBy::Parts);
                if settings.split.validation > 0.0 || parts {
                    return Ok(settings);
                }
                if base.data.validation.is_some() {
                    refuse!(
                        "`data.validation` is 0, but trials are compared on that part; set a share (`--set validation=0.15`)"
                    );
                }
                output::info(&format!(
                    "a share of {VALIDATION} of the cases is held back to compare trials on (`--set validation=...`)"
                ));
                base.data.validation = Some(VALIDATION);
                return try_one(&with(base, trial)?);
            }
            Err(error) => first = first.or(Some(error)),
        }
    }
    Err(first.unwrap_or_else(|| ncde_tune::Error::Nothing.into()))
}

/// Rungs, and settings under which a run that goes on is the one that was begun.
fn halve(sweep: &mut Sweep, base: &mut Config, space: &Space, settings: &Settings, factor: usize) -> Result<(), Failure> {
    if settings.is_closed_form() {
        refuse!(
            "halving cuts steps, but a `reservoir` is solved for without any; use `--method grid` or `random`, or train another model (`--model slice`)"
        );
    }
    const STEPS: [&str; 4] = ["train.steps", "train.evaluate_every", "train.patience", "train.warmup"];
    if let Some(key) = space.keys().find(|key| STEPS.contains(key)) {
        refuse!("`{key}` cannot be varied under `halving`, which decides how many steps a run has");
    }
    sweep.rungs = rungs(sweep.trials.len(), settings.plan.steps, factor)?;
    let first = sweep.rungs.first().map_or(1, |rung| rung.steps);
    base.train.evaluate_every = Some(settings.plan.evaluate_every.min(first));
    base.train.patience = Some(settings.plan.patience);
    base.train.warmup = Some((settings.plan.schedule.warmup as usize).min(first));
    base.train.steps = Some(settings.plan.steps);
    Ok(())
}
