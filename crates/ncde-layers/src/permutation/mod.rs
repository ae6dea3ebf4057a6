//! The recurrence of matrices that are one-hot by columns times a diagonal, with the reverse pass of `ncde-kernels`: straight through the choice.
//!
//! ```text
//! h_t = P_t D_t h_{t-1} + b_t
//! ```
//!
//! See [`ncde_kernels::permutation`]. Memory of the reverse pass: the arguments and the states.

mod autodiff;
mod flex;
#[cfg(feature = "gpu")]
mod gpu;
mod ops;

use std::sync::Arc;

use burn_tensor::Tensor;
use burn_tensor::backend::Backend;

pub use crate::operation::Error;
pub use ncde_kernels::permutation::{Diagonal, OneHot, PermutationDiagonal};
pub use ops::{Arrays, PermutationOps};

use crate::operation::{primitive, public, want};

/// What errors call it.
const OPERATION: &str = "the permutation-diagonal recurrence";

/// What is data of a batch, not variable: it has no gradients.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Timing {
    /// The time that passes before each step, `[batch, length]`; 1 without it.
    pub spans: Option<Vec<f64>>,
    /// The number of steps of each series; all of them without it.
    pub lengths: Option<Vec<usize>>,
}

/// The tensors of one recurrence.
#[derive(Debug, Clone)]
pub struct Arguments<B: Backend> {
    /// `M_1, ..., M_K`: `[K, H, H]`, matrix, column, row.
    pub dictionary: Tensor<B, 3>,
    /// Scores, numbers of the diagonal and input: `[batch, length, columns]`.
    pub control: Tensor<B, 3>,
    /// `h_0`: `[batch, width]`.
    pub initial: Tensor<B, 2>,
    /// Times and lengths.
    pub timing: Arc<Timing>,
}

/// The states after each step. Past the length of a series its last state is repeated.
///
/// ```
/// use burn_autodiff::Autodiff;
/// use burn_flex::Flex;
/// use burn_tensor::Tensor;
/// use ncde_layers::permutation::{Arguments, Diagonal, PermutationDiagonal, recurrence};
///
/// type B = Autodiff<Flex>;
/// let device = Default::default();
/// // One matrix, which sends both states to the second; it does so harder if the first column has more there.
/// let merge = PermutationDiagonal::new(2, 1, Diagonal::One);
/// let dictionary = Tensor::<B, 3>::from_data([[[0.0, 1.0], [0.0, 1.0]]], &device).require_grad();
/// let (control, initial) = (Tensor::from_data([[[0.0]]], &device), Tensor::from_data([[2.0, 3.0]], &device));
/// let arguments = Arguments { dictionary: dictionary.clone(), control, initial, timing: Default::default() };
/// let states = recurrence(merge, arguments)?;
/// assert_eq!(states.to_data().to_vec::<f32>().unwrap(), [0.0, 5.0]);
/// let slopes = dictionary.grad(&states.slice([0..1, 0..1, 1..2]).sum().backward()).unwrap().into_data().to_vec::<f32>().unwrap();
/// assert!(slopes[1] > 0.0 && (slopes[0] + slopes[1]).abs() < 1e-6);
/// # Ok::<(), ncde_layers::permutation::Error>(())
/// ```
///
/// # Shapes
/// To `[batch, length, width]`.
///
/// # Errors
/// If shapes or types do not fit, a number is not finite, or a state overflows. A reverse pass cannot return an error: what fails there (an
/// overflow) becomes gradients of NaN.
pub fn recurrence<B: PermutationOps>(spec: PermutationDiagonal, arguments: Arguments<B>) -> Result<Tensor<B, 3>, Error> {
    let Arguments { dictionary, control, initial, timing } = arguments;
    let [batch, length, _] = control.dims();
    let (matrices, hidden) = (spec.matrices, spec.hidden);
    want(OPERATION, "the dictionary", dictionary.dims(), [matrices, hidden, hidden], "[matrices, H, H]")?;
    want(OPERATION, "the control", control.dims(), [batch, length, spec.columns()], "[batch, length, columns]")?;
    want(OPERATION, "the initial state", initial.dims(), [batch, spec.width()], "[batch, width]")?;
    let arrays = Arrays { dictionary: primitive(dictionary), control: primitive(control), initial: primitive(initial), timing };
    B::permutation(spec, arrays).map(public)
}
