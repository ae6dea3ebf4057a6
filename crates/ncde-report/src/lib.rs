//! Metrics, run records, and the Markdown and HTML reports made of them.
//!
//! ```text
//! predictions -> Metrics -> RunRecord -> markdown, html, terminal
//!                           run.json
//! ```

mod compare;
mod escape;
mod format;
mod html;
mod markdown;
pub mod metrics;
mod number;
mod plot;
pub mod record;
mod summary;
mod terminal;

pub use html::html;
pub use markdown::markdown;
pub use metrics::{Classification, Metrics, Regression};
pub use record::{RecordError, RunRecord};
pub use terminal::{Glyphs, terminal};
