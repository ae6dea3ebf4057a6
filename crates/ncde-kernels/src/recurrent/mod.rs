//! Recurrent cells over whole sequences, forward and reverse: LSTM, GRU and sLSTM.
//!
//! ```text
//! x_t = W^T (row_t, 1),   u_t = U^T h_{t-1} of each head,   s_t = cell(x_t, u_t, s_{t-1}),   h_t: the first part of s_t
//! ```
//!
//! A step that stands *aside* gives the state that it would lead to, but the step behind it goes on from the state before it.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `cells` | the equations of the cells and their gradients, 16 numbers at once |
//! | `layout` | where numbers lie, weights in panels |
//! | `steps` | all steps of a few series forward, one step of a stream |
//! | `back` | all steps back |
//!
//! A step of `R` series is one product `[R, d] U`, with `U` in the second-level cache; what rows bring is one product for 128 of them, and so are the gradients of weights and rows: no array of
//! gates of all rows is read or written but the one between the passes. Cost: `2 (n + d) G d` flops a head and row forward, twice that back. Memory: `S + K` numbers for each `h`.

mod back;
mod cells;
mod layout;
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
    /// Gates `r, z, n`, state `h`. The reset gate is behind the product: `n` sees `x + r u`. `U` has a bias too.
    Gru,
    /// Gates `i, f, z, o`, states `y, c, n, m`. A row has two parts: the first is read by `i` and `f`, the second by `z` and `o`.
    Slstm,
}

impl Cell {
    /// `G`: the gates of each state `h`.
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

    /// `K`: the numbers that the reverse pass needs for each of `h` beside the states.
    pub fn stored_gates(self) -> usize {
        if self == Self::Slstm { 5 } else { 4 }
    }

    /// `P`: the parts of a row.
    pub fn parts(self) -> usize {
        if self == Self::Slstm { 2 } else { 1 }
    }
}

/// Cells in `heads` groups: what a group stored reaches its own gates alone.
///
/// ```
/// use ncde_kernels::recurrent::{Cell, Input, Recurrent};
/// // An LSTM of one state whose gates i, f and o are nearly 1 and that takes tanh(x): c = tanh(1/2), then 2 tanh(1/2).
/// let lstm = Recurrent { cell: Cell::Lstm, inputs: 1, heads: 1, size: 1 };
/// let w = [0.0, 0.0, 1.0, 0.0, 30.0, 30.0, 0.0, 30.0];
/// let outputs = lstm.forward(&Input { batch: 1, length: 2, x: &[0.5, 0.5], w: &w, u: &[0.0; 4], aside: None })?;
/// let c = 0.5_f64.tanh();
/// assert!(outputs.h.iter().zip([c.tanh(), (2.0 * c).tanh()]).all(|(h, right): (&f64, f64)| (h - right).abs() < 1e-12));
/// # Ok::<(), ncde_kernels::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recurrent {
    /// The equations.
    pub cell: Cell,
    /// `n`: the numbers of a part of a row.
    pub inputs: usize,
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
    /// `[batch, length, P, n]`.
    pub x: &'a [T],
    /// `W`: `[n + 1, G, heads, d]`; the last row is the bias.
    pub w: &'a [T],
    /// `U`: `[heads, d, G, d]`; of a GRU `[heads, d + 1, G, d]`, the last of the `d + 1` rows being a bias.
    pub u: &'a [T],
    /// Which steps stand aside, `[batch, length]`; none without it.
    pub aside: Option<&'a [bool]>,
}

/// What comes out.
#[derive(Debug, Clone, PartialEq)]
pub struct Outputs<T> {
    /// `[batch, length, heads, d]`.
    pub h: Vec<T>,
    /// All states and gates, for the reverse pass: `batch x length x (S + K) x heads x d` numbers.
    pub stored: Vec<T>,
}

/// The gradient of a loss in each array of an [`Input`].
#[derive(Debug, Clone, PartialEq)]
pub struct Gradients<T> {
    /// In `x`.
    pub x: Vec<T>,
    /// In `W`.
    pub w: Vec<T>,
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
        finite_states(NAME, &outputs.h, input.length, self.hidden())
            .or_else(|exploded| self.check_finite(operation, input).and(Err(exploded)))?;
        Ok(outputs)
    }

    /// The gradients of a loss, from its gradient in `h` and what [`forward`](Self::forward) stored.
    ///
    /// # Errors
    /// As for [`forward`](Self::forward), or if a gradient overflows.
    pub fn backward<T: Float>(&self, input: &Input<'_, T>, stored: &[T], gradient: &[T]) -> Result<Gradients<T>, Error> {
        let operation = "the reverse pass of the recurrent cells";
        self.check(operation, input)?;
        let shape = |numbers| [("batch #", input.batch), ("length #", input.length), ("#", numbers), ("# states", self.hidden())];
        let numbers = self.cell.states() + self.cell.stored_gates();
        want_shape(operation, "the array of states and gates", stored.len(), &shape(numbers))?;
        want_shape(operation, "the gradient", gradient.len(), &shape(1))?;
        let gradients = T::recurrent_backward(self, input, stored, gradient);
        finite_gradients(NAME, input.batch, &[&gradients.x])
            .and_then(|()| finite_gradients(NAME, 1, &[&gradients.w, &gradients.u]))
            .or_else(|exploded| self.check_finite(operation, input).and(Err(exploded)))?;
        Ok(gradients)
    }

    /// One step of one series: `state`, `[S, heads, d]`, becomes the next one. `x`, `[G, heads, d]`, is what the row brings to the gates, and `u`, `[heads, G, d]`, what the state before it
    /// does. [`first`](Self::first) is the state before the first row.
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
        steps::first_of(self)
    }

    fn check<T: Float>(&self, operation: &'static str, input: &Input<'_, T>) -> Result<(), Error> {
        let &Input { batch, length, x, w, u, aside } = input;
        let &Self { cell, inputs, heads, size } = self;
        let sizes = [("size", batch), ("length", length), ("number of inputs", inputs), ("number of heads", heads)];
        want_some(operation, &sizes)?;
        want_some(operation, &[("number of states", size)])?;
        let (batch, length, gates) = (("batch #", batch), ("length #", length), ("# gates", cell.gates()));
        want_shape(operation, "x", x.len(), &[batch, length, ("# parts", cell.parts()), ("# inputs", inputs)])?;
        let rows = ("# inputs and a bias", inputs + 1);
        want_shape(operation, "W", w.len(), &[rows, gates, ("# heads", heads), ("# states", size)])?;
        let rows = if cell == Cell::Gru { ("# states and a bias", size + 1) } else { ("# states", size) };
        want_shape(operation, "U", u.len(), &[("# heads", heads), rows, gates, ("# states", size)])?;
        aside.map_or(Ok(()), |aside| want_shape(operation, "the list of steps aside", aside.len(), &[batch, length]))
    }

    fn check_finite<T: Float>(&self, operation: &'static str, input: &Input<'_, T>) -> Result<(), Error> {
        let (length, width) = (input.length, self.cell.parts() * self.inputs);
        let place = |i: usize| format!("series {}, step {}, number {}", i / (length * width), i / width % length, i % width);
        finite(operation, "x", input.x, place)?;
        finite(operation, "W", input.w, |i| format!("number {i}"))?;
        finite(operation, "U", input.u, |i| format!("number {i}"))
    }
}
