//! The elementwise recurrence of diagonal state-space models, real or complex, with the reverse pass of `ncde-kernels`.
//!
//! ```text
//! h_t = a_t h_{t-1} + b_t
//! ```
//!
//! See [`ncde_kernels::scan`]. Memory of the reverse pass: the arguments and the states.

mod autodiff;
mod flex;
#[cfg(feature = "gpu")]
mod gpu;
mod ops;

use burn_tensor::Tensor;
use burn_tensor::backend::Backend;

pub use crate::operation::Error;
pub use ncde_kernels::scan::Numbers;
pub use ops::{Arrays, ScanOps};

use crate::operation::{primitive, public, want};

/// What errors call it.
const OPERATION: &str = "the elementwise recurrence";

/// The tensors of one recurrence; complex rows hold their real parts, then their imaginary parts.
#[derive(Debug, Clone)]
pub struct Arguments<B: Backend> {
    /// `[batch, length, width]`.
    pub a: Tensor<B, 3>,
    /// `[batch, length, width]`.
    pub b: Tensor<B, 3>,
    /// `h_0`: `[batch, width]`.
    pub initial: Tensor<B, 2>,
}

/// The states after each step.
///
/// ```
/// use burn_autodiff::Autodiff;
/// use burn_flex::Flex;
/// use burn_tensor::Tensor;
/// use ncde_layers::scan::{Arguments, Numbers, recurrence};
///
/// type B = Autodiff<Flex>;
/// let device = Default::default();
/// let a = Tensor::<B, 3>::from_data([[[0.5], [3.0]]], &device).require_grad();
/// let (b, initial) = (Tensor::from_data([[[1.0], [0.0]]], &device), Tensor::from_data([[2.0]], &device));
/// let states = recurrence(Numbers::Real, Arguments { a: a.clone(), b, initial })?;
/// assert_eq!(states.to_data().to_vec::<f32>().unwrap(), [2.0, 6.0]);
/// let slopes = a.grad(&states.narrow(1, 1, 1).sum().backward()).unwrap();
/// assert_eq!(slopes.into_data().to_vec::<f32>().unwrap(), [6.0, 2.0]);
/// # Ok::<(), ncde_layers::scan::Error>(())
/// ```
///
/// # Shapes
/// To `[batch, length, width]`; `width` counts real and imaginary parts.
///
/// # Errors
/// If shapes or types do not fit, a number is not finite, or a state overflows. A reverse pass cannot return an error: what fails there (an
/// overflow) becomes gradients of NaN.
pub fn recurrence<B: ScanOps>(numbers: Numbers, arguments: Arguments<B>) -> Result<Tensor<B, 3>, Error> {
    let Arguments { a, b, initial } = arguments;
    let [batch, length, width] = b.dims();
    let whole = width / numbers.parts() * numbers.parts();
    want(OPERATION, "the array of b", [width], [whole], "[an even number for complex numbers]")?;
    want(OPERATION, "the array of a", a.dims(), [batch, length, width], "[batch, length, width]")?;
    want(OPERATION, "the initial state", initial.dims(), [batch, width], "[batch, width]")?;
    B::scan(numbers, Arrays { a: primitive(a), b: primitive(b), initial: primitive(initial) }).map(public)
}
