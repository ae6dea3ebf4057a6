//! Paths, signatures and log-signatures.
pub mod algebra;
mod engine;
mod error;
mod float;
mod number;
pub mod path;
mod signature;
mod simd;
pub use algebra::Basis;
pub use error::Error;
pub use float::Float;
pub use signature::{Index, Interval, Online, Paths, Rolling, Signature};
