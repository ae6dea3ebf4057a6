//! A reservoir: fixed Linear NCDEs that remember, random responses to what they remember, pooled over time, and a ridge readout.
//!
//! ```text
//! x_t -> u = W^T x -> m' = (A m + B u) / theta -> r = taps (m, u) -> shares of time above thresholds, ... -> ridge
//! rows   mixtures     memory of a span            responses          pools, all of them running sums         leave-one-out
//! ```
//!
//! Only the readout is trained. Times may be irregular: a memory advances exactly over any gap of a piecewise linear path ([`legendre`]). The state
//! of a series has a fixed size, so that a series can be streamed; sums over rows older than the horizon fade, so that a stream needs no end.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`legendre`] | the memory and its flow over a gap |
//! | `memory` | memories of many signals, row after row |
//! | [`changes`] | memories relative to the present value, driven by increments |
//! | [`fourier`] | sliding Fourier coefficients of increments |
//! | `pool` | the running sums of responses above thresholds |
//! | `competing` | which of a group is largest, which smallest |
//! | `fold` | the same where only what a readout makes of them is wanted |
//! | [`responses`] | pooled responses: mixtures, memories and pools together |
//! | [`summary`] | memories at the end of a series, moments and extremes of channels |
//! | [`ticks`] | rows between observations that are far apart |
//! | `windows` | increments over windows of the horizon |
//! | `words` | the signature of the path so far |
//! | [`ridge`] | the readout, and its exact leave-one-out error |
//! | [`sums`] | the same from sums of products, for many rows of few features |
//!
//! This crate works on slices of `f32` and `f64` and depends on no tensor library.

pub mod changes;
mod competing;
mod fold;
pub mod fourier;
pub mod legendre;
pub mod matrix;
mod memory;
mod pool;
pub mod responses;
pub mod ridge;
pub mod summary;
pub mod sums;
pub mod ticks;
mod windows;
mod words;

pub use changes::{Changes, ChangesScratch};
pub use fourier::{FourierScratch, SlidingFourier};
pub use pool::{CUTS, LANES, Pooling};
pub use responses::{Family, Responses, Rows, Scratch, Shape};
pub use summary::{Summary, SummaryScratch, SummaryShape};
pub use ticks::Ticked;
