//! `ncde predict`: a saved model on a file.

use std::io::Write;
use std::path::Path;

use ncde_data::{Case, Dataset, ReadOptions};
use ncde_files::Whole;
use ncde_runtime::{At, Model, ModelSpec, Prediction, Task};
use ncde_train::{Answered, Device, KnownAhead, options_of, predict_all, predict_on, schema_of};

use super::ahead::{self, Row};
use crate::args::{PredictArgs, UseArgs};
use crate::error::{Failure, refuse};
use crate::times::Times;
use crate::words::listed;
use crate::{output, schema, threads};

/// What a model says of a file.
pub(crate) struct Predicted {
    pub(crate) spec: ModelSpec,
    pub(crate) data: Dataset,
    /// For each case those of its last observations.
    pub(crate) predictions: Vec<Vec<Prediction>>,
    /// The cases of which no finite prediction can be made.
    pub(crate) overflowed: Vec<String>,
    times: Times,
}

/// Where predictions are wanted of a model that makes them at every observation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Where {
    Everywhere,
    /// At the last observation of each series.
    Ends,
}

/// Loads the model, brings the file into the form it was trained on, and predicts. Without `labels`, whatever stands in place
/// of them does not matter.
pub(crate) fn predict_file(
    args: &UseArgs,
    labels: bool,
    place: impl FnOnce(&ModelSpec) -> Result<Where, Failure>,
) -> Result<Predicted, Failure> {
    let device = super::train::device(args.device)?;
    let model = Model::load(&args.model)?;
    let spec = model.spec().clone();
    let place = place(&spec)?;
    let schema = schema_of(&spec)?;
    let options = args.columns.over(options_of(&spec, &schema));
    let options = ReadOptions { labels: args.labels.clone(), without_labels: !labels, ..options };
    let loaded = ncde_data::load(&args.data, &options)?;
    schema::warn_for(&schema, &loaded);
    let (data, layout) = (loaded.data.aligned(&schema)?, loaded.layout);
    outside(&spec, &data).iter().for_each(|warning| output::info(warning));
    let Answered { mut predictions, overflowed } = threads::on(args.threads.unwrap_or(0), || {
        let at = if matches!(place, Where::Ends) { At::End } else { spec.task.at() };
        Ok(match device {
            Device::Cpu => predict_all(&model, &data, at)?,
            #[allow(unreachable_patterns, reason = "without a GPU there is one device")]
            device => predict_on(device, &model, &data, at)?,
        })
    })?;
    // Of a series without one value a model says what it says of nothing.
    let silent = |case: &&Case| !case.values.is_empty() && case.values.iter().all(|x| x.is_nan());
    let silent: Vec<String> = data.cases.iter().filter(silent).map(|case| case.id.clone()).collect();
    if !silent.is_empty() {
        data.cases.iter().zip(&mut predictions).filter(|(case, _)| silent.contains(&case.id)).for_each(|(_, own)| own.clear());
        output::info(&format!("warning: no prediction of {}, as there is not one value", listed(&silent, 8)));
    }
    let overflowed = overflowed.into_iter().map(|i| data.cases[i].id.clone()).collect();
    unknown_future(&spec, &data).iter().for_each(|warning| output::info(warning));
    let times = Times::new(layout.as_ref(), data.times, data.cases.iter().flat_map(|case| case.times.iter().copied()));
    Ok(Predicted { spec, data, predictions, overflowed, times })
}

/// A warning if a model is told nothing of what it knows ahead in training.
fn unknown_future(spec: &ModelSpec, data: &Dataset) -> Option<String> {
    let known = spec.task.forecast()?.known.as_ref()?;
    let is_told = |case: &Case| {
        let ahead = KnownAhead::new(spec, case);
        ahead.at(ahead.observed().checked_sub(1)?).iter().any(|x| !x.is_nan()).then_some(())
    };
    let names: Vec<String> = known.channels.iter().map(|&c| spec.channels[c].clone()).collect();
    data.cases.iter().all(|case| is_told(case).is_none()).then(|| {
        format!(
            "warning: nothing is known ahead of {}, so their means are taken; add rows behind the last observation with these columns alone",
            listed(&names, 8)
        )
    })
}

/// Values beyond this share of a channel outside of its range in training are no chance.
const MANY: f64 = 0.1;

/// A warning for each channel many of whose values lie outside of its range in training.
fn outside(spec: &ModelSpec, data: &Dataset) -> Vec<String> {
    let Some(extent) = spec.trained.as_ref().filter(|_| spec.vocabulary.is_none()) else { return Vec::new() };
    let mut counts = vec![[0_usize; 2]; spec.channels.len()];
    for row in data.cases.iter().flat_map(|case| case.values.chunks_exact(spec.channels.len().max(1))) {
        row.iter().zip(&mut counts).for_each(|(x, [known, _])| *known += usize::from(!x.is_nan()));
        extent.beyond(0, 0.0, row).channels.iter().for_each(|&i| counts[i][1] += 1);
    }
    let warning = |(i, &[known, outside]): (usize, &[usize; 2])| {
        let share = outside as f64 / known.max(1) as f64;
        let [low, high] = [extent.low[i], extent.high[i]];
        (share > MANY).then(|| {
            format!(
                "warning: {:.0} % of the values of `{}` lie outside of what was seen in training, {low} to {high}; is the unit the same?",
                100.0 * share, spec.channels[i]
            )
        })
    };
    counts.iter().enumerate().filter_map(warning).collect()
}

pub(crate) fn run(args: &PredictArgs) -> Result<(), Failure> {
    if let Some(path) = &args.output {
        let known = path.extension().is_some_and(|ext| ext == "csv" || ext == "json");
        if !known {
            refuse!("`{}`: predictions are written as .csv or .json", path.display());
        }
    }
    let mut max_horizon = usize::MAX;
    let predicted = predict_file(&args.on, false, |spec| {
        max_horizon = furthest(args, spec)?;
        Ok(if spec.task.forecast().is_some() && !args.every { Where::Ends } else { Where::Everywhere })
    })?;
    write(&predicted, max_horizon, args.output.as_deref())?;
    match predicted.overflowed {
        cases if cases.is_empty() => Ok(()),
        cases => {
            let (count, all) = (cases.len(), predicted.data.cases.len());
            let ids = listed(&cases, 8);
            Err(Failure::Failed(format!("{count} of {all} cases have no prediction, as a state overflows: {ids}")))
        }
    }
}

fn write(predicted: &Predicted, max_horizon: usize, to: Option<&Path>) -> Result<(), Failure> {
    let Some(path) = to else { return output::data(|out| csv(predicted, max_horizon, out)) };
    let write = |path: &Path| -> std::io::Result<()> {
        let mut out = Whole::create(path)?;
        if path.extension().is_some_and(|ext| ext == "json") {
            json(predicted, max_horizon, &mut out)?;
        } else {
            csv(predicted, max_horizon, &mut out)?;
        }
        out.finish()
    };
    write(path).map_err(|source| Failure::Write { path: path.into(), source })?;
    let count = predicted.predictions.iter().filter(|predictions| !predictions.is_empty()).count();
    output::hint(&format!("{count} predictions in `{}`", path.display()));
    Ok(())
}

/// The largest horizon that is asked for.
fn furthest(args: &PredictArgs, spec: &ModelSpec) -> Result<usize, Failure> {
    let (Some(requested), forecast) = (args.horizon, spec.task.forecast()) else { return Ok(usize::MAX) };
    let Some(forecast) = forecast else {
        refuse!("`--horizon` is for forecasts, and this model makes none");
    };
    let (first, last) = forecast.horizons().into_inner();
    if requested < first || requested > last {
        let known = if first == last { format!("{last} alone") } else { format!("{first} to {last}") };
        let problem =
            format!("`--horizon {requested}`: the model forecasts horizons {known}; train one with `--set horizon={requested}`");
        return Err(Failure::Refused(problem));
    }
    Ok(requested)
}

/// The columns behind the id (and the time).
pub(crate) fn columns(spec: &ModelSpec) -> Vec<String> {
    match &spec.task {
        Task::Classification { classes, .. } => std::iter::once("prediction".into()).chain(classes.iter().cloned()).collect(),
        Task::Regression { .. } => vec!["prediction".into()],
        Task::Forecast(forecast) => ahead::columns(spec, forecast),
    }
}

/// A prediction as cells, if it is no forecast.
fn cells(spec: &ModelSpec, prediction: &Prediction) -> Vec<String> {
    match prediction {
        Prediction::Class { class, probabilities } => {
            let Task::Classification { classes, .. } = &spec.task else { return Vec::new() };
            std::iter::once(classes[*class].clone()).chain(probabilities.iter().map(|p| format!("{p:.6}"))).collect()
        }
        Prediction::Value(value) => vec![value.to_string()],
        Prediction::Values(_) => Vec::new(),
    }
}

fn csv(predicted: &Predicted, max_horizon: usize, out: &mut dyn Write) -> std::io::Result<()> {
    let spec = &predicted.spec;
    let steps = spec.task.at() == At::Steps;
    let mut writer = csv::Writer::from_writer(out);
    let head = std::iter::once("id".to_owned()).chain(steps.then(|| "time".into())).chain(columns(spec));
    writer.write_record(head)?;
    for (case, time, prediction) in predicted.rows() {
        let mut row = |cells: Vec<String>| {
            let time = steps.then(|| predicted.times.text(time));
            writer.write_record(std::iter::once(case.id.clone()).chain(time).chain(cells))
        };
        match (prediction, spec.task.forecast()) {
            (Prediction::Values(values), Some(forecast)) => {
                let mut rows = ahead::horizons(spec, forecast, (time, &predicted.times), values)
                    .filter(|ahead| ahead.horizon <= max_horizon);
                rows.try_for_each(|ahead| row(ahead.cells()))?;
            }
            _ => row(cells(spec, prediction))?,
        }
    }
    writer.flush()
}

fn json(predicted: &Predicted, max_horizon: usize, out: &mut dyn Write) -> std::io::Result<()> {
    let spec = &predicted.spec;
    let is_timed = spec.task.at() == At::Steps;
    let row = |(case, time, prediction): (&Case, f64, &Prediction)| {
        // As a value its keys are sorted.
        serde_json::to_value(Row {
            spec,
            id: Some(&case.id),
            time,
            is_timed,
            times: &predicted.times,
            prediction,
            max_horizon,
            beyond: &[],
        })
    };
    let rows: Result<Vec<_>, _> = predicted.rows().map(row).collect();
    serde_json::to_writer_pretty(&mut *out, &rows?)?;
    writeln!(out)
}

impl Predicted {
    /// All predictions with their cases and the times of the observations they follow.
    fn rows(&self) -> impl Iterator<Item = (&Case, f64, &Prediction)> {
        self.data.cases.iter().zip(&self.predictions).flat_map(|(case, predictions)| {
            let observed = &case.times[..KnownAhead::new(&self.spec, case).observed()];
            let times = &observed[observed.len().saturating_sub(predictions.len())..];
            predictions.iter().zip(times).map(move |(prediction, &time)| (case, time, prediction))
        })
    }
}
