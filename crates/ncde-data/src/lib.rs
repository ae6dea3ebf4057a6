//! Time-series files in, cases with channels, times, gaps and labels out.

mod dataset;

pub use dataset::{Case, Clock, Dataset, Schema, Targets};
