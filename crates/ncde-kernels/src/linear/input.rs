//! The arrays of a call, and all checks of them.

use ncde_simd::Float;

use super::Recurrence;
use crate::Error;
use crate::error::{all_finite, finite, want, want_lengths, want_shape, want_some};

/// The arrays of one call, the last index running fastest.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a, T> {
    /// How many series.
    pub batch: usize,
    /// How many steps.
    pub length: usize,
    /// How many states share each flow: the columns of a matrix-valued state. 1 for a vector.
    pub columns: usize,
    /// The parameters of `A`, as [`Field`](crate::Field) lays them out.
    pub a: &'a [T],
    /// `lambda`, `[batch, length, coefficients]`.
    pub coefficients: &'a [T],
    /// `h_0`, `[batch, columns, H]`.
    pub initial: &'a [T],
    /// `beta`, `[batch, length, columns, H]`; without it nothing is added to the state.
    pub affine: Option<&'a [T]>,
    /// The number of steps of each series; all of them without it. Past its length a state stays as it is.
    pub lengths: Option<&'a [usize]>,
}

/// The gradient of a loss in each array of an [`Input`].
#[derive(Debug, Clone, PartialEq)]
pub struct Gradients<T> {
    /// In the parameters of `A`.
    pub a: Vec<T>,
    /// In `lambda`; empty where [`Controls::Constant`](crate::Controls::Constant) says that it is not wanted.
    pub coefficients: Vec<T>,
    /// In `h_0`.
    pub initial: Vec<T>,
    /// In `beta`, where there is one.
    pub affine: Option<Vec<T>>,
}

impl<T> Input<'_, T> {
    /// The number of steps of series `b`.
    pub(crate) fn steps(&self, b: usize) -> usize {
        self.lengths.map_or(self.length, |lengths| lengths[b])
    }
}

impl Recurrence {
    /// Checks all sizes of the input.
    pub(crate) fn check_sizes<T: Float>(&self, operation: &'static str, input: &Input<'_, T>) -> Result<(), Error> {
        let &Input { batch, length, columns, .. } = input;
        want_some(operation, &[("size", batch), ("length", length), ("number of columns", columns)])?;
        want(operation, "A", input.a.len(), self.field().parameters(), || {
            format!("the parameters of {} channels of a {} field", self.field().channels(), self.field().structure().name())
        })?;
        let (batch_size, steps, width) = (("batch #", batch), ("length #", length), ("# coefficients", self.coefficients()));
        want_shape(operation, "the coefficients", input.coefficients.len(), &[batch_size, steps, width])?;
        let initial = [batch_size, ("# columns", columns), ("# states", self.field().hidden())];
        want_shape(operation, "the initial state", input.initial.len(), &initial)?;
        if let Some(affine) = input.affine {
            want_shape(operation, "the affine input", affine.len(), &self.states_shape(input))?;
        }
        want_lengths(operation, input.lengths, batch, length)
    }

    /// The sizes of an array with a state for each step.
    pub(crate) fn states_shape<T>(&self, input: &Input<'_, T>) -> [(&'static str, usize); 4] {
        let &Input { batch, length, columns, .. } = input;
        [("batch #", batch), ("length #", length), ("# columns", columns), ("# states", self.field().hidden())]
    }

    /// Refuses NaN and infinities in the steps before the end of each series.
    pub(crate) fn check_finite<T: Float>(&self, operation: &'static str, input: &Input<'_, T>) -> Result<(), Error> {
        let &Input { batch, length, columns, .. } = input;
        let (hidden, width) = (self.field().hidden(), self.coefficients());
        finite(operation, "A", input.a, |i| format!("parameter {i}"))?;
        finite(operation, "the initial state", input.initial, |i| {
            format!("series {}, state {}", i / (columns * hidden), i % (columns * hidden))
        })?;
        for b in 0..batch {
            let used = input.steps(b);
            let row = &input.coefficients[b * length * width..][..used * width];
            finite(operation, "the coefficients", row, |i| format!("series {b}, step {}, coefficient {}", i / width, i % width))?;
            if let Some(affine) = input.affine {
                let state_len = columns * hidden;
                let row = &affine[b * length * state_len..][..used * state_len];
                finite(operation, "the affine input", row, |i| {
                    format!("series {b}, step {}, state {}", i / state_len, i % state_len)
                })?;
            }
        }
        Ok(())
    }

    /// The error for a state that is not finite: the input is not, or a step overflows.
    pub(crate) fn diagnose<T: Float>(&self, operation: &'static str, input: &Input<'_, T>, states: &[T]) -> Error {
        if let Err(error) = self.check_finite(operation, input) {
            return error;
        }
        let state_len = input.columns * self.field().hidden();
        let first = states.chunks_exact(state_len).position(|state| !all_finite(state)).unwrap_or_default();
        Error::Exploded { structure: self.field().structure().name(), step: first % input.length, series: first / input.length }
    }

    /// The error for the first series whose gradient is not finite. Kernels check the coefficients and [`poison`] `A`.
    pub(crate) fn check_gradients<T: Float>(&self, input: &Input<'_, T>, gradients: &Gradients<T>) -> Result<(), Error> {
        let affine = gradients.affine.as_deref().unwrap_or_default();
        if [&gradients.a, &gradients.initial, affine].iter().all(|array| all_finite(array)) {
            return Ok(());
        }
        let row_len = (gradients.coefficients.len() / input.batch).max(1);
        let series = gradients.coefficients.chunks_exact(row_len).position(|row| !all_finite(row)).unwrap_or_default();
        Err(Error::GradientExploded { structure: self.field().structure().name(), series })
    }
}

/// Marks a gradient as not finite by its first entry, so that a large array need not be read again.
pub(crate) fn poison<T: Float>(gradient: &mut [T]) {
    if let Some(first) = gradient.first_mut() {
        *first = T::from_f64(f64::NAN);
    }
}
