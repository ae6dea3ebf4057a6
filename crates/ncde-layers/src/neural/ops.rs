//! What a backend implements.

use std::sync::Arc;

use burn_tensor::backend::Backend;
use burn_tensor::ops::FloatTensor;
use ncde_kernels::neural::Controls;

use super::{Error, Schedule, Solve};
use crate::operation::Gradients;

/// The arrays of a solve, as the backend's own tensors. Shapes are those of [`Arguments`](super::Arguments).
#[derive(Debug, Clone)]
pub struct Arrays<B: Backend> {
    /// `theta`.
    pub parameters: FloatTensor<B>,
    /// The rows of the controls.
    pub coefficients: FloatTensor<B>,
    /// `h_0`.
    pub initial: FloatTensor<B>,
    /// The steps.
    pub schedule: Arc<Schedule>,
}

impl<B: Backend> Arrays<B> {
    /// The same arrays with other tensors: on another backend, or laid out in another way.
    pub(super) fn map<D: Backend>(self, tensor: impl Fn(FloatTensor<B>) -> FloatTensor<D>) -> Arrays<D> {
        let Self { parameters, coefficients, initial, schedule } = self;
        Arrays { parameters: tensor(parameters), coefficients: tensor(coefficients), initial: tensor(initial), schedule }
    }
}

/// What a solve gives that a reverse pass may follow.
#[derive(Debug, Clone)]
pub struct Saved<B: Backend> {
    /// The states that were asked for, `[batch, outputs, H]`.
    pub outputs: FloatTensor<B>,
    /// The states at the ends of all steps, `[batch, steps, H]`: what the reverse pass starts from.
    pub states: FloatTensor<B>,
}

/// A backend with a kernel for neural solves.
#[expect(unused_variables, reason = "a backend whose reverse passes are not differentiable has none: it refuses")]
pub trait NeuralOps: Backend {
    /// The states that the schedule asks for.
    ///
    /// # Shapes
    /// To `[batch, outputs, H]`.
    ///
    /// # Errors
    /// If the kernel refuses its input, or the type has no kernel.
    fn neural_solve(solve: &Arc<Solve>, arrays: Arrays<Self>) -> Result<FloatTensor<Self>, Error>;

    /// The same, with what a reverse pass needs.
    fn neural_solve_saved(solve: &Arc<Solve>, arrays: Arrays<Self>) -> Result<Saved<Self>, Error>;

    /// The gradients in `theta`, `h_0` and, where [`Controls::Variable`] asks for it, the rows of the controls, in the order of [`Arrays`]; from the
    /// states that [`neural_solve_saved`](Self::neural_solve_saved) gave and the gradient in the outputs.
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
