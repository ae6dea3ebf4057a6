//! Several runs on the same data: a table, the metric against the time of a step, and the curves of all.

use std::fmt::Write;

use super::{Column, card, legend, table};
use crate::across::Across;
use crate::compare::{Board, Entry};
use crate::escape::html as escaped;
use crate::format::{capital, count, duration, metric_name};
use crate::plot::{self, Ranking};

/// The most entries whose curves are drawn together: as many as there are colours.
const MAX_CURVES: usize = 8;

/// Writes the comparison of one board.
pub(super) fn board(page: &mut String, board: &Board<'_>) {
    let name = metric_name(board.metric);
    let _ = writeln!(page, "<h2>{}</h2>", escaped(board.data));
    page.push_str("<div class=\"grid\">\n");
    card(page, "Comparison", Some(entries(board, &name)), " wide");
    let trade = plot::metric_against_time(board).map(|svg| {
        svg + "<p class=\"soft\">The dashed line joins the models that no other beats in both. \
               Bars are 95 % intervals of means over seeds.</p>"
    });
    card(page, &format!("{} against time", capital(&name)), trade, "");
    let best = board.best(MAX_CURVES);
    let title = if best.len() < board.entries.len() { "Training of the best" } else { "Training of all runs" };
    card(page, title, curves(&best), "");
    if board.entries.iter().any(|entry| entry.runs.len() > 1) {
        card(page, "Runs by seed", Some(runs_by_seed(board, &name)), " wide");
    }
    page.push_str("</div>\n");
}

/// Writes the comparison of models over data sets.
pub(super) fn over(page: &mut String, own: &Across<'_>) {
    let name = metric_name(own.metric);
    let _ = writeln!(page, "<h2>All data sets</h2>\n<div class=\"grid\">");
    let sets = own.sets.iter().map(|set| (*set, Column::Number));
    let columns: Vec<(&str, Column)> =
        [("model", Column::Name)].into_iter().chain(sets).chain([("average rank", Column::Number)]).collect();
    card(page, &capital(&name), Some(table(&columns, own.rows().into_iter())), " wide");
    let points: String = own.comparison.words(&own.names()).iter().map(|words| format!("<li>{}</li>", escaped(words))).collect();
    let diagram = Ranking::of(&own.comparison, &own.names()).svg();
    let note = format!("<p class=\"soft\">{}</p><ul>{points}</ul>", escaped(Ranking::NOTE));
    card(page, "Average ranks", diagram.map(|svg| svg + &note), " wide");
    page.push_str("</div>\n");
}

/// The curves of entries, each with a colour of its own.
fn curves(entries: &[&Entry<'_>]) -> Option<String> {
    let coloured = || entries.iter().enumerate();
    let runs = coloured().flat_map(|(colour, entry)| entry.runs.iter().map(move |(_, run)| (colour, *run)));
    let drawn = coloured().filter(|(_, entry)| entry.runs.iter().any(|(_, run)| !run.history.is_empty()));
    let names = drawn.map(|(colour, entry)| (colour, format!("{} {}", entry.letter, entry.name())));
    Some(plot::metrics(runs)? + &legend(names))
}

fn entries(board: &Board<'_>, name: &str) -> String {
    let columns = [
        ("", Column::Text),
        ("model", Column::Name),
        ("directory", Column::Name),
        (name, Column::Number),
        ("95 % interval", Column::Number),
        ("beside the best", Column::Text),
        ("runs", Column::Number),
        ("parameters", Column::Number),
        ("time a step", Column::Number),
        ("frontier", Column::Text),
    ];
    let row = |entry: &Entry<'_>| {
        let [score, interval] = entry.score_text(board.metric);
        vec![
            entry.letter.clone(),
            entry.name(),
            entry.directories(),
            score,
            interval,
            board.verdict(entry).into(),
            count(entry.runs.len()),
            count(entry.first().model.parameters),
            duration(entry.seconds),
            if entry.frontier { "yes".into() } else { String::new() },
        ]
    };
    let note = "<p class=\"soft\">Runs that differ by their seed only are one row: their mean, and an interval that says how much \
                seeds matter. The interval of a single run says how much the number of cases matters. Where intervals overlap, the \
                difference may be chance.</p>";
    table(&columns, board.entries.iter().map(row)) + note
}

fn runs_by_seed(board: &Board<'_>, name: &str) -> String {
    let columns = [
        ("", Column::Text),
        ("run", Column::Number),
        ("directory", Column::Name),
        ("seed", Column::Number),
        (name, Column::Number),
        ("95 % interval", Column::Number),
        ("best step", Column::Number),
        ("steps", Column::Number),
        ("time", Column::Number),
        ("stopped by", Column::Text),
    ];
    table(&columns, board.entries.iter().flat_map(|entry| entry.rows(board.metric)))
}
