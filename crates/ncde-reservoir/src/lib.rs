//! A reservoir: fixed Linear NCDEs that remember, random responses to what they remember, pooled over time, and a ridge readout.
//!
//! ```text
//! x_t -> u = W^T x -> m' = (A m + B u) / theta -> r = taps (m, u) -> shares of time above thresholds, ... -> ridge
//! rows   mixtures     memory of a span            responses          pools, all of them running sums         leave-one-out
//! ```
//!
//! Nothing before the readout is trained. Times may lie anywhere: a memory moves exactly over any gap of a piecewise linear path ([`legendre`]). What is kept of a series
//! is a fixed count of numbers, so it can be streamed, and beyond the horizon what is old fades, so a stream can run for ever.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`legendre`] | the memory and its flow over a gap |
//! | `memory` | memories of many signals, row after row |
//! | [`changes`] | memories about the present value, which see increments alone |
//! | [`turns`] | what of a signal turns at a frequency, lately |
//! | `pool` | the running sums of responses above thresholds |
//! | [`responses`] | mixtures, memories, responses and their pools together |
//! | [`summary`] | memories at the end, moments and extremes of channels |
//! | `windows` | increments over windows of the horizon |
//! | [`ridge`] | the readout, and its exact leave-one-out error |
//! | [`sums`] | the same for many rows of few features |
//!
//! This crate knows slices of `f32` and `f64`, and nothing else.

pub mod changes;
pub mod legendre;
mod memory;
mod pool;
pub mod responses;
pub mod ridge;
pub mod summary;
pub mod sums;
pub mod turns;
mod windows;

pub use changes::{Changes, ChangesScratch};
pub use pool::{CUTS, LANES, Pooling};
pub use responses::{Family, Responses, Rows, Scratch, Shape};
pub use summary::{Summary, SummaryScratch, SummaryShape};
pub use turns::{Turns, TurnsScratch};
