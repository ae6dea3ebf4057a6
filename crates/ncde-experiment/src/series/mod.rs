//! Random walks, terms of their signatures, and least squares.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `walk` | [`Walks`]: integer steps; [`term`]: one coordinate of the signature |
//! | `least_squares` | [`LeastSquares`]: a linear readout, solved for |

mod least_squares;
mod walk;

pub use least_squares::LeastSquares;
pub use walk::{Walks, term};
