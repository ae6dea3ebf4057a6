//! Runs as Markdown: tables that read well as text and on any forge.

use std::fmt::Write;

use crate::across::{Across, across};
use crate::cell::{Cell, cells};
use crate::compare::boards;
use crate::escape::{fenced, markdown as escaped};
use crate::format::metric_name;
use crate::metrics::Classification;
use crate::tables::{self, Column, Section, Table, WIDEST_MATRIX};
use crate::{MARK, Metrics, RunRecord};

/// A report on runs, in Markdown.
///
/// One run is shown whole; several are compared first.
///
/// ```
/// assert!(ncde_report::markdown(&[]).starts_with("# Training runs\n\nThere are no runs to report on.\n"));
/// ```
pub fn markdown(records: &[RunRecord]) -> String {
    let mut text = String::new();
    match records {
        [] => text.push_str("# Training runs\n\nThere are no runs to report on.\n"),
        [only] => run(&mut text, only, 1, &escaped(&only.title())),
        _ => {
            let _ = writeln!(text, "# {}\n", crate::summary::heading(records));
            let boards = boards(records);
            text.push_str("## Leaderboard\n\n");
            table(&mut text, &tables::leaderboard(&boards));
            let _ = writeln!(text, "\n{}\n", crate::summary::LEADERBOARD);
            for across in across(&boards) {
                over(&mut text, &across);
            }
            for board in &boards {
                if let Some(runs) = tables::runs_by_seed(board) {
                    let _ = writeln!(text, "## {}: runs by seed\n", escaped(board.data));
                    table(&mut text, &runs);
                }
            }
            for (place, record) in records.iter().enumerate() {
                text.push('\n');
                run(&mut text, record, 2, &format!("Run {}: {}, seed {}", place + 1, escaped(&record.title()), record.seed));
            }
        }
    }
    // Seen by programs alone.
    let _ = writeln!(text, "\n<!-- {MARK} -->");
    text
}

fn over(text: &mut String, across: &Across<'_>) {
    let _ = writeln!(text, "## All data sets: {}\n", metric_name(across.metric));
    table(text, &tables::over_data_sets(across));
    text.push('\n');
    for words in across.comparison.words(&across.names()) {
        let _ = writeln!(text, "- {}", escaped(&words));
    }
    text.push('\n');
}

fn run(text: &mut String, record: &RunRecord, level: usize, title: &str) {
    let (main, sub) = ("#".repeat(level), "#".repeat(level + 1));
    let _ = writeln!(text, "{main} {title}\n");
    for warning in &record.warnings {
        let _ = writeln!(text, "> **Warning:** {}\n", escaped(warning));
    }
    if let Some((is_better, verdict)) = record.verdict() {
        let mark = if is_better { "" } else { "**" };
        let _ = writeln!(text, "{mark}{}{mark}\n", escaped(&verdict));
    }
    let rows = record.keys().into_iter().map(|key| vec![key.label, key.value, key.note]);
    table(text, &Table::new([("", Column::Text); 3], rows));
    sections(text, tables::results(record), &sub);
    if let Some((_, Metrics::Classification(metrics))) = record.outcome()
        && (1..=WIDEST_MATRIX).contains(&metrics.confusion.len())
    {
        let _ = writeln!(text, "\n{sub} Confusion\n");
        confusion(text, record, metrics);
    }
    sections(text, tables::training(record), &sub);
    sections(text, tables::described(record), &sub);
    let _ = write!(text, "\n{}\n{}", fenced(&record.command, "sh"), fenced(&record.config, "toml"));
}

fn sections(text: &mut String, sections: impl IntoIterator<Item = Section>, heading: &str) {
    for section in sections {
        let _ = writeln!(text, "\n{heading} {}\n", escaped(&section.title));
        table(text, &section.table);
        if !section.note.is_empty() {
            let _ = writeln!(text, "\n{}", escaped(&section.note));
        }
    }
}

fn confusion(text: &mut String, record: &RunRecord, metrics: &Classification) {
    let classes = (0..metrics.confusion.len()).map(|class| escaped(&record.class(class)));
    let header: Vec<String> = std::iter::once("true \\ predicted".to_string()).chain(classes.clone()).collect();
    let rows = metrics.confusion.iter().zip(classes).map(|(row, class)| {
        let cases: u64 = row.iter().sum();
        let cell = |count: &u64| {
            if cases == 0 { count.to_string() } else { format!("{count} ({:.0} %)", 100.0 * *count as f64 / cases as f64) }
        };
        std::iter::once(format!("**{class}**")).chain(row.iter().map(cell)).collect()
    });
    lines(text, &header, rows);
}

/// A table, escaped.
fn table(text: &mut String, table: &Table) {
    let header: Vec<String> = table.columns.iter().map(|(title, _)| escaped(title)).collect();
    lines(text, &header, table.rows.iter().map(|row| row.iter().map(|cell| escaped(cell)).collect()));
}

/// The lines of a table, whose columns line up in plain text too.
fn lines(text: &mut String, header: &[impl AsRef<str>], rows: impl Iterator<Item = Vec<String>>) {
    let rows: Vec<Vec<String>> = rows.collect();
    let widths: Vec<usize> = (0..header.len())
        .map(|column| {
            let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
            cells.chain([header[column].as_ref().chars().count(), 3]).max().unwrap_or(3)
        })
        .collect();
    let mut line = |cells: &mut dyn Iterator<Item = &str>| {
        for (cell, width) in cells.zip(&widths) {
            let _ = write!(text, "| {cell:width$} ");
        }
        text.push_str("|\n");
    };
    line(&mut header.iter().map(AsRef::as_ref));
    line(&mut widths.iter().map(|width| "-".repeat(*width)).collect::<Vec<_>>().iter().map(String::as_str));
    for row in &rows {
        line(&mut row.iter().map(String::as_str));
    }
}

/// A table as Markdown. Names must be harmless.
///
/// ```
/// use ncde_report::{Cell, markdown_table};
/// let table = markdown_table(&["model", "accuracy"], vec![vec![Cell::from("dense".to_owned()), Cell::bold("99.1 ± 0.2")]]);
/// assert_eq!(table.lines().last(), Some("| dense | **99.1 ± 0.2** |"));
/// ```
pub fn markdown_table<C: Into<Cell>>(header: &[&str], rows: Vec<Vec<C>>) -> String {
    let mut text = String::new();
    let cell = |Cell { text, bold }| if bold { format!("**{text}**") } else { text };
    lines(&mut text, header, cells(rows).into_iter().map(|row| row.into_iter().map(cell).collect()));
    text
}
