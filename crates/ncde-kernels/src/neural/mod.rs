//! Whole solves of neural controlled differential equations, forward and reverse.
//!
//! ```text
//! dh/dt = F(h, c(t)),   F = sum_i c_i f_i(h)  +  at depth 2:  sum_{i<j} c_[i,j] [f_i, f_j](h),   [f, g] = Dg f - Df g
//! ```
//!
//! `f` is a fully connected network and `c` piecewise constant: increments or derivatives of a path (an NCDE), the log-signatures of
//! its windows divided by their lengths (a Log-NCDE), or those with a network onto the log-signature's dimension (an NRDE, depth 1).
//! Steps are fixed, and each sample has its own.
//!
//! Every layer is a matrix product over the samples of a group and, at depth 2, their tangents; nothing is allocated inside the loop
//! over time. Between the passes only the states at the ends of steps are kept: the reverse pass computes stages again.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `network`, `method` | the field and its parameters; Runge-Kutta tables |
//! | `solve`, `input` | the solve and its settings; the arrays and their checks |
//! | `plan` | groups of samples that are solved together, shards that are summed up together |
//! | `flow` | the loop over time, both ways |
//! | `field`, `reverse`, `collect` | one evaluation of `F`; its reverse pass; the gradients of weights |
//! | `tape`, `packed` | what stages store for the reverse pass; parameters in the order in which they are read |
//! | `product`, `activation` | the matrix products; functions with two derivatives |

pub(crate) mod activation;
mod collect;
mod field;
mod flow;
mod input;
mod method;
mod network;
mod packed;
mod plan;
pub(crate) mod product;
mod reverse;
mod solve;
mod tape;

pub(crate) use flow::{Exploded, backward, forward};
pub use input::{Gradients, Input, Outputs};
pub use method::{Method, Tableau};
pub use network::{Activation, Last, Layer, Network};
pub use solve::{Controls, Depth, Solve};
