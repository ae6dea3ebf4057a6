//! The arrays of a call, and all checks of them.

use ncde_simd::Float;

use super::PermutationDiagonal;
use crate::Error;
use crate::error::{finite, first_not_finite, want};

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

/// In messages.
const NAME: &str = "permutation-diagonal";

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
        let sizes =
            [("size", batch), ("length", length), ("number of states", self.hidden), ("number of matrices", self.matrices)];
        if let Some((what, _)) = sizes.into_iter().find(|(_, size)| *size == 0) {
            return Err(Error::Empty { operation, what });
        }
        let (hidden, matrices, columns, width) = (self.hidden, self.matrices, self.columns(), self.width());
        want(operation, "the dictionary", input.dictionary.len(), self.dictionary(), || {
            format!("{matrices} matrices of {hidden} x {hidden}")
        })?;
        want(operation, "the control", input.control.len(), batch * length * columns, || {
            format!("batch {batch} x length {length} x {columns} columns")
        })?;
        want(operation, "the initial state", input.initial.len(), batch * width, || format!("batch {batch} x {width} numbers"))?;
        if let Some(spans) = input.spans {
            want(operation, "the list of spans", spans.len(), batch * length, || format!("batch {batch} x length {length}"))?;
        }
        if let Some(lengths) = input.lengths {
            want(operation, "the list of lengths", lengths.len(), batch, || format!("batch {batch}"))?;
            for (series, &steps) in lengths.iter().enumerate() {
                if steps == 0 || steps > length {
                    return Err(Error::Length { operation, series, length: steps, longest: length });
                }
            }
        }
        self.check_finite(operation, input)
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
        let (&Input { batch, length, .. }, width) = (input, self.width());
        want(operation, what, values.len(), batch * length * width, || {
            format!("batch {batch} x length {length} x {width} numbers")
        })
    }

    /// The first step whose state is not finite, as an error.
    pub(super) fn check_states<T: Float>(&self, input: &Input<'_, T>, states: &[T]) -> Result<(), Error> {
        first_not_finite(states).map_or(Ok(()), |i| {
            let row = i / self.width();
            Err(Error::Exploded { structure: NAME, step: row % input.length, series: row / input.length })
        })
    }

    /// The first series whose gradient is not finite, as an error.
    pub(super) fn check_gradients<T: Float>(&self, input: &Input<'_, T>, gradients: &Gradients<T>) -> Result<(), Error> {
        let arrays = [&gradients.control, &gradients.initial];
        let series = arrays.iter().filter_map(|array| first_not_finite(array).map(|i| i / (array.len() / input.batch))).min();
        match series.or(first_not_finite(&gradients.dictionary).map(|_| 0)) {
            None => Ok(()),
            Some(series) => Err(Error::GradientExploded { structure: NAME, series }),
        }
    }
}
