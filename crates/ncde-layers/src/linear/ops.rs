//! What a backend implements.

use std::sync::Arc;

use burn_tensor::backend::Backend;
use burn_tensor::ops::FloatTensor;
use ncde_kernels::{Brackets, Commutators, Recurrence};

use super::Error;

/// The arrays of a recurrence, as the backend's own tensors. Shapes are those of [`Arguments`](super::Arguments).
#[derive(Debug, Clone)]
pub struct Arrays<B: Backend> {
    /// The parameters of `A`.
    pub a: FloatTensor<B>,
    /// `lambda`.
    pub coefficients: FloatTensor<B>,
    /// `h_0`.
    pub initial: FloatTensor<B>,
    /// `beta`.
    pub affine: Option<FloatTensor<B>>,
    /// The number of steps of each series.
    pub lengths: Option<Arc<[usize]>>,
}

/// What a recurrence gives.
#[derive(Debug, Clone)]
pub struct States<B: Backend> {
    /// The states after each step.
    pub states: FloatTensor<B>,
    /// What its reverse pass can use again.
    pub kept: Option<FloatTensor<B>>,
}

/// The gradient in each tensor of [`Arrays`], of the same shape.
#[derive(Debug, Clone)]
pub struct ArrayGradients<B: Backend> {
    /// In the parameters of `A`.
    pub a: FloatTensor<B>,
    /// In `lambda`, unless [`Controls::Constant`](ncde_kernels::Controls::Constant) says that it is not wanted.
    pub coefficients: Option<FloatTensor<B>>,
    /// In `h_0`.
    pub initial: FloatTensor<B>,
    /// In `beta`, where there is one.
    pub affine: Option<FloatTensor<B>>,
}

/// A backend with kernels for linear recurrences.
pub trait LinearOps: Backend {
    /// The states after each step, and what the reverse pass need not compute again, where a backend has such a thing; it is not asked for where none comes.
    ///
    /// # Shapes
    /// To `[batch, length, columns, H]`.
    ///
    /// # Errors
    /// If the kernel refuses its input, or the type has no kernel.
    fn recurrence(recurrence: &Arc<Recurrence>, arrays: Arrays<Self>, keep: bool) -> Result<States<Self>, Error>;

    /// The reverse pass, from what [`recurrence`](Self::recurrence) gave and the gradient in the states.
    ///
    /// # Errors
    /// As for [`recurrence`](Self::recurrence).
    fn recurrence_backward(
        recurrence: &Arc<Recurrence>,
        arrays: Arrays<Self>,
        states: States<Self>,
        gradient: FloatTensor<Self>,
    ) -> Result<ArrayGradients<Self>, Error>;

    /// The generators of short Log-ODE windows from the matrices of their increments, see [`Commutators`].
    ///
    /// # Shapes
    /// `each`: `[windows, steps, numbers]`, to `[windows, numbers]`.
    ///
    /// # Errors
    /// If the type has no kernel.
    fn generators(of: Commutators, each: FloatTensor<Self>) -> Result<FloatTensor<Self>, Error>;

    /// The reverse pass of [`generators`](Self::generators).
    ///
    /// # Errors
    /// As for [`generators`](Self::generators).
    fn generators_backward(
        of: Commutators,
        each: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
    ) -> Result<FloatTensor<Self>, Error>;

    /// The matrices `A_P` of bracketed fields.
    ///
    /// # Shapes
    /// `a`: `[parameters]`, to the parameters of [`Brackets::widened`].
    ///
    /// # Errors
    /// As for [`recurrence`](Self::recurrence).
    fn matrices(brackets: &Arc<Brackets>, a: FloatTensor<Self>) -> Result<FloatTensor<Self>, Error>;

    /// The reverse pass of [`matrices`](Self::matrices): the gradient of `a`.
    ///
    /// # Errors
    /// As for [`recurrence`](Self::recurrence).
    fn matrices_backward(
        brackets: &Arc<Brackets>,
        a: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
    ) -> Result<FloatTensor<Self>, Error>;

    /// The vectors `c_P` of bracketed fields with one affine letter.
    ///
    /// # Shapes
    /// `a`: `[parameters]`, `b`: `[inputs, H]`, to `[vectors, H]`.
    ///
    /// # Errors
    /// As for [`recurrence`](Self::recurrence).
    fn vectors(brackets: &Arc<Brackets>, a: FloatTensor<Self>, b: FloatTensor<Self>) -> Result<FloatTensor<Self>, Error>;

    /// The reverse pass of [`vectors`](Self::vectors): the gradients of `a` and `b`.
    ///
    /// # Errors
    /// As for [`recurrence`](Self::recurrence).
    fn vectors_backward(
        brackets: &Arc<Brackets>,
        a: FloatTensor<Self>,
        b: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
    ) -> Result<[FloatTensor<Self>; 2], Error>;
}
