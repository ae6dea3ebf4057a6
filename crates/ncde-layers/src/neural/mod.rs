//! The solve of a neural controlled differential equation on tensors, with the reverse pass of `ncde-kernels`.
//!
//! ```text
//! dh/dt = sum_i c_i(t) f_i(h)  +  from depth 2 on:  sum_P c_P(t) f_P(h),   f_[P, Q] = [f_P, f_Q],   f a network with parameters theta
//! ```
//!
//! One call is a whole solve by fixed steps: no tensor is made inside the loop over time. Between the passes the arguments and the
//! states at the ends of steps are kept; stages are computed again. Without a gradient to come, only the states that are asked for are kept.

mod autodiff;
mod choice;
mod flex;
mod generic;
#[cfg(feature = "gpu")]
mod gpu;
mod ops;

use std::sync::Arc;

use burn_tensor::Tensor;
use burn_tensor::backend::Backend;

pub use crate::operation::Error;
pub use choice::{Route, Solve};
pub use ncde_kernels::neural::{Activation, Controls, Last, Method, Network};
pub use ops::{Arrays, NeuralOps, Solved};

use crate::operation::{primitive, public, want};

/// What errors call it.
const OPERATION: &str = "the neural solve";

/// The steps of a batch of solves. They are data, not variables: they have no gradients.
#[derive(Debug, Clone, PartialEq)]
pub struct Schedule {
    /// How many steps; a series that needs fewer is filled up with steps of length 0, which leave its state as it is.
    pub steps: usize,
    /// The lengths of the steps, `[batch, steps]`.
    pub dt: Vec<f64>,
    /// The row of the control that each stage of each step reads, `[batch, steps, stages]`.
    pub rows: Vec<usize>,
    /// Where states are wanted.
    pub outputs: Outputs,
}

/// The steps after which states are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outputs {
    /// All.
    Every,
    /// As many for each series, `[batch, count]`, counted from 0, ascending in each series.
    At(Vec<usize>),
}

impl Schedule {
    /// How many states each series gives.
    pub(crate) fn count(&self, batch: usize) -> usize {
        match &self.outputs {
            Outputs::Every => self.steps,
            Outputs::At(at) => at.len() / batch.max(1),
        }
    }

    /// Outputs are read here as well as in the kernel; all else is checked there.
    pub(crate) fn check_outputs(&self, batch: usize) -> Result<(), ncde_kernels::Error> {
        let (operation, Outputs::At(at)) = (OPERATION, &self.outputs) else { return Ok(()) };
        let count = self.count(batch);
        if count == 0 {
            return Err(ncde_kernels::Error::Empty { operation, what: "number of outputs" });
        }
        if at.len() != batch * count {
            let (what, meaning) = ("the list of outputs", format!("batch {batch} x {count} outputs"));
            return Err(ncde_kernels::Error::Size { operation, what, seen: at.len(), wanted: batch * count, meaning });
        }
        let steps = self.steps;
        for (series, steps_of) in at.chunks_exact(count).enumerate() {
            let late = steps_of.iter().position(|&step| step >= steps);
            if let Some(place) = late.or_else(|| steps_of.windows(2).position(|two| two[0] > two[1])) {
                return Err(ncde_kernels::Error::Output { operation, series, place, step: steps_of[place], steps });
            }
        }
        Ok(())
    }
}

/// The tensors of one solve.
#[derive(Debug, Clone)]
pub struct Arguments<B: Backend> {
    /// `theta`, as [`Network`] lays it out: `[parameters]`.
    pub parameters: Tensor<B, 1>,
    /// The rows of the controls, rates of change: `[batch, rows, coefficients]`.
    pub coefficients: Tensor<B, 3>,
    /// `h_0`: `[batch, H]`.
    pub initial: Tensor<B, 2>,
    /// The steps.
    pub schedule: Arc<Schedule>,
}

/// The states after the steps that the schedule asks for.
///
/// ```
/// use std::sync::Arc;
/// use burn_autodiff::Autodiff;
/// use burn_flex::Flex;
/// use burn_tensor::Tensor;
/// use ncde_layers::neural::{Arguments, Last, Network, Outputs, Schedule, Solve, solve};
///
/// type B = Autodiff<Flex>;
/// let device = Default::default();
/// // dh = w h dx from h = 1, while x grows by 1: one step of Heun's method is 1 + w + w^2 / 2, with slope 1 + w in w.
/// let growth = Arc::new(Solve::new(Network::new(1, 1, &[])?.with_last(Last::Linear)));
/// let parameters = Tensor::<B, 1>::from_data([0.5, 0.0], &device).require_grad();
/// let states = solve(&growth, Arguments {
///     parameters: parameters.clone(),
///     coefficients: Tensor::from_data([[[1.0]]], &device),
///     initial: Tensor::from_data([[1.0]], &device),
///     schedule: Arc::new(Schedule { steps: 1, dt: vec![1.0], rows: vec![0, 0], outputs: Outputs::Every }),
/// })?;
/// let h: f32 = states.clone().into_scalar();
/// let slopes = parameters.grad(&states.sum().backward()).unwrap().into_data().to_vec::<f32>().unwrap();
/// assert_eq!((h, slopes[0]), (1.625, 1.5));
/// # Ok::<(), ncde_layers::neural::Error>(())
/// ```
///
/// # Shapes
/// To `[batch, outputs, H]`.
///
/// # Errors
/// If shapes, types or the schedule do not fit, a number is not finite, or a state overflows. A reverse pass cannot return an error:
/// what fails there (an overflow) becomes gradients of NaN.
pub fn solve<B: NeuralOps>(solve: &Arc<Solve>, arguments: Arguments<B>) -> Result<Tensor<B, 3>, Error> {
    let Arguments { parameters, coefficients, initial, schedule } = arguments;
    let [batch, control, _] = coefficients.dims();
    let network = solve.network();
    want(OPERATION, "the vector of parameters", parameters.dims(), [network.parameters()], "[parameters]")?;
    want(OPERATION, "the control", coefficients.dims(), [batch, control, solve.coefficients()], "[batch, rows, coefficients]")?;
    want(OPERATION, "the initial state", initial.dims(), [batch, network.hidden()], "[batch, H]")?;
    schedule.check_outputs(batch)?;
    let arrays = Arrays {
        parameters: primitive(parameters),
        coefficients: primitive(coefficients),
        initial: primitive(initial),
        schedule,
    };
    B::neural_solve(solve, arrays, false).map(|solved| public(solved.outputs))
}
