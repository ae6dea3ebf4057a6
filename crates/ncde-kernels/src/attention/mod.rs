//! Causal attention with positions turned by time, forward and reverse, without a matrix of rows by rows.
//!
//! ```text
//! q_i = R(t_i) q'_i / sqrt(d),   k_j = R(t_j) k'_j,   y_i = sum_j p_ij v_j,   p_ij = exp(q_i . k_j - z_i),   z_i = ln sum_j exp(q_i . k_j)
//! ```
//!
//! `R(t)` turns number `c` and number `c + d/2` by the angle `t rate_c`. Row `i` sees itself and those of the last `context - 1` rows before it that do not stand *aside*: nothing sees a row that does
//! but the row itself. Reverse, from the gradient `w_i` in `y_i`:
//!
//! ```text
//! dv_j = sum_i p_ij w_i,   s_ij = p_ij (w_i . v_j - w_i . y_i),   dq_i = sum_j s_ij k_j,   dk_j = sum_i s_ij q_i
//! ```
//!
//! | file | what it holds |
//! | --- | --- |
//! | `head` | the rows of one head of one series, turned; what they see |
//! | `tiles` | 64 rows by 64 rows at a time, forward and back |
//!
//! `y` and `z` are stored between the passes; scores are computed again (T. Dao and others, "`FlashAttention`", 2022). Cost: `4 d` flops a head and pair of rows forward, `10 d` back.

mod head;
mod tiles;

pub(crate) use tiles::{backward, forward};

use crate::error::{finite, finite_gradients, finite_states, want_shape, want_some};
use crate::{Error, Float};

/// In messages.
const NAME: &str = "attention";

/// The attention of so many heads.
///
/// ```
/// use ncde_kernels::attention::{Attention, Input};
/// // Keys of zero: every row is the mean of the values so far.
/// let attention = Attention { heads: 1, size: 2, context: 9 };
/// let rows = [1.0, 2.0, 0.0, 0.0, 3.0, 5.0,   4.0, 1.0, 0.0, 0.0, 5.0, 1.0];
/// let input = Input { batch: 1, length: 2, rows: &rows, times: &[0.0, 1.0], rates: &[1.0], aside: None };
/// assert_eq!(attention.forward(&input)?.y, [3.0, 5.0, 4.0, 3.0]);
/// # Ok::<(), ncde_kernels::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attention {
    /// How many heads.
    pub heads: usize,
    /// `d`: the numbers of a head, an even count.
    pub size: usize,
    /// How many rows a row sees, itself included.
    pub context: usize,
}

/// The arrays of one call, the last index running fastest.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a, T> {
    /// How many series.
    pub batch: usize,
    /// How many rows.
    pub length: usize,
    /// `q'`, `k'` and `v`: `[batch, length, 3, heads, d]`.
    pub rows: &'a [T],
    /// `t`: `[batch, length]`.
    pub times: &'a [f64],
    /// By what times are multiplied, `[d / 2]`.
    pub rates: &'a [f64],
    /// Which rows stand aside, `[batch, length]`; none without it.
    pub aside: Option<&'a [bool]>,
}

/// What comes out.
#[derive(Debug, Clone, PartialEq)]
pub struct Outputs<T> {
    /// `[batch, length, heads, d]`.
    pub y: Vec<T>,
    /// `y` and `z` for the reverse pass, those of one head after those of another: `batch x heads x length x (d + 1)` numbers.
    pub stored: Vec<T>,
}

impl Attention {
    /// What every row sees.
    ///
    /// # Errors
    /// If an array has the wrong size or holds a number that is not finite, or if a score overflows.
    pub fn forward<T: Float>(&self, input: &Input<'_, T>) -> Result<Outputs<T>, Error> {
        let operation = "attention";
        self.check(operation, input)?;
        let outputs = T::attention_forward(self, input);
        finite_states(NAME, &outputs.y, input.length, self.heads * self.size)
            .or_else(|exploded| Self::check_finite(operation, input).and(Err(exploded)))?;
        Ok(outputs)
    }

    /// The gradient of a loss in the rows, from its gradient in `y` and what [`forward`](Self::forward) stored.
    ///
    /// # Errors
    /// As for [`forward`](Self::forward), or if a gradient overflows.
    pub fn backward<T: Float>(&self, input: &Input<'_, T>, stored: &[T], gradient: &[T]) -> Result<Vec<T>, Error> {
        let operation = "the reverse pass of attention";
        self.check(operation, input)?;
        let shape =
            |numbers| [("batch #", input.batch), ("length #", input.length), ("# heads", self.heads), ("# numbers", numbers)];
        want_shape(operation, "what is stored", stored.len(), &shape(self.size + 1))?;
        want_shape(operation, "the gradient", gradient.len(), &shape(self.size))?;
        let rows = T::attention_backward(self, input, stored, gradient);
        finite_gradients(NAME, input.batch, &[&rows])
            .or_else(|exploded| Self::check_finite(operation, input).and(Err(exploded)))?;
        Ok(rows)
    }

    fn check<T: Float>(&self, operation: &'static str, input: &Input<'_, T>) -> Result<(), Error> {
        let &Input { batch, length, rows, times, rates, aside } = input;
        let &Self { heads, size, context } = self;
        want_some(operation, &[("size", batch), ("length", length), ("number of heads", heads), ("number of numbers", size)])?;
        want_some(operation, &[("number of rows that are seen", context)])?;
        let (batch, length) = (("batch #", batch), ("length #", length));
        want_shape(
            operation,
            "the array of rows",
            rows.len(),
            &[batch, length, ("# parts", 3), ("# heads", heads), ("# numbers", size)],
        )?;
        want_shape(operation, "the list of times", times.len(), &[batch, length])?;
        want_shape(operation, "the list of rates, twice,", 2 * rates.len(), &[("# numbers", size)])?;
        aside.map_or(Ok(()), |aside| want_shape(operation, "the list of rows aside", aside.len(), &[batch, length]))
    }

    fn check_finite<T: Float>(operation: &'static str, input: &Input<'_, T>) -> Result<(), Error> {
        let (length, width) = (input.length, input.rows.len() / (input.batch * input.length));
        let place = |i: usize| format!("series {}, row {}, number {}", i / (length * width), i / width % length, i % width);
        finite(operation, "the array of rows", input.rows, place)?;
        finite(operation, "the list of times", input.times, |i| format!("series {}, row {}", i / length, i % length))
    }
}
