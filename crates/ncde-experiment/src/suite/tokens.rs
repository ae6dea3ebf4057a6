//! What experiments on tokens share: a job that trains a model on a source of words.

use std::rc::Rc;

use ncde_report::record::StopReason;
use ncde_report::statistics::Better;
use ncde_train::{FitRequest, Fitted};
use serde_json::json;

use super::change::change;
use crate::Error;
use crate::plan::{Control, Job, Metric, Request};
use crate::record::{EXPLODED, Measured};
use crate::token::{Fit, Matrices, Row, Slice, WordSource, curve, fit};

/// The share of answers that are right on words that were held out.
pub(super) const ACCURACY: Metric =
    Metric { name: "accuracy", title: "validation accuracy (%)", factor: 100.0, digits: 1, better: Some(Better::More) };
/// The largest share at any look: what published code of these experiments prints.
pub(super) const BEST: Metric = Metric {
    name: "best_accuracy",
    title: "best validation accuracy of a run (%)",
    factor: 100.0,
    digits: 1,
    better: Some(Better::More),
};
/// Milliseconds of a step of training.
pub(super) const TIME: Metric =
    Metric { name: "step_seconds", title: "time of a training step (ms)", factor: 1e3, digits: 1, better: Some(Better::Less) };

/// How the blocks of all experiments on tokens differ from the thesis's text, where its code does the same.
pub(super) const BLOCK: &str = "A token drives the step that ends at it, so that the answer after it can depend on it, and a block has two skip connections, around the recurrence and around the linear layer \
     with tanh: both as in the published code; the text has the token at the beginning of a step, and one skip connection.";

/// How a model is trained on words.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Recipe {
    pub(super) row: Row,
    pub(super) slice: Slice,
    pub(super) fit: Fit,
}

impl Recipe {
    /// All that decides what comes out; `source` says in words and numbers where words come from.
    fn settings(&self, source: &serde_json::Value) -> serde_json::Value {
        let Self { row, slice, fit } = self;
        json!({"hidden": row.hidden, "structure": row.structure, "model": slice, "training": fit, "words": source})
    }

    /// The same with the steps and settings that are asked for of the model of this name.
    ///
    /// # Errors
    /// If there is no such setting, or it cannot have this value.
    pub(super) fn asked(mut self, request: &Request, model: &str) -> Result<Self, Error> {
        self.fit.steps = request.steps.unwrap_or(self.fit.steps);
        for assignment in request.set_of(model) {
            let mut settings = self.settings(&serde_json::Value::Null);
            // Words are the experiment's, and records are known by their seed.
            settings.as_object_mut().and_then(|own| own.remove("words"));
            settings["training"].as_object_mut().and_then(|own| own.remove("seed"));
            change(&mut settings, assignment)?;
            if settings["training"].get("seed").is_some() {
                return Err(Error::Refused(format!("`--set {assignment}`: seeds are chosen with `--seeds`")));
            }
            self.read(settings).map_err(|e| Error::Refused(format!("`--set {assignment}`: {e}")))?;
        }
        Ok(self)
    }

    /// Takes settings as [`settings`](Self::settings) gives them, words and seed aside.
    fn read(&mut self, mut settings: serde_json::Value) -> serde_json::Result<()> {
        settings["training"]["seed"] = self.fit.seed.into();
        let mut part = |key: &str| settings[key].take();
        self.row.hidden = serde_json::from_value(part("hidden"))?;
        self.slice = serde_json::from_value(part("model"))?;
        self.fit = serde_json::from_value(part("training"))?;
        match &mut self.row.structure {
            Matrices::Linear(structure) => *structure = serde_json::from_value(part("structure"))?,
            Matrices::Baseline(_) => {}
            Matrices::Permutation { recurrence, block } => {
                let mut own = part("structure");
                let before = recurrence.hidden;
                *recurrence = serde_json::from_value(own["recurrence"].take())?;
                *block = serde_json::from_value(own["block"].take())?;
                // The number of states has two names.
                if recurrence.hidden == before {
                    recurrence.hidden = self.row.hidden;
                } else {
                    self.row.hidden = recurrence.hidden;
                }
            }
        }
        Ok(())
    }

    /// Trains, and says so; none if it was stopped.
    fn train(&self, source: &dyn WordSource, settings: &str, control: &mut Control<'_>) -> Result<Option<Fitted>, Error> {
        let (layers, signal) = self.slice.layers(&self.row, source)?;
        let (steps, plan) = (self.fit.steps, self.fit.plan());
        let request = FitRequest {
            device: control.device,
            directory: Some(control.directory),
            identity: settings,
            stop: Some(control.stop),
            ..FitRequest::new(&layers, &signal, &plan)
        };
        let mut last = f64::NAN;
        let fitted = fit(&request, source, self.fit.held_out, &mut |step, loss, seen| {
            last = seen.unwrap_or(last);
            let known = if last.is_nan() { String::new() } else { format!(", accuracy {:.1} %", 100.0 * last) };
            (control.say)(&format!("step {step} of {steps}, loss {loss:.3}{known}"), step as f64 / steps as f64);
        })?;
        Ok(fitted.reason.is_some().then_some(fitted))
    }

    /// A job that trains on a source; `after` may measure more.
    pub(super) fn job(
        self,
        (model, task, seed): (String, String, u64),
        (source, words): (Rc<dyn WordSource>, serde_json::Value),
        after: impl Fn(&Fitted, Measured) -> Result<Measured, Error> + 'static,
    ) -> Job {
        let settings = self.settings(&words);
        let said = settings.to_string();
        let work = move |control: &mut Control<'_>| {
            let Some(fitted) = self.train(&*source, &said, control)? else { return Ok(None) };
            after(&fitted, measured(&fitted)).map(Some)
        };
        Job { model, task, seed, settings, spare: None, work: Box::new(work) }
    }
}

/// What every run on tokens measures.
fn measured(fitted: &Fitted) -> Measured {
    let curve = curve(fitted);
    let values = [
        (ACCURACY.name, curve.last().map_or(f64::NAN, |point| point[1])),
        (BEST.name, curve.iter().map(|point| point[1]).fold(f64::NAN, f64::max)),
        ("steps", fitted.steps as f64),
        (TIME.name, fitted.seconds / fitted.steps.max(1) as f64),
        ("parameters", fitted.network.parameters() as f64),
        (EXPLODED, f64::from(u8::from(fitted.reason == Some(StopReason::Diverged)))),
    ];
    Measured::of(&values).with_curve("accuracy", curve)
}
