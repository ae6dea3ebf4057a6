//! Several runs: a leaderboard, and for each data set the metric against the time of a step and the curves of all.

use std::fmt::Write;

use super::{card, colour, diagram, legend, list, shared, soft};
use crate::across::Across;
use crate::compare::{Board, Entry};
use crate::escape::html as escaped;
use crate::format::{capital, metric_name};
use crate::plot::{self, Ranking};
use crate::summary::LEADERBOARD;
use crate::tables;

/// All entries in one table, with what picks some of them.
pub(super) fn leaderboard(page: &mut String, boards: &[Board<'_>]) {
    let table = shared(tables::leaderboard(boards)) + &soft(&escaped(LEADERBOARD));
    page.push_str("<div class=\"grid\">\n");
    card(page, "Leaderboard", Some(table), " wide board");
    page.push_str("</div>\n");
}

pub(super) fn board(page: &mut String, board: &Board<'_>) {
    let name = metric_name(board.metric);
    let mut cards = String::new();
    let bars = "Bars are 95 % intervals of means over seeds.";
    let names = [("dot f0".into(), "a row of the leaderboard, by its letter".into())];
    let frontier = [("guide".into(), "the frontier: no other is as fast and as good".into())];
    let key = legend(names.into_iter().chain(frontier));
    let trade = plot::metric_against_time(board).map(|svg| svg + &key + &soft(bars));
    card(&mut cards, &format!("{} against time", capital(&name)), trade, "");
    let mut best = board.ranked();
    best.truncate(plot::COLOURS);
    best.sort_by_key(|entry| entry.runs[0].0);
    let title = if best.len() < board.entries.len() { "Training of the best" } else { "Training of all runs" };
    card(&mut cards, title, curves(&best), "");
    card(&mut cards, "Runs by seed", tables::runs_by_seed(board).map(shared), " wide");
    if !cards.is_empty() {
        let _ = writeln!(page, "<h2>{}</h2>\n<div class=\"grid\">\n{cards}</div>", escaped(board.data));
    }
}

pub(super) fn over(page: &mut String, across: &Across<'_>) {
    let _ = writeln!(page, "<h2>All data sets</h2>\n<div class=\"grid\">");
    card(page, &capital(&metric_name(across.metric)), Some(shared(tables::over_data_sets(across))), " wide");
    let words = list(&across.comparison.words(&across.names()));
    let diagram = diagram(&Ranking::of(&across.comparison, &across.names()));
    card(page, "Average ranks", diagram.map(|diagram| diagram + &words), " wide");
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
