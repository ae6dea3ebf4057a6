//! A model in words: what it takes, what it says, what happens in between.

use ncde_runtime::{At, Missing, ModelSpec, Task};

use crate::words::{horizons, listed, one_or, targets};

/// Names that are listed; the rest is counted.
const MAX_NAMES: usize = 8;

/// What goes in and what comes out, in a sentence or two.
pub(super) fn purpose(spec: &ModelSpec) -> String {
    let says = match &spec.task {
        Task::Classification { classes, at } => {
            format!("says which of {} classes {} ({})", classes.len(), whole(*at), listed(classes, MAX_NAMES))
        }
        Task::Regression { target, at, .. } => format!("predicts the number `{target}` {}", whole(*at)),
        Task::Forecast(forecast) => {
            let observations = one_or(forecast.horizon, "observation", "observations");
            format!("forecasts {}, {} {observations} ahead", targets(forecast, &spec.channels), horizons(forecast))
        }
    };
    let takes = match &spec.vocabulary {
        Some(tokens) => format!("tokens, of which it knows {} ({})", tokens.len(), listed(tokens, MAX_NAMES)),
        None => {
            let channels = spec.channels.len();
            format!("{channels} {} ({})", one_or(channels, "channel", "channels"), listed(&spec.channels, MAX_NAMES))
        }
    };
    let statics = match spec.statics.len() {
        0 => String::new(),
        count => {
            format!(" and {count} {} of the series ({})", one_or(count, "number", "numbers"), listed(&spec.statics, MAX_NAMES))
        }
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
