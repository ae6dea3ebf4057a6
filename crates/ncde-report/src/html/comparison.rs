//! Several runs on the same data: a table, the metric against the time of a step, and the curves of all.

use std::fmt::Write;

use super::{card, colour, legend, list, shared, soft};
use crate::across::Across;
use crate::compare::{Board, Entry};
use crate::escape::html as escaped;
use crate::format::{capital, metric_name};
use crate::plot::{self, Ranking};
use crate::tables;

pub(super) fn board(page: &mut String, board: &Board<'_>) {
    let name = metric_name(board.metric);
    let _ = writeln!(page, "<h2>{}</h2>", escaped(board.data));
    page.push_str("<div class=\"grid\">\n");
    let note = "Runs that differ by their seed only are one row: their mean, and an interval that says how much \
                seeds matter. The interval of a single run says how much the number of cases matters. Where intervals overlap, the \
                difference may be chance.";
    card(page, "Comparison", Some(shared(tables::entries(board, "frontier")) + &soft(note)), " wide");
    let note = "The dashed line joins the models that no other beats in both. Bars are 95 % intervals of means over seeds.";
    let trade = plot::metric_against_time(board).map(|svg| svg + &soft(note));
    card(page, &format!("{} against time", capital(&name)), trade, "");
    let best = board.best(plot::COLOURS);
    let title = if best.len() < board.entries.len() { "Training of the best" } else { "Training of all runs" };
    card(page, title, curves(&best), "");
    card(page, "Runs by seed", tables::runs_by_seed(board).map(shared), " wide");
    page.push_str("</div>\n");
}

pub(super) fn over(page: &mut String, across: &Across<'_>) {
    let _ = writeln!(page, "<h2>All data sets</h2>\n<div class=\"grid\">");
    card(page, &capital(&metric_name(across.metric)), Some(shared(tables::over_data_sets(across))), " wide");
    let note = soft(&escaped(Ranking::NOTE)) + &list(&across.comparison.words(&across.names()));
    let diagram = Ranking::of(&across.comparison, &across.names()).svg();
    card(page, "Average ranks", diagram.map(|svg| svg + &note), " wide");
    page.push_str("</div>\n");
}

/// The curves of entries, each with its colour.
fn curves(entries: &[&Entry<'_>]) -> Option<String> {
    let coloured = || entries.iter().enumerate();
    let runs = coloured().flat_map(|(colour, entry)| entry.runs.iter().map(move |(_, run)| (colour, *run)));
    let drawn = coloured().filter(|(_, entry)| entry.runs.iter().any(|(_, run)| !run.history.is_empty()));
    let names = drawn.map(|(colour, entry)| (colour, format!("{} {}", entry.letter, entry.name())));
    Some(plot::metrics(runs)? + &legend(names.map(colour)))
}
