//! What is seen while a run goes on: a bar on a terminal, lines elsewhere, JSON lines if asked for.

use indicatif::ProgressBar;
use ncde_train::Event;
use serde_json::{Value, json};

use crate::output;

pub(super) struct Progress {
    json: bool,
    pub(super) bar: ProgressBar,
    steps: usize,
    metric: String,
    printed: Option<std::time::Instant>,
}

/// Lines on something that is not a terminal come no faster than this, in seconds.
const QUIET: f64 = 5.0;

impl Progress {
    /// For so many steps; none if the model is solved for.
    pub(super) fn new(json: bool, steps: Option<usize>, metric: &str) -> Self {
        let bar = |steps| output::bar(steps as u64, "{wide_bar} step {pos} of {len}, {eta} left; {msg}");
        let bar = steps.map_or_else(ProgressBar::hidden, bar);
        Self { json, bar, steps: steps.unwrap_or(0), metric: metric.into(), printed: None }
    }

    pub(super) fn show(&mut self, event: &Event<'_>) {
        match event {
            Event::Started { done, parameters, .. } => {
                if *done > 0 {
                    output::info(&format!("going on after step {done}"));
                }
                self.line(&json!({"event": "started", "done": done, "steps": self.steps, "parameters": parameters}));
                self.bar.set_position(*done as u64);
            }
            Event::Step { step, loss } => {
                self.bar.set_position(*step as u64);
                if !self.bar.is_hidden() && self.bar.message().is_empty() {
                    self.bar.set_message(format!("training loss {loss:.3}"));
                }
            }
            Event::Recovered { recovery, count, most } => {
                let (step, from, factor) = (recovery.step, recovery.from, recovery.factor);
                let line = format!(
                    "step {step}: {}; back to the weights of step {from}, learning rate x {factor:.2e} from here on ({count} of at most {most} times)",
                    recovery.reason
                );
                output::above(&self.bar, &line);
                self.line(
                    &json!({"event": "recovered", "step": step, "from": from, "factor": factor, "reason": recovery.reason}),
                );
            }
            Event::Evaluated { point, best } => {
                self.line(&json!({
                    "event": "evaluated", "step": point.step, "seconds": point.seconds, "loss": point.loss,
                    "rate": point.rate, "validation_loss": point.validation, "metric": self.metric,
                    "value": point.metric, "best_step": best.map(|best| best.step),
                }));
                let value = point.metric.map(|value| format!(", validation {} {value:.3}", self.metric.replace('_', " ")));
                let earlier = best.filter(|best| best.step < point.step);
                let earlier = earlier.map(|best| format!(" (best {:.3}, step {})", best.value, best.step));
                let numbers =
                    format!("training loss {:.3}{}{}", point.loss, value.unwrap_or_default(), earlier.unwrap_or_default());
                if !self.bar.is_hidden() {
                    self.bar.set_message(numbers);
                } else if !self.json && self.printed.is_none_or(|printed| printed.elapsed().as_secs_f64() > QUIET) {
                    self.printed = Some(std::time::Instant::now());
                    output::info(&format!("step {} of {}: {numbers}", point.step, self.steps));
                }
            }
            Event::Solved { chosen, error } => {
                output::info(&format!("chosen by leave-out error ({error:.4}): {chosen}"));
                self.line(&json!({"event": "solved", "chosen": chosen, "leave_out_error": error}));
            }
            Event::Testing => self.bar.set_message("testing"),
            Event::Overflowed { part, cases } => {
                let mut names: Vec<String> = cases.iter().take(5).map(|id| format!("`{id}`")).collect();
                names.extend((cases.len() > 5).then(|| "...".to_owned()));
                let line = format!(
                    "{} of the {part} part without a prediction, as a state overflows: {}; are they like the others (`ncde data FILE`)?",
                    cases.len(),
                    names.join(", ")
                );
                output::above(&self.bar, &line);
                self.line(&json!({"event": "overflowed", "part": part, "cases": cases}));
            }
        }
    }

    /// A line on standard output, if JSON is asked for.
    fn line(&self, value: &Value) {
        if self.json {
            // A reader that went away does not stop the training.
            let _ = output::json(value);
        }
    }
}
