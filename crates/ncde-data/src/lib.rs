//! Time-series files in, cases with channels, times, gaps and labels out.

mod align;
mod dataset;
mod error;
mod label;
pub mod npy;
mod read;
pub mod summary;
mod text;
mod write;

pub use dataset::{Case, Clock, Dataset, Schema, Targets};
pub use error::{Error, Place};
pub use label::Task;
pub use read::{Format, ReadOptions, read, read_bytes};
pub use summary::Summary;
pub use write::write;
