//! Whole solves of neural controlled differential equations on device buffers.
//!
//! ```text
//! dh/dt = F(h, c(t)),   F = sum_i c_i f_i(h)  +  at depth 2:  sum_{i<j} c_[i,j] [f_i, f_j](h),   [f, g] = Dg f - Df g
//! y_s = h + dt sum_{r<s} a_sr k_r,   k_s = F(y_s),   h <- h + dt sum_s b_s k_s
//! ```
//!
//! The same equations as `ncde_kernels::neural`: `f` is a fully connected network, `c` piecewise constant, steps are fixed, and each series has its own. Forwards is one launch: a series has a cube, which keeps state,
//! layers and tangents in shared memory through all steps. Each weight is always the same unit's, which has it in registers or in shared memory, as far as they are enough, and reads it from the second-level cache else. At depth 2
//! `sum_{i<j} c_[i,j] [f_i, f_j] = sum_j Df_j v_j` with `v_j = sum_i Lambda_ij f_i` and `Lambda` antisymmetric: a tangent for each channel goes through the hidden layers, and of the last one meets the block of its channel alone. Between the passes the states at the ends of steps are kept. The reverse pass takes slabs of steps: stages of all steps
//! at once, as their states are known; then a cube through each series with the adjoints; then gradients of weights as products of matrices over the slab. Slabs are added in order: no atomic operations, the same numbers every time.

pub(crate) mod cut;
mod passes;
pub(crate) mod shape;

use cubecl::prelude::*;
use cubecl::server::Handle;

use crate::device::Gpu;
use crate::error::Error;
use crate::kernel::rows::activation::Activation;
use crate::recurrence::{want, want_countable, want_list, want_some};
use cut::Cut;
use passes::Pass;
use shape::Shape;

/// The most hidden layers of a field.
pub const MAX_LAYERS: usize = 8;

/// What follows the last layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Last {
    /// tanh.
    Tanh,
    /// Nothing.
    Linear,
}

/// A fully connected field for each channel, all outputs of one network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Network {
    /// `H`.
    pub hidden: usize,
    /// `d`.
    pub channels: usize,
    /// Widths of the hidden layers.
    pub widths: Vec<usize>,
    /// What follows each hidden layer but the last of them.
    pub activation: Activation,
    /// What follows the last hidden layer.
    pub before_last: Activation,
    /// What follows the last layer.
    pub last: Last,
}

/// An explicit Runge-Kutta method of fixed steps.
#[derive(Debug, Clone, PartialEq)]
pub struct Method {
    /// Rows of `a`: row `s` has what the `s` stages before stage `s` go into it with.
    pub a: Vec<Vec<f32>>,
    /// `b`.
    pub b: Vec<f32>,
}

/// What is computed.
#[derive(Debug, Clone, PartialEq)]
pub struct NeuralSolve {
    shape: Shape,
    /// `a`, a square, and `b`.
    tableau: Vec<f32>,
}

/// The buffers of one call, each contiguous, in the layouts of `ncde_kernels::neural::Input`.
#[derive(Debug, Clone)]
pub struct Arrays<'a> {
    /// How many series.
    pub batch: usize,
    /// How many steps.
    pub steps: usize,
    /// Rows of the control of each series.
    pub control: usize,
    /// The parameters of the network.
    pub parameters: Handle,
    /// The rows of the controls.
    pub coefficients: Handle,
    /// `h_0`.
    pub initial: Handle,
    /// The lengths of the steps, `[batch, steps]`; a step of length 0 leaves the state as it is.
    pub dt: &'a [f32],
    /// The row of the control that each stage of each step reads, `[batch, steps, stages]`.
    pub rows: &'a [usize],
}

/// The gradients, in the layouts of what they belong to.
#[derive(Debug)]
pub struct Gradients {
    /// In the parameters.
    pub parameters: Handle,
    /// In the rows of the controls, if requested.
    pub coefficients: Option<Handle>,
    /// In `h_0`.
    pub initial: Handle,
}

impl NeuralSolve {
    /// A solve with brackets of two fields or without. One channel has none.
    ///
    /// # Errors
    /// If a size is 0, there are too many layers, or the method is none.
    pub fn new(network: &Network, method: &Method, brackets: bool) -> Result<Self, Error> {
        let &Network { hidden, channels, ref widths, activation, before_last, last } = network;
        let stages = method.b.len();
        let empty = [
            ("the number of states", hidden == 0),
            ("the number of channels", channels == 0),
            ("the width of a layer", widths.contains(&0)),
            ("the number of stages", stages == 0 || method.a.len() != stages),
        ];
        if let Some(&(what, _)) = empty.iter().find(|&&(_, is)| is) {
            return Err(Error::Empty { what });
        }
        let top = widths.len();
        if top > MAX_LAYERS {
            let fix = "take fewer layers, or `--device cpu`";
            return Err(Error::TooLarge { what: "the number of hidden layers", seen: top, most: MAX_LAYERS, fix });
        }
        let mut all_widths = [0; MAX_LAYERS];
        all_widths[..top].copy_from_slice(widths);
        let brackets = brackets && channels > 1;
        let shape = Shape { hidden, channels, widths: all_widths, top, activation, before_last, last, brackets, stages };
        let mut tableau = vec![0.0; stages * stages];
        for (to, from) in tableau.chunks_exact_mut(stages).zip(&method.a) {
            to.iter_mut().zip(from).for_each(|(to, &from)| *to = from);
        }
        tableau.extend_from_slice(&method.b);
        Ok(Self { shape, tableau })
    }

    /// Coefficients of a row of the control.
    pub fn coefficients(&self) -> usize {
        self.shape.coefficients()
    }

    /// Numbers of the parameters.
    pub fn parameters(&self) -> usize {
        self.shape.parameters()
    }

    /// Whether a cube of the device holds a series.
    pub fn fits<R: Runtime>(&self, gpu: &Gpu<R>) -> bool {
        self.cut(gpu).is_some()
    }

    fn cut<R: Runtime>(&self, gpu: &Gpu<R>) -> Option<Cut> {
        let hardware = &gpu.client().properties().hardware;
        let units = (hardware.max_units_per_cube as usize).min(gpu.limits().units);
        Cut::new(&self.shape, units, hardware.max_shared_memory_size)
    }

    /// The states at the ends of all steps, `[batch, steps, H]`. States that overflow are not finite.
    ///
    /// # Errors
    /// If a buffer has the wrong size, a row does not exist, or a cube does not hold a series.
    pub fn forward<R: Runtime>(&self, gpu: &Gpu<R>, arrays: &Arrays<'_>) -> Result<Handle, Error> {
        Ok(self.pass(gpu, arrays)?.states())
    }

    /// The states at some ends of steps, as many for each series, `[batch, count]` counted from 0, of those that [`forward`](Self::forward) gave.
    ///
    /// # Errors
    /// As for [`forward`](Self::forward), or if there is no such step.
    pub fn states_at<R: Runtime>(
        &self,
        gpu: &Gpu<R>,
        arrays: &Arrays<'_>,
        states: &Handle,
        at: &[usize],
    ) -> Result<Handle, Error> {
        let pass = self.pass(gpu, arrays)?;
        want("the states", states, arrays.batch * arrays.steps * self.shape.hidden)?;
        let count = outputs(arrays, at)?;
        Ok(pass.chosen(states, at, count))
    }

    /// The gradients from the states that [`forward`](Self::forward) gave and the gradient in those at some ends of steps, ascending in each series, or in all; gradients of the controls where they are asked for.
    ///
    /// # Errors
    /// As for [`states_at`](Self::states_at).
    pub fn backward<R: Runtime>(
        &self,
        gpu: &Gpu<R>,
        arrays: &Arrays<'_>,
        (states, gradient): (&Handle, &Handle),
        at: Option<&[usize]>,
        of_controls: bool,
    ) -> Result<Gradients, Error> {
        let pass = self.pass(gpu, arrays)?;
        let count = at.map_or(Ok(arrays.steps), |at| outputs(arrays, at))?;
        want("the states", states, arrays.batch * arrays.steps * self.shape.hidden)?;
        want("the gradient", gradient, arrays.batch * count * self.shape.hidden)?;
        pass.gradients(states, gradient, at, count, of_controls)
    }

    /// Everything that can be wrong with sizes, on which every launch relies; then the call, ready to be made.
    fn pass<'a, R: Runtime>(&'a self, gpu: &'a Gpu<R>, arrays: &'a Arrays<'a>) -> Result<Pass<'a, R>, Error> {
        let (&Arrays { batch, steps, control, .. }, shape) = (arrays, &self.shape);
        let sizes = [("the batch", batch), ("the number of steps", steps), ("the number of rows of the control", control)];
        want_some(&sizes)?;
        let stages = batch * (steps + 1) * (shape.stages + 1);
        let largest = (batch * control * shape.coefficients())
            .max(batch * steps * shape.hidden)
            .max(stages)
            .max(shape.parameters())
            .max(batch * shape.stages * shape.bytes());
        want_countable(largest)?;
        let Some(cut) = self.cut(gpu) else {
            let most = gpu.client().properties().hardware.max_shared_memory_size;
            let fix = "take fewer states or narrower layers, or `--device cpu`";
            return Err(Error::TooLarge { what: "a series of a neural solve in bytes", seen: Cut::least(shape), most, fix });
        };
        want("the parameters", &arrays.parameters, shape.parameters())?;
        want("the control", &arrays.coefficients, batch * control * shape.coefficients())?;
        want("the initial state", &arrays.initial, batch * shape.hidden)?;
        want_list("the list of step lengths", arrays.dt.len(), batch * steps)?;
        want_list("the list of rows", arrays.rows.len(), batch * steps * shape.stages)?;
        if let Some(&row) = arrays.rows.iter().find(|&&row| row >= control) {
            return Err(Error::NoRow { what: "of the control", row, rows: control });
        }
        Ok(Pass::new(gpu, *shape, cut, &self.tableau, arrays))
    }
}

/// How many outputs each series has.
fn outputs(arrays: &Arrays<'_>, at: &[usize]) -> Result<usize, Error> {
    let count = at.len() / arrays.batch;
    if count == 0 {
        return Err(Error::Empty { what: "the number of outputs" });
    }
    want_list("the list of outputs", at.len(), arrays.batch * count)?;
    match at.iter().find(|&&step| step >= arrays.steps) {
        Some(&row) => Err(Error::NoRow { what: "of the states", row, rows: arrays.steps }),
        None => Ok(count),
    }
}
