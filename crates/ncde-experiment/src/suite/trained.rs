//! What experiments on series share: a job that is a run of training, in its own directory, so that an interrupted one goes on where it stood.

use std::rc::Rc;

use ncde_data::Dataset;
use ncde_report::record::StopReason;
use ncde_report::statistics::Better;
use ncde_report::{Metrics, RunRecord};
use ncde_train::{Config, Event, Run, SplitBy, TrainRequest, watching};
use serde_json::{Value, json};

use crate::Error;
use crate::memory::Watch;
use crate::plan::{Control, Job, Metric, Request};
use crate::record::{EXPLODED, Measured};

/// What a run of training leaves in its directory.
const RUN: &str = "run.json";

pub(super) const ACCURACY: Metric =
    Metric { name: "accuracy", title: "test accuracy (%)", factor: 100.0, digits: 1, better: Some(Better::More) };
pub(super) const RMSE: Metric = Metric { name: "rmse", title: "test RMSE", factor: 1.0, digits: 4, better: Some(Better::Less) };
pub(super) const MSE: Metric =
    Metric { name: "mse", title: "mean square error", factor: 1.0, digits: 5, better: Some(Better::Less) };
pub(super) const TIME: Metric =
    Metric { name: "step_seconds", title: "time of 1000 steps (s)", factor: 1e3, digits: 1, better: Some(Better::Less) };
pub(super) const STEPS: Metric = Metric { name: "steps", title: "steps taken", factor: 1.0, digits: 0, better: None };

pub(super) const TOTAL: Metric =
    Metric { name: "train_seconds", title: "time of training in all (s)", factor: 1.0, digits: 0, better: Some(Better::Less) };
/// On a processor the peak of the process while it trains, with the data; on a GPU what is reserved of it. Both with what earlier runs of the process have left.
pub(super) const MEMORY: Metric =
    Metric { name: "peak_mib", title: "peak of memory (MiB)", factor: 1.0, digits: 0, better: Some(Better::Less) };
/// What learning curves show.
pub(super) const VALIDATION: Metric = Metric { title: "validation accuracy (%)", ..ACCURACY };

/// The settings of a structure that the thesis has for series of this many states.
pub(super) fn structured(structure: &str, hidden: usize) -> String {
    match structure {
        "block" => "block = 4\n".into(),
        "diagonal-dense" => format!("block = {}\n", 16.min(hidden)),
        "dplr" => "rank = 4\n".into(),
        // A tenth of the entries.
        "sparse" => format!("epsilon = {}\n", 1.0 + 0.1_f64.ln() / (hidden as f64).ln()),
        "walsh-hadamard" => "bound = \"none\"\n".into(),
        _ => String::new(),
    }
}

/// Data of a run.
pub(super) enum Data {
    /// To train on and, where it is by itself, to test on.
    Files(Dataset, Option<Dataset>),
    /// With the ids of the cases to validate and to test on.
    InParts { data: Dataset, validation: Vec<String>, test: Vec<String> },
}

/// A configuration from a text, with more keys.
pub(super) fn config(text: &str, more: &[String]) -> Result<Config, Error> {
    let mut config = Config::from_toml(text)?;
    for assignment in more {
        config.set(assignment)?;
    }
    Ok(config)
}

/// A job that trains with a configuration, and what is asked for in its place, on data that are made or read when it is its turn; `source` says what data, where the
/// configuration does not.
pub(super) fn job(
    (model, task, seed): (String, String, u64),
    (mut config, request): (Config, &Request),
    source: Option<&Value>,
    data: Rc<dyn Fn() -> Result<Data, Error>>,
) -> Result<Job, Error> {
    for assignment in request.set_of(&model) {
        config.set(assignment)?;
    }
    config.train.seed = Some(seed);
    config.train.steps = request.steps.or(config.train.steps);
    let text = Value::String(config.to_toml());
    let settings = source.map_or(text.clone(), |source| json!({"config": text, "data": source}));
    let name = format!("{model} on {task}, seed {seed}");
    let work = move |control: &mut Control<'_>| match data()? {
        Data::Files(train, test) => train_in(&config, train, test, control, &name),
        Data::InParts { data, validation, test } => {
            let path = control.directory.join("parts.json");
            let failed = |e: std::io::Error| Error::File { path: path.clone(), problem: e.to_string() };
            std::fs::create_dir_all(control.directory).map_err(failed)?;
            let parts = json!({ seed.to_string(): {"val": validation, "test": test} });
            ncde_files::write_whole(&path, parts.to_string().as_bytes()).map_err(failed)?;
            let mut config = config.clone();
            (config.data.parts, config.data.split) = (Some(path), Some(SplitBy::Parts));
            train_in(&config, data, None, control, &name)
        }
    };
    Ok(Job { model, task, seed, settings, spare: None, work: Box::new(work) })
}

/// Trains in the directory of a run; none if it was stopped.
fn train_in(
    config: &Config,
    train: Dataset,
    test: Option<Dataset>,
    control: &mut Control<'_>,
    name: &str,
) -> Result<Option<Measured>, Error> {
    let memory = Watch::begin();
    let run = Run::new(config, train, test)?.stopped_by(control.stop.clone()).with_device(control.device);
    let (steps, directory) = (run.settings().plan.steps, control.directory);
    let request = TrainRequest { command: name, ..TrainRequest::new(directory).resumed() };
    let mut watch = watching(|event| match event {
        Event::Step { step, loss } => {
            (control.say)(&format!("step {step} of {steps}, loss {loss:.3}"), step as f64 / steps as f64);
        }
        Event::Testing => (control.say)("testing", 1.0),
        _ => {}
    });
    let record = match run.train(&request, &mut watch) {
        Ok(outcome) => outcome.record,
        Err(ncde_train::Error::Interrupted { .. }) => return Ok(None),
        // The best weights before are saved and tested: that is a result, and no reason to stop the runs after it.
        Err(ncde_train::Error::Stopped { .. }) => {
            let path = directory.join(RUN);
            RunRecord::read(&path).map_err(|e| Error::File { path, problem: e.to_string() })?
        }
        Err(error) if error.is_divergence() => return Ok(Some(Measured::of(&[(EXPLODED, 1.0)]))),
        Err(error) => return Err(error.into()),
    };
    let mut own = measured(&record);
    let reserved = control.device.reserved().map(|bytes| bytes as f64 / f64::from(1 << 20));
    own.values.extend(reserved.or_else(|| memory.mebibytes()).map(|seen| (MEMORY.name.to_owned(), seen)));
    Ok(Some(own))
}

fn measured(record: &RunRecord) -> Measured {
    let get = |name: &str| record.test.as_ref().or(record.validation.as_ref()).and_then(|metrics: &Metrics| metrics.get(name));
    let values = [
        ("accuracy", get("accuracy")),
        ("mse", get("mse")),
        ("rmse", get("mse").map(f64::sqrt)),
        ("steps", Some(record.steps as f64)),
        ("step_seconds", Some(record.seconds_per_step)),
        ("train_seconds", Some(record.seconds)),
        ("parameters", Some(record.model.parameters as f64)),
        (EXPLODED, (record.stopped == StopReason::Diverged).then_some(1.0)),
    ];
    let values: Vec<(&str, f64)> = values.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
    let curve = record.history.iter().filter_map(|point| Some([point.step as f64, point.metric?])).collect();
    Measured::of(&values).with_curve("validation", curve)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test")]
mod tests {
    use super::*;

    /// A run that explodes leaves what it had before, and says so; the runs after it are not lost.
    #[test]
    fn an_explosion_is_a_result() {
        let text = "[data]\nvalidation = 0.2\n[prepare]\ntime = false\nmissing = \"forward\"\n[model]\nname = \"slice\"\nhidden = 8\ntransition = \"euler\"\n[train]\nsteps = 12\nevaluate_every = 1\n\
                    rate = 1e6\nschedule = \"constant\"\nwarmup = 0\nclip = 0.0\n";
        let config = config(text, &[]).unwrap();
        let mut data = ncde_train::demo::turns(3).subset(&(0..60).collect::<Vec<_>>());
        // Series that stand still do not explode, whatever the weights.
        for case in Run::new(&config, data.clone(), None).unwrap().parts().validation.clone() {
            data.cases[case].values.fill(0.5);
        }
        let folder = tempfile::tempdir().unwrap();
        let stop = std::sync::Arc::default();
        let mut say = |_: &str, _: f64| {};
        let mut control = Control { device: ncde_train::Device::Cpu, stop: &stop, directory: folder.path(), say: &mut say };
        let own = train_in(&config, data, None, &mut control, "test").unwrap().unwrap();
        assert_eq!(own.values.get(EXPLODED), Some(&1.0), "{own:?}");
        assert!(own.values.contains_key("accuracy"));
    }
}
