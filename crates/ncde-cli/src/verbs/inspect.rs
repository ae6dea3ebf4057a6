//! `ncde inspect`: what a saved model is.

use ncde_runtime::{Architecture, Missing, Model, Task, WEIGHTS, Weights};

use crate::args::InspectArgs;
use crate::error::Failure;
use crate::output;

pub(crate) fn run(args: &InspectArgs) -> Result<(), Failure> {
    let model = Model::load(&args.model)?;
    let spec = model.spec();
    let weights = Weights::read(&args.model.join(WEIGHTS), &spec.weights)?;
    let shapes = weights.shapes();
    let parameters: usize = shapes.iter().map(|(_, shape)| shape.iter().product::<usize>()).sum();
    if args.json {
        let shapes: serde_json::Map<String, serde_json::Value> =
            shapes.into_iter().map(|(name, shape)| (name, shape.into())).collect();
        let line = serde_json::json!({ "spec": spec, "parameters": parameters, "weights": shapes });
        return output::data(|out| writeln!(out, "{line}"));
    }
    output::data(|out| {
        let row = |out: &mut dyn std::io::Write, name: &str, value: String| writeln!(out, "{name:12} {value}");
        match &spec.model {
            Architecture::Slice(slice) => {
                row(out, "model", format!("slice, {:?}", slice.structure))?;
                row(out, "states", slice.hidden.to_string())?;
                row(out, "windows", format!("{} observations, log-signature of depth {}", slice.window, slice.depth))?;
            }
            Architecture::Signature(signature) => {
                row(out, "model", format!("linear in the signature of depth {}", signature.depth))?;
            }
        }
        match &spec.task {
            Task::Classification { classes, .. } => row(out, "classes", classes.join(", "))?,
            Task::Regression { target, .. } => row(out, "target", target.clone())?,
            Task::Forecast { horizon } => row(out, "forecast", format!("{horizon} observations ahead"))?,
        }
        row(out, "channels", spec.channels.join(", "))?;
        if !spec.statics.is_empty() {
            row(out, "statics", spec.statics.join(", "))?;
        }
        let gaps = match spec.preparation.missing {
            Missing::Refuse => "refused",
            Missing::Forward => "filled forward",
            Missing::Counts { .. } => "filled forward and counted",
        };
        row(out, "gaps", gaps.into())?;
        row(out, "time", if spec.preparation.time.is_some() { "a channel" } else { "not a channel" }.into())?;
        row(out, "parameters", parameters.to_string())?;
        for (name, shape) in &shapes {
            row(out, "", format!("{name} {shape:?}"))?;
        }
        Ok(())
    })
}
