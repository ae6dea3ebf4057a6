//! What a backend implements.

use std::sync::Arc;

use burn_tensor::backend::Backend;
use burn_tensor::ops::FloatTensor;
use ncde_kernels::{Brackets, Commutators, Recurrence};

use super::Error;
use crate::operation::Gradients;

/// The arrays of a recurrence, as the backend's own tensors. Meaning and shapes are those of [`Arguments`](super::Arguments).
#[expect(missing_docs, reason = "the fields are those of `Arguments`")]
#[derive(Debug, Clone)]
pub struct Arrays<B: Backend> {
    pub a: FloatTensor<B>,
    pub coefficients: FloatTensor<B>,
    pub initial: FloatTensor<B>,
    pub affine: Option<FloatTensor<B>>,
    pub lengths: Option<Arc<[usize]>>,
}

impl<B: Backend> Arrays<B> {
    /// The same arrays with other tensors: on another backend, or laid out in another way.
    pub(super) fn map<D: Backend>(self, tensor: impl Fn(FloatTensor<B>) -> FloatTensor<D>) -> Arrays<D> {
        let Self { a, coefficients, initial, affine, lengths } = self;
        Arrays { a: tensor(a), coefficients: tensor(coefficients), initial: tensor(initial), affine: affine.map(tensor), lengths }
    }
}

/// What a recurrence gives.
#[derive(Debug, Clone)]
pub struct States<B: Backend> {
    /// The states after each step.
    pub states: FloatTensor<B>,
    /// What its reverse pass can use again.
    pub reusable: Option<FloatTensor<B>>,
}

/// A backend with kernels for linear recurrences.
///
/// # Errors
/// Every operation fails if the kernel refuses its input, or the type has no kernel. A backend that differentiates refuses the reverse passes: they are
/// not themselves differentiable.
#[expect(unused_variables, reason = "a backend whose reverse passes are not differentiable has none: it refuses")]
pub trait LinearOps: Backend {
    /// The states after each step, and what the reverse pass need not compute again, where a backend has such a thing; it is not asked for where none comes.
    ///
    /// # Shapes
    /// To `[batch, length, columns, H]`.
    fn recurrence(recurrence: &Arc<Recurrence>, arrays: Arrays<Self>, keep: bool) -> Result<States<Self>, Error>;

    /// The gradients in the tensors of [`Arrays`], in their order, from what [`recurrence`](Self::recurrence) gave and the gradient in the states;
    /// none in `lambda` with [`Controls::Constant`](ncde_kernels::Controls::Constant).
    fn recurrence_backward(
        recurrence: &Arc<Recurrence>,
        arrays: Arrays<Self>,
        states: States<Self>,
        gradient: FloatTensor<Self>,
    ) -> Result<Gradients<Self, 4>, Error> {
        Err(Error::SecondOrder)
    }

    /// The generators of short Log-ODE windows from the matrices of their increments, see [`Commutators`].
    ///
    /// # Shapes
    /// `matrices`: `[windows, steps, numbers]`, to `[windows, numbers]`.
    fn generators(commutators: Commutators, matrices: FloatTensor<Self>) -> Result<FloatTensor<Self>, Error>;

    /// The reverse pass of [`generators`](Self::generators).
    fn generators_backward(
        commutators: Commutators,
        matrices: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
    ) -> Result<FloatTensor<Self>, Error> {
        Err(Error::SecondOrder)
    }

    /// The matrices `A_P` of bracketed fields.
    ///
    /// # Shapes
    /// `a`: `[parameters]`, to the parameters of [`Brackets::widened`].
    fn matrices(brackets: &Arc<Brackets>, a: FloatTensor<Self>) -> Result<FloatTensor<Self>, Error>;

    /// The reverse pass of [`matrices`](Self::matrices): the gradient of `a`.
    fn matrices_backward(
        brackets: &Arc<Brackets>,
        a: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
    ) -> Result<FloatTensor<Self>, Error> {
        Err(Error::SecondOrder)
    }

    /// The vectors `c_P` of bracketed fields with one affine letter.
    ///
    /// # Shapes
    /// `a`: `[parameters]`, `b`: `[inputs, H]`, to `[vectors, H]`.
    fn vectors(brackets: &Arc<Brackets>, a: FloatTensor<Self>, b: FloatTensor<Self>) -> Result<FloatTensor<Self>, Error>;

    /// The reverse pass of [`vectors`](Self::vectors): the gradients of `a` and `b`.
    fn vectors_backward(
        brackets: &Arc<Brackets>,
        a: FloatTensor<Self>,
        b: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
    ) -> Result<Gradients<Self, 2>, Error> {
        Err(Error::SecondOrder)
    }
}
