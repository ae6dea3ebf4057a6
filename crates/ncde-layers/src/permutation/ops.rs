//! What a backend implements.

use std::sync::Arc;

use burn_tensor::backend::Backend;
use burn_tensor::ops::FloatTensor;

use super::{Error, PermutationDiagonal, Timing};
use crate::operation::Gradients;

/// The arrays of a recurrence, as the backend's own tensors. Meaning and shapes are those of [`Arguments`](super::Arguments).
#[expect(missing_docs, reason = "the fields are those of `Arguments`")]
#[derive(Debug, Clone)]
pub struct Arrays<B: Backend> {
    pub dictionary: FloatTensor<B>,
    pub control: FloatTensor<B>,
    pub initial: FloatTensor<B>,
    pub timing: Arc<Timing>,
}

impl<B: Backend> Arrays<B> {
    /// The same arrays with other tensors: on another backend, or laid out in another way.
    pub(super) fn map<D: Backend>(self, tensor: impl Fn(FloatTensor<B>) -> FloatTensor<D>) -> Arrays<D> {
        let Self { dictionary, control, initial, timing } = self;
        Arrays { dictionary: tensor(dictionary), control: tensor(control), initial: tensor(initial), timing }
    }
}

/// A backend with a kernel for permutation-diagonal recurrences.
#[expect(unused_variables, reason = "a backend whose reverse passes are not differentiable has none: it refuses")]
pub trait PermutationOps: Backend {
    /// The states after each step.
    ///
    /// # Shapes
    /// To `[batch, length, width]`.
    ///
    /// # Errors
    /// If the kernel refuses its input, or the type has no kernel.
    fn permutation(spec: PermutationDiagonal, arrays: Arrays<Self>) -> Result<FloatTensor<Self>, Error>;

    /// The gradients in dictionary, control and `h_0`, from the states that [`permutation`](Self::permutation) gave and the gradient in them.
    ///
    /// # Errors
    /// Also on a backend that differentiates: the reverse pass is not itself differentiable.
    fn permutation_backward(
        spec: PermutationDiagonal,
        arrays: Arrays<Self>,
        states: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
    ) -> Result<Gradients<Self, 3>, Error> {
        Err(Error::SecondOrder)
    }
}
