//! Metrics, run records, and the Markdown and HTML reports made of them.
