//! `ncde predict`: a saved model on a file.

use std::io::Write;
use std::path::Path;

use ncde::train::{Answered, predict_all};
use ncde_data::{Dataset, ReadOptions};
use ncde_runtime::{At, Model, ModelSpec, Prediction, Task};

use crate::args::{PredictArgs, UseArgs};
use crate::error::Failure;
use crate::{output, schema, threads};

/// What a model says of a file.
pub(crate) struct Predicted {
    pub(crate) spec: ModelSpec,
    pub(crate) data: Dataset,
    pub(crate) predictions: Vec<Vec<Prediction>>,
    /// The cases of which no finite prediction can be made.
    pub(crate) overflowed: Vec<String>,
}

/// Loads the model, brings the file into the form it was trained on, and predicts.
pub(crate) fn predict_file(args: &UseArgs) -> Result<Predicted, Failure> {
    let model = Model::load(&args.model)?;
    let spec = model.spec().clone();
    let schema = schema::of(&spec)?;
    let options = ReadOptions { labels: args.labels.clone(), ..schema::options(&spec, &schema, &args.columns) };
    let loaded = ncde_data::load(&args.data, &options)?;
    schema::warn(&loaded);
    let data = loaded.data.aligned(&schema)?;
    let Answered { predictions, overflowed } = threads::on(args.threads.unwrap_or(0), || Ok(predict_all(&model, &data)?))?;
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
    let predicted = predict_file(&args.on)?;
    write(&predicted, args.output.as_deref())?;
    match predicted.overflowed {
        cases if cases.is_empty() => Ok(()),
        cases => Err(Failure::Overflowed { cases, of: predicted.data.cases.len() }),
    }
}

fn write(predicted: &Predicted, to: Option<&Path>) -> Result<(), Failure> {
    let Some(path) = to else { return output::data(|out| csv(predicted, out)) };
    let write = |path: &Path| -> std::io::Result<()> {
        let mut out = std::io::BufWriter::new(std::fs::File::create(path)?);
        if path.extension().is_some_and(|ext| ext == "json") {
            json(predicted, &mut out)?;
        } else {
            csv(predicted, &mut out)?;
        }
        out.flush()
    };
    write(path).map_err(|source| Failure::Write { path: path.into(), source })?;
    let said = predicted.predictions.iter().filter(|own| !own.is_empty()).count();
    output::mention(&format!("{said} predictions in `{}`", path.display()));
    Ok(())
}

/// The columns behind the id (and the time).
pub(crate) fn columns(spec: &ModelSpec) -> Vec<String> {
    match &spec.task {
        Task::Classification { classes, .. } => std::iter::once("prediction".into()).chain(classes.iter().cloned()).collect(),
        Task::Regression { .. } => vec!["prediction".into()],
        Task::Forecast { .. } => spec.channels.clone(),
    }
}

/// A prediction as cells.
fn cells(spec: &ModelSpec, prediction: &Prediction) -> Vec<String> {
    match prediction {
        Prediction::Class { class, probabilities } => {
            std::iter::once(class_name(spec, *class)).chain(probabilities.iter().map(|p| format!("{p:.6}"))).collect()
        }
        Prediction::Value(value) => vec![value.to_string()],
        Prediction::Values(values) => values.iter().map(f64::to_string).collect(),
    }
}

pub(crate) fn class_name(spec: &ModelSpec, class: usize) -> String {
    match &spec.task {
        Task::Classification { classes, .. } => classes[class].clone(),
        Task::Regression { .. } | Task::Forecast { .. } => String::new(),
    }
}

fn csv(predicted: &Predicted, out: &mut dyn Write) -> std::io::Result<()> {
    let steps = predicted.spec.task.at() == At::Steps;
    let mut writer = csv::Writer::from_writer(out);
    let head = std::iter::once("id".to_owned()).chain(steps.then(|| "time".into())).chain(columns(&predicted.spec));
    writer.write_record(head)?;
    for (case, own) in predicted.data.cases.iter().zip(&predicted.predictions) {
        for (i, prediction) in own.iter().enumerate() {
            let time = steps.then(|| case.times[i].to_string());
            writer.write_record(std::iter::once(case.id.clone()).chain(time).chain(cells(&predicted.spec, prediction)))?;
        }
    }
    writer.flush()
}

fn json(predicted: &Predicted, out: &mut dyn Write) -> std::io::Result<()> {
    let steps = predicted.spec.task.at() == At::Steps;
    let mut rows = Vec::new();
    for (case, own) in predicted.data.cases.iter().zip(&predicted.predictions) {
        for (i, prediction) in own.iter().enumerate() {
            let mut row = value(&predicted.spec, prediction);
            row.insert("id".into(), case.id.clone().into());
            if steps {
                row.insert("time".into(), case.times[i].into());
            }
            rows.push(serde_json::Value::Object(row));
        }
    }
    serde_json::to_writer_pretty(&mut *out, &rows)?;
    writeln!(out)
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
        (Prediction::Values(values), _) => {
            let pairs = spec.channels.iter().zip(values).map(|(name, &x)| (name.clone(), x.into()));
            row.insert("prediction".into(), serde_json::Value::Object(pairs.collect()));
        }
        (Prediction::Class { .. }, _) => {}
    }
    row
}
