//! Runs as one HTML page that needs nothing else: style, plots and a few lines of script are inside, there is no network.
//!
//! It fits a phone and a desktop and follows the light or dark setting of the reader. Wide tables scroll in their own
//! box. Without scripts, everything is still shown. Everything that came from outside is escaped.

mod classes;
mod comparison;
mod page;
mod run;

use std::fmt::Write;

use page::FOOT;
pub use page::Page;

use crate::RunRecord;
use crate::across::across;
use crate::cell::{Cell, cells};
use crate::compare::boards;
use crate::escape::html as escaped;
use crate::plot::{COLOURS, Ranking};
use crate::summary::heading;
use crate::tables::{Column, Table};

/// A report on runs, as a page of HTML.
///
/// One run is shown whole; several are compared first, and each can be opened.
///
/// ```
/// let page = ncde_report::html(&[]);
/// assert!(page.starts_with("<!doctype html>") && page.contains("There are no runs to report on."));
/// ```
pub fn html(records: &[RunRecord]) -> String {
    let title = match records {
        [] => "Training runs".into(),
        [only] => only.title(),
        _ => heading(records),
    };
    let mut page = Page::new(&title).text;
    match records {
        [] => page.push_str("<p>There are no runs to report on.</p>\n"),
        [only] => run::whole(&mut page, only),
        _ => several(&mut page, records),
    }
    page + FOOT
}

fn several(page: &mut String, records: &[RunRecord]) {
    let boards = boards(records);
    comparison::leaderboard(page, &boards);
    for across in across(&boards) {
        comparison::over(page, &across);
    }
    for board in &boards {
        comparison::board(page, board);
    }
    page.push_str("<h2>Runs</h2>\n");
    for (place, record) in records.iter().enumerate() {
        let title = format!("Run {}: {}, seed {}", place + 1, record.title(), record.seed);
        let _ = writeln!(page, "<details class=\"run\" id=\"run-{}\"><summary>{}</summary>", place + 1, escaped(&title));
        run::whole(page, record);
        page.push_str("</details>\n");
    }
}

/// A box with a title; nothing if there is no content.
fn card(page: &mut String, title: &str, content: Option<String>, class: &str) {
    if let Some(content) = content {
        let _ = writeln!(page, "<figure class=\"card{class}\"><h3>{}</h3>{content}</figure>", escaped(title));
    }
}

/// What is drawn in a plot: the classes of its swatch, and what it is called.
fn legend(entries: impl IntoIterator<Item = (String, String)>) -> String {
    let items: String =
        entries.into_iter().map(|(swatch, name)| format!("<li><i class=\"{swatch}\"></i>{}</li>", escaped(&name))).collect();
    format!("<ul class=\"legend\">{items}</ul>")
}

/// A colour and what it is called.
fn colour((colour, name): (usize, String)) -> (String, String) {
    (format!("f{}", colour % COLOURS), name)
}

fn list(points: &[String]) -> String {
    let items: String = points.iter().map(|point| format!("<li>{}</li>", escaped(point))).collect();
    format!("<ul>{items}</ul>")
}

/// A diagram of ranks, with what it shows below.
fn diagram(ranking: &Ranking) -> Option<String> {
    Some(format!("<div class=\"scroll\" tabindex=\"0\">{}</div>{}", ranking.svg()?, soft(&escaped(Ranking::NOTE))))
}

/// A remark below a table or a plot.
fn soft(words: &str) -> String {
    format!("<p class=\"soft\">{words}</p>")
}

fn shared(Table { columns, rows }: Table) -> String {
    table(&columns, rows)
}

/// A table that scrolls in its own box. Cells are escaped here.
fn table<C: Into<Cell>>(columns: &[(impl AsRef<str>, Column)], rows: impl IntoIterator<Item = Vec<C>>) -> String {
    let rows = cells(rows.into_iter().collect());
    let mut text = String::from("<div class=\"scroll\" tabindex=\"0\"><table>");
    let has_titles = columns.iter().any(|(title, _)| !AsRef::<str>::as_ref(title).is_empty());
    text.push_str(if has_titles { "<thead><tr>" } else { "" });
    for (title, column) in columns.iter().filter(|_| has_titles) {
        let class = if matches!(column, Column::Number) { "" } else { " class=\"text\"" };
        let _ = write!(text, "<th{class}>{}</th>", escaped(title.as_ref()));
    }
    text.push_str(if has_titles { "</tr></thead><tbody>" } else { "<tbody>" });
    for row in rows {
        text.push_str("<tr>");
        for (cell, (_, column)) in row.iter().zip(columns) {
            let [open, close] = if cell.bold { ["<b>", "</b>"] } else { [""; 2] };
            let class = match column {
                Column::Name => " class=\"name\"",
                Column::Text => " class=\"text\"",
                Column::Number => "",
            };
            let _ = write!(text, "<td{class}>{open}{}{close}</td>", escaped(&cell.text));
        }
        text.push_str("</tr>");
    }
    text.push_str("</tbody></table></div>");
    text
}
