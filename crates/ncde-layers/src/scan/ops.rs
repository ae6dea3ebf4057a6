//! What a backend implements.

use burn_tensor::backend::Backend;
use burn_tensor::ops::FloatTensor;

use super::{Error, Numbers};
use crate::operation::Gradients;

/// The arrays of a recurrence, as the backend's own tensors. Meaning and shapes are those of [`Arguments`](super::Arguments).
#[expect(missing_docs, reason = "the fields are those of `Arguments`")]
#[derive(Debug, Clone)]
pub struct Arrays<B: Backend> {
    pub a: FloatTensor<B>,
    pub b: FloatTensor<B>,
    pub initial: FloatTensor<B>,
}

impl<B: Backend> Arrays<B> {
    /// The same arrays with other tensors: on another backend, or laid out in another way.
    pub(super) fn map<D: Backend>(self, tensor: impl Fn(FloatTensor<B>) -> FloatTensor<D>) -> Arrays<D> {
        let Self { a, b, initial } = self;
        Arrays { a: tensor(a), b: tensor(b), initial: tensor(initial) }
    }
}

/// A backend with a kernel for elementwise recurrences.
#[expect(unused_variables, reason = "a backend whose reverse passes are not differentiable has none: it refuses")]
pub trait ScanOps: Backend {
    /// The states after each step.
    ///
    /// # Shapes
    /// To `[batch, length, width]`.
    ///
    /// # Errors
    /// If the kernel refuses its input, or the type has no kernel.
    fn scan(numbers: Numbers, arrays: Arrays<Self>) -> Result<FloatTensor<Self>, Error>;

    /// The gradients in `a`, `b` and `h_0`, from the states that [`scan`](Self::scan) gave and the gradient in them.
    ///
    /// # Errors
    /// Also on a backend that differentiates: the reverse pass is not itself differentiable.
    fn scan_backward(
        numbers: Numbers,
        arrays: Arrays<Self>,
        states: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
    ) -> Result<Gradients<Self, 3>, Error> {
        Err(Error::SecondOrder)
    }
}
