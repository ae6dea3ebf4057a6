//! Metrics, run records, and the Markdown and HTML reports made of them.
//!
//! ```text
//! predictions -> Metrics -> RunRecord -> markdown, html, terminal
//!                           run.json
//! ```

pub mod metrics;
mod number;

pub use metrics::{Classification, Metrics, Regression};
