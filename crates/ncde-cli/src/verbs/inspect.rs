//! `ncde inspect`: what a saved model is.

use std::collections::HashMap;

use ncde_report::wrapped;
use ncde_runtime::layer::{LipBound, Node};
use ncde_runtime::{Calendar, Forecast, LayerSpec, Model, NamedWeight, Task, Threshold};

use super::describe;
use crate::args::InspectArgs;
use crate::error::Failure;
use crate::output;
use crate::words::{one_or, targets};

pub(crate) fn run(args: &InspectArgs) -> Result<(), Failure> {
    let model = Model::load(&args.model)?;
    let spec = model.spec();
    let trained: usize =
        spec.all_weights()?.iter().filter(|weight| weight.is_trained()).map(ncde_runtime::layer::Weight::count).sum();
    let bounds = bounds(&model)?;
    if args.json {
        let shapes: serde_json::Map<String, serde_json::Value> =
            model.weights().iter().map(|weight| (weight.name.clone(), weight.shape.clone().into())).collect();
        return output::json(&serde_json::json!({
            "spec": spec, "parameters": trained, "weights": shapes,
            "lip2_log10": bounds.first().and_then(|(_, bound)| bound.log10.as_ref().ok()),
        }));
    }
    output::data(|out| {
        let row = |out: &mut dyn std::io::Write, name: &str, value: String| writeln!(out, "{name:12} {value}");
        row(out, "model", spec.name.clone())?;
        writeln!(out, "\n{}", wrapped(&describe::purpose(spec), "", output::width().min(100)))?;
        writeln!(out, "What happens, layer by layer:")?;
        for (i, layer) in spec.layers.iter().enumerate() {
            list(out, &format!("{i}"), layer)?;
        }
        for (place, LipBound { radius, log10 }) in &bounds {
            row(out, "states", format!("|h| <= {radius:.4} in training, of {place}"))?;
            row(
                out,
                "Lip(2) norm",
                match log10 {
                    Ok(log10) => format!("at most 10^{log10:.1} on that ball"),
                    Err(problem) => format!("no bound: {problem}"),
                },
            )?;
        }
        match &spec.task {
            Task::Classification { classes, .. } => {
                row(out, "classes", classes.join(", "))?;
                if let Some(Threshold { class, at }) = &spec.threshold {
                    row(
                        out,
                        "threshold",
                        format!("`{class}` from a probability of {at:.4} on, else the likeliest of the others"),
                    )?;
                }
            }
            Task::Regression { target, .. } => row(out, "target", target.clone())?,
            Task::Forecast(forecast) => {
                forecast_in_words(forecast, &spec.channels).into_iter().try_for_each(|(name, words)| row(out, name, words))?;
            }
        }
        row(out, "channels", spec.channels.join(", "))?;
        if let Some(tokens) = &spec.vocabulary {
            row(out, "tokens", format!("{}: {}", tokens.len(), tokens.iter().take(12).cloned().collect::<Vec<_>>().join(", ")))?;
        }
        if !spec.statics.is_empty() {
            row(out, "statics", spec.statics.join(", "))?;
        }
        if let Some(extent) = &spec.trained {
            row(
                out,
                "trained on",
                format!("series of up to {} observations, over a time of {}", extent.length, extent.duration),
            )?;
        }
        row(out, "parameters", trained.to_string())?;
        for NamedWeight { name, shape, .. } in model.weights() {
            row(out, "", format!("{name} {shape:?}"))?;
        }
        Ok(())
    })
}

/// What is forecast, and how sure that is.
fn forecast_in_words(forecast: &Forecast, channels: &[String]) -> Vec<(&'static str, String)> {
    let (first, last) = forecast.horizons().into_inner();
    let mut words = match (first == last, last) {
        (true, 1) => "the next observation".to_owned(),
        (true, last) => format!("{last} observations ahead"),
        (false, last) => format!("{first} to {last} observations ahead"),
    };
    let apart = match (forecast.calendar, forecast.step) {
        (Some(Calendar::Weekdays), _) => Some("a working day".to_owned()),
        (Some(Calendar::Months(n) | Calendar::MonthEnds(n)), _) => Some(format!("{n} {}", one_or(n as usize, "month", "months"))),
        (None, step) => step.map(|step| step.to_string()),
    };
    if let Some(apart) = apart {
        words += &format!(", {apart} apart{}", if forecast.grid { " on a grid with places left out" } else { "" });
    }
    words += &format!(", of {}", targets(forecast, channels));
    if forecast.relative {
        words += ", as differences to the last known values";
    }
    let mut all = vec![("forecast", words)];
    if let Some(smoothing) = &forecast.smoothing {
        let mut seasons: Vec<usize> = smoothing.experts.iter().flat_map(|expert| expert.seasons.iter().copied()).collect();
        seasons.sort_unstable();
        seasons.dedup();
        let seasons: Vec<String> = seasons.iter().map(ToString::to_string).collect();
        let of =
            if seasons.is_empty() { String::new() } else { format!(", with seasons of {} observations", seasons.join(" and ")) };
        all.push((
            "smoothing",
            format!("{} experts, weighed on each series{of}; outputs are added to it", smoothing.experts.len()),
        ));
    }
    if let Some(intervals) = &forecast.intervals {
        let from = if forecast.smoothing.is_some() {
            "they scale with the errors on the series so far"
        } else {
            "from the validation part"
        };
        all.push(("intervals", format!("{} %, {from}", 100.0 * intervals.level)));
    }
    if let Some(period) = forecast.baseline.as_ref().and_then(|baseline| baseline.period) {
        all.push(("period", format!("{period} observations")));
    }
    all
}

/// What a layer does and its settings, and those inside it below.
fn list(out: &mut dyn std::io::Write, place: &str, spec: &LayerSpec) -> std::io::Result<()> {
    let mut settings = serde_json::to_value(spec).unwrap_or_default();
    if let Some(map) = settings.as_object_mut() {
        map.remove("layer");
        map.remove("layers");
    }
    let settings = settings.to_string().replace(['{', '}', '"'], "").replace(',', ", ").replace(':', ": ");
    writeln!(out, "  {place} {}: {}", spec.name(), spec.layer().describe())?;
    if !settings.is_empty() {
        writeln!(out, "{:6} {settings}", "")?;
    }
    let lists = spec.layer().inside();
    for (l, inside) in lists.iter().enumerate() {
        let place = if lists.len() == 1 { place.to_owned() } else { format!("{place}.{l}") };
        for (i, spec) in inside.iter().enumerate() {
            list(out, &format!("{place}.{i}"), spec)?;
        }
    }
    Ok(())
}

/// The bounds of the norms of all vector fields, with the places of their layers.
fn bounds(model: &Model) -> Result<Vec<(String, LipBound)>, Failure> {
    let values: HashMap<&str, &[f32]> =
        model.weights().iter().map(|weight| (weight.name.as_str(), weight.values.as_slice())).collect();
    let resolved = model.spec().resolved()?;
    let mut nodes = Vec::new();
    resolved.visit(&mut |node| nodes.push(node));
    let bound = |node: &Node<'_>| -> Result<Option<(String, LipBound)>, Failure> {
        let mut weights = node.values(|name, _| Ok(values.get(name).copied().unwrap_or_default().to_vec()))?;
        Ok(node.spec.layer().lip_bound(&node.input, &mut weights)?.map(|bound| (node.place.clone(), bound)))
    };
    nodes.into_iter().filter_map(|node| bound(node).transpose()).collect()
}
