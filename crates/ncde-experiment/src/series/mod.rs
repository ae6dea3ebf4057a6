//! Random walks, terms of their signatures, and least squares.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `walk` | [`Walks`]: integer steps; [`term`]: one coordinate of the signature |
//! | `least_squares` | [`LeastSquares`]: a linear readout, solved for |
//! | `random` | [`features`]: last states of a random Linear NCDE |

mod least_squares;
mod random;
mod walk;

pub use least_squares::LeastSquares;
pub use random::features;
pub use walk::{Walks, term};
