//! Gradients of a loss that depends on the states: `dL/dtheta`, `dL/dh_0`, `dL/dX` from `dL/dh_{t_1}, dL/dh_{t_2}, ...`
//!
//! | reverse pass | exact for | memory in addition to the tape of one step | work |
//! | --- | --- | --- | --- |
//! | [`Recorded::backward`] | the steps that were taken | `O(sqrt n)` states and the times of `n` steps | one more solve, and its reverse |
//! | [`adjoint`] | the equation, to the solver's accuracy | one state of size `2 H + P` | a solve of that size backwards |
//!
//! The first is the default: it is the derivative of the number that was computed. Adaptive step sizes count as given: they are not differentiated.
//! The second follows `da/dt = -a DF`, and its error is that of a solve.

mod adjoint;
mod batch;
mod checkpoints;
mod recorded;

pub use adjoint::adjoint;
pub use batch::BatchGradient;
pub use recorded::Recorded;

use crate::scalar::{Real, Tape};
use crate::solve::{Drive, Term};
use crate::{Error, field::VectorField};

/// Derivatives of a loss.
#[derive(Debug, Clone, PartialEq)]
pub struct Gradient<T> {
    /// In the parameters of the field.
    pub parameters: Vec<T>,
    /// In the initial state.
    pub initial: Vec<T>,
    /// In the numbers behind the control's rate ([`Drive::values`]): for a Log-ODE the log-signatures, `[windows, words]`; else empty.
    pub control: Vec<T>,
}

impl<T: Real> Gradient<T> {
    fn zero<F: VectorField, D: Drive<T>>(term: &Term<'_, F, D>) -> Self {
        Self {
            parameters: vec![T::ZERO; term.field.parameters()],
            initial: vec![T::ZERO; term.field.hidden()],
            control: vec![T::ZERO; term.drive.values()],
        }
    }
}

/// What `weights . F(h; rate)` pulls back to: writes its derivatives in parameters, rate and state.
fn pull_back<T: Real, F: VectorField, D: Drive<T>>(
    tape: &mut Tape<T>,
    term: &Term<'_, F, D>,
    at: (&[T], &[T], &[T]),
    weights: &[T],
    out: (&mut [T], &mut [T], &mut [T]),
) -> Result<Vec<T>, Error> {
    tape.clear();
    let tape = &*tape;
    let (parameters, rate, h) = (tape.variables(at.0), tape.variables(at.1), tape.variables(at.2));
    let mut slope = tape.variables(&vec![T::ZERO; h.len()]);
    term.product(&parameters, &rate, &h, &mut slope)?;
    let seeds: Vec<_> = slope.iter().copied().zip(weights.iter().copied()).collect();
    let gradient = tape.backward(&seeds);
    for (variables, out) in [(&parameters, out.0), (&rate, out.1), (&h, out.2)] {
        for (out, &x) in out.iter_mut().zip(variables) {
            *out = gradient.of(x);
        }
    }
    Ok(slope.iter().map(|&x| crate::scalar::Scalar::value(x)).collect())
}
