//! Recurrent cells over whole sequences, forward and reverse: LSTM, GRU and sLSTM.
//!
//! ```text
//! u_t = U^T (h_{t-1}, 1) of each head,   s_t = cell(x_t, u_t, s_{t-1}),   h_t: the first part of s_t
//! ```
//!
//! `x` is what rows bring to the gates, one product for all of them that is computed outside. The last row of `U` is a bias. A step that stands *aside* gives the state that
//! it would lead to, but the step behind it goes on from the state before it.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `cells` | the equations of the cells and their gradients, 16 numbers at once |
//! | `steps` | all steps of a few series forward, one step of a stream |
//! | `back` | all steps back |
//!
//! A step of `R` series is one product `[R, d] U`, with `U` in the second-level cache. Only states are stored between the passes: the reverse pass computes the gates of some steps
//! again by one product, goes back through these steps, and adds to the gradient of `U` by another. Cost: `2 d G d` flops a head and step forward, three times that back.

mod back;
mod cells;
mod steps;

pub(crate) use back::backward;
pub(crate) use steps::{forward, push};

use crate::error::{finite, finite_gradients, finite_states, want, want_shape, want_some};
use crate::{Error, Float};

/// In messages.
const NAME: &str = "recurrent";

/// The equations of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cell {
    /// Gates `i, f, g, o`, states `h, c`.
    Lstm,
    /// Gates `r, z, n`, state `h`. The reset gate is behind the product: `n` sees `x + r u`.
    Gru,
    /// Gates `i, f, z, o`, states `y, c, n, m`.
    Slstm,
}

impl Cell {
    /// `G`: the numbers of a row for each state `h`.
    pub fn gates(self) -> usize {
        if self == Self::Gru { 3 } else { 4 }
    }

    /// `S`: the numbers that go on to the next step for each of `h`, `h` included.
    pub fn states(self) -> usize {
        match self {
            Self::Lstm => 2,
            Self::Gru => 1,
            Self::Slstm => 4,
        }
    }
}

/// Cells in `heads` groups: what a group stored reaches its own gates alone.
///
/// ```
/// use ncde_kernels::recurrent::{Cell, Input, Recurrent};
/// // An LSTM of one state whose gates i, f and o are nearly 1 and that takes tanh(1/2): c = 1 tanh(1/2), then 2 tanh(1/2).
/// let lstm = Recurrent { cell: Cell::Lstm, heads: 1, size: 1 };
/// let x = [30.0, 30.0, 0.5, 30.0, 30.0, 30.0, 0.5, 30.0];
/// let outputs = lstm.forward(&Input { batch: 1, length: 2, x: &x, u: &[0.0; 8], aside: None })?;
/// let c = 0.5_f64.tanh();
/// assert!(outputs.h.iter().zip([c.tanh(), (2.0 * c).tanh()]).all(|(h, right): (&f64, f64)| (h - right).abs() < 1e-12));
/// # Ok::<(), ncde_kernels::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recurrent {
    /// The equations.
    pub cell: Cell,
    /// How many heads.
    pub heads: usize,
    /// `d`: how many `h` a head has.
    pub size: usize,
}

/// The arrays of one call, the last index running fastest.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a, T> {
    /// How many series.
    pub batch: usize,
    /// How many steps.
    pub length: usize,
    /// `[batch, length, G, heads, d]`.
    pub x: &'a [T],
    /// `U`: `[heads, d + 1, G, d]`; the last of the `d + 1` rows is the bias.
    pub u: &'a [T],
    /// Which steps stand aside, `[batch, length]`; none without it.
    pub aside: Option<&'a [bool]>,
}

/// What comes out.
#[derive(Debug, Clone, PartialEq)]
pub struct Outputs<T> {
    /// `[batch, length, heads, d]`.
    pub h: Vec<T>,
    /// All states, for the reverse pass: `[batch, length, S, heads, d]`.
    pub states: Vec<T>,
}

/// The gradient of a loss in each array of an [`Input`].
#[derive(Debug, Clone, PartialEq)]
pub struct Gradients<T> {
    /// In `x`.
    pub x: Vec<T>,
    /// In `U`.
    pub u: Vec<T>,
}

impl Recurrent {
    /// `H`: the `h` of all heads.
    pub fn hidden(&self) -> usize {
        self.heads * self.size
    }

    /// The states of all steps.
    ///
    /// # Errors
    /// If an array has the wrong size or holds a number that is not finite, or if a state overflows.
    pub fn forward<T: Float>(&self, input: &Input<'_, T>) -> Result<Outputs<T>, Error> {
        let operation = "the recurrent cells";
        self.check(operation, input)?;
        let outputs = T::recurrent_forward(self, input);
        finite_states(NAME, &outputs.states, input.length, self.cell.states() * self.hidden())
            .or_else(|exploded| self.check_finite(operation, input).and(Err(exploded)))?;
        Ok(outputs)
    }

    /// The gradients of a loss, from its gradient in `h` and the states that [`forward`](Self::forward) gave.
    ///
    /// # Errors
    /// As for [`forward`](Self::forward), or if a gradient overflows.
    pub fn backward<T: Float>(&self, input: &Input<'_, T>, states: &[T], gradient: &[T]) -> Result<Gradients<T>, Error> {
        let operation = "the reverse pass of the recurrent cells";
        self.check(operation, input)?;
        let shape = |numbers| [("batch #", input.batch), ("length #", input.length), ("#", numbers)];
        want_shape(operation, "the array of states", states.len(), &shape(self.cell.states() * self.hidden()))?;
        want_shape(operation, "the gradient", gradient.len(), &shape(self.hidden()))?;
        let gradients = T::recurrent_backward(self, input, states, gradient);
        finite_gradients(NAME, input.batch, &[&gradients.x])
            .and_then(|()| finite_gradients(NAME, 1, &[&gradients.u]))
            .or_else(|exploded| self.check_finite(operation, input).and(Err(exploded)))?;
        Ok(gradients)
    }

    /// One step of one series: `state`, `[S, heads, d]`, becomes the next one. `x`, `[G, heads, d]`, is what the row brings, and `u`, `[heads, G, d]`, what the state before it does.
    /// [`first`](Self::first) is the state before the first row.
    ///
    /// # Errors
    /// If an array has the wrong size.
    pub fn step<T: Float>(&self, x: &[T], u: &[T], state: &mut [T]) -> Result<(), Error> {
        let operation = "a step of recurrent cells";
        let (gates, states) = (self.cell.gates() * self.hidden(), self.cell.states() * self.hidden());
        for (what, seen, wanted) in [("x", x.len(), gates), ("u", u.len(), gates), ("the state", state.len(), states)] {
            want(operation, what, seen, wanted, || format!("of {} heads of {}", self.heads, self.size))?;
        }
        T::recurrent_push(self, x, u, state);
        Ok(())
    }

    /// The state before the first row, `[S, heads, d]`.
    pub fn first<T: Float>(&self) -> Vec<T> {
        steps::first(self)
    }

    fn check<T: Float>(&self, operation: &'static str, input: &Input<'_, T>) -> Result<(), Error> {
        let &Input { batch, length, x, u, aside } = input;
        let (gates, size) = (self.cell.gates(), self.size);
        want_some(
            operation,
            &[("size", batch), ("length", length), ("number of heads", self.heads), ("number of states", size)],
        )?;
        let (batch, length) = (("batch #", batch), ("length #", length));
        let per_head = [("# heads", self.heads), ("# states", size)];
        want_shape(operation, "x", x.len(), &[batch, length, ("# gates", gates), per_head[0], per_head[1]])?;
        let rows = ("# states and a bias", size + 1);
        want_shape(operation, "the array of weights", u.len(), &[per_head[0], rows, ("# gates", gates), per_head[1]])?;
        aside.map_or(Ok(()), |aside| want_shape(operation, "the list of steps aside", aside.len(), &[batch, length]))
    }

    fn check_finite<T: Float>(&self, operation: &'static str, input: &Input<'_, T>) -> Result<(), Error> {
        let (length, width) = (input.length, self.cell.gates() * self.hidden());
        let place = |i: usize| format!("series {}, step {}, number {}", i / (length * width), i / width % length, i % width);
        finite(operation, "x", input.x, place)?;
        finite(operation, "the array of weights", input.u, |i| format!("number {i}"))
    }
}
