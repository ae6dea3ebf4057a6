//! What is seen while an experiment goes on: a bar on a terminal, lines elsewhere.

use std::io::IsTerminal;
use std::time::Instant;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use ncde_experiment::Event;

use crate::output;

/// Lines on something that is not a terminal come no faster than this, in seconds.
const QUIET: f64 = 10.0;
/// Parts of a run that the bar tells apart.
const PARTS: u64 = 1000;

pub(super) struct Progress {
    bar: Option<ProgressBar>,
    all: usize,
    /// Runs that are done.
    done: usize,
    title: String,
    printed: Option<Instant>,
}

impl Progress {
    pub(super) fn new(runs: usize) -> Self {
        let seen = std::io::stderr().is_terminal() && !output::is_quiet();
        let bar = seen.then(|| {
            let bar = ProgressBar::with_draw_target(Some(runs as u64 * PARTS), ProgressDrawTarget::stderr_with_hz(10));
            if let Ok(style) = ProgressStyle::with_template("{wide_bar} {eta} left; {msg}") {
                bar.set_style(style);
            }
            bar
        });
        Self { bar, all: runs, done: 0, title: String::new(), printed: None }
    }

    pub(super) fn show(&mut self, event: &Event<'_>) {
        match event {
            Event::Started { job, done, .. } => {
                (self.done, self.title) = (*done, format!("run {} of {}, {}", done + 1, self.all, job.title()));
                self.printed = Some(Instant::now());
                self.line(&self.title);
            }
            Event::Working { words, share } => {
                let text = format!("{}: {words}", self.title);
                if let Some(bar) = &self.bar {
                    bar.set_position(self.done as u64 * PARTS + (share.clamp(0.0, 1.0) * PARTS as f64) as u64);
                    bar.set_message(text);
                } else if self.printed.is_none_or(|printed| printed.elapsed().as_secs_f64() > QUIET) {
                    self.printed = Some(Instant::now());
                    output::talk(&text);
                }
            }
            Event::Finished { record, already } => {
                let what = if *already { "was finished before" } else { "is finished" };
                let seconds = record.seconds;
                self.line(&format!("{} on {}, seed {} {what} ({seconds:.0} s)", record.model, record.task, record.seed));
            }
        }
    }

    pub(super) fn finish(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }

    /// A line on standard error, above the bar.
    fn line(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| output::talk(line)),
            None => output::talk(line),
        }
    }
}
