//! The recurrence of a linear controlled differential equation, forward and reverse.
//!
//! ```text
//! h_{t+1} = Phi_t h_t + b_t,   Phi_t = exp(Omega_t) or I + Omega_t,   Omega_t = sum_k lambda_{t,k} A^k
//! ```
//!
//! `lambda_t` are the increments of the driving path over step `t` or, with bracket matrices for the `A^k`, its log-signature; `b_t`
//! comes from the affine input `beta_t = B dxi_t`.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `input` | the arrays and their checks |
//! | `plan` | which kernel, cut into which pieces: a pure function of the shapes |
//! | `taylor` | how many terms of the exponential series are enough |
//! | `layout` | where the entries of blocks live, so that blocks are lanes |
//! | `lanes`, `diagonal`, `wide` | steps of small blocks (one lane each), of single numbers, and of large blocks |
//! | `small`, `even` | products of small blocks; their series two powers at a time |
//! | `closed` | block-diagonal structures: generators by matrix products, then steps |
//! | `action`, `operator`, `dplr`, `nested`, `rows` | the other structures: exp(Omega) h without forming Omega |
//! | `grams` | bounds on the norms of low-rank generators and of their squares |
//! | `parallel` | the chunked scan over flows |
//! | `brackets` | bracket matrices for the Log-ODE method |
//! | `commutators` | generators of short Log-ODE windows, without brackets |
//! | `stream` | one step at a time |

mod input;
mod recurrence;
mod rows;

pub use brackets::{Bracket, Brackets};
pub use commutators::Commutators;
pub(crate) use commutators::{backward as commutators_backward, forward as commutators};
pub use input::{Gradients, Input};
pub use recurrence::{Affine, Contraction, Mode, Recurrence, Transition};
pub use stream::Stream;
pub(crate) use stream::push;

use ncde_simd::Float;
use plan::Path;

use crate::Controls;

mod action;
mod brackets;
mod closed;
mod commutators;
mod diagonal;
mod dplr;
mod even;
mod grams;
mod lanes;
mod layout;
mod nested;
mod operator;
mod parallel;
mod plan;
mod small;
mod stream;
mod taylor;
mod wide;

/// [`Recurrence::forward_into`] on arrays whose sizes have been checked: whether all states are finite.
pub(crate) fn forward<T: Float>(recurrence: &Recurrence, input: &Input<'_, T>, states: &mut [T]) -> bool {
    match plan::path(recurrence, input.batch, input.length) {
        Path::Action => action::forward(recurrence, input, states),
        Path::Blocks => closed::forward(recurrence, input, states),
        Path::Scan => parallel::forward(recurrence, input, states),
    }
}

/// [`Recurrence::backward_into`] on arrays whose sizes have been checked.
pub(crate) fn backward<T: Float>(
    recurrence: &Recurrence,
    input: &Input<'_, T>,
    states: &[T],
    gradient: &[T],
    gradients: &mut Gradients<T>,
) {
    match plan::path(recurrence, input.batch, input.length) {
        Path::Action => action::backward(recurrence, input, states, gradient, gradients),
        Path::Blocks => closed::backward(recurrence, input, states, gradient, gradients),
        Path::Scan => parallel::backward(recurrence, input, states, gradient, gradients),
    }
}
