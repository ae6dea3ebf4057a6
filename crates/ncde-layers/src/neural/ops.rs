//! What a backend implements.

use std::sync::Arc;

use burn_tensor::backend::Backend;
use burn_tensor::ops::FloatTensor;
use ncde_kernels::neural::Controls;

use super::{Error, Schedule, Solve};
use crate::operation::Gradients;

/// The arrays of a solve, as the backend's own tensors. Meaning and shapes are those of [`Arguments`](super::Arguments).
#[expect(missing_docs, reason = "the fields are those of `Arguments`")]
#[derive(Debug, Clone)]
pub struct Arrays<B: Backend> {
    pub parameters: FloatTensor<B>,
    pub coefficients: FloatTensor<B>,
    pub initial: FloatTensor<B>,
    pub schedule: Arc<Schedule>,
}

impl<B: Backend> Arrays<B> {
    /// The same arrays with other tensors: on another backend, or laid out in another way.
    pub(super) fn map<D: Backend>(self, tensor: impl Fn(FloatTensor<B>) -> FloatTensor<D>) -> Arrays<D> {
        let Self { parameters, coefficients, initial, schedule } = self;
        Arrays { parameters: tensor(parameters), coefficients: tensor(coefficients), initial: tensor(initial), schedule }
    }
}

/// What a solve gives.
#[derive(Debug, Clone)]
pub struct Solved<B: Backend> {
    /// The states that the schedule asks for, `[batch, outputs, H]`.
    pub outputs: FloatTensor<B>,
    /// The states at the ends of all steps, `[batch, steps, H]`, from which the reverse pass starts; some backends have them only if one may come.
    pub states: Option<FloatTensor<B>>,
}

/// A backend with a kernel for neural solves.
#[expect(unused_variables, reason = "a backend whose reverse passes are not differentiable has none: it refuses")]
pub trait NeuralOps: Backend {
    /// The states that the schedule asks for, and those that a reverse pass needs if one may come.
    ///
    /// # Errors
    /// If the kernel refuses its input, or the type has no kernel.
    fn neural_solve(solve: &Arc<Solve>, arrays: Arrays<Self>, reverse_may_come: bool) -> Result<Solved<Self>, Error>;

    /// The gradients in `theta`, `h_0` and, where [`Controls::Variable`] asks for it, the rows of the controls, in the order of [`Arrays`]; from the
    /// states that [`neural_solve`](Self::neural_solve) gave and the gradient in the outputs.
    ///
    /// # Errors
    /// Also on a backend that differentiates: the reverse pass is not itself differentiable.
    fn neural_solve_backward(
        solve: &Arc<Solve>,
        controls: Controls,
        arrays: Arrays<Self>,
        states: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
    ) -> Result<Gradients<Self, 3>, Error> {
        Err(Error::SecondOrder)
    }
}
