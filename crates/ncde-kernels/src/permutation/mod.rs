//! The recurrence of matrices that are one-hot by columns or by rows times a diagonal, both chosen by the input, forward and reverse.
//!
//! ```text
//! h_t = A_t h_{t-1} + b_t,   P_t = hardmax(sum_k s_k M_k) line by line,   s = softmax(q_t),   D_t = diag(m e^{i phi})
//! ```
//!
//! | [`OneHot`] | `A` | what it does |
//! | --- | --- | --- |
//! | `Columns` | `P D` | multiplies state `j` and sends it to state `p(j)`; states that meet are added |
//! | `Rows` | `D P` | state `i` is fetched from state `p(i)` and multiplied; states can be copied and lost |
//!
//! Each form is the transpose of the other. A product of two such matrices is another one: a map after a map, and two numbers
//! multiplied for each line. So a step and a product cost `O(H)`, and the recurrence runs as a scan over chunks. With all `D = 1` and one state that is not 0
//! it is a finite automaton. Published as PD-SSM (A. Terzic, N. Menet, M. Hersche, T. Hofmann, A. Rahimi, "Structured Sparse Transition Matrices to Enable
//! State Tracking in State-Space Models", 2025): the text has columns, the code that goes with it rows.
//!
//! A step is given as a row of numbers, `(q, z, y, b)`: `K` scores, then what the diagonal and the input need.
//!
//! | [`Diagonal`] | `D` | numbers of a state | numbers of a row |
//! | --- | --- | --- | --- |
//! | `One` | 1 | 1 | `K`, with an input `K + H` |
//! | `Real` | `m = sigmoid(z)^dt` | 1 | `K + H`, `K + 2H` |
//! | `Complex` | `m e^{i phi}`, `phi = 2 pi sigmoid(y) dt` | 2 | `K + 2H`, `K + 4H` |
//!
//! `dt` is the time since the step before, 1 where none is given: `D = exp(lambda dt)` with `lambda = ln m + i phi`, so a state decays and turns while time passes, and
//! jumps by `P` at an observation. That impulsive form is the continuous one there is: `P` is no flow. (An exponential is invertible and has a positive determinant where it is
//! real; a map that merges two states is not invertible, and a transposition has determinant -1.)
//!
//! # Gradients
//!
//! The choice has no derivative. In the reverse pass it is that of the lines' soft-max (straight through): with `S = softmax(M)` by lines,
//!
//! ```text
//! g_t = w_t + A_{t+1}^H g_{t+1},   db_t = g_t,   dP_t = Re(g_t (D_t h_{t-1})^H) or Re(D_t^H g_t h_{t-1}^H),   dM = S * (dP - sum_i S dP),   dM_k = s_k dM,   ds_k = <M_k, dM>
//! ```
//!
//! which is the derivative of the recurrence with `P_t + S(q, M) - S(q_0, M_0)` in the place of `P_t`, at the point `q_0, M_0`. It costs `K H^2` a step. Equal rows of scores
//! (tokens have few) share their choice and soft-max.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `input` | the arrays and their checks |
//! | `map` | one matrix: its action, its transpose's, products |
//! | `choice` | scores to maps, and the reverse pass of the soft-max |
//! | `diagonal` | numbers to `D` and back |
//! | `steps` | steps of a series, chunks, and the three phases of the scan over chunks |
//! | `stream` | one step at a time |

mod choice;
mod diagonal;
mod input;
mod map;
mod steps;
mod stream;

pub use diagonal::Diagonal;
pub use input::{Gradients, Input};
pub use map::{OneHot, OneHotMap};
pub use stream::Stream;

pub(crate) use steps::{backward, forward};
pub(crate) use stream::push;

use crate::error::{finite_gradients, finite_states};
use crate::scan::scanned;
use crate::{Error, Float, Mode};
use map::Kind;

/// In messages.
const NAME: &str = "permutation-diagonal";

/// The recurrence of `hidden` states and `matrices` in the dictionary.
///
/// ```
/// use ncde_kernels::permutation::{Diagonal, Input, PermutationDiagonal};
/// // Parity: the first matrix leaves two states where they are, the second exchanges them.
/// let parity = PermutationDiagonal::new(2, 2, Diagonal::One);
/// let dictionary = [1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0];
/// let (zero, one) = ([9.0, 0.0], [0.0, 9.0]);
/// let control = [one, zero, one, one].concat();
/// let input = Input { batch: 1, length: 4, dictionary: &dictionary, control: &control, initial: &[1.0, 0.0], spans: None, lengths: None };
/// assert_eq!(parity.forward(&input)?, [0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0]);
/// # Ok::<(), ncde_kernels::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PermutationDiagonal {
    /// The number of states `H`.
    pub hidden: usize,
    /// The number of matrices `K` in the dictionary.
    pub matrices: usize,
    /// The range of the diagonal.
    pub diagonal: Diagonal,
    /// The lines that have one entry each.
    pub one_hot: OneHot,
    /// Whether there is an input `b_t`, the last numbers of a row.
    pub input: bool,
    /// The order of computation.
    pub mode: Mode,
    /// The steps of a chunk of the parallel mode, at least 1.
    pub chunk: usize,
}

impl PermutationDiagonal {
    /// One-hot by columns, without an input, computed in the order the shapes suggest.
    pub fn new(hidden: usize, matrices: usize, diagonal: Diagonal) -> Self {
        Self { hidden, matrices, diagonal, one_hot: OneHot::Columns, input: false, mode: Mode::default(), chunk: 256 }
    }

    /// The lines with one entry, and the numbers, of all matrices.
    fn kind(&self) -> Kind {
        Kind { one_hot: self.one_hot, numbers: self.diagonal.numbers() }
    }

    /// The real numbers of a state: `H`, or of complex ones the real parts and then the imaginary parts.
    pub fn width(&self) -> usize {
        self.diagonal.numbers().parts() * self.hidden
    }

    /// The numbers of a row of control: scores, those of the diagonal, the input.
    pub fn columns(&self) -> usize {
        self.matrices + self.diagonal.raw(self.hidden) + if self.input { self.width() } else { 0 }
    }

    /// The numbers of the dictionary, `[K, H, H]`, line by line: `M_k[i, j]`, with which state `j` goes to state `i`, is at `(k H + j) H + i` where lines are columns and at `(k H + i) H + j` where
    /// they are rows.
    pub fn dictionary(&self) -> usize {
        self.matrices * self.hidden * self.hidden
    }

    /// The steps of a chunk for these shapes; all of them where there is no parallel mode. Threads do not matter.
    fn plan(&self, batch: usize, length: usize) -> usize {
        scanned(self.mode, self.chunk, batch, length)
    }

    /// The states after each step. Past the length of a series its last state is repeated.
    ///
    /// # Shapes
    /// `[batch, length, width]`.
    ///
    /// # Errors
    /// If an array has the wrong size or holds a number that is not finite, or if a state overflows.
    pub fn forward<T: Float>(&self, input: &Input<'_, T>) -> Result<Vec<T>, Error> {
        self.check("the permutation-diagonal recurrence", input)?;
        let states = T::permutation_forward(self, input);
        finite_states(NAME, &states, input.length, self.width())?;
        Ok(states)
    }

    /// The gradients of a loss, from its gradient in the states and the states that [`forward`](Self::forward) gave; straight through the choice.
    ///
    /// # Errors
    /// As for [`forward`](Self::forward), or if a gradient overflows.
    pub fn backward<T: Float>(&self, input: &Input<'_, T>, states: &[T], gradient: &[T]) -> Result<Gradients<T>, Error> {
        let operation = "the reverse pass of the permutation-diagonal recurrence";
        self.check(operation, input)?;
        self.check_rows(operation, "the array of states", input, states)?;
        self.check_rows(operation, "the gradient", input, gradient)?;
        let gradients = T::permutation_backward(self, input, states, gradient);
        finite_gradients(NAME, input.batch, &[&gradients.control, &gradients.initial])?;
        finite_gradients(NAME, 1, &[&gradients.dictionary])?;
        Ok(gradients)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plan_follows_from_the_shapes() {
        let recurrence = PermutationDiagonal { chunk: 16, ..PermutationDiagonal::new(3, 2, Diagonal::Real) };
        assert_eq!([recurrence.plan(1, 63), recurrence.plan(1, 64), recurrence.plan(8, 64)], [63, 16, 64]);
        assert_eq!(PermutationDiagonal { mode: Mode::Recurrent, ..recurrence }.plan(1, 64), 64);
        assert_eq!(PermutationDiagonal { mode: Mode::Parallel, ..recurrence }.plan(100, 64), 16);
    }

    #[test]
    fn rows_by_diagonal() {
        let columns = |diagonal| {
            let recurrence = PermutationDiagonal::new(5, 3, diagonal);
            [recurrence.width(), recurrence.columns(), PermutationDiagonal { input: true, ..recurrence }.columns()]
        };
        assert_eq!(columns(Diagonal::One), [5, 3, 8]);
        assert_eq!(columns(Diagonal::Real), [5, 8, 13]);
        assert_eq!(columns(Diagonal::Complex), [10, 13, 23]);
    }
}
