//! The arrays of a call, and all checks of them.

use ncde_simd::Float;

use super::{Numbers, Scan};
use crate::Error;
use crate::error::{finite, want, want_some};

/// The arrays of one call, the last index running fastest; complex rows hold their real parts, then their imaginary parts.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a, T> {
    /// How many series.
    pub batch: usize,
    /// How many steps.
    pub length: usize,
    /// `[batch, length, width]`, or `[width]`: one row for all steps.
    pub a: &'a [T],
    /// `[batch, length, width]`.
    pub b: &'a [T],
    /// The state before the first step, `[batch, width]`.
    pub initial: &'a [T],
}

/// The gradient of a loss in each array of an [`Input`].
#[derive(Debug, Clone, PartialEq)]
pub struct Gradients<T> {
    /// In `a`.
    pub a: Vec<T>,
    /// In `b`.
    pub b: Vec<T>,
    /// In the state before the first step.
    pub initial: Vec<T>,
}

impl Scan {
    /// Checks the input.
    pub(super) fn check<T: Float>(&self, operation: &'static str, input: &Input<'_, T>) -> Result<(), Error> {
        let &Input { batch, length, a, b, initial } = input;
        want_some(operation, &[("size", batch), ("length", length), ("width", self.width)])?;
        let row = self.row();
        want(operation, "the initial state", initial.len(), batch * row, || format!("batch {batch} x {}", self.meaning()))?;
        if a.len() != row {
            self.check_rows(operation, "a", input, a)?;
        }
        self.check_rows(operation, "b", input, b)?;
        for (what, values, steps) in [("a", a, length), ("b", b, length), ("the initial state", initial, 1)] {
            finite(operation, what, values, |i| {
                let (series, step, number) = (i / (row * steps), i / row % steps, i % row);
                let part = match self.numbers {
                    Numbers::Real => "",
                    Numbers::Complex if number < self.width => ", real part",
                    Numbers::Complex => ", imaginary part",
                };
                let place = match what {
                    "the initial state" => format!("series {series}, "),
                    _ if values.len() == row => String::new(),
                    _ => format!("series {series}, step {step}, "),
                };
                format!("{place}number {}{part}", number % self.width)
            })?;
        }
        Ok(())
    }

    /// The size of an array with a row for each step.
    pub(super) fn check_rows<T: Float>(
        &self,
        operation: &'static str,
        what: &'static str,
        input: &Input<'_, T>,
        values: &[T],
    ) -> Result<(), Error> {
        let &Input { batch, length, .. } = input;
        want(operation, what, values.len(), batch * length * self.row(), || {
            format!("batch {batch} x length {length} x {}", self.meaning())
        })
    }

    fn meaning(&self) -> String {
        match self.numbers {
            Numbers::Real => format!("{} numbers", self.width),
            Numbers::Complex => format!("{} complex numbers of 2 parts", self.width),
        }
    }
}
