//! One run whole: warnings, key numbers, curves, what it gets right and wrong, its data, and how it was made.

use std::fmt::Write;

use super::{card, classes, legend, list, shared, soft};
use crate::escape::html as escaped;
use crate::format::shortened;
use crate::metrics::Classification;
use crate::record::Forecasted;
use crate::tables::{Section, WIDEST_MATRIX};
use crate::{Metrics, RunRecord, plot, tables};

/// The longest name of a class in a matrix, whose cells are narrow.
const LONGEST_NAME: usize = 24;

pub(super) fn whole(page: &mut String, run: &RunRecord) {
    if !run.warnings.is_empty() {
        let _ = writeln!(
            page,
            "<div class=\"warnings\" role=\"note\"><strong>Before you trust it</strong>{}</div>",
            list(&run.warnings)
        );
    }
    if let Some((is_better, verdict)) = run.verdict() {
        let class = if is_better { "" } else { " worse" };
        let _ = writeln!(page, "<p class=\"verdict{class}\">{}</p>", escaped(&verdict));
    }
    keys(page, run);
    page.push_str("<div class=\"grid\">\n");
    let classified = match run.outcome() {
        Some((whose, Metrics::Classification(metrics))) => Some((whose, metrics)),
        _ => None,
    };
    if let Some((whose, metrics)) = classified {
        let wide = if metrics.confusion.len() > 5 { " wide" } else { "" };
        card(page, &format!("Confusion on the {whose} cases"), confusion(run, metrics), wide);
    }
    sections(page, tables::results(run));
    if let Some((_, metrics)) = classified {
        classes::cards(page, run, metrics);
    }
    let pairs = [("dot f0", "a case"), ("guide", "predicted as it is")].map(|(swatch, name)| (swatch.into(), name.into()));
    card(page, "Predicted against true", plot::predicted_against_true(run).map(|svg| svg + &legend(pairs)), "");
    for series in &run.forecasts {
        let [channel, id] = [&series.channel, &series.id].map(|name| shortened(name, LONGEST_NAME));
        let title = format!("Forecast of {channel}, series {id}");
        card(page, &title, forecast(run, series), "");
    }
    card(page, "Loss", losses(run), "");
    card(page, "Validation", plot::metric(run), "");
    sections(page, tables::described(run));
    card(page, "Command", Some(command(run)), " wide");
    page.push_str("</div>\n");
}

/// The most key numbers in a row.
const KEYS: usize = 7;

fn keys(page: &mut String, run: &RunRecord) {
    let keys = run.keys();
    // Rows are as even as can be.
    let _ = writeln!(page, "<dl class=\"keys\" style=\"--columns:{}\">", keys.len().div_ceil(keys.len().div_ceil(KEYS).max(1)));
    for key in keys {
        let (label, value, note) = (escaped(&key.label), escaped(&key.value), escaped(&key.note));
        let _ = writeln!(page, "<div><dt>{label}</dt><dd class=\"value\">{value}</dd><dd class=\"note\">{note}</dd></div>");
    }
    page.push_str("</dl>\n");
}

/// A forecast with names for what is drawn.
fn forecast(run: &RunRecord, series: &Forecasted) -> Option<String> {
    let level =
        run.outcome().and_then(|(_, metrics)| if let Metrics::Forecast(metrics) = metrics { metrics.level } else { None });
    let interval = level.map_or("interval".into(), |level| format!("{:.0} % interval", 100.0 * level));
    let mut names = vec![("f7".into(), "what was seen, and what came".into()), ("f0 dashed".into(), "forecast".into())];
    names.extend((!series.interval.is_empty()).then(|| ("f0 band".into(), interval)));
    Some(plot::forecast(series, run.data.dates)? + &legend(names))
}

/// Training and validation loss, told apart by colour and stroke.
fn losses(run: &RunRecord) -> Option<String> {
    let validated = run.history.iter().any(|point| point.validation.is_some());
    let training = if validated { "training" } else { "training; no cases were held back to validate on" };
    let validation = validated.then(|| ("f1 dashed".into(), "validation, on cases that are not learned from".into()));
    Some(plot::losses(run)? + &legend([("f0".into(), training.into())].into_iter().chain(validation)))
}

/// The matrix of counts, shaded by the share of the row; none of many classes.
fn confusion(run: &RunRecord, metrics: &Classification) -> Option<String> {
    if !(1..=WIDEST_MATRIX).contains(&metrics.confusion.len()) {
        return None;
    }
    let names: Vec<[String; 2]> = (0..metrics.confusion.len())
        .map(|class| run.class(class))
        .map(|name| [escaped(&name), escaped(&shortened(&name, LONGEST_NAME))])
        .collect();
    let many = if names.len() > 12 { " many" } else { "" };
    let mut text =
        format!("<div class=\"scroll\" tabindex=\"0\"><table class=\"matrix{many}\"><thead><tr><th class=\"text\">true</th>");
    for [name, short] in &names {
        let _ = write!(text, "<th title=\"{name}\">{short}</th>");
    }
    text.push_str("</tr></thead><tbody>");
    for (row, [name, short]) in metrics.confusion.iter().zip(&names) {
        let _ = write!(text, "<tr><th class=\"text\" title=\"{name}\">{short}</th>");
        let cases: u64 = row.iter().sum();
        for count in row {
            let share = if cases == 0 { 0.0 } else { *count as f64 / cases as f64 };
            // White letters where the shade is dark, those of the page where it is light, faint ones for nothing.
            let class = match (*count, share > 0.78) {
                (0, _) => " class=\"none\"",
                (_, true) => " class=\"deep\"",
                (_, false) => "",
            };
            let _ = write!(
                text,
                "<td{class} style=\"background:rgba(var(--shade),{:.2})\">{count}<small>{:.0} %</small></td>",
                0.04 + 0.96 * share,
                100.0 * share
            );
        }
        text.push_str("</tr>");
    }
    let note = soft("A row for each true class, a column for each predicted one.");
    Some(text + "</tbody></table></div>" + &note)
}

fn sections(page: &mut String, sections: Vec<Section>) {
    for Section { title, table, note } in sections {
        let note = if note.is_empty() { note } else { soft(&escaped(&note)) };
        card(page, &title, Some(shared(table) + &note), "");
    }
}

fn command(run: &RunRecord) -> String {
    let (command, config) = (escaped(&run.command), escaped(&run.config));
    format!("<pre class=\"command\">{command}</pre><details><summary>Configuration</summary><pre>{config}</pre></details>")
}
