//! The recurrence of a linear controlled differential equation on tensors, with the reverse pass of `ncde-kernels`.
//!
//! ```text
//! h_{t+1} = Phi_t h_t + b_t,   Phi_t = exp(Omega_t) or I + Omega_t,   Omega_t = sum_k lambda_{t,k} A^k
//! ```
//!
//! Memory of the reverse pass: the arguments and the states are all that is kept between the passes; flows are computed again.
//! [`matrices`] and [`vectors`] are the bracketed fields of the Log-ODE method, formed once for each value of the parameters.

mod autodiff;
mod flex;
#[cfg(feature = "gpu")]
mod gpu;
mod ops;

use std::sync::Arc;

use burn_tensor::Tensor;
use burn_tensor::backend::Backend;
use ncde_kernels::{Brackets, Commutators, Recurrence};

pub use crate::operation::Error;
pub use ops::{Arrays, LinearOps, States};

use crate::operation::{primitive, public, want};

/// The tensors of one recurrence.
#[derive(Debug, Clone)]
pub struct Arguments<B: Backend> {
    /// The parameters of `A`, as [`Field`](ncde_kernels::Field) lays them out: `[parameters]`.
    pub a: Tensor<B, 1>,
    /// `lambda`: `[batch, length, coefficients]`.
    pub coefficients: Tensor<B, 3>,
    /// `h_0`: `[batch, columns, H]`. Columns are states that share each flow; 1 for a vector.
    pub initial: Tensor<B, 3>,
    /// `beta`: `[batch, length, columns, H]`; without it nothing is added to the state.
    pub affine: Option<Tensor<B, 4>>,
    /// The number of steps of each series; all of them without it. Past its length a state stays as it is.
    pub lengths: Option<Arc<[usize]>>,
}

/// The states after each step.
///
/// ```
/// use std::sync::Arc;
/// use burn_autodiff::Autodiff;
/// use burn_flex::Flex;
/// use burn_tensor::Tensor;
/// use ncde_layers::linear::{Arguments, recurrence};
/// use ncde_kernels::{Field, Recurrence, Structure};
///
/// type B = Autodiff<Flex>;
/// let device = Default::default();
/// // dh = a h domega: h_1 = exp(a omega) h_0, and its derivative in a is omega h_1.
/// let growth = Arc::new(Recurrence::new(Field::new(Structure::Diagonal { hidden: 1 }, 1)?));
/// let a = Tensor::<B, 1>::from_data([0.5], &device).require_grad();
/// let states = recurrence(&growth, Arguments {
///     a: a.clone(),
///     coefficients: Tensor::from_data([[[2.0]]], &device),
///     initial: Tensor::from_data([[[3.0]]], &device),
///     affine: None,
///     lengths: None,
/// })?;
/// let h: f32 = states.clone().into_scalar();
/// let slope: f32 = a.grad(&states.sum().backward()).unwrap().into_scalar();
/// assert!((h - 3.0 * 1_f32.exp()).abs() < 1e-5 && (slope - 2.0 * h).abs() < 1e-5);
/// # Ok::<(), ncde_layers::linear::Error>(())
/// ```
///
/// # Shapes
/// To `[batch, length, columns, H]`. Past the length of a series its last state is repeated.
///
/// # Errors
/// If shapes or types do not fit, a number is not finite, or a state overflows. A reverse pass cannot return an error: what fails
/// there (an overflow) becomes gradients of NaN.
pub fn recurrence<B: LinearOps>(recurrence: &Arc<Recurrence>, arguments: Arguments<B>) -> Result<Tensor<B, 4>, Error> {
    let Arguments { a, coefficients, initial, affine, lengths } = arguments;
    let ([batch, length, width], [_, columns, _]) = (coefficients.dims(), initial.dims());
    let hidden = recurrence.field().hidden();
    let operation = "the linear recurrence";
    want(operation, "A", a.dims(), [recurrence.field().parameters()], "[parameters]")?;
    let wanted = [batch, length, recurrence.coefficients()];
    want(operation, "the coefficients", [batch, length, width], wanted, "[batch, length, coefficients]")?;
    want(operation, "the initial state", initial.dims(), [batch, columns, hidden], "[batch, columns, H]")?;
    if let Some(affine) = &affine {
        want(operation, "the affine input", affine.dims(), [batch, length, columns, hidden], "[batch, length, columns, H]")?;
    }
    let arrays = Arrays {
        a: primitive(a),
        coefficients: primitive(coefficients),
        initial: primitive(initial),
        affine: affine.map(primitive),
        lengths,
    };
    B::recurrence(recurrence, arrays, false).map(|of| public(of.states))
}

/// `A_P` of every element with a matrix: the parameters of a recurrence over [`Brackets::widened`].
///
/// # Shapes
/// `a`: `[parameters]`, to `[widened parameters]`.
///
/// # Errors
/// If the structure is not closed under products, or the size or the type of `a` is wrong.
pub fn matrices<B: LinearOps>(brackets: &Arc<Brackets>, a: Tensor<B, 1>) -> Result<Tensor<B, 1>, Error> {
    B::matrices(brackets, primitive(a)).map(public)
}

/// The generators of Log-ODE windows of depth 2 from the matrices of their few increments.
///
/// # Shapes
/// `matrices`: `[windows, steps, numbers]`, to `[windows, numbers]`; rows as [`Commutators`] has them.
///
/// # Errors
/// If sizes do not fit, or the type has no kernel.
pub fn generators<B: LinearOps>(commutators: Commutators, matrices: Tensor<B, 3>) -> Result<Tensor<B, 2>, Error> {
    let [windows, steps, numbers] = matrices.dims();
    let wanted = [windows, commutators.steps, numbers];
    want("generators", "the tensor of matrices", [windows, steps, numbers], wanted, "[windows, steps, numbers]")?;
    B::generators(commutators, primitive(matrices)).map(public)
}

/// `c_P` of every element with a vector, from the columns of `B`.
///
/// # Shapes
/// `a`: `[parameters]`, `b`: `[inputs, H]`, to `[vectors, H]`.
///
/// # Errors
/// If the sizes or types are wrong.
pub fn vectors<B: LinearOps>(brackets: &Arc<Brackets>, a: Tensor<B, 1>, b: Tensor<B, 2>) -> Result<Tensor<B, 2>, Error> {
    B::vectors(brackets, primitive(a), primitive(b)).map(public)
}
