//! The best trial: its settings as a file, and what it reaches on the test part, which nothing else of a search looks at.

use std::collections::BTreeMap;

use ncde_experiment::Mean;
use ncde_report::{Metrics, RunRecord};
use ncde_train::Config;
use ncde_tune::Sweep;

use super::folder::{Folder, State};
use super::standings::Row;
use crate::error::Failure;
use crate::table::short;

pub(super) const FILE: &str = "best.toml";

pub(super) struct Best {
    pub(super) records: Vec<RunRecord>,
    /// Metrics of the test part over its runs.
    pub(super) test: BTreeMap<&'static str, Mean>,
    /// The one to show if only one is shown.
    pub(super) headline: Option<(&'static str, Mean)>,
}

pub(super) fn read(folder: &Folder, sweep: &Sweep, row: &Row) -> Result<Best, Failure> {
    let mut records = Vec::new();
    for run in sweep.runs_of(row.standing.trial) {
        if let State::Finished(record) = folder.state(run, None)? {
            records.push(*record);
        }
    }
    let tested = records.first().and_then(|record| record.test.as_ref());
    let mean = |name: &str| {
        let values: Option<Vec<f64>> = records.iter().map(|record| record.test.as_ref()?.get(name)).collect();
        Mean::of(&values?)
    };
    let test: BTreeMap<&'static str, Mean> =
        tested.map_or_else(Vec::new, Metrics::names).into_iter().filter_map(|name| Some((name, mean(name)?))).collect();
    let usual = tested.map(|metrics| metrics.headline().0);
    let requested = test.keys().copied().find(|name| *name == sweep.metric && *name != "loss");
    let headline = requested.or(usual).and_then(|name| Some((name, *test.get(name)?)));
    Ok(Best { records, test, headline })
}

/// Writes the settings of its first run, every default said.
pub(super) fn write(folder: &Folder, sweep: &Sweep, row: &Row, best: &Best) -> Result<(), Failure> {
    let Some(record) = best.records.first() else { return Ok(()) };
    let config = Config::from_toml(&record.config)?;
    let mut head = format!(
        "# The best of {} trials ({}) by the validation part, trial {}:\n#   {}\n",
        sweep.trials.len(),
        sweep.method.name(),
        row.standing.trial + 1,
        sweep.trials[row.standing.trial].assignments().join(" "),
    );
    if let Some(mean) = row.mean {
        head += &format!("#   {} {}", sweep.metric, short(mean.mean));
        if mean.seeds > 1 {
            head += &format!(", deviation {} over {} runs", short(mean.deviation), mean.seeds);
        }
        head += "\n";
    }
    if !sweep.rungs.is_empty() {
        head +=
            "# Its run was trained rung by rung; trained in one go, a schedule that ends with the steps gives other weights.\n";
    }
    head += "# Train it with `ncde train --config FILE`.\n\n";
    folder.write(FILE, &(head + &config.explained()))
}
