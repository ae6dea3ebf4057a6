//! The numerical kernels of `ncde`: structured linear flows, solves of neural CDEs, elementwise and selective scans, permutation-diagonal
//! recurrences, recurrences of matrix-valued states, recurrent cells, attention and what layers do with rows beside them, each with a forward and a hand-written reverse pass on slices.
//!
//! # The feature `precompiled`
//!
//! On by default: every kernel is compiled in this crate, for `f32` and for each instruction set, which takes a minute, once; with the
//! feature `f64` for `f64` as well. Without it only what a prediction calls is ([`Stream::push`] and [`neural::Solve::forward_into`] in
//! `f32`); other kernels are then compiled in the crate that calls them. Results do not depend on the feature.

pub mod attention;
mod chunks;
mod engine;
mod error;
pub mod filters;
mod hadamard;
mod linear;
pub mod matrix_state;
pub mod neural;
pub mod oscillator;
pub mod permutation;
mod pool;
mod product;
pub mod recurrent;
pub mod rowwise;
pub mod scan;
pub mod selective;
mod shards;
mod structure;

pub use error::Error;
pub use linear::{Affine, Bracket, Brackets, Commutators, Contraction, Gradients, Input, Mode, Recurrence, Stream, Transition};
pub use neural::Controls;
pub use structure::{Bound, Field, Pattern, Structure};

/// `f32` or `f64`.
pub trait Float: ncde_simd::Float + engine::Engine {}
impl Float for f32 {}
impl Float for f64 {}
