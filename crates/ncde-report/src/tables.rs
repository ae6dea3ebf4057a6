//! Tables that Markdown and HTML reports share: what is compared, scored and confused.

use crate::RunRecord;
use crate::across::Across;
use crate::compare::{Board, Entry};
use crate::format::{count, duration, metric_name};
use crate::markdown::WIDEST_MATRIX;
use crate::metrics::{Classification, Metrics};

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
pub(crate) struct Table {
    pub(crate) columns: Vec<(String, Column)>,
    pub(crate) rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new<const N: usize>(columns: [(&str, Column); N], rows: impl Iterator<Item = Vec<String>>) -> Self {
        Self { columns: columns.map(|(title, column)| (title.to_owned(), column)).into(), rows: rows.collect() }
    }

    /// A first column, then numbers under these titles.
    pub(crate) fn of_numbers<'a>(
        first: (&str, Column),
        titles: impl IntoIterator<Item = &'a str>,
        rows: Vec<Vec<String>>,
    ) -> Self {
        let numbers = titles.into_iter().map(|title| (title.to_owned(), Number));
        Self { columns: std::iter::once((first.0.to_owned(), first.1)).chain(numbers).collect(), rows }
    }
}

/// Models over data sets, the best average rank first.
pub(crate) fn over_data_sets(across: &Across<'_>) -> Table {
    Table::of_numbers(("model", Name), across.sets.iter().copied().chain(["average rank"]), across.rows())
}

/// The entries of a board; `frontier` is the title of the last column.
pub(crate) fn entries(board: &Board<'_>, frontier: &str) -> Table {
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
    let columns = [
        ("", Text),
        ("model", Name),
        ("directory", Name),
        (&metric_name(board.metric), Number),
        ("95 % interval", Number),
        ("beside the best", Text),
        ("runs", Number),
        ("parameters", Number),
        ("time a step", Number),
        (frontier, Text),
    ];
    Table::new(columns, board.entries.iter().map(row))
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

/// A row for each metric, with those of the baselines.
pub(crate) fn scores(run: &RunRecord, metrics: &Metrics) -> Table {
    let baselines = run.baselines.iter().map(|baseline| baseline.name.as_str());
    Table::of_numbers(("metric", Name), std::iter::once("model").chain(baselines), run.scores(metrics))
}

/// The most frequent errors.
pub(crate) fn errors(run: &RunRecord, metrics: &Classification) -> Table {
    let errors = metrics.errors().into_iter().take(WIDEST_MATRIX);
    let rows = errors.map(|(truth, predicted, cases)| vec![run.class(truth), run.class(predicted), cases.to_string()]);
    Table::new([("true class", Name), ("taken for", Name), ("cases", Number)], rows)
}
