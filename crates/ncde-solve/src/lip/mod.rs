//! Lip(gamma) norms of networks, `1 < gamma <= 2`: how smooth a field is, which decides how good a Log-ODE of depth 2 can be.
//!
//! A Lip(gamma) function on a set is a pair `f = (f^0, f^1)` of values and derivatives, and its norm is the smallest `M` with
//!
//! ```text
//! |f^0(p)| <= M,   |f^1(p)| <= M,   |f^0(q) - f^0(p) - f^1(p)[q - p]| <= M |q - p|^gamma,   |f^1(q) - f^1(p)| <= M |q - p|^(gamma-1)
//! ```
//!
//! in Euclidean and operator norms (thesis, chapter on Lip(gamma) functions, and the section on Lip(gamma) neural networks).
//!
//! | what | where |
//! | --- | --- |
//! | bounds of a layer, a composition and a network | [`bound`], [`compose`] |
//! | the same norm on a finite set of points: a lower bound | [`measure`], [`Jets::norm`] |
//! | that the power `gamma` in the composition bound is the right one, and its constant between two curves | [`optimal`] |
//! | the penalty on weights that keeps norms small in training | [`weight_penalty`] |

mod bounds;
mod constants;
mod measured;
mod operator;
pub mod optimal;
mod penalty;

pub use bounds::{Bound, bound, compose, constant};
pub use constants::Smoothness;
pub use measured::{Jets, Norm, measure};
pub use operator::operator_norm;
pub use penalty::weight_penalty;

use crate::Error;

fn check_gamma(gamma: f64) -> Result<(), Error> {
    if gamma > 1.0 && gamma <= 2.0 {
        return Ok(());
    }
    Err(Error::BadParameter { what: "gamma", wanted: "more than 1 and at most 2", seen: gamma.to_string() })
}
