//! Solvers of controlled differential equations, vector fields, their brackets and gradients, Lip(gamma) bounds.

pub mod brackets;
mod error;
pub mod field;
pub mod gradient;
pub mod number;
pub mod solve;

pub use error::Error;
