//! `ncde predict`: a saved model on a file.

use std::io::Write;
use std::path::Path;

use ncde_data::{Case, Dataset, ReadOptions};
use ncde_files::Whole;
use ncde_runtime::{At, Model, ModelSpec, Prediction, Task};
use ncde_train::{Answered, Device, predict_all, predict_on};

use super::ahead;
use crate::args::{PredictArgs, UseArgs};
use crate::error::Failure;
use crate::{output, schema, threads};

/// What a model says of a file.
pub(crate) struct Predicted {
    pub(crate) spec: ModelSpec,
    pub(crate) data: Dataset,
    /// For each case those of its last observations.
    pub(crate) predictions: Vec<Vec<Prediction>>,
    /// The cases of which no finite prediction can be made.
    pub(crate) overflowed: Vec<String>,
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
    let schema = schema::of(&spec)?;
    let options = schema::options(&spec, &schema, &args.columns);
    let options = ReadOptions { labels: args.labels.clone(), without_labels: !labels, ..options };
    let loaded = ncde_data::load(&args.data, &options)?;
    schema::warn_for(&schema, &loaded);
    let data = loaded.data.aligned(&schema)?;
    let Answered { predictions, overflowed } = threads::on(args.threads.unwrap_or(0), || {
        let at = if matches!(place, Where::Ends) { At::End } else { spec.task.at() };
        Ok(match device {
            Device::Cpu => predict_all(&model, &data, at)?,
            #[allow(unreachable_patterns, reason = "without a GPU there is one device")]
            device => predict_on(device, &model, &data, at)?,
        })
    })?;
    let overflowed = overflowed.into_iter().map(|i| data.cases[i].id.clone()).collect();
    Ok(Predicted { spec, data, predictions, overflowed })
}

pub(crate) fn run(args: &PredictArgs) -> Result<(), Failure> {
    if let Some(path) = &args.output {
        let known = path.extension().is_some_and(|ext| ext == "csv" || ext == "json");
        if !known {
            return Err(Failure::Refused(format!("`{}`: predictions are written as .csv or .json", path.display())));
        }
    }
    let mut most = usize::MAX;
    let predicted = predict_file(&args.on, false, |spec| {
        most = furthest(args, spec)?;
        Ok(if spec.task.forecast().is_some() && !args.every { Where::Ends } else { Where::Everywhere })
    })?;
    write(&predicted, most, args.output.as_deref())?;
    match predicted.overflowed {
        cases if cases.is_empty() => Ok(()),
        cases => Err(Failure::Overflowed { cases, of: predicted.data.cases.len() }),
    }
}

fn write(predicted: &Predicted, most: usize, to: Option<&Path>) -> Result<(), Failure> {
    let Some(path) = to else { return output::data(|out| csv(predicted, most, out)) };
    let write = |path: &Path| -> std::io::Result<()> {
        let mut out = Whole::create(path)?;
        if path.extension().is_some_and(|ext| ext == "json") {
            json(predicted, most, &mut out)?;
        } else {
            csv(predicted, most, &mut out)?;
        }
        out.finish()
    };
    write(path).map_err(|source| Failure::Write { path: path.into(), source })?;
    let said = predicted.predictions.iter().filter(|own| !own.is_empty()).count();
    output::mention(&format!("{said} predictions in `{}`", path.display()));
    Ok(())
}

/// The largest horizon that is asked for.
fn furthest(args: &PredictArgs, spec: &ModelSpec) -> Result<usize, Failure> {
    let (Some(asked), forecast) = (args.horizon, spec.task.forecast()) else { return Ok(usize::MAX) };
    let Some(forecast) = forecast else {
        return Err(Failure::Refused("`--horizon` is for forecasts, and this model makes none".into()));
    };
    let (first, last) = forecast.horizons().into_inner();
    if asked < first || asked > last {
        let known = if first == last { format!("{last} alone") } else { format!("{first} to {last}") };
        let problem =
            format!("`--horizon {asked}`: the model forecasts horizons {known}; train one with `--set horizon={asked}`");
        return Err(Failure::Refused(problem));
    }
    Ok(asked)
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
            std::iter::once(class_name(spec, *class)).chain(probabilities.iter().map(|p| format!("{p:.6}"))).collect()
        }
        Prediction::Value(value) => vec![value.to_string()],
        Prediction::Values(_) => Vec::new(),
    }
}

pub(crate) fn class_name(spec: &ModelSpec, class: usize) -> String {
    match &spec.task {
        Task::Classification { classes, .. } => classes[class].clone(),
        Task::Regression { .. } | Task::Forecast { .. } => String::new(),
    }
}

fn csv(predicted: &Predicted, most: usize, out: &mut dyn Write) -> std::io::Result<()> {
    let spec = &predicted.spec;
    let steps = spec.task.at() == At::Steps;
    let mut writer = csv::Writer::from_writer(out);
    let head = std::iter::once("id".to_owned()).chain(steps.then(|| "time".into())).chain(columns(spec));
    writer.write_record(head)?;
    for (case, time, prediction) in predicted.each() {
        let mut row = |cells: Vec<String>| {
            let time = steps.then(|| time.to_string());
            writer.write_record(std::iter::once(case.id.clone()).chain(time).chain(cells))
        };
        match (prediction, spec.task.forecast()) {
            (Prediction::Values(values), Some(forecast)) => {
                let mut own = ahead::horizons(spec, forecast, time, values).filter(|ahead| ahead.horizon() <= most);
                own.try_for_each(|ahead| row(ahead.cells()))?;
            }
            _ => row(cells(spec, prediction))?,
        }
    }
    writer.flush()
}

fn json(predicted: &Predicted, most: usize, out: &mut dyn Write) -> std::io::Result<()> {
    let spec = &predicted.spec;
    let mut rows = Vec::new();
    for (case, time, prediction) in predicted.each() {
        let mut row = value(spec, prediction);
        row.insert("id".into(), case.id.clone().into());
        if spec.task.at() == At::Steps {
            row.insert("time".into(), time.into());
        }
        if let (Prediction::Values(values), Some(forecast)) = (prediction, spec.task.forecast()) {
            let own = ahead::horizons(spec, forecast, time, values).filter(|ahead| ahead.horizon() <= most);
            let list: Result<Vec<_>, _> = own.map(|ahead| serde_json::to_value(&ahead)).collect();
            row.insert("forecast".into(), list?.into());
        }
        rows.push(serde_json::Value::Object(row));
    }
    serde_json::to_writer_pretty(&mut *out, &rows)?;
    writeln!(out)
}

impl Predicted {
    /// All predictions with their cases and the times of the observations they follow.
    fn each(&self) -> impl Iterator<Item = (&Case, f64, &Prediction)> {
        self.data.cases.iter().zip(&self.predictions).flat_map(|(case, own)| {
            let times = &case.times[case.len().saturating_sub(own.len())..];
            own.iter().zip(times).map(move |(prediction, &time)| (case, time, prediction))
        })
    }
}

/// A prediction as JSON.
pub(crate) fn value(spec: &ModelSpec, prediction: &Prediction) -> serde_json::Map<String, serde_json::Value> {
    let mut row = serde_json::Map::new();
    match (prediction, &spec.task) {
        (Prediction::Class { class, probabilities }, Task::Classification { classes, .. }) => {
            row.insert("prediction".into(), classes[*class].clone().into());
            let pairs = classes.iter().zip(probabilities).map(|(name, &p)| (name.clone(), p.into()));
            row.insert("probabilities".into(), serde_json::Value::Object(pairs.collect()));
        }
        (Prediction::Value(value), _) => {
            row.insert("prediction".into(), (*value).into());
        }
        // Forecasts are lists, and made from the time as well.
        (Prediction::Values(_) | Prediction::Class { .. }, _) => {}
    }
    row
}
