//! Signatures and log-signatures of sampled paths, and their reverse passes.
//!
//! `S_[a,b](X)_(i_1...i_n) = ∫_{u_1 < ... < u_n} dX^{i_1} ... dX^{i_n}`; for a piecewise linear path with increments `x_1, ..., x_m`
//! this is `exp(x_1) ... exp(x_m)` (Chen), and the log-signature is its logarithm.
//!
//! | what | where |
//! | --- | --- |
//! | of whole paths, of intervals, of every prefix, and gradients of these | [`Signature`] |
//! | between signatures and log-signatures, and joining two | [`Signature::to_signature`], [`Signature::join`] |
//! | one observation at a time, in constant memory | [`OnlineSignature`] |
//! | of a window that moves with the path | [`Rolling`] |
//! | of any interval of a growing path | [`Index`] |

pub(crate) mod convert;
mod emit;
mod flow;
mod group;
mod index;
mod mirror;
mod online;
mod paths;
mod pieces;
mod plan;
mod rolling;
mod step;
pub(crate) mod stepper;
mod stream;
mod transform;

pub use index::Index;
pub use online::{OnlineSignature, SeriesState};
pub use paths::{Interval, Paths};
pub use rolling::Rolling;
pub use transform::Signature;
