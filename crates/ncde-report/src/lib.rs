//! Metrics, run records, and the Markdown, HTML and JSON reports made of them.
//!
//! ```text
//! predictions -> Metrics -> RunRecord -> markdown, html, json, terminal
//!                           run.json
//! ```
//!
//! ```
//! use ncde_report::{Classification, Metrics, metrics::wilson};
//!
//! // Probabilities of two classes for three cases, and the true classes.
//! let metrics = Classification::of(&[0.9, 0.1, 0.2, 0.8, 0.6, 0.4], 2, &[0, 1, 1]);
//! assert_eq!((metrics.correct(), metrics.confusion.as_slice()), (2, [vec![1, 0], vec![1, 1]].as_slice()));
//!
//! // Two of three cases say little: the accuracy is anything from 21 to 94 %.
//! let interval = wilson(2, 3).unwrap();
//! assert!((interval.low - 0.2077).abs() < 1e-4 && (interval.high - 0.9385).abs() < 1e-4);
//! assert_eq!(Metrics::Classification(metrics).headline().0, "accuracy");
//! ```
//!
//! | file | what |
//! | --- | --- |
//! | [`metrics`] | pure functions of predictions and truth |
//! | [`record`] | the record of a run, and how it is read and written |
//! | [`statistics`] | tests over several models and data sets |
//! | `compare`, `across`, `summary`, `format` | what is said of one run and of several; numbers for people |
//! | `tables`, `ahead` | tables that reports share: of several runs, of one; those of forecasts, beside naive ones |
//! | [`plot`] | axes and charts as SVG |
//! | [`html`](html()), [`markdown`](markdown()), [`json`](json()), [`terminal`](terminal()) | the reports; `escape` keeps names of users harmless in them |
//! | `cell`, `latex` | cells of tables that others make, as Markdown, LaTeX and HTML |

mod across;
mod ahead;
mod cell;
mod compare;
mod escape;
mod format;
mod html;
mod json;
mod latex;
mod markdown;
pub mod metrics;
mod number;
pub mod plot;
pub mod record;
pub mod statistics;
mod summary;
mod tables;
mod terminal;

pub use cell::Cell;
pub use html::{Page, html};
pub use json::json;
pub use latex::{latex_paragraph, latex_table};
pub use markdown::{markdown, markdown_table};
pub use metrics::{Classification, Metrics, Regression};
pub use record::{RecordError, RunRecord};
pub use tables::Column;
pub use terminal::{Glyphs, confusion_matrix, terminal, wrapped};

/// What made a report.
const GENERATOR: &str = "ncde";

/// What every page and every Markdown file made here says of itself.
const MARK: &str = "<meta name=\"generator\" content=\"ncde\">";

/// Whether a text is a page, a Markdown file or JSON that was made here.
///
/// ```
/// assert!(ncde_report::is_report(&ncde_report::html(&[])) && ncde_report::is_report(&ncde_report::markdown(&[])));
/// assert!(!ncde_report::is_report("# Notes\n"));
/// ```
pub fn is_report(text: &str) -> bool {
    text.contains(MARK) || text.starts_with(&format!("{{\n  \"generator\": \"{GENERATOR}\""))
}
