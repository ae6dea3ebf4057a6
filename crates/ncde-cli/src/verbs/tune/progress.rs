//! What is seen while a search goes on: a bar on a terminal, a line for each run that ends, JSON lines if asked for.

use indicatif::ProgressBar;
use ncde_report::metrics::higher_is_better;
use ncde_tune::Sweep;
use serde_json::json;

use super::folder::{Folder, State};
use super::pool::Ended;
use super::standings::value;
use crate::error::Failure;
use crate::output;
use crate::table::short;

pub(super) struct Progress<'a> {
    sweep: &'a Sweep,
    folder: &'a Folder,
    json: bool,
    pub(super) bar: ProgressBar,
    pub(super) all: usize,
    pub(super) done: usize,
    /// The best run so far, by its name.
    best: Option<(f64, String)>,
}

impl<'a> Progress<'a> {
    pub(super) fn new(sweep: &'a Sweep, folder: &'a Folder, json: bool) -> Self {
        let all = if sweep.rungs.is_empty() { sweep.runs().count() } else { 0 };
        let bar = output::bar(all as u64, "{wide_bar} {pos} of {len} runs, {eta} left; {msg}");
        if !bar.is_hidden() {
            bar.enable_steady_tick(std::time::Duration::from_millis(500));
        }
        Self { sweep, folder, json, bar, all, done: 0, best: None }
    }

    /// So many more runs are to be done.
    pub(super) fn expect(&mut self, runs: usize) {
        self.all += runs;
        self.bar.set_length(self.all as u64);
    }

    pub(super) fn show(&mut self, ended: &Ended) -> Result<(), Failure> {
        self.done += 1;
        let (name, metric) = (Sweep::name(ended.run), &self.sweep.metric);
        let trial = &self.sweep.trials[ended.run.trial];
        let mut line = json!({
            "event": "run", "run": name, "trial": ended.run.trial + 1, "seed": ended.run.seed, "set": trial,
            "metric": metric, "value": null, "already": ended.already, "directory": self.folder.run(ended.run),
        });
        if let Some(fold) = ended.run.fold {
            line["fold"] = fold.into();
        }
        let what = match &ended.state {
            State::Finished(record) => {
                let value = value(record, metric);
                (line["value"], line["steps"], line["seconds"]) = (value.into(), record.steps.into(), record.seconds.into());
                if let Some(value) = value
                    && self.best.as_ref().is_none_or(|(best, _)| (value > *best) == higher_is_better(metric) && value != *best)
                {
                    self.best = Some((value, name.clone()));
                }
                let reached =
                    value.map_or("nothing to validate on".into(), |value| format!("validation {metric} {}", short(value)));
                let when = if ended.already { "was finished before".into() } else { format!("{:.1} s", ended.seconds) };
                format!("{reached} ({when})")
            }
            State::Failed(reason) => {
                line["failed"] = reason.as_str().into();
                format!("failed: {reason}")
            }
            State::Open => "not done".into(),
        };
        let words = trial.assignments().join(" ");
        output::above(&self.bar, &format!("run {} of {}, {name}, {words}: {what}", self.done, self.all));
        self.bar.set_position(self.done as u64);
        if let Some((best, name)) = &self.best {
            self.bar.set_message(format!("best {metric} {} ({name})", short(*best)));
        }
        if self.json { output::json(&line) } else { Ok(()) }
    }
}
