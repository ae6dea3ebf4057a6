//! The directory of a saved model, and what the saved model says of data.

use std::io::Write;
use std::path::Path;

use ncde_data::{Dataset, Targets};
use ncde_report::{Classification, Metrics, Regression};
use ncde_runtime::{At, Model, ModelSpec, NamedWeight, Prediction, SPEC, Task, WEIGHTS, to_bytes};
use rayon::prelude::*;

use super::Error;

/// Writes a file beside its target, then renames it: at no moment is there half a file.
pub(super) fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let failed = |e: std::io::Error| Error::File { path: path.into(), problem: e.to_string() };
    let mut beside = path.as_os_str().to_owned();
    beside.push(".part");
    let mut file = std::fs::File::create(&beside).map_err(failed)?;
    file.write_all(bytes).and_then(|()| file.sync_all()).map_err(failed)?;
    std::fs::rename(&beside, path).map_err(failed)
}

/// Writes weights and description.
pub(super) fn save_model(directory: &Path, mut spec: ModelSpec, weights: &[NamedWeight]) -> Result<(), Error> {
    let (bytes, remembered) = to_bytes(weights)?;
    spec.weights = remembered;
    let path = directory.join(SPEC);
    let text = serde_json::to_string_pretty(&spec).map_err(|e| Error::File { path: path.clone(), problem: e.to_string() })?;
    write_whole(&directory.join(WEIGHTS), &bytes)?;
    write_whole(&path, (text + "\n").as_bytes())
}

/// What a model says of every case: one prediction, or one for each observation. Cases are predicted side by side; threads change nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct Answered {
    /// For each case. One that overflows has no more after that.
    pub predictions: Vec<Vec<Prediction>>,
    /// The cases that overflow, by their places.
    pub overflowed: Vec<usize>,
}

/// What a model says of every case.
///
/// # Errors
/// If an observation cannot be taken; the case is named.
pub fn predict_all(model: &Model, data: &Dataset) -> Result<Answered, Error> {
    let mut all = Answered { predictions: Vec::with_capacity(data.cases.len()), overflowed: Vec::new() };
    for (i, (own, error)) in predict_each(model, data)?.into_iter().enumerate() {
        match error {
            Some(error) if error.is_overflow() => all.overflowed.push(i),
            Some(source) => return Err(Error::Case { id: data.cases[i].id.clone(), source }),
            None => {}
        }
        all.predictions.push(own);
    }
    Ok(all)
}

/// The predictions of a case, and why there are no more.
type Answers = (Vec<Prediction>, Option<ncde_runtime::Error>);

/// What a model says of every case, as far as it can say something.
fn predict_each(model: &Model, data: &Dataset) -> Result<Vec<Answers>, Error> {
    let steps = model.spec().task.at() == At::Steps;
    let predict = |model: &mut Model, case: &ncde_data::Case, into: &mut Vec<Prediction>| -> Result<(), ncde_runtime::Error> {
        let mut series = model.start(&case.statics)?;
        if !steps {
            model.push_all(&mut series, &case.times, &case.values)?;
            into.push(model.predict(&series)?);
            return Ok(());
        }
        into.reserve(case.len());
        for (i, &time) in case.times.iter().enumerate() {
            into.push(model.step(&mut series, time, case.row(i, data.channels.len()))?);
        }
        Ok(())
    };
    let each = |model: &mut Result<Model, ncde_runtime::Error>, case: &ncde_data::Case| {
        let model = model.as_mut().map_err(|e| Error::Runtime(e.clone()))?;
        let mut own = Vec::new();
        let error = predict(model, case, &mut own).err();
        Ok((own, error))
    };
    // One model for each piece of the work: a model has working memory.
    let pieces = data.cases.len().div_ceil(rayon::current_num_threads()).max(1);
    let all: Vec<Result<Answers, Error>> =
        data.cases.par_iter().with_min_len(pieces.min(64)).map_init(|| model.twin(), each).collect();
    all.into_iter().collect()
}

/// How good predictions are; none if the data has no labels of this kind. A class that has no prediction counts as wrong, a number is left out.
pub fn score(task: &Task, data: &Dataset, predictions: &[Vec<Prediction>]) -> Option<Metrics> {
    let (mut probabilities, mut classes, mut values, mut truth) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut missed = Vec::new();
    for (i, own) in predictions.iter().enumerate() {
        match &data.targets {
            Targets::Classes { of, .. } if own.is_empty() => missed.push(of[i]),
            Targets::ClassSteps { of, .. } => missed.extend(of[i].iter().skip(own.len()).flatten()),
            _ => {}
        }
        for (t, prediction) in own.iter().enumerate() {
            match (prediction, &data.targets) {
                (Prediction::Class { probabilities: p, .. }, Targets::Classes { of, .. }) => {
                    probabilities.extend(p);
                    classes.push(of[i]);
                }
                (Prediction::Class { probabilities: p, .. }, Targets::ClassSteps { of, .. }) => {
                    if let Some(class) = of[i][t] {
                        probabilities.extend(p);
                        classes.push(class);
                    }
                }
                (Prediction::Value(y), Targets::Values { of, .. }) if !of[i].is_nan() => {
                    values.push(*y);
                    truth.push(of[i]);
                }
                (Prediction::Value(y), Targets::ValueSteps { of, .. }) if !of[i][t].is_nan() => {
                    values.push(*y);
                    truth.push(of[i][t]);
                }
                (Prediction::Values(all), _) => {
                    let Task::Forecast { horizon } = task else { continue };
                    if t + horizon < data.cases[i].len() {
                        let later = data.cases[i].row(t + horizon, data.channels.len());
                        for (&y, &x) in all.iter().zip(later).filter(|(_, x)| !x.is_nan()) {
                            values.push(y);
                            truth.push(x);
                        }
                    }
                }
                _ => {}
            }
        }
    }
    match task {
        Task::Classification { classes: names, .. } if !(classes.is_empty() && missed.is_empty()) => {
            Some(Metrics::Classification(Classification::of(&probabilities, names.len(), &classes).with_missed(&missed)))
        }
        Task::Regression { .. } | Task::Forecast { .. } if !truth.is_empty() => {
            Some(Metrics::Regression(Regression::of(&values, &truth)))
        }
        _ => None,
    }
}
