//! The elementwise recurrence of diagonal state-space models, real or complex, with the reverse pass of `ncde-kernels`.
//!
//! ```text
//! h_t = a_t h_{t-1} + b_t
//! ```
//!
//! See [`ncde_kernels::scan`]. Memory of the reverse pass: the arguments and the states.

use burn_tensor::Tensor;
use burn_tensor::backend::Backend;
#[cfg(feature = "gpu")]
use cubecl::Runtime;
#[cfg(feature = "gpu")]
use ncde_gpu::{DeviceKernel, Gpu, scan as device};
use ncde_kernels::Float;
use ncde_kernels::scan::{Gradients, Input, Scan};

pub use crate::operation::Error;
pub use ncde_kernels::scan::Numbers;

use crate::hosted::{HostedKernel, HostedOps, Made, hosted};
use crate::operation::want;

/// What errors call it.
const OPERATION: &str = "the elementwise recurrence";

/// The tensors of one recurrence; complex rows hold their real parts, then their imaginary parts.
#[derive(Debug, Clone)]
pub struct Arguments<B: Backend> {
    /// `[batch, length, width]`, or `[1, 1, width]`: one row for all steps.
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
pub fn recurrence<B: HostedOps>(numbers: Numbers, arguments: Arguments<B>) -> Result<Tensor<B, 3>, Error> {
    let Arguments { a, b, initial } = arguments;
    let [batch, length, width] = b.dims();
    let whole = width / numbers.parts() * numbers.parts();
    want(OPERATION, "the array of b", [width], [whole], "[an even number for complex numbers]")?;
    let steps = if a.dims()[..2] == [1, 1] { [1, 1] } else { [batch, length] };
    want(OPERATION, "the array of a", a.dims(), [steps[0], steps[1], width], "[batch, length, width] or [1, 1, width]")?;
    want(OPERATION, "the initial state", initial.dims(), [batch, width], "[batch, width]")?;
    let scan = Recurrence { numbers, shape: [batch, length, width], shared: steps != [batch, length] };
    hosted(scan, [a.reshape([-1]), b.reshape([-1]), initial.reshape([-1])])
}

/// The recurrence of rows of `[batch, length, width]`.
#[derive(Debug, Clone)]
struct Recurrence {
    numbers: Numbers,
    shape: [usize; 3],
    #[cfg_attr(not(feature = "gpu"), expect(dead_code, reason = "slices know their lengths"))]
    shared: bool,
}

impl Recurrence {
    fn scan(&self) -> Scan {
        Scan::new(self.numbers, self.shape[2] / self.numbers.parts())
    }

    fn input<'a, T>(&self, [a, b, initial]: [&'a [T]; 3]) -> Input<'a, T> {
        let [batch, length, _] = self.shape;
        Input { batch, length, a, b, initial }
    }
}

impl HostedKernel<3> for Recurrence {
    const NAME: &'static str = "elementwise recurrences";
    const INPUTS: [&'static str; 3] = ["a", "b", "the initial state"];
    const STORES_OUTPUT: bool = true;

    fn forward<T: Float>(&self, inputs: [&[T]; 3]) -> Result<Made<T>, ncde_kernels::Error> {
        Ok((self.scan().forward(&self.input(inputs))?, self.shape.to_vec(), Vec::new()))
    }

    fn backward<T: Float>(&self, inputs: [&[T]; 3], states: &[T], gradient: &[T]) -> Result<[Vec<T>; 3], ncde_kernels::Error> {
        let Gradients { a, b, initial } = self.scan().backward(&self.input(inputs), states, gradient)?;
        Ok([a, b, initial])
    }

    #[cfg(feature = "gpu")]
    fn on_device<R: Runtime>(&self, _: &Gpu<R>) -> Option<(impl DeviceKernel<3>, [usize; 2])> {
        let [batch, length, width] = self.shape;
        let complex = self.numbers == Numbers::Complex;
        Some((device::Scan { width: width / self.numbers.parts(), complex, shared: self.shared }, [batch, length]))
    }
}
