//! What is seen while an experiment goes on: a bar on a terminal, lines elsewhere.

use std::time::Instant;

use indicatif::ProgressBar;
use ncde_experiment::Event;

use crate::output;

/// Lines on something that is not a terminal come no faster than this, in seconds.
const QUIET: f64 = 10.0;
/// Parts of a run that the bar tells apart.
const PARTS: u64 = 1000;

pub(super) struct Progress {
    pub(super) bar: ProgressBar,
    all: usize,
    done: usize,
    title: String,
    printed: Option<Instant>,
}

impl Progress {
    pub(super) fn new(runs: usize) -> Self {
        let bar = output::bar(runs as u64 * PARTS, "{wide_bar} {eta} left; {msg}");
        Self { bar, all: runs, done: 0, title: String::new(), printed: None }
    }

    pub(super) fn show(&mut self, event: &Event<'_>) {
        match event {
            Event::Started { job, done, .. } => {
                (self.done, self.title) = (*done, format!("run {} of {}, {}", done + 1, self.all, job.title()));
                self.printed = Some(Instant::now());
                output::above(&self.bar, &self.title);
            }
            Event::Working { words, share } => {
                let text = format!("{}: {words}", self.title);
                if !self.bar.is_hidden() {
                    self.bar.set_position(self.done as u64 * PARTS + (share.clamp(0.0, 1.0) * PARTS as f64) as u64);
                    self.bar.set_message(text);
                } else if self.printed.is_none_or(|printed| printed.elapsed().as_secs_f64() > QUIET) {
                    self.printed = Some(Instant::now());
                    output::info(&text);
                }
            }
            Event::Finished { record, already } => {
                let what = if *already { "was finished before" } else { "is finished" };
                let seconds = record.seconds;
                let line = format!("{} on {}, seed {} {what} ({seconds:.0} s)", record.model, record.task, record.seed);
                output::above(&self.bar, &line);
            }
        }
    }
}
