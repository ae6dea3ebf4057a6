//! Successive halving: rung by rung, and what was decided at the end of each.
//!
//! A run that goes on overwrites what it measured before, so what a rung was decided by is kept in `halving.json`: a search that was interrupted decides nothing twice.

use ncde_experiment::Mean;
use ncde_tune::Sweep;
use serde::{Deserialize, Serialize};

use super::folder::{Folder, json};
use super::pool::Pool;
use super::progress::Progress;
use super::standings::{ranked, score};
use crate::error::Failure;
use crate::output;

const FILE: &str = "halving.json";

#[derive(Default, Serialize, Deserialize)]
pub(super) struct Rungs {
    rungs: Vec<Decided>,
}

#[derive(Serialize, Deserialize)]
struct Decided {
    steps: usize,
    /// The trials in order, the best first.
    trials: Vec<Scored>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Scored {
    /// Its place, from 0.
    trial: usize,
    /// The metric over its runs: mean, deviation and how many; none if one failed.
    value: Option<(f64, f64, usize)>,
    /// The mean of the loss, by which ties are broken.
    pub(super) loss: Option<f64>,
}

impl Scored {
    pub(super) fn mean(&self) -> Option<Mean> {
        self.value.map(|(mean, deviation, seeds)| Mean { mean, deviation, seeds })
    }
}

impl Rungs {
    pub(super) fn read(folder: &Folder) -> Result<Self, Failure> {
        Ok(folder.read(FILE)?.unwrap_or_default())
    }

    /// The last rung that a trial has finished, and what it reached there.
    pub(super) fn last_of(&self, trial: usize) -> Option<(usize, &Scored)> {
        let scored = |decided: &'_ Decided| decided.trials.iter().position(|scored| scored.trial == trial);
        self.rungs.iter().enumerate().rev().find_map(|(rung, decided)| Some((rung, &decided.trials[scored(decided)?])))
    }

    fn survivors(&self, rung: usize, count: usize) -> Vec<usize> {
        let trials = self.rungs.get(rung).map_or(&[][..], |decided| &decided.trials);
        trials.iter().filter(|scored| scored.value.is_some()).take(count).map(|scored| scored.trial).collect()
    }
}

/// Does all rungs, from the first that is not decided; false if it was asked to stop before the last was.
pub(super) fn work(pool: &Pool<'_>, sweep: &Sweep, progress: &mut Progress<'_>) -> Result<bool, Failure> {
    let mut decided = Rungs::read(pool.folder)?;
    let mut alive: Vec<usize> = (0..sweep.trials.len()).collect();
    for (k, rung) in sweep.rungs.iter().enumerate() {
        if k > 0 {
            alive = decided.survivors(k - 1, rung.trials);
        }
        if decided.rungs.len() > k {
            continue;
        }
        let runs: Vec<_> = alive.iter().flat_map(|&trial| sweep.runs_of(trial)).collect();
        output::info(&format!("rung {} of {}: {} trials to step {}", k + 1, sweep.rungs.len(), alive.len(), rung.steps));
        progress.expect(runs.len());
        if !pool.work(&runs, Some(rung.steps), &mut |ended| progress.show(&ended))? {
            return Ok(false);
        }
        let rows =
            alive.iter().map(|&trial| score(pool.folder, sweep, trial, Some(rung.steps))).collect::<Result<Vec<_>, _>>()?;
        let scored = |row: super::standings::Row| Scored {
            trial: row.standing.trial,
            value: row.mean.map(|mean| (mean.mean, mean.deviation, mean.seeds)),
            loss: row.standing.loss,
        };
        let trials = ranked(rows, &sweep.metric).into_iter().map(scored).collect();
        decided.rungs.push(Decided { steps: rung.steps, trials });
        pool.folder.write(FILE, &(json(&decided)? + "\n"))?;
    }
    Ok(true)
}
