//! What is seen while a search goes on: a bar on a terminal, a line for each run that ends, JSON lines if asked for.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
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
    bar: Option<ProgressBar>,
    all: usize,
    done: usize,
    /// The best run so far, by its name.
    best: Option<(f64, String)>,
}

impl<'a> Progress<'a> {
    pub(super) fn new(sweep: &'a Sweep, folder: &'a Folder, json: bool) -> Self {
        let all = if sweep.rungs.is_empty() { sweep.runs().count() } else { 0 };
        let seen = std::io::stderr().is_terminal() && !output::is_quiet();
        let bar = seen.then(|| {
            let bar = ProgressBar::with_draw_target(Some(all as u64), ProgressDrawTarget::stderr_with_hz(10));
            if let Ok(style) = ProgressStyle::with_template("{wide_bar} {pos} of {len} runs, {eta} left; {msg}") {
                bar.set_style(style);
            }
            bar.enable_steady_tick(std::time::Duration::from_millis(500));
            bar
        });
        Self { sweep, folder, json, bar, all, done: 0, best: None }
    }

    /// So many more runs are to be done.
    pub(super) fn expect(&mut self, runs: usize) {
        self.all += runs;
        if let Some(bar) = &self.bar {
            bar.set_length(self.all as u64);
        }
    }

    pub(super) fn done(&self) -> usize {
        self.done
    }

    pub(super) fn all(&self) -> usize {
        self.all
    }

    /// A run has ended.
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
                let own = value(record, metric);
                (line["value"], line["steps"], line["seconds"]) = (own.into(), record.steps.into(), record.seconds.into());
                if let Some(own) = own
                    && self.best.as_ref().is_none_or(|(best, _)| (own > *best) == higher_is_better(metric) && own != *best)
                {
                    self.best = Some((own, name.clone()));
                }
                let reached = own.map_or("nothing to validate on".into(), |own| format!("validation {metric} {}", short(own)));
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
        self.aside(&format!("run {} of {}, {name}, {words}: {what}", self.done, self.all));
        if let Some(bar) = &self.bar {
            bar.set_position(self.done as u64);
            if let Some((best, name)) = &self.best {
                bar.set_message(format!("best {metric} {} ({name})", short(*best)));
            }
        }
        if self.json {
            return output::data(|out| writeln!(out, "{line}"));
        }
        Ok(())
    }

    pub(super) fn finish(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }

    /// A line on standard error, above the bar.
    fn aside(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| output::talk(line)),
            None => output::talk(line),
        }
    }
}
