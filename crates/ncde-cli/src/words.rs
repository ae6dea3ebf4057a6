//! Names and counts in sentences.

use ncde_runtime::Forecast;

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

/// How many observations ahead a forecast looks: `5`, or `1 to 5`.
pub(crate) fn horizons(forecast: &Forecast) -> String {
    let (first, last) = forecast.horizons().into_inner();
    if first == last { last.to_string() } else { format!("{first} to {last}") }
}
