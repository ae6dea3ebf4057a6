//! Runs as JSON: the tables of the page, with cells as it shows them, and the metrics as numbers.

use serde::Serialize;

use crate::across::across;
use crate::compare::boards;
use crate::metrics::Metrics;
use crate::record::{Baseline, Threshold};
use crate::summary::{Key, heading};
use crate::tables::{self, Section};
use crate::{GENERATOR, RunRecord};

#[derive(Serialize)]
struct Report<'a> {
    generator: &'a str,
    title: String,
    /// What compares several runs.
    tables: Vec<Section>,
    runs: Vec<Run<'a>>,
}

#[derive(Serialize)]
struct Run<'a> {
    title: String,
    directory: &'a str,
    seed: u64,
    /// Whether it is better than what needs no model, and that in a sentence.
    better: Option<bool>,
    verdict: Option<String>,
    warnings: &'a [String],
    keys: Vec<Key>,
    /// Whose metrics these are: those of the test or of the validation cases.
    part: Option<&'a str>,
    metrics: Option<&'a Metrics>,
    baselines: &'a [Baseline],
    threshold: &'a Option<Threshold>,
    tables: Vec<Section>,
}

/// A report on runs, as indented JSON.
///
/// ```
/// let report = ncde_report::json(&[]);
/// assert!(report.contains("\"runs\": []") && ncde_report::is_report(&report));
/// ```
pub fn json(records: &[RunRecord]) -> String {
    let boards = boards(records);
    let mut compared = Vec::new();
    if records.len() > 1 {
        compared.push(Section::new("Leaderboard", tables::leaderboard(&boards), ""));
        let title = |metric: &str| format!("All data sets: {metric}");
        compared
            .extend(across(&boards).iter().map(|models| Section::new(title(models.metric), tables::over_data_sets(models), "")));
        let by_seed = boards.iter().filter_map(|board| Some((board.data, tables::runs_by_seed(board)?)));
        compared.extend(by_seed.map(|(data, table)| Section::new(format!("{data}: runs by seed"), table, "")));
    }
    let title = if let [only] = records { only.title() } else { heading(records) };
    let report = Report { generator: GENERATOR, title, tables: compared, runs: records.iter().map(run).collect() };
    // Nothing of it can fail: all keys are texts.
    serde_json::to_string_pretty(&report).unwrap_or_default() + "\n"
}

fn run(run: &RunRecord) -> Run<'_> {
    let (better, verdict) = run.verdict().unzip();
    let (part, metrics) = run.outcome().unzip();
    let tables = tables::results(run).into_iter().chain(tables::training(run)).chain(tables::described(run));
    Run {
        title: run.title(),
        directory: &run.directory,
        seed: run.seed,
        better,
        verdict,
        warnings: &run.warnings,
        keys: run.keys(),
        part,
        metrics,
        baselines: &run.baselines,
        threshold: &run.threshold,
        tables: tables.collect(),
    }
}
