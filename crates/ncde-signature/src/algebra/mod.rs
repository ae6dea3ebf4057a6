//! The truncated tensor algebra and the free Lie algebra inside it.
//!
//! An element of `T^N(R^d)` is one number for every word `w` over the letters `1..=d` with at most `N` letters. Words are
//! ordered by length, then lexicographically; [`Shape`] knows where each one lives.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `shape` | dimensions, levels, checked allocation |
//! | `words` | words and their places, Lyndon words, Witt's formula, shuffles |
//! | `tensor` | [`Tensor`]: product, inverse, exponential, logarithm, bracket, pairing |
//! | `product`, `series` | the kernels below `Tensor` and below the log-signature, with their reverse passes |
//! | `tree` | bracketings: standard factorisation, Hall sets, labels |
//! | `brackets` | integer tables of brackets |
//! | `basis` | [`LieBasis`]: coordinates of Lie elements, both ways |

pub(crate) mod basis;
mod brackets;
pub(crate) mod product;
pub(crate) mod series;
mod shape;
pub(crate) mod tensor;
mod tree;
pub mod words;

pub use basis::{Basis, LieBasis};
pub use shape::Shape;
pub use tensor::Tensor;
pub use tree::Tree;
