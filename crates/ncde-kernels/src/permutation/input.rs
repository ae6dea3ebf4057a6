//! The arrays of a call, and all checks of them.

use ncde_simd::Float;

use super::PermutationDiagonal;
use crate::Error;
use crate::error::{finite, want, want_lengths, want_shape, want_some};

/// The arrays of one call, the last index running fastest; complex rows hold their real parts, then their imaginary parts.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a, T> {
    /// How many series.
    pub batch: usize,
    /// How many steps.
    pub length: usize,
    /// `M_1, ..., M_K`, `[K, H, H]`, lines one after the other.
    pub dictionary: &'a [T],
    /// Scores, numbers of the diagonal and input of each step, `[batch, length, columns]`.
    pub control: &'a [T],
    /// `h_0`, `[batch, width]`.
    pub initial: &'a [T],
    /// The time that passes before each step, `[batch, length]`; 1 without it.
    pub spans: Option<&'a [f64]>,
    /// The number of steps of each series; all of them without it. Past its length a state stays as it is.
    pub lengths: Option<&'a [usize]>,
}

/// The gradient of a loss in each array of an [`Input`].
#[derive(Debug, Clone, PartialEq)]
pub struct Gradients<T> {
    /// In the dictionary.
    pub dictionary: Vec<T>,
    /// In the control.
    pub control: Vec<T>,
    /// In `h_0`.
    pub initial: Vec<T>,
}

impl<T> Input<'_, T> {
    /// The number of steps of series `b`.
    pub(super) fn steps(&self, b: usize) -> usize {
        self.lengths.map_or(self.length, |lengths| lengths[b])
    }

    /// The time that passes before a step, of all in order.
    pub(super) fn span(&self, row: usize) -> f64 {
        self.spans.map_or(1.0, |spans| spans[row])
    }
}

impl PermutationDiagonal {
    /// Checks the input.
    pub(super) fn check<T: Float>(&self, operation: &'static str, input: &Input<'_, T>) -> Result<(), Error> {
        let &Input { batch, length, .. } = input;
        let (hidden, matrices) = (self.hidden, self.matrices);
        let sizes = [("size", batch), ("length", length), ("number of states", hidden), ("number of matrices", matrices)];
        want_some(operation, &sizes)?;
        self.check_dictionary(operation, input.dictionary)?;
        let (batch_size, steps) = (("batch #", batch), ("length #", length));
        want_shape(operation, "the control", input.control.len(), &[batch_size, steps, ("# columns", self.columns())])?;
        want_shape(operation, "the initial state", input.initial.len(), &[batch_size, ("# numbers", self.width())])?;
        if let Some(spans) = input.spans {
            want_shape(operation, "the list of spans", spans.len(), &[batch_size, steps])?;
        }
        want_lengths(operation, input.lengths, batch, length)?;
        self.check_finite(operation, input)
    }

    /// Checks the size of the dictionary.
    pub(super) fn check_dictionary<T>(&self, operation: &'static str, dictionary: &[T]) -> Result<(), Error> {
        want(operation, "the dictionary", dictionary.len(), self.dictionary(), || {
            format!("{} matrices of {hidden} x {hidden}", self.matrices, hidden = self.hidden)
        })
    }

    /// Refuses NaN and infinities in the steps before the end of each series.
    fn check_finite<T: Float>(&self, operation: &'static str, input: &Input<'_, T>) -> Result<(), Error> {
        let (hidden, columns, width) = (self.hidden, self.columns(), self.width());
        finite(operation, "the dictionary", input.dictionary, |i| {
            format!("matrix {}, line {}, entry {}", i / (hidden * hidden), i / hidden % hidden, i % hidden)
        })?;
        finite(operation, "the initial state", input.initial, |i| format!("series {}, number {}", i / width, i % width))?;
        for b in 0..input.batch {
            let used = input.steps(b);
            let control = &input.control[b * input.length * columns..][..used * columns];
            finite(operation, "the control", control, |i| format!("series {b}, step {}, column {}", i / columns, i % columns))?;
            if let Some(spans) = input.spans {
                let spans = &spans[b * input.length..][..used];
                finite(operation, "the list of spans", spans, |i| format!("series {b}, step {i}"))?;
            }
        }
        Ok(())
    }

    /// The size of an array with a state for each step.
    pub(super) fn check_rows<T: Float>(
        &self,
        operation: &'static str,
        what: &'static str,
        input: &Input<'_, T>,
        values: &[T],
    ) -> Result<(), Error> {
        let shape = [("batch #", input.batch), ("length #", input.length), ("# numbers", self.width())];
        want_shape(operation, what, values.len(), &shape)
    }
}
