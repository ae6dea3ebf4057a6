//! One run whole: key numbers, curves, confusion or scatter, and how it was made.

use std::fmt::Write;

use super::{Column, card, legend, table};
use crate::escape::html as escaped;
use crate::format::{metric, metric_name, shortened};
use crate::markdown::WIDEST_MATRIX;
use crate::metrics::Classification;
use crate::{Metrics, RunRecord, plot};

/// The longest name of a class in a matrix, whose cells are narrow.
const LONGEST_NAME: usize = 24;

/// Writes everything that is known of a run.
pub(super) fn whole(page: &mut String, run: &RunRecord) {
    keys(page, run);
    page.push_str("<div class=\"grid\">\n");
    let lines = [(0, "training"), (1, "validation")];
    let validated = usize::from(run.history.iter().any(|point| point.validation.is_some()));
    let names = || legend(lines[..=validated].iter().map(|(colour, name)| (*colour, (*name).to_string())));
    card(page, "Loss", plot::losses(run).map(|svg| svg + &names()), "");
    card(page, "Validation", plot::metric(run), "");
    if let Some((whose, metrics)) = run.outcome() {
        card(page, &format!("Metrics on the {whose} cases"), Some(scores(metrics)), "");
        if let Metrics::Classification(metrics) = metrics {
            let wide = if metrics.confusion.len() > 4 { " wide" } else { "" };
            card(page, &format!("Confusion on the {whose} cases"), confusion(run, metrics), wide);
        }
        if let Metrics::Forecast(metrics) = metrics {
            super::forecast::cards(page, metrics);
        }
    }
    card(page, "Predicted against true", plot::predicted_against_true(run), "");
    card(page, "How it was made", Some(facts(run)), "");
    card(page, "Command", Some(command(run)), " wide");
    page.push_str("</div>\n");
}

fn keys(page: &mut String, run: &RunRecord) {
    page.push_str("<dl class=\"keys\">\n");
    for key in run.keys() {
        let (label, value, note) = (escaped(&key.label), escaped(&key.value), escaped(&key.note));
        let _ = writeln!(page, "<div><dt>{label}</dt><dd class=\"value\">{value}</dd><dd class=\"note\">{note}</dd></div>");
    }
    page.push_str("</dl>\n");
}

fn scores(metrics: &Metrics) -> String {
    let rows = metrics.names().iter().filter_map(|name| Some(vec![metric_name(name).into(), metric(name, metrics.get(name)?)]));
    table(&[("metric", Column::Text), ("value", Column::Number)], rows)
}

/// The matrix of counts, shaded by the share of the row; of many classes the most frequent errors.
fn confusion(run: &RunRecord, metrics: &Classification) -> Option<String> {
    if metrics.confusion.len() > WIDEST_MATRIX {
        let errors = metrics.errors().into_iter().take(WIDEST_MATRIX);
        let rows = errors.map(|(truth, predicted, cases)| vec![run.class(truth), run.class(predicted), cases.to_string()]);
        let columns = [("true class", Column::Name), ("taken for", Column::Name), ("cases", Column::Number)];
        return Some(table(&columns, rows) + "<p class=\"soft\">The most frequent errors.</p>");
    }
    if metrics.confusion.is_empty() {
        return None;
    }
    let names: Vec<[String; 2]> = (0..metrics.confusion.len())
        .map(|class| run.class(class))
        .map(|name| [escaped(&name), escaped(&shortened(&name, LONGEST_NAME))])
        .collect();
    let mut text = String::from("<div class=\"scroll\"><table class=\"matrix\"><thead><tr><th class=\"text\">true</th>");
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
    text.push_str("</tbody></table></div><p class=\"soft\">A row for each true class, a column for each predicted one.</p>");
    Some(text)
}

fn facts(run: &RunRecord) -> String {
    let mut text = String::from("<div class=\"scroll\"><table class=\"facts\"><tbody>");
    for (name, value) in run.facts() {
        let _ = write!(text, "<tr><th class=\"text\">{}</th><td>{}</td></tr>", escaped(name), escaped(&value));
    }
    text.push_str("</tbody></table></div>");
    text
}

fn command(run: &RunRecord) -> String {
    let (command, config) = (escaped(&run.command), escaped(&run.config));
    format!("<pre class=\"command\">{command}</pre><details><summary>Configuration</summary><pre>{config}</pre></details>")
}
