//! The directory of a saved model, and what the saved model says of data.

use std::ops::Range;
use std::path::Path;

use ncde_data::{Case, Dataset};
use ncde_runtime::{At, Model, ModelSpec, NamedWeight, Prediction, SPEC, WEIGHTS, to_bytes};
use rayon::prelude::*;

use super::Error;
use super::score::Said;

/// Writes a file, whole or not at all.
pub(super) fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let failed = |e: std::io::Error| Error::File { path: path.into(), problem: format!("it cannot be written: {e}") };
    ncde_files::write_whole(path, bytes).map_err(failed)
}

/// Writes weights and description.
pub(super) fn save_model(directory: &Path, mut spec: ModelSpec, weights: &[NamedWeight]) -> Result<(), Error> {
    let (bytes, remembered) = to_bytes(weights)?;
    spec.weights = remembered;
    write_whole(&directory.join(WEIGHTS), &bytes)?;
    save_spec(directory, &spec)
}

/// Writes the description.
pub(super) fn save_spec(directory: &Path, spec: &ModelSpec) -> Result<(), Error> {
    let path = directory.join(SPEC);
    let text = serde_json::to_string_pretty(spec).map_err(|e| Error::File { path: path.clone(), problem: e.to_string() })?;
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
    answered(data, predict_each(model, data, model.spec().task.at()))
}

/// What a model says at the end of every case: one prediction each.
///
/// # Errors
/// If an observation cannot be taken; the case is named.
pub fn predict_ends(model: &Model, data: &Dataset) -> Result<Answered, Error> {
    answered(data, predict_each(model, data, At::End))
}

/// Predictions, and the cases that overflow apart.
fn answered(data: &Dataset, answers: Vec<CasePredictions>) -> Result<Answered, Error> {
    let mut all = Answered { predictions: Vec::with_capacity(data.cases.len()), overflowed: Vec::new() };
    for (i, (own, error)) in answers.into_iter().enumerate() {
        all.overflowed.extend(overflows(&data.cases[i], error)?.then_some(i));
        all.predictions.push(own);
    }
    Ok(all)
}

/// Whether there is no prediction as a state overflows; any other error is one.
pub(super) fn overflows(case: &Case, error: Option<ncde_runtime::Error>) -> Result<bool, Error> {
    match error {
        Some(error) if error.is_overflow() => Ok(true),
        Some(source) => Err(Error::Case { id: case.id.clone(), source }),
        None => Ok(false),
    }
}

/// The predictions of a case, and why there are no more.
type CasePredictions = (Vec<Prediction>, Option<ncde_runtime::Error>);

/// What a model says of every case, as far as it can say something.
fn predict_each(model: &Model, data: &Dataset, at: At) -> Vec<CasePredictions> {
    let predict = |case: &Case, into: &mut Vec<Prediction>| -> Result<(), ncde_runtime::Error> {
        let mut series = model.session(&case.statics)?;
        if at == At::End {
            series.push_all(&case.times, &case.values)?;
            into.push(series.predict()?);
            return Ok(());
        }
        into.reserve(case.len());
        for (i, &time) in case.times.iter().enumerate() {
            into.push(series.step(time, case.row(i, data.channels.len()))?);
        }
        Ok(())
    };
    let each = |case: &Case| {
        let mut predictions = Vec::new();
        let error = predict(case, &mut predictions).err();
        (predictions, error)
    };
    data.cases.par_iter().map(each).collect()
}

/// The most numbers that are kept of what is said of one range.
const MAX_NUMBERS: usize = 1 << 22;
/// So many observations are taken at once where nothing is asked for.
const AT_ONCE: usize = 1 << 12;

/// What is said in two ranges of a case, and why there is no more.
type InRanges = ([Said; 2], Option<ncde_runtime::Error>);

/// What a model says in ranges of observations, in order, of each case, with all that came before seen: at every observation, or evenly spaced if that is too much to keep.
pub(super) fn predict_ranges(model: &Model, data: &Dataset, ranges: &[[Range<usize>; 2]]) -> Vec<InRanges> {
    let channels = data.channels.len();
    let outputs = model.spec().task.outputs(channels).max(1);
    let each = |(case, ranges): (&Case, &[Range<usize>; 2])| {
        let said = |range: &Range<usize>| Said {
            first: range.start,
            every: (range.len() * outputs).div_ceil(MAX_NUMBERS).max(1),
            end: range.end,
            predictions: Vec::new(),
        };
        let mut all = ranges.each_ref().map(said);
        let mut go = || -> Result<(), ncde_runtime::Error> {
            let mut series = model.session(&case.statics)?;
            let mut next = 0;
            for (own, range) in all.iter_mut().zip(ranges) {
                for t in range.clone().step_by(own.every) {
                    while next <= t {
                        let to = (next + AT_ONCE).min(t + 1);
                        series.push_all(&case.times[next..to], &case.values[next * channels..to * channels])?;
                        next = to;
                    }
                    own.predictions.push(series.predict()?);
                }
            }
            Ok(())
        };
        let error = go().err();
        (all, error)
    };
    data.cases.par_iter().zip(ranges).map(each).collect()
}
