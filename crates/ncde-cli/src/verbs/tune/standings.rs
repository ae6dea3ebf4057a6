//! How the trials of a search stand: the mean of the validation metric over their runs, in order.

use ncde_experiment::Mean;
use ncde_report::RunRecord;
use ncde_report::metrics::higher_is_better;
use ncde_tune::{Standing, Sweep, rank};

use super::folder::{Folder, State};
use super::halving::Rungs;
use crate::error::Failure;

#[derive(Default)]
pub(super) struct Row {
    pub(super) standing: Standing,
    /// The metric over its runs, if all of them have it.
    pub(super) mean: Option<Mean>,
    /// Steps of a run, and seconds of all of them.
    pub(super) steps: usize,
    pub(super) seconds: f64,
    /// Runs that are not done yet.
    pub(super) open: usize,
    /// Of those, how many a process is at.
    pub(super) claimed: usize,
    /// Runs that failed, and why.
    pub(super) failed: Vec<(String, String)>,
    /// The data of each run that is finished, with its seed and fold.
    data: Vec<(u64, Option<usize>, String)>,
}

/// The metric that decides, of a run; none if it is no number.
pub(super) fn value(record: &RunRecord, metric: &str) -> Option<f64> {
    record.validation.as_ref()?.get(metric).filter(|value| value.is_finite())
}

fn row(folder: &Folder, sweep: &Sweep, trial: usize, steps: Option<usize>) -> Result<(Row, Vec<RunRecord>), Failure> {
    let mut row = Row { standing: Standing { trial, ..Standing::default() }, ..Row::default() };
    let mut records = Vec::new();
    for run in sweep.runs_of(trial) {
        match folder.state(run, steps)? {
            State::Open => {
                row.open += 1;
                row.claimed += usize::from(folder.is_claimed(run));
            }
            State::Failed(reason) => row.failed.push((Sweep::name(run), reason)),
            State::Finished(record) => {
                row.standing.parameters = row.standing.parameters.max(record.model.parameters);
                (row.steps, row.seconds) = (row.steps.max(record.steps), row.seconds + record.seconds);
                if value(&record, &sweep.metric).is_none() {
                    let reason = format!("its validation part has no {}: is it empty?", sweep.metric);
                    row.failed.push((Sweep::name(run), reason));
                }
                row.data.push((run.seed, run.fold, record.data.fingerprint.clone()));
                records.push(*record);
            }
        }
    }
    Ok((row, records))
}

/// The metric of a trial whose runs have all got so far.
pub(super) fn score(folder: &Folder, sweep: &Sweep, trial: usize, steps: Option<usize>) -> Result<Row, Failure> {
    let (mut row, records) = row(folder, sweep, trial, steps)?;
    if row.open == 0 && row.failed.is_empty() {
        let values: Vec<f64> = records.iter().filter_map(|record| value(record, &sweep.metric)).collect();
        row.mean = Mean::of(&values);
        row.standing.value = row.mean.map(|mean| mean.mean);
        let losses: Option<Vec<f64>> = records.iter().map(|record| value(record, "loss")).collect();
        row.standing.loss = losses.and_then(|losses| Mean::of(&losses)).map(|mean| mean.mean);
    }
    Ok(row)
}

/// All trials, the best first.
pub(super) fn all(folder: &Folder, sweep: &Sweep) -> Result<Vec<Row>, Failure> {
    let decided = Rungs::read(folder)?;
    let mut rows = Vec::new();
    for trial in 0..sweep.trials.len() {
        let mut row = score(folder, sweep, trial, None)?;
        if !sweep.rungs.is_empty() {
            // Only what was measured at the end of a rung counts.
            (row.mean, row.standing) = (None, Standing { value: None, loss: None, ..row.standing });
            if let Some((rung, scored)) = decided.last_of(trial) {
                row.mean = scored.mean();
                let value = row.mean.map(|mean| mean.mean);
                row.standing = Standing { rung, value, loss: scored.loss, ..row.standing };
            }
        }
        rows.push(row);
    }
    Ok(ranked(rows, &sweep.metric))
}

pub(super) fn ranked(mut rows: Vec<Row>, metric: &str) -> Vec<Row> {
    let mut order: Vec<Standing> = rows.iter().map(|row| row.standing).collect();
    rank(&mut order, higher_is_better(metric));
    let place = |row: &Row| order.iter().position(|standing| standing.trial == row.standing.trial);
    rows.sort_by_key(place);
    rows
}

/// Whether trials were compared on other data: those with the same seed and fold are cut alike.
pub(super) fn on_other_data(sweep: &Sweep, rows: &[Row]) -> bool {
    let varied = sweep.trials.iter().flat_map(|trial| trial.set.keys()).any(|key| key.starts_with("data."));
    let all: Vec<_> = rows.iter().flat_map(|row| &row.data).collect();
    !varied && all.iter().any(|a| all.iter().any(|b| (a.0, a.1) == (b.0, b.1) && a.2 != b.2))
}
