//! A page of tables and plots.

use std::fmt::Write;

use super::{card, colour, diagram, legend, list, table};
use crate::MARK;
use crate::cell::Cell;
use crate::escape::html as escaped;
use crate::plot::{Chart, Ranking};
use crate::tables::Column;

const STYLE: &str = include_str!("style.css");

/// What every page ends with.
pub(super) const FOOT: &str = concat!("</main>\n<script>\n", include_str!("script.js"), "</script>\n</body>\n</html>\n");

/// A page that is written from top to bottom. Everything that is put in is escaped.
///
/// ```
/// use ncde_report::{Cell, Column, Page};
/// let mut page = Page::new("A < B");
/// page.heading("Two numbers");
/// page.table("Table", &[("model", Column::Name), ("accuracy", Column::Number)], vec![vec![Cell::from("dense".to_owned()), Cell::bold("99.1")]]);
/// let page = page.finish();
/// assert!(page.contains("<h1>A &lt; B</h1>") && page.contains("<b>99.1</b>") && page.ends_with("</html>\n"));
/// ```
#[derive(Debug)]
pub struct Page {
    pub(super) text: String,
}

impl Page {
    /// A page of this title.
    pub fn new(title: &str) -> Self {
        let title = escaped(title);
        let text = format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n{MARK}\n<title>{title}</title>\n\
             <style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n"
        );
        Self { text }
    }

    /// A heading.
    pub fn heading(&mut self, title: &str) {
        let _ = writeln!(self.text, "<h2>{}</h2>", escaped(title));
    }

    /// A list of points; nothing if there are none.
    pub fn list(&mut self, points: &[String]) {
        if !points.is_empty() {
            let _ = writeln!(self.text, "{}", list(points));
        }
    }

    /// A table in a box of its own.
    pub fn table<C: Into<Cell>>(&mut self, title: &str, columns: &[(&str, Column)], rows: Vec<Vec<C>>) {
        self.text.push_str("<div class=\"grid\">\n");
        card(&mut self.text, title, Some(table(columns, rows)), " wide");
        self.text.push_str("</div>\n");
    }

    /// Plots side by side, each with what its colours mean; those that would be empty are left out.
    pub fn charts(&mut self, charts: &[(&Chart, &[String])]) {
        self.text.push_str("<div class=\"grid pairs\">\n");
        for (chart, names) in charts {
            let colours = legend(names.iter().cloned().enumerate().map(colour));
            card(&mut self.text, &chart.title, chart.svg().map(|svg| svg + &colours), "");
        }
        self.text.push_str("</div>\n");
    }

    /// A critical-difference diagram in a box of its own, with what it shows below; nothing where it would be empty.
    pub fn ranking(&mut self, title: &str, ranking: &Ranking) {
        if let Some(diagram) = diagram(ranking) {
            self.text.push_str("<div class=\"grid\">\n");
            card(&mut self.text, title, Some(diagram), " wide");
            self.text.push_str("</div>\n");
        }
    }

    /// The whole page.
    pub fn finish(self) -> String {
        self.text + FOOT
    }
}
