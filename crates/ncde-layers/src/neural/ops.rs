//! What a backend implements.

use std::sync::Arc;

use burn_tensor::backend::Backend;
use burn_tensor::ops::FloatTensor;
use ncde_kernels::neural::Controls;

use super::{Error, Schedule, Solve};

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

/// What a solve gives that a reverse pass may follow.
#[derive(Debug, Clone)]
pub struct Kept<B: Backend> {
    /// The states that were asked for, `[batch, outputs, H]`.
    pub outputs: FloatTensor<B>,
    /// The states at the ends of all steps, `[batch, steps, H]`: what the reverse pass starts from.
    pub states: FloatTensor<B>,
}

/// The gradient in each tensor of [`Arrays`], of the same shape.
#[derive(Debug, Clone)]
pub struct ArrayGradients<B: Backend> {
    /// In `theta`.
    pub parameters: FloatTensor<B>,
    /// In the rows of the controls, where [`Controls::Variable`] asks for it.
    pub coefficients: Option<FloatTensor<B>>,
    /// In `h_0`.
    pub initial: FloatTensor<B>,
}

/// A backend with a kernel for neural solves.
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
    ///
    /// # Errors
    /// As for [`neural_solve`](Self::neural_solve).
    fn neural_solve_kept(solve: &Arc<Solve>, arrays: Arrays<Self>) -> Result<Kept<Self>, Error>;

    /// The reverse pass, from the states that [`neural_solve_kept`](Self::neural_solve_kept) gave and the gradient in the outputs.
    ///
    /// # Errors
    /// As for [`neural_solve`](Self::neural_solve).
    fn neural_solve_backward(
        solve: &Arc<Solve>,
        controls: Controls,
        arrays: Arrays<Self>,
        states: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
    ) -> Result<ArrayGradients<Self>, Error>;
}
