//! `ncde inspect`: what a saved model is.

use ncde_runtime::{Architecture, Missing, Model, ModelSpec, NeuralKind, Task, WEIGHTS, Weights};
use ncde_solve::field::VectorField;
use ncde_solve::lip;

use crate::args::InspectArgs;
use crate::error::Failure;
use crate::output;

pub(crate) fn run(args: &InspectArgs) -> Result<(), Failure> {
    let model = Model::load(&args.model)?;
    let spec = model.spec();
    let weights = Weights::read(&args.model.join(WEIGHTS), &spec.weights)?;
    let shapes = weights.shapes();
    let bound = lip_bound(spec, weights)?;
    let parameters: usize = shapes.iter().map(|(_, shape)| shape.iter().product::<usize>()).sum();
    if args.json {
        let shapes: serde_json::Map<String, serde_json::Value> =
            shapes.into_iter().map(|(name, shape)| (name, shape.into())).collect();
        let line = serde_json::json!({ "spec": spec, "parameters": parameters, "weights": shapes, "lip2_log10": bound.as_ref().and_then(|b| b.as_ref().ok()) });
        return output::data(|out| writeln!(out, "{line}"));
    }
    let lip = match bound {
        Some(Ok(log10)) => format!("at most 10^{log10:.1} on that ball"),
        Some(Err(problem)) => format!("no bound: {problem}"),
        None => String::new(),
    };
    output::data(|out| {
        let row = |out: &mut dyn std::io::Write, name: &str, value: String| writeln!(out, "{name:12} {value}");
        match &spec.model {
            Architecture::Slice(slice) => {
                row(out, "model", format!("slice, {:?}", slice.structure))?;
                row(out, "states", slice.hidden.to_string())?;
                row(out, "windows", format!("{} observations, log-signature of depth {}", slice.window, slice.depth))?;
            }
            Architecture::Neural(neural) => {
                row(out, "model", format!("{}, H = {}", neural.kind.name(), neural.hidden))?;
                row(out, "field", format!("{} hidden layers of {}, {:?}", neural.layers, neural.width, neural.activation))?;
                let windows = format!("{} observations, log-signature of depth {}", neural.window, neural.kind.depth());
                row(out, "windows", if neural.kind == NeuralKind::Ncde { "none, a smooth path".into() } else { windows })?;
                row(out, "solver", format!("{:?}, steps in each window: {}", neural.solver, neural.steps))?;
                row(out, "states", format!("|h| <= {:.4} in training", neural.radius))?;
                row(out, "Lip(2) norm", lip.clone())?;
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

/// The logarithm, base 10, of a bound of the Lip(2) norm of a neural field on the ball of the states seen in training, or why there is none.
fn lip_bound(spec: &ModelSpec, mut weights: Weights) -> Result<Option<Result<f64, String>>, Failure> {
    let Architecture::Neural(neural) = &spec.model else { return Ok(None) };
    let field = neural.field(spec.preparation.width())?;
    let parameters = weights.take("field", &[field.parameters()])?;
    let bound = lip::bound(&field, &parameters, neural.radius, 2.0);
    Ok(Some(bound.map(|bound| bound.whole()).map_err(|e| e.to_string())))
}
