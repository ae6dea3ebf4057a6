//! How models stand over the tasks of an experiment: average ranks and tests of the first metric of its plan, means over seeds as the scores.
//!
//! ```text
//! Wanted: at least 3 models and 2 tasks, and a score of every model on every task.
//! ```
//!
//! Models that have all tasks are taken; where there are too few of them, all models on the tasks that they share.

use ncde_report::statistics::Comparison;
use serde::Serialize;

use crate::plan::{Metric, Plan};
use crate::record::Record;
use crate::table::{mean, names};

/// Models over the tasks that they all have.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Standing<'a> {
    /// The metric, by its name in records.
    pub metric: &'a str,
    /// The models, in the order of the table.
    pub models: Vec<&'a str>,
    /// The tasks.
    pub tasks: Vec<&'a str>,
    /// What is said of them; models are numbered in the order of `models`.
    #[serde(flatten)]
    pub comparison: Comparison,
}

impl Standing<'_> {
    /// The average rank of a model, if it takes part.
    pub fn rank(&self, model: &str) -> Option<f64> {
        self.models.iter().position(|own| *own == model).map(|at| self.comparison.ranks[at])
    }

    /// What it says, in sentences.
    pub fn words(&self) -> Vec<String> {
        self.comparison.words(&self.models)
    }
}

/// How models stand; none where the plan does not compare them, or too few are complete.
pub fn standing<'a>(plan: &'a Plan, records: &'a [Record]) -> Option<Standing<'a>> {
    let metric: &Metric = plan.metrics.first().filter(|_| plan.compared)?;
    let better = metric.better?;
    let score = |model: &str, task: &str| mean(records, model, task, metric.name).map(|own| own.mean);
    let (models, tasks) = (names(records, |record| &record.model), names(records, |record| &record.task));
    let complete: Vec<&str> =
        models.iter().copied().filter(|model| tasks.iter().all(|task| score(model, task).is_some())).collect();
    let shared: Vec<&str> =
        tasks.iter().copied().filter(|task| models.iter().all(|model| score(model, task).is_some())).collect();
    let (models, tasks) = if complete.len() >= 3 { (complete, tasks) } else { (models, shared) };
    let scores: Option<Vec<Vec<f64>>> =
        models.iter().map(|model| tasks.iter().map(|task| score(model, task)).collect()).collect();
    // What is too small for a test has no standing.
    let comparison = Comparison::of(&scores?, better).ok()?;
    Some(Standing { metric: metric.name, models, tasks, comparison })
}
