//! Tables: the mean and the population deviation over seeds, beside published values.
//!
//! ```text
//! mean = (x_1 + ... + x_n) / n,   deviation = sqrt(((x_1 - mean)^2 + ... + (x_n - mean)^2) / n)
//! ```

use serde::Serialize;

use crate::plan::{Metric, Plan, Published};
use crate::record::Record;

/// A mean over seeds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Mean {
    /// The mean.
    pub mean: f64,
    /// The population deviation.
    pub deviation: f64,
    /// Of how many seeds.
    pub seeds: usize,
}

impl Mean {
    /// Of some numbers; none of none.
    ///
    /// ```
    /// use ncde_experiment::Mean;
    /// assert_eq!(Mean::of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]), Some(Mean { mean: 5.0, deviation: 2.0, seeds: 8 }));
    /// assert_eq!(Mean::of(&[]), None);
    /// ```
    pub fn of(values: &[f64]) -> Option<Self> {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|x| (x - mean) * (x - mean)).sum();
        (!values.is_empty()).then_some(Self { mean, deviation: (squares / n).sqrt(), seeds: values.len() })
    }
}

/// A table of one metric: a row a model, a column a task.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// What it shows.
    pub title: String,
    /// Its columns: the model first, then for each task our values, and where there are some the published.
    pub columns: Vec<String>,
    /// Cells as text.
    pub rows: Vec<Vec<String>>,
}

/// The names that records have of one kind, in the order in which they come.
pub fn names<'a>(records: &'a [Record], name: impl Fn(&'a Record) -> &'a str) -> Vec<&'a str> {
    let mut all: Vec<&str> = Vec::new();
    for own in records.iter().map(name) {
        if !all.contains(&own) {
            all.push(own);
        }
    }
    all
}

/// The mean over seeds of a metric.
pub fn mean(records: &[Record], model: &str, task: &str, metric: &str) -> Option<Mean> {
    let own = records.iter().filter(|record| record.model == model && record.task == task);
    Mean::of(&own.filter_map(|record| record.value(metric)).collect::<Vec<_>>())
}

/// The tables of an experiment, one a metric.
pub fn tables(plan: &Plan, records: &[Record]) -> Vec<Table> {
    plan.metrics.iter().filter_map(|metric| table(metric, &plan.published, records)).collect()
}

fn table(metric: &Metric, published: &[Published], records: &[Record]) -> Option<Table> {
    let measured = |record: &&Record| record.value(metric.name).is_some();
    let records: Vec<Record> = records.iter().filter(measured).cloned().collect();
    let (models, tasks) = (names(&records, |record| &record.model), names(&records, |record| &record.task));
    let known = |model: &str, task: &str| {
        published.iter().find(|own| own.model == model && own.task == task && own.metric == metric.name)
    };
    let any = |task: &str| models.iter().any(|model| known(model, task).is_some());
    let number = |value: f64| format!("{:.*}", metric.digits, value * metric.factor);
    let mut columns = vec!["model".to_owned()];
    for task in &tasks {
        columns.push((*task).into());
        columns.extend(any(task).then(|| "published".to_owned()));
    }
    let row = |model: &&str| {
        let mut cells = vec![(*model).to_owned()];
        for task in &tasks {
            cells.push(mean(&records, model, task, metric.name).map_or_else(String::new, |own| match own.seeds {
                1 => number(own.mean),
                _ => format!("{} ± {}", number(own.mean), number(own.deviation)),
            }));
            if any(task) {
                cells.push(known(model, task).map_or_else(String::new, |own| match own.deviation {
                    Some(deviation) => format!("{} ± {}", number(own.mean), number(deviation)),
                    None => number(own.mean),
                }));
            }
        }
        cells
    };
    let rows: Vec<Vec<String>> = models.iter().map(row).collect();
    (!rows.is_empty()).then(|| Table { title: metric.title.into(), columns, rows })
}

/// A line a value and a line a mean, for programs.
#[derive(Debug, Serialize)]
pub struct Line<'a> {
    /// The experiment.
    pub experiment: &'a str,
    /// The model.
    pub model: &'a str,
    /// The task.
    pub task: &'a str,
    /// The seed; none of a mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Of how many seeds it is the mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_of: Option<usize>,
    /// The metric.
    pub metric: &'a str,
    /// Its value.
    pub value: f64,
    /// The population deviation of a mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deviation: Option<f64>,
    /// What was published for it.
    pub published: Option<f64>,
}

/// All values of the metrics of a plan, seed by seed, then their means.
pub fn lines<'a>(plan: &'a Plan, records: &'a [Record]) -> Vec<Line<'a>> {
    let mut all = Vec::new();
    for metric in &plan.metrics {
        let known = |model: &str, task: &str| {
            let own = plan.published.iter().find(|own| own.model == model && own.task == task && own.metric == metric.name);
            own.map(|own| own.mean)
        };
        let line = |model: &'a str, task: &'a str, value: f64| Line {
            experiment: records.first().map_or("", |record| &record.experiment),
            model,
            task,
            seed: None,
            mean_of: None,
            metric: metric.name,
            value,
            deviation: None,
            published: known(model, task),
        };
        for record in records {
            let own = record.value(metric.name).map(|value| line(&record.model, &record.task, value));
            all.extend(own.map(|own| Line { seed: Some(record.seed), ..own }));
        }
        for model in names(records, |record| &record.model) {
            for task in names(records, |record| &record.task) {
                let own = mean(records, model, task, metric.name);
                all.extend(own.map(|own| Line {
                    mean_of: Some(own.seeds),
                    deviation: Some(own.deviation),
                    ..line(model, task, own.mean)
                }));
            }
        }
    }
    all
}
