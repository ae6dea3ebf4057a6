//! What is seen while a run goes on: a bar on a terminal, lines elsewhere, JSON lines if asked for.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use ncde_train::Event;

use crate::output;

pub(super) struct Progress {
    json: bool,
    bar: Option<ProgressBar>,
    steps: usize,
    metric: String,
    printed: Option<std::time::Instant>,
}

/// Lines on something that is not a terminal come no faster than this, in seconds.
const QUIET: f64 = 5.0;

impl Progress {
    /// For so many steps; none if the model is solved for.
    pub(super) fn new(json: bool, steps: Option<usize>, metric: &str) -> Self {
        let bar = steps.filter(|_| std::io::stderr().is_terminal() && !output::is_quiet()).map(|steps| {
            let bar = ProgressBar::with_draw_target(Some(steps as u64), ProgressDrawTarget::stderr_with_hz(10));
            if let Ok(style) = ProgressStyle::with_template("{wide_bar} step {pos} of {len}, {eta} left; {msg}") {
                bar.set_style(style);
            }
            bar
        });
        Self { json, bar, steps: steps.unwrap_or(0), metric: metric.into(), printed: None }
    }

    pub(super) fn show(&mut self, event: &Event<'_>) {
        match event {
            Event::Started { done, parameters, .. } => {
                if *done > 0 {
                    output::talk(&format!("going on after step {done}"));
                }
                if self.json {
                    self.line(&serde_json::json!({
                        "event": "started", "done": done, "steps": self.steps, "parameters": parameters
                    }));
                }
                if let Some(bar) = &self.bar {
                    bar.set_position(*done as u64);
                }
            }
            Event::Step { step, loss } => {
                if let Some(bar) = &self.bar {
                    bar.set_position(*step as u64);
                    if bar.message().is_empty() {
                        bar.set_message(format!("training loss {loss:.3}"));
                    }
                }
            }
            Event::Recovered { recovery, count, most } => {
                let (step, from, factor) = (recovery.step, recovery.from, recovery.factor);
                let line = format!(
                    "step {step}: {}; back to the weights of step {from}, learning rate x {factor:.2e} from here on ({count} of at most {most} times)",
                    recovery.reason
                );
                self.aside(&line);
                if self.json {
                    self.line(&serde_json::json!({
                        "event": "recovered", "step": step, "from": from, "factor": factor, "reason": recovery.reason
                    }));
                }
            }
            Event::Evaluated { point, best } => {
                if self.json {
                    self.line(&serde_json::json!({
                        "event": "evaluated", "step": point.step, "seconds": point.seconds, "loss": point.loss,
                        "rate": point.rate, "validation_loss": point.validation, "metric": self.metric,
                        "value": point.metric, "best_step": best.map(|best| best.step),
                    }));
                }
                let value = point.metric.map(|value| format!(", validation {} {value:.3}", self.metric.replace('_', " ")));
                let kept = best.filter(|best| best.step < point.step);
                let kept = kept.map(|best| format!(" (best {:.3}, step {})", best.value, best.step));
                let numbers = format!("training loss {:.3}{}{}", point.loss, value.unwrap_or_default(), kept.unwrap_or_default());
                if let Some(bar) = &self.bar {
                    bar.set_message(numbers);
                } else if !self.json && self.printed.is_none_or(|printed| printed.elapsed().as_secs_f64() > QUIET) {
                    self.printed = Some(std::time::Instant::now());
                    output::talk(&format!("step {} of {}: {numbers}", point.step, self.steps));
                }
            }
            Event::Solved { chosen, error } => {
                output::talk(&format!("chosen by leave-out error ({error:.4}): {chosen}"));
                if self.json {
                    self.line(&serde_json::json!({"event": "solved", "chosen": chosen, "leave_out_error": error}));
                }
            }
            Event::Testing => {
                if let Some(bar) = &self.bar {
                    bar.set_message("testing");
                }
            }
            Event::Overflowed { part, cases } => {
                let mut names: Vec<String> = cases.iter().take(5).map(|id| format!("`{id}`")).collect();
                names.extend((cases.len() > 5).then(|| "...".to_owned()));
                self.aside(&format!(
                    "{} of the {part} part without a prediction, as a state overflows: {}; are they like the others (`ncde data FILE`)?",
                    cases.len(),
                    names.join(", ")
                ));
                if self.json {
                    self.line(&serde_json::json!({"event": "overflowed", "part": part, "cases": cases}));
                }
            }
        }
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

    fn line(&self, value: &serde_json::Value) {
        // A reader that went away does not stop the training.
        let _ = output::data(|out| writeln!(out, "{value}"));
    }
}
