//! Metrics, run records, and the Markdown and HTML reports made of them.
//!
//! ```text
//! predictions -> Metrics -> RunRecord -> markdown, html, terminal
//!                           run.json
//! ```

mod compare;
mod escape;
mod format;
pub mod metrics;
mod number;
mod plot;
pub mod record;
mod summary;

pub use metrics::{Classification, Metrics, Regression};
pub use record::{RecordError, RunRecord};
