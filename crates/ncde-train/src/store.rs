//! The files of a saved model, and its predictions for data.

use std::ops::Range;
use std::path::Path;

use ncde_data::{Case, Dataset};
use ncde_runtime::{At, Model, ModelSpec, NamedWeight, Prediction, SPEC, WEIGHTS, to_bytes};
use rayon::prelude::*;

use super::Error;
use super::known::KnownAhead;
use super::score::PredictedRange;

/// Writes a file, whole or not at all.
pub(super) fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let failed = |e: std::io::Error| Error::File { path: path.into(), problem: format!("it cannot be written: {e}") };
    ncde_files::write_whole(path, bytes).map_err(failed)
}

pub(super) fn save_model(directory: &Path, mut spec: ModelSpec, weights: &[NamedWeight]) -> Result<(), Error> {
    let (bytes, remembered) = to_bytes(weights)?;
    spec.weights = remembered;
    write_whole(&directory.join(WEIGHTS), &bytes)?;
    save_spec(directory, &spec)
}

pub(super) fn save_spec(directory: &Path, spec: &ModelSpec) -> Result<(), Error> {
    let path = directory.join(SPEC);
    let text = serde_json::to_string_pretty(spec).map_err(|e| Error::File { path: path.clone(), problem: e.to_string() })?;
    write_whole(&path, (text + "\n").as_bytes())
}

/// The predictions of a model for every case: one, or one for each observation. Cases are computed in parallel; results do not depend on the number of threads.
#[derive(Debug, Clone, PartialEq)]
pub struct Answered {
    /// For each case; if its state overflows, only those before that.
    pub predictions: Vec<Vec<Prediction>>,
    /// The indices of the cases that overflow.
    pub overflowed: Vec<usize>,
}

/// Predicts every case: at the observations that the task of the model names (`model.spec().task.at()`), or once at the end of each.
///
/// # Errors
/// If an observation cannot be taken; the case is named.
pub fn predict_all(model: &Model, data: &Dataset, at: At) -> Result<Answered, Error> {
    let predict = |case: &Case, into: &mut Vec<Prediction>| -> Result<(), ncde_runtime::Error> {
        let mut series = model.session(&case.statics)?;
        let (known, channels) = (KnownAhead::new(model.spec(), case), data.channels.len());
        let observed = known.observed();
        if at == At::End {
            series.push_all(&case.times[..observed], &case.values[..observed * channels])?;
            into.push(known.predict(&mut series, observed.saturating_sub(1))?);
            return Ok(());
        }
        into.reserve(observed);
        for (i, &time) in case.times[..observed].iter().enumerate() {
            let prediction = series.step(time, case.row(i, channels))?;
            into.push(if known.is_some() { known.predict(&mut series, i)? } else { prediction });
        }
        Ok(())
    };
    let predict_case = |case: &Case| {
        let mut predictions = Vec::new();
        let error = predict(case, &mut predictions).err();
        (predictions, error)
    };
    let answers: Vec<_> = data.cases.par_iter().map(predict_case).collect();
    let mut all = Answered { predictions: Vec::with_capacity(data.cases.len()), overflowed: Vec::new() };
    for (i, (predictions, error)) in answers.into_iter().enumerate() {
        all.overflowed.extend(overflows(&data.cases[i], error)?.then_some(i));
        all.predictions.push(predictions);
    }
    Ok(all)
}

/// Whether the error is an overflow of the state; any other error is returned.
pub(super) fn overflows(case: &Case, error: Option<ncde_runtime::Error>) -> Result<bool, Error> {
    match error {
        Some(error) if error.is_overflow() => Ok(true),
        Some(source) => Err(Error::Case { id: case.id.clone(), source }),
        None => Ok(false),
    }
}

/// The most numbers of predictions that are stored for a range.
const MAX_NUMBERS: usize = 1 << 22;
/// Observations without a prediction are pushed in pieces of this size.
const AT_ONCE: usize = 1 << 12;

/// Predictions in two ranges of a case, and the error that ended them.
type InRanges = ([PredictedRange; 2], Option<ncde_runtime::Error>);

/// Predicts in two ranges of observations of each case, after all observations before them: at every observation, or evenly spaced where that is too much to store.
pub(super) fn predict_ranges(model: &Model, data: &Dataset, ranges: &[[Range<usize>; 2]]) -> Vec<InRanges> {
    let channels = data.channels.len();
    let outputs = model.spec().task.outputs(channels).max(1);
    let predict_case = |(case, ranges): (&Case, &[Range<usize>; 2])| {
        let empty = |range: &Range<usize>| PredictedRange {
            first: range.start,
            every: (range.len() * outputs).div_ceil(MAX_NUMBERS).max(1),
            end: range.end,
            predictions: Vec::new(),
        };
        let mut all = ranges.each_ref().map(empty);
        let mut predict = || -> Result<(), ncde_runtime::Error> {
            let mut series = model.session(&case.statics)?;
            let known = KnownAhead::new(model.spec(), case);
            let mut next = 0;
            for (predicted, range) in all.iter_mut().zip(ranges) {
                for t in range.clone().step_by(predicted.every) {
                    while next <= t {
                        let to = (next + AT_ONCE).min(t + 1);
                        series.push_all(&case.times[next..to], &case.values[next * channels..to * channels])?;
                        next = to;
                    }
                    predicted.predictions.push(known.predict(&mut series, t)?);
                }
            }
            Ok(())
        };
        let error = predict().err();
        (all, error)
    };
    data.cases.par_iter().zip(ranges).map(predict_case).collect()
}
