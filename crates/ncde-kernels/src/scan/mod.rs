//! The elementwise linear recurrence, real or complex, forward and reverse, as in diagonal state-space models.
//!
//! ```text
//! h_t = a_t h_{t-1} + b_t
//! ```
//!
//! Arrays are `[batch, length, width]`; all steps may have the same `a`, `[width]`. `h_0`, the state before the first step, is `[batch, width]`. Complex numbers are *split*: a row
//! holds its `width` real parts, then its `width` imaginary parts, so that both kinds run along registers. Reverse, from the gradient
//! `w_t` of `h_t`:
//!
//! ```text
//! g_t = w_t + conj(a_{t+1}) g_{t+1},   db_t = g_t,   da_t = g_t conj(h_{t-1}),   dh_0 = conj(a_1) g_1
//! ```
//!
//! (The gradient of a complex number holds the derivatives in its real and its imaginary part.)
//!
//! The parallel mode is a scan over chunks. It reads everything twice, so that it pays for few long series only.

mod chunks;
mod input;
mod rows;

pub use input::{Gradients, Input};

pub(crate) use chunks::{backward, forward};

use crate::error::{finite_gradients, finite_states};
use crate::{Error, Float, Mode};

/// In messages.
const NAME: &str = "elementwise";

/// The number type of a recurrence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Numbers {
    /// Real.
    Real,
    /// Complex: in each row all real parts, then all imaginary parts.
    Complex,
}

impl Numbers {
    /// The real numbers in one number: 1 or 2.
    pub fn parts(self) -> usize {
        match self {
            Self::Real => 1,
            Self::Complex => 2,
        }
    }
}

/// From this number of series on, [`Mode::Auto`] does not cut them into chunks.
const ENOUGH_SERIES: usize = 8;

/// The steps of a chunk of a scan over few numbers a step.
pub(crate) fn scanned(mode: Mode, chunk: usize, batch: usize, length: usize) -> usize {
    let chunk = chunk.max(1);
    match mode {
        Mode::Recurrent => length,
        Mode::Parallel => chunk.min(length),
        Mode::Auto if batch < ENOUGH_SERIES && length >= 4 * chunk => chunk,
        Mode::Auto => length,
    }
}

/// The recurrence `h_t = a_t h_{t-1} + b_t` of `width` numbers.
///
/// ```
/// use ncde_kernels::scan::{Input, Numbers, Scan};
/// let scan = Scan::new(Numbers::Real, 1);
/// let input = Input { batch: 1, length: 3, a: &[0.5, 0.5, 2.0], b: &[1.0, 0.0, 1.0], initial: &[4.0] };
/// assert_eq!(scan.forward(&input)?, [3.0, 1.5, 4.0]);
/// // Multiplied by i twice: a row is its real parts, then its imaginary parts.
/// let scan = Scan::new(Numbers::Complex, 1);
/// let input = Input { batch: 1, length: 2, a: &[0.0, 1.0, 0.0, 1.0], b: &[0.0; 4], initial: &[1.0, 0.0] };
/// assert_eq!(scan.forward(&input)?, [0.0, 1.0, -1.0, 0.0]);
/// # Ok::<(), ncde_kernels::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scan {
    /// Whether numbers are real or complex.
    pub numbers: Numbers,
    /// The number of numbers in a row.
    pub width: usize,
    /// The order of computation.
    pub mode: Mode,
    /// The steps of a chunk of the parallel mode, at least 1.
    pub chunk: usize,
}

impl Scan {
    /// A recurrence of `width` numbers with [`Mode::Auto`].
    pub fn new(numbers: Numbers, width: usize) -> Self {
        Self { numbers, width, mode: Mode::default(), chunk: 256 }
    }

    /// The real numbers of a row.
    pub(crate) fn row(&self) -> usize {
        self.numbers.parts() * self.width
    }

    /// The steps of a chunk for these shapes; all of them where there is no parallel mode. Threads do not matter.
    pub(crate) fn plan(&self, batch: usize, length: usize) -> usize {
        scanned(self.mode, self.chunk, batch, length)
    }

    /// The states after each step.
    ///
    /// # Shapes
    /// `[batch, length, width]`, complex rows split as those of the input.
    ///
    /// # Errors
    /// If an array has the wrong size or holds a number that is not finite, or if a state overflows.
    pub fn forward<T: Float>(&self, input: &Input<'_, T>) -> Result<Vec<T>, Error> {
        self.check("the elementwise recurrence", input)?;
        let states = T::scan_forward(self, input);
        finite_states(NAME, &states, input.length, self.row())?;
        Ok(states)
    }

    /// The gradients of a loss, from its gradient in the states and the states that [`forward`](Self::forward) gave.
    ///
    /// # Errors
    /// As for [`forward`](Self::forward), or if a gradient overflows.
    pub fn backward<T: Float>(&self, input: &Input<'_, T>, states: &[T], gradient: &[T]) -> Result<Gradients<T>, Error> {
        let operation = "the reverse pass of the elementwise recurrence";
        self.check(operation, input)?;
        self.check_rows(operation, "the array of states", input, states)?;
        self.check_rows(operation, "the gradient", input, gradient)?;
        let gradients = T::scan_backward(self, input, states, gradient);
        finite_gradients(NAME, input.batch, &[&gradients.a, &gradients.b, &gradients.initial])?;
        Ok(gradients)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plan_follows_from_the_shapes() {
        let scan = Scan { chunk: 16, ..Scan::new(Numbers::Real, 3) };
        assert_eq!(scan.plan(1, 63), 63);
        assert_eq!(scan.plan(1, 64), 16);
        assert_eq!(scan.plan(8, 64), 64);
        assert_eq!(Scan { mode: Mode::Recurrent, ..scan }.plan(1, 64), 64);
        let parallel = Scan { mode: Mode::Parallel, ..scan };
        assert_eq!([parallel.plan(100, 64), parallel.plan(1, 5)], [16, 5]);
    }
}
