//! The table of a search: `table.md`, the same on standard output, or JSON lines.

use ncde_experiment::Mean;
use ncde_report::markdown_table;
use ncde_tune::Sweep;
use serde_json::json;

use super::best::{self, Best};
use super::folder::Folder;
use super::standings::{self, Row};
use crate::error::Failure;
use crate::output;
use crate::table::short;

const TABLE: &str = "table.md";

/// Writes the table and the best settings, and prints the first.
pub(super) fn all(folder: &Folder, sweep: &Sweep, json: bool) -> Result<(), Failure> {
    let rows = standings::all(folder, sweep)?;
    let first = rows.first().filter(|row| row.mean.is_some());
    let best = first.map(|row| best::read(folder, sweep, row)).transpose()?;
    let text = markdown(sweep, &rows, best.as_ref());
    folder.write(TABLE, &text)?;
    if let (Some(row), Some(best)) = (first, &best) {
        best::write(folder, sweep, row, best)?;
    }
    if json {
        lines(folder, sweep, &rows, best.as_ref())?;
    } else {
        let target = folder.path.join(TABLE);
        output::data(|out| {
            writeln!(out, "{text}")?;
            writeln!(out, "runs    {}", folder.path.join("runs").display())?;
            writeln!(out, "table   {}", target.display())?;
            if best.is_some() {
                writeln!(out, "best    {}", folder.path.join(best::FILE).display())?;
            }
            Ok(())
        })?;
    }
    if standings::on_other_data(sweep, &rows) {
        output::warn(
            "warning: the data have changed while the search went on: trials were trained on different ones, and cannot be compared",
        );
    }
    let open: usize = open(sweep, &rows);
    if open > 0 {
        let directory = ncde_tune::quoted(&folder.path.display().to_string());
        let runs = if open == 1 { "1 run is".into() } else { format!("{open} runs are") };
        output::warn(&format!("warning: {runs} not done yet; go on with\n  ncde tune --resume {directory}"));
    }
    let failed = rows.iter().flat_map(|row| &row.failed).next();
    match (first, failed) {
        (None, Some((run, reason))) => Err(Failure::Failed(format!("no trial has a result; `{run}` failed: {reason}"))),
        _ => Ok(()),
    }
}

/// Runs that are not done and should be. Of halving, those of trials that went out are not.
fn open(sweep: &Sweep, rows: &[Row]) -> usize {
    let last = sweep.rungs.len().saturating_sub(1);
    match sweep.rungs.is_empty() || rows.first().is_some_and(|row| row.standing.rung < last) {
        true => rows.iter().map(|row| row.open).sum(),
        false => 0,
    }
}

/// The last part of a key, unless two have the same.
fn heads(sweep: &Sweep) -> Vec<(&String, &str)> {
    let keys: Vec<&String> = sweep.trials.first().map_or(Vec::new(), |trial| trial.set.keys().collect());
    let last = |key: &'_ String| key.rsplit('.').next().unwrap_or_default().to_owned();
    let alone = |key: &String| keys.iter().filter(|other| last(other) == last(key)).count() == 1;
    keys.iter().map(|key| (*key, if alone(key) { key.rsplit('.').next().unwrap_or(key) } else { key.as_str() })).collect()
}

fn number(mean: &Mean) -> String {
    if mean.seeds > 1 { format!("{} ± {}", round(mean.mean), round(mean.deviation)) } else { round(mean.mean) }
}

/// To four digits.
fn round(x: f64) -> String {
    short(format!("{x:.3e}").parse().unwrap_or(x))
}

fn markdown(sweep: &Sweep, rows: &[Row], best: Option<&Best>) -> String {
    let heads = heads(sweep);
    let metric = format!("validation {}", sweep.metric);
    let mut header = vec!["rank", "trial"];
    header.extend(heads.iter().map(|(_, head)| *head));
    header.extend([metric.as_str(), "steps", "parameters", "seconds"]);
    let cells = rows.iter().enumerate().map(|(i, row)| {
        let trial = &sweep.trials[row.standing.trial];
        let rank = if row.mean.is_some() { (i + 1).to_string() } else { "-".into() };
        let mut cells = vec![rank, (row.standing.trial + 1).to_string()];
        cells.extend(heads.iter().map(|(key, _)| {
            let text = trial.set.get(*key).map_or(String::new(), |value| value.as_str().map_or(value.to_string(), str::to_owned));
            text.replace('|', "\\|")
        }));
        let state = match (&row.mean, row.failed.len(), row.claimed, row.open) {
            (Some(mean), ..) => number(mean),
            (None, failed, ..) if failed > 0 => format!("{failed} failed"),
            (None, _, claimed, _) if claimed > 0 => format!("{claimed} running"),
            (None, _, _, open) => format!("{open} not done"),
        };
        cells.extend([state, row.steps.to_string(), row.standing.parameters.to_string(), format!("{:.1}", row.seconds)]);
        cells
    });
    let mut text = format!(
        "# {} trials ({})\n\nEach over {}; compared by the validation part, the best first.\n\n{}",
        rows.len(),
        sweep.method.name(),
        runs(sweep),
        markdown_table(&header, cells.collect()),
    );
    if let (Some(best), Some(row)) = (best, rows.first()) {
        text += &format!(
            "\nBest: trial {}, `{}`.\n",
            row.standing.trial + 1,
            sweep.trials[row.standing.trial].assignments().join(" ")
        );
        if let Some((name, mean)) = best.headline {
            text += &format!("On the test part, which decided nothing: {name} {}.\n", number(&mean));
        }
    }
    let failed: Vec<_> = rows.iter().flat_map(|row| &row.failed).collect();
    if !failed.is_empty() {
        text += "\nFailed:\n\n";
        failed.iter().for_each(|(run, reason)| text += &format!("- {run}: {}\n", reason.replace('\n', " ")));
    }
    text
}

/// What a trial is the mean of.
fn runs(sweep: &Sweep) -> String {
    let of = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let folds = sweep.folds.map_or(String::new(), |folds| format!(" and {}", of(folds, "fold")));
    of(sweep.seeds.len(), "seed") + &folds
}

fn lines(folder: &Folder, sweep: &Sweep, rows: &[Row], best: Option<&Best>) -> Result<(), Failure> {
    output::data(|out| {
        for (i, row) in rows.iter().enumerate() {
            let line = json!({
                "event": "trial", "rank": row.mean.map(|_| i + 1), "trial": row.standing.trial + 1, "set": sweep.trials[row.standing.trial],
                "metric": sweep.metric, "value": row.standing.value, "deviation": row.mean.map(|mean| mean.deviation),
                "runs": row.mean.map(|mean| mean.seeds), "steps": row.steps, "parameters": row.standing.parameters,
                "seconds": row.seconds, "open": row.open, "failed": row.failed.iter().map(|(run, reason)| json!({"run": run, "reason": reason})).collect::<Vec<_>>(),
            });
            writeln!(out, "{line}")?;
        }
        if let (Some(best), Some(row)) = (best, rows.first()) {
            let line = json!({
                "event": "best", "trial": row.standing.trial + 1, "set": sweep.trials[row.standing.trial], "metric": sweep.metric,
                "value": row.standing.value, "deviation": row.mean.map(|mean| mean.deviation), "test": best.test,
                "config": folder.path.join(best::FILE),
            });
            writeln!(out, "{line}")?;
        }
        Ok(())
    })
}
