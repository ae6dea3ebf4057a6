//! Names and counts in sentences.

use ncde_runtime::{Forecast, Known};

/// At most `most` names; the rest is counted.
pub(crate) fn listed(names: &[String], most: usize) -> String {
    let shown: Vec<String> = names.iter().take(most).map(|name| format!("`{name}`")).collect();
    let more = if names.len() > most { format!(" and {} more", names.len() - most) } else { String::new() };
    shown.join(", ") + &more
}

/// The form of a noun that goes with a count.
pub(crate) fn one_or<'a>(count: usize, one: &'a str, many: &'a str) -> &'a str {
    if count == 1 { one } else { many }
}

/// The most targets that are named.
const MAX_TARGETS: usize = 4;

/// What is forecast, and by what that is known ahead: `load`, or `load` with `holiday` known ahead.
pub(crate) fn targets(forecast: &Forecast, channels: &[String]) -> String {
    let names: Vec<String> = forecast.of_targets(channels).cloned().collect();
    let of = |known: &Known| known.channels.iter().filter_map(|&c| channels.get(c).cloned()).collect::<Vec<_>>();
    let known = forecast.known.as_ref().map(|known| format!(" with {} known ahead", listed(&of(known), MAX_TARGETS)));
    listed(&names, MAX_TARGETS) + &known.unwrap_or_default()
}

/// How many observations ahead a forecast looks: `5`, or `1 to 5`.
pub(crate) fn horizons(forecast: &Forecast) -> String {
    let (first, last) = forecast.horizons().into_inner();
    if first == last { last.to_string() } else { format!("{first} to {last}") }
}
