//! What a backend implements.

use std::sync::Arc;

use burn_tensor::backend::Backend;
use burn_tensor::ops::FloatTensor;

use super::{Error, PermutationDiagonal, Timing};

/// The arrays of a recurrence, as the backend's own tensors. Shapes are those of [`Arguments`](super::Arguments).
#[derive(Debug, Clone)]
pub struct Arrays<B: Backend> {
    /// `M`.
    pub dictionary: FloatTensor<B>,
    /// Scores, numbers of the diagonal and input.
    pub control: FloatTensor<B>,
    /// `h_0`.
    pub initial: FloatTensor<B>,
    /// Times and lengths.
    pub timing: Arc<Timing>,
}

/// The gradient in each tensor of [`Arrays`], of the same shape.
#[derive(Debug, Clone)]
pub struct ArrayGradients<B: Backend> {
    /// In the dictionary.
    pub dictionary: FloatTensor<B>,
    /// In the control.
    pub control: FloatTensor<B>,
    /// In `h_0`.
    pub initial: FloatTensor<B>,
}

/// A backend with a kernel for permutation-diagonal recurrences.
pub trait PermutationOps: Backend {
    /// The states after each step.
    ///
    /// # Shapes
    /// To `[batch, length, width]`.
    ///
    /// # Errors
    /// If the kernel refuses its input, or the type has no kernel.
    fn permutation(spec: PermutationDiagonal, arrays: Arrays<Self>) -> Result<FloatTensor<Self>, Error>;

    /// The reverse pass, from the states that [`permutation`](Self::permutation) gave and the gradient in them.
    ///
    /// # Errors
    /// As for [`permutation`](Self::permutation).
    fn permutation_backward(
        spec: PermutationDiagonal,
        arrays: Arrays<Self>,
        states: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
    ) -> Result<ArrayGradients<Self>, Error>;
}
