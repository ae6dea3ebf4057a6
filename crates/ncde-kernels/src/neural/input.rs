//! The arrays of a call, and all checks of them.

use ncde_simd::Float;

use super::{Method, Network};
use crate::Error;
use crate::error::{all_finite, finite, want, want_shape, want_some};

/// The arrays of one call, the last index running fastest.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a, T> {
    /// How many series.
    pub batch: usize,
    /// How many steps; a series that needs fewer is filled up with steps of length 0.
    pub steps: usize,
    /// How many rows the control of each series has.
    pub control: usize,
    /// `theta`, as [`Network`](super::Network) lays it out.
    pub parameters: &'a [T],
    /// The rows of the controls, `[batch, control, coefficients]`: rates of change, which `dt` multiplies.
    pub coefficients: &'a [T],
    /// `h_0`, `[batch, H]`.
    pub initial: &'a [T],
    /// The lengths of the steps, `[batch, steps]`. A step of length 0 leaves the state as it is, whatever its rows.
    pub dt: &'a [T],
    /// For each stage of each step the row of the control at its time, `[batch, steps, stages]`. The same row for all stages of a step
    /// is a Log-ODE window; a row for each node of the solver follows a curve.
    pub rows: &'a [usize],
}

/// The steps after which states are returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outputs<'a> {
    /// All.
    Every,
    /// As many for each series, `[batch, count]`, counted from 0, ascending in each series.
    At(&'a [usize]),
}

/// The gradient of a loss in the arrays of an [`Input`].
#[derive(Debug, Clone, PartialEq)]
pub struct Gradients<T> {
    /// In `theta`.
    pub parameters: Vec<T>,
    /// In `h_0`.
    pub initial: Vec<T>,
    /// In the rows of the controls, where [`Controls::Variable`](super::Controls::Variable) asks for it.
    pub coefficients: Option<Vec<T>>,
}

impl Outputs<'_> {
    /// The number of outputs of each series.
    pub fn count<T>(self, input: &Input<'_, T>) -> usize {
        match self {
            Self::Every => input.steps,
            Self::At(at) => at.len() / input.batch,
        }
    }

    /// The step of output `i` of series `b`.
    pub fn step<T>(self, input: &Input<'_, T>, b: usize, i: usize) -> usize {
        match self {
            Self::Every => i,
            Self::At(at) => at[b * self.count(input) + i],
        }
    }
}

impl<T: Float> Input<'_, T> {
    /// Checks the input of a solve with `width` coefficients in a row of the control. It is public for other solvers of the same arrays, such as
    /// those on GPUs.
    ///
    /// # Errors
    /// If an array has the wrong size or holds a number that is not finite, a row does not exist, or outputs are not ascending.
    pub fn check(
        &self,
        operation: &'static str,
        network: &Network,
        method: Method,
        width: usize,
        outputs: Outputs<'_>,
    ) -> Result<(), Error> {
        let (input, &Input { batch, steps, control, .. }) = (self, self);
        want_some(operation, &[("size", batch), ("number of steps", steps), ("number of control rows", control)])?;
        let (hidden, channels, stages) = (network.hidden(), network.channels(), method.stages());
        want(operation, "the array of parameters", input.parameters.len(), network.parameters(), || {
            format!("the parameters of {hidden} states, {channels} channels and hidden layers {:?}", network.widths())
        })?;
        let (series, step_count) = (("batch #", batch), ("# steps", steps));
        let coefficients = [series, ("# control rows", control), ("# coefficients", width)];
        want_shape(operation, "the array of coefficients", input.coefficients.len(), &coefficients)?;
        want_shape(operation, "the initial state", input.initial.len(), &[series, ("# states", hidden)])?;
        want_shape(operation, "the list of step lengths", input.dt.len(), &[series, step_count])?;
        want(operation, "the list of rows", input.rows.len(), batch * steps * stages, || {
            format!("batch {batch} x {steps} steps x {stages} stages of {method:?}")
        })?;
        if let Some(at) = input.rows.iter().position(|&row| row >= control) {
            let (place, stage) = (at / stages, at % stages);
            let (series, step, row) = (place / steps, place % steps, input.rows[at]);
            return Err(Error::Row { operation, series, step, stage, row, rows: control });
        }
        if let Outputs::At(at) = outputs {
            let count = at.len() / batch;
            want_some(operation, &[("number of outputs", count)])?;
            want_shape(operation, "the list of outputs", at.len(), &[("batch #", batch), ("# outputs", count)])?;
            for (series, steps_of_series) in at.chunks_exact(count).enumerate() {
                let wrong = steps_of_series
                    .iter()
                    .position(|&step| step >= steps)
                    .or_else(|| steps_of_series.windows(2).position(|two| two[0] > two[1]));
                if let Some(place) = wrong {
                    return Err(Error::Output { operation, series, place, step: steps_of_series[place], steps });
                }
            }
        }
        finite(operation, "the array of parameters", input.parameters, |i| format!("parameter {i}"))?;
        finite(operation, "the array of coefficients", input.coefficients, |i| {
            let row = i / width;
            format!("series {}, row {}, coefficient {}", row / control, row % control, i % width)
        })?;
        finite(operation, "the initial state", input.initial, |i| format!("series {}, state {}", i / hidden, i % hidden))?;
        finite(operation, "the list of step lengths", input.dt, |i| format!("series {}, step {}", i / steps, i % steps))
    }

    /// Checks the other inputs of a reverse pass: states at the ends of all steps, and the gradient at the outputs.
    ///
    /// # Errors
    /// As for [`check`](Self::check).
    pub fn check_states(
        &self,
        operation: &'static str,
        hidden: usize,
        states: &[T],
        outputs: Outputs<'_>,
        gradient: &[T],
    ) -> Result<(), Error> {
        let batch = self.batch;
        for (what, array, count) in [("the states", states, self.steps), ("the gradient", gradient, outputs.count(self))] {
            want_shape(operation, what, array.len(), &[("batch #", batch), ("# steps", count), ("# states", hidden)])?;
            finite(operation, what, array, |i| {
                let row = i / hidden;
                format!("series {}, step {}, state {}", row / count, row % count, i % hidden)
            })?;
        }
        Ok(())
    }

    /// The error for a state that overflowed.
    pub fn exploded(&self, series: usize, step: usize, method: Method) -> Error {
        let row = self.rows[(series * self.steps + step) * method.stages()];
        Error::SolveExploded { series, step, row }
    }
}

impl<T: Float> Gradients<T> {
    /// Refuses a gradient that is not finite, and names the first series of the batch that has one.
    ///
    /// # Errors
    /// If there is such a gradient.
    pub fn check(&self, batch: usize) -> Result<(), Error> {
        let coefficients = self.coefficients.as_deref().unwrap_or_default();
        if [&self.parameters, &self.initial, coefficients].iter().all(|array| all_finite(array)) {
            return Ok(());
        }
        let broken = |array: &[T]| array.chunks_exact((array.len() / batch).max(1)).position(|row| !all_finite(row));
        let series = broken(&self.initial).or_else(|| broken(coefficients));
        Err(Error::SolveGradientExploded { series })
    }
}
