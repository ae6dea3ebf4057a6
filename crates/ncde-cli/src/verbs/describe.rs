//! A model in words: what it takes, what it says, what happens in between.

use ncde_runtime::layer::{Form, Function, NeuralKind, Over};
use ncde_runtime::{At, LayerSpec, Missing, ModelSpec, Task};

/// Names that are listed; the rest is counted.
const LISTED: usize = 8;

/// What goes in and what comes out, in a sentence or two.
pub(super) fn purpose(spec: &ModelSpec) -> String {
    let says = match &spec.task {
        Task::Classification { classes, at } => {
            format!("says which of {} classes {} ({})", classes.len(), whole(*at), listed(classes))
        }
        Task::Regression { target, at, .. } => format!("predicts the number `{target}` {}", whole(*at)),
        Task::Forecast(forecast) => {
            let (first, last) = forecast.horizons().into_inner();
            let range = if first == last { last.to_string() } else { format!("{first} to {last}") };
            format!("forecasts all channels, {range} {} ahead", one_or(last, "observation", "observations"))
        }
    };
    let takes = match &spec.vocabulary {
        Some(tokens) => format!("tokens, of which it knows {} ({})", tokens.len(), listed(tokens)),
        None => {
            let channels = spec.channels.len();
            format!("{channels} {} ({})", one_or(channels, "channel", "channels"), listed(&spec.channels))
        }
    };
    let statics = match spec.statics.len() {
        0 => String::new(),
        count => format!(" and {count} {} of the series ({})", one_or(count, "number", "numbers"), listed(&spec.statics)),
    };
    let gaps = match spec.preparation.missing {
        Missing::Refuse {} => "Missing values are refused.",
        Missing::Forward {} => "A missing value is taken to be the last one of its channel.",
        Missing::Counts { .. } => {
            "A missing value is taken to be the last one of its channel, and the model sees how many were there."
        }
    };
    let time = if spec.preparation.time.is_some() { " When an observation comes matters: time is a channel." } else { "" };
    format!("It {says}, from {takes}{statics}. {gaps}{time}")
}

fn whole(at: At) -> &'static str {
    match at {
        At::End => "of a series as a whole",
        At::Steps => "at each observation",
    }
}

fn one_or<'a>(count: usize, one: &'a str, many: &'a str) -> &'a str {
    if count == 1 { one } else { many }
}

fn listed(names: &[String]) -> String {
    let mut text = names.iter().take(LISTED).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    if names.len() > LISTED {
        text += &format!(" and {} more", names.len() - LISTED);
    }
    text
}

/// What a layer does, in a few words.
pub(super) fn layer(spec: &LayerSpec) -> String {
    match spec {
        LayerSpec::Windows(own) => {
            let steps = format!("cuts the path into windows of {} {}", own.window, one_or(own.window, "step", "steps"));
            match own.form {
                Form::LogSignature { depth, .. } => format!("{steps}, each as its log-signature to depth {depth}"),
                Form::Increments {} => format!("{steps}, each as its increments"),
                Form::Hermite {} => format!("{steps}, along a smooth curve"),
            }
        }
        LayerSpec::LinearCde(own) => format!("{} states that the path moves linearly", own.hidden),
        LayerSpec::PermutationDiagonal(own) => {
            format!("{} states that each row sends to each other, by one of {} mixed choices", own.hidden, own.matrices)
        }
        LayerSpec::NeuralCde(own) => {
            let kind = match own.kind {
                NeuralKind::Ncde => "a network for each channel",
                NeuralKind::Nrde => "a network for each coordinate",
                NeuralKind::LogNcde => "a network for each channel and their Lie brackets",
            };
            format!(
                "{} states that the path moves by {kind}, {} solver {} a window",
                own.hidden,
                own.steps,
                one_or(own.steps, "step", "steps")
            )
        }
        LayerSpec::Reservoir(own) => format!(
            "{} fixed responses to what was seen lately (over {} times), pooled over the series",
            16 * own.responses.groups(),
            own.responses.spans.len()
        ),
        LayerSpec::Memory(own) => format!(
            "how each channel came to its present value, over {} spans of time, {} numbers each{}",
            own.spans.len(),
            own.order,
            if own.values { ", and its value" } else { "" }
        ),
        LayerSpec::RandomFeatures(own) => format!("{} random functions of these numbers, beside them", own.count),
        LayerSpec::Signature(own) => format!("the signature of the path so far, to depth {}", own.depth),
        LayerSpec::Embedding(own) => format!("{} numbers for each token", own.width),
        LayerSpec::Linear(own) => format!("a linear map to {} {}", own.outputs, one_or(own.outputs, "number", "numbers")),
        LayerSpec::Activation(own) => match own.function {
            Function::Glu => "a gate: one half of the numbers lets the other pass".into(),
            Function::Each(function) => format!("{} of each number", format!("{function:?}").to_lowercase()),
        },
        LayerSpec::LayerNorm(_) => "mean 0 and variance 1 in each row".into(),
        LayerSpec::Standardise(_) => "mean 0 and variance 1 over the training data".into(),
        LayerSpec::Dropout(own) => format!("leaves out a share of {} in training alone", own.rate),
        LayerSpec::Residual(_) => "what comes in is added to what these make of it".into(),
        LayerSpec::Parallel(own) => format!("the same rows through {} lists of layers, each for itself", own.layers.len()),
        LayerSpec::Beside(_) => "what comes in stands beside what these make of it".into(),
        LayerSpec::Convolution(own) => format!("a weighted sum of the last {} rows, channel by channel", own.size),
        LayerSpec::Pool(own) => match own.over {
            Over::Last => "the last row alone".into(),
            Over::Mean => "the mean of all rows".into(),
        },
    }
}
