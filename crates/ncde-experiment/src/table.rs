//! Tables: the mean and the population deviation over seeds, beside published values.
//!
//! ```text
//! mean = (x_1 + ... + x_n) / n,   deviation = sqrt(((x_1 - mean)^2 + ... + (x_n - mean)^2) / n)
//! ```

use ncde_report::Cell;
use ncde_report::statistics::Better;
use serde::Serialize;

use crate::plan::{Metric, Plan, Published};
use crate::record::Record;
use crate::standing::{Standing, standing};

/// A mean over seeds.
#[expect(missing_docs, reason = "as the line above says")]
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Mean {
    pub mean: f64,
    pub deviation: f64,
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
    /// Its cells; the best of a column is in bold.
    pub rows: Vec<Vec<Cell>>,
}

/// The names that records have of one kind, in the order in which they come.
pub fn names<'a>(records: &'a [Record], name: impl Fn(&'a Record) -> &'a str) -> Vec<&'a str> {
    distinct(records.iter().map(name))
}

/// Each of some values once, in the order in which they come first.
pub(crate) fn distinct<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    values.fold(Vec::new(), |mut all, value| {
        if !all.contains(&value) {
            all.push(value);
        }
        all
    })
}

/// The mean over seeds of a metric.
pub fn mean(records: &[Record], model: &str, task: &str, metric: &str) -> Option<Mean> {
    let own = records.iter().filter(|record| record.model == model && record.task == task);
    Mean::of(&own.filter_map(|record| record.value(metric)).collect::<Vec<_>>())
}

/// The tables of an experiment, one a metric; that of the first has the average rank of each model where they are compared.
pub fn tables(plan: &Plan, records: &[Record]) -> Vec<Table> {
    let standing = standing(plan, records);
    let own = |metric: &Metric| standing.as_ref().filter(|standing| standing.metric == metric.name);
    plan.metrics.iter().filter_map(|metric| table(metric, &plan.published, records, own(metric))).collect()
}

fn table(metric: &Metric, published: &[Published], records: &[Record], standing: Option<&Standing<'_>>) -> Option<Table> {
    let measured = |record: &&Record| record.value(metric.name).is_some();
    let records: Vec<Record> = records.iter().filter(measured).cloned().collect();
    let (models, tasks) = (names(&records, |record| &record.model), names(&records, |record| &record.task));
    let known = |model: &str, task: &str| {
        published.iter().find(|own| own.model == model && own.task == task && own.metric == metric.name)
    };
    let mut columns = vec!["model".to_owned()];
    let mut rows: Vec<Vec<Cell>> = models.iter().map(|model| vec![(*model).to_owned().into()]).collect();
    let mut add = |name: &str, cells: Vec<Cell>| {
        columns.push(name.into());
        rows.iter_mut().zip(cells).for_each(|(row, cell)| row.push(cell));
    };
    for task in &tasks {
        let own = models.iter().map(|model| {
            let own = mean(&records, model, task, metric.name)?;
            Some((own.mean, (own.seeds > 1).then_some(own.deviation)))
        });
        add(task, column(metric, own.collect()));
        if models.iter().any(|model| known(model, task).is_some()) {
            let others = models.iter().map(|model| known(model, task).map(|own| (own.mean, own.deviation)));
            add("published", column(metric, others.collect()));
        }
    }
    if let Some(standing) = standing {
        let rank = Metric { factor: 1.0, digits: 2, better: Some(Better::Less), ..*metric };
        add("average rank", column(&rank, models.iter().map(|model| Some((standing.rank(model)?, None))).collect()));
    }
    (!rows.is_empty()).then(|| Table { title: metric.title.into(), columns, rows })
}

/// Means with their deviations as cells, the best in bold, and all that read the same.
fn column(metric: &Metric, values: Vec<Option<(f64, Option<f64>)>>) -> Vec<Cell> {
    let number = |value: f64| format!("{:.*}", metric.digits, value * metric.factor);
    let means = values.iter().flatten().map(|(mean, _)| *mean);
    let best = metric.better.and_then(|better| means.clone().min_by(|a, b| better.cost(*a).total_cmp(&better.cost(*b))));
    // One alone is no best.
    let best = best.filter(|_| means.count() > 1).map(number);
    let cell = |value: Option<(f64, Option<f64>)>| {
        let Some((mean, deviation)) = value else { return Cell::default() };
        let mean = number(mean);
        let bold = best.as_ref() == Some(&mean);
        let text = deviation.map_or_else(|| mean.clone(), |deviation| format!("{mean} ± {}", number(deviation)));
        Cell { text, bold }
    };
    values.into_iter().map(cell).collect()
}

/// A line a value and a line a mean, for programs.
#[expect(missing_docs, reason = "the names say what the fields are")]
#[derive(Debug, Serialize)]
pub struct Line<'a> {
    pub experiment: &'a str,
    pub model: &'a str,
    pub task: &'a str,
    /// The seed; none of a mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Of how many seeds it is the mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_of: Option<usize>,
    pub metric: &'a str,
    pub value: f64,
    /// The population deviation of a mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deviation: Option<f64>,
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
