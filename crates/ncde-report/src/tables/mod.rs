//! Tables that all reports share: what is compared here, one run in `run`.

mod run;

use serde::{Serialize, Serializer};

pub(crate) use run::{WIDEST_MATRIX, described, results, training};

use crate::across::Across;
use crate::compare::{Board, Entry};
use crate::format::{count, duration, metric_name};

/// How the cells of a column of a table lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column {
    /// Words that may take several lines.
    Name,
    /// A short word.
    Text,
    /// A number.
    Number,
}

use Column::{Name, Number, Text};

/// Columns with their titles, and rows of cells that are not escaped yet.
#[derive(Serialize)]
pub(crate) struct Table {
    #[serde(serialize_with = "titles")]
    pub(crate) columns: Vec<(String, Column)>,
    pub(crate) rows: Vec<Vec<String>>,
}

fn titles<S: Serializer>(columns: &[(String, Column)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(columns.iter().map(|(title, _)| title))
}

/// A table with its title, and a remark that may be empty.
#[derive(Serialize)]
pub(crate) struct Section {
    pub(crate) title: String,
    #[serde(flatten)]
    pub(crate) table: Table,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) note: String,
}

impl Section {
    pub(crate) fn new(title: impl Into<String>, table: Table, note: impl Into<String>) -> Self {
        Self { title: title.into(), table, note: note.into() }
    }
}

fn shown<T>(cells: Vec<T>, is_shown: &[bool]) -> Vec<T> {
    cells.into_iter().zip(is_shown).filter_map(|(cell, is_shown)| is_shown.then_some(cell)).collect()
}

impl Table {
    /// Columns with nothing in them are left out.
    pub(crate) fn new<'a>(
        columns: impl IntoIterator<Item = (&'a str, Column)>,
        rows: impl IntoIterator<Item = Vec<String>>,
    ) -> Self {
        let rows: Vec<Vec<String>> = rows.into_iter().collect();
        let columns: Vec<_> = columns.into_iter().map(|(title, column)| (title.to_owned(), column)).collect();
        let has_words = |at: usize| rows.is_empty() || rows.iter().any(|row| row.get(at).is_some_and(|cell| !cell.is_empty()));
        let is_shown: Vec<bool> = (0..columns.len()).map(has_words).collect();
        Self { columns: shown(columns, &is_shown), rows: rows.into_iter().map(|row| shown(row, &is_shown)).collect() }
    }

    /// A first column, then numbers under these titles.
    pub(crate) fn of_numbers<'a>(
        first: (&'a str, Column),
        titles: impl IntoIterator<Item = &'a str>,
        rows: Vec<Vec<String>>,
    ) -> Self {
        Self::new(std::iter::once(first).chain(titles.into_iter().map(|title| (title, Number))), rows)
    }
}

/// Models over data sets, the best average rank first.
pub(crate) fn over_data_sets(across: &Across<'_>) -> Table {
    Table::of_numbers(("model", Name), across.sets.iter().copied().chain(["average rank"]), across.rows())
}

/// The entries of boards, the best of each board first. Data sets and metrics have columns where they differ.
pub(crate) fn leaderboard(boards: &[Board<'_>]) -> Table {
    let metric = boards.first().map_or("", |board| board.metric);
    let [has_data, has_metrics] = [boards.len() > 1, boards.iter().any(|board| board.metric != metric)];
    let text = |is_shown: bool, text: &str| if is_shown { text.to_owned() } else { String::new() };
    let row = |board: &Board<'_>, entry: &Entry<'_>| {
        let [score, interval] = entry.score_text(board.metric);
        vec![
            text(has_data, board.data),
            entry.letter.clone(),
            entry.name(),
            text(has_metrics, &metric_name(board.metric)),
            score,
            interval,
            board.verdict(entry).into(),
            entry.first().best_baseline(board.metric).unwrap_or_default(),
            count(entry.runs.len()),
            count(entry.first().model.parameters),
            // What is solved for takes no steps.
            if entry.seconds.is_finite() { duration(entry.seconds) } else { String::new() },
            duration(entry.runs.iter().map(|(_, run)| run.seconds).sum::<f64>() / entry.runs.len() as f64),
            text(entry.frontier, "yes"),
            entry.directories(),
        ]
    };
    let columns = [
        ("data", Name),
        ("", Text),
        ("model", Name),
        ("metric", Text),
        (if has_metrics { "score" } else { &metric_name(metric) }, Number),
        ("95 % interval", Number),
        ("beside the best", Text),
        ("best baseline", Name),
        ("runs", Number),
        ("parameters", Number),
        ("time a step", Number),
        ("time", Number),
        ("on the frontier", Text),
        ("directory", Name),
    ];
    Table::new(columns, boards.iter().flat_map(|board| board.ranked().into_iter().map(|entry| row(board, entry))))
}

/// Every run of a board that has several runs of an entry.
pub(crate) fn runs_by_seed(board: &Board<'_>) -> Option<Table> {
    let columns = [
        ("", Text),
        ("run", Number),
        ("directory", Name),
        ("seed", Number),
        (&metric_name(board.metric), Number),
        ("95 % interval", Number),
        ("best step", Number),
        ("steps", Number),
        ("time", Number),
        ("stopped by", Text),
    ];
    let has_several = board.entries.iter().any(|entry| entry.runs.len() > 1);
    has_several.then(|| Table::new(columns, board.entries.iter().flat_map(|entry| entry.rows(board.metric))))
}
