//! The selective scan of S6 and Mamba: a diagonal state-space model for each channel, whose step, input and readout follow from the input; forward and reverse.
//!
//! ```text
//! h_t[n, e] = exp(d_t[e] a[n, e]) h_{t-1}[n, e] + d_t[e] u_t[e] b_t[n],   y_t[e] = sum_n c_t[n] h_t[n, e],   h_0 = 0
//! ```
//!
//! (A. Gu, T. Dao, "Mamba: Linear-Time Sequence Modeling with Selective State Spaces", 2023.) A step that stands *aside* makes its `y` from the state that it would
//! lead to, but the step behind it goes on from the state before it.
//!
//! Reverse, from the gradient `w_t` of `y_t`, with `g_t[n, e] = w_t[e] c_t[n] + exp(d_{t+1} a) g_{t+1}`:
//!
//! ```text
//! dc_t[n] = sum_e w_t h_t,   db_t[n] = sum_e g_t d_t u_t,   du_t[e] = d_t sum_n g_t b_t,   s_t = g_t exp(d_t a) h_{t-1}
//! da[n, e] = sum_t d_t s_t,   dd_t[e] = sum_n a s_t + u_t sum_n g_t b_t
//! ```
//!
//! States are computed again from every 32nd, so that memory is that of the arrays. Cost: `E N` exponentials a step forward, twice in reverse. Series run in parallel.

mod steps;

pub(crate) use steps::{backward, forward, push};

use crate::error::{finite, finite_gradients, finite_states, want, want_some};
use crate::{Error, Float};

/// In messages.
const NAME: &str = "selective";

/// The selective scan of so many channels with so many states each.
///
/// ```
/// use ncde_kernels::selective::{Input, Selective};
/// // With a = 0 nothing is forgotten: two steps add up to 2 * 3 and 2 * 3 + 1 * 5.
/// let scan = Selective { channels: 1, states: 1 };
/// let input = Input { batch: 1, length: 2, step: &[2.0, 1.0], u: &[3.0, 5.0], a: &[0.0], b: &[1.0, 1.0], c: &[1.0, 1.0], aside: None };
/// assert_eq!(scan.forward(&input)?.y, [6.0, 11.0]);
/// # Ok::<(), ncde_kernels::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Selective {
    /// `E`.
    pub channels: usize,
    /// `N`: the states of a channel.
    pub states: usize,
}

/// The arrays of one call, the last index running fastest.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a, T> {
    /// How many series.
    pub batch: usize,
    /// How many steps.
    pub length: usize,
    /// `d`: `[batch, length, E]`.
    pub step: &'a [T],
    /// `[batch, length, E]`.
    pub u: &'a [T],
    /// `[N, E]`.
    pub a: &'a [T],
    /// `[batch, length, N]`.
    pub b: &'a [T],
    /// `[batch, length, N]`.
    pub c: &'a [T],
    /// Which steps stand aside, `[batch, length]`; none without it.
    pub aside: Option<&'a [bool]>,
}

/// What comes out.
#[derive(Debug, Clone, PartialEq)]
pub struct Outputs<T> {
    /// `[batch, length, E]`.
    pub y: Vec<T>,
    /// The states that the reverse pass begins with: `[batch, parts, N, E]`.
    pub starts: Vec<T>,
}

/// The gradient of a loss in each array of an [`Input`].
#[derive(Debug, Clone, PartialEq)]
pub struct Gradients<T> {
    /// In `d`.
    pub step: Vec<T>,
    /// In `u`.
    pub u: Vec<T>,
    /// In `a`.
    pub a: Vec<T>,
    /// In `b`.
    pub b: Vec<T>,
    /// In `c`.
    pub c: Vec<T>,
}

impl Selective {
    /// The numbers of a state.
    pub fn size(&self) -> usize {
        self.channels * self.states
    }

    /// The outputs of all steps.
    ///
    /// # Errors
    /// If an array has the wrong size or holds a number that is not finite, or if a state overflows.
    pub fn forward<T: Float>(&self, input: &Input<'_, T>) -> Result<Outputs<T>, Error> {
        self.check("the selective scan", input)?;
        let outputs = T::selective_forward(self, input);
        finite_states(NAME, &outputs.y, input.length, self.channels)?;
        Ok(outputs)
    }

    /// The gradients of a loss, from its gradient in `y` and the states that [`forward`](Self::forward) gave.
    ///
    /// # Errors
    /// As for [`forward`](Self::forward), or if a gradient overflows.
    pub fn backward<T: Float>(&self, input: &Input<'_, T>, starts: &[T], gradient: &[T]) -> Result<Gradients<T>, Error> {
        let operation = "the reverse pass of the selective scan";
        self.check(operation, input)?;
        let parts = input.length.div_ceil(steps::PART);
        want(operation, "the array of states", starts.len(), input.batch * parts * self.size(), || {
            "batch x parts x N x E".into()
        })?;
        want(operation, "the gradient", gradient.len(), input.u.len(), || "batch x length x E".into())?;
        let gradients = T::selective_backward(self, input, starts, gradient);
        let Gradients { step, u, a, b, c } = &gradients;
        finite_gradients(NAME, input.batch, &[step, u, a, b, c])?;
        Ok(gradients)
    }

    fn check<T: Float>(&self, operation: &'static str, input: &Input<'_, T>) -> Result<(), Error> {
        let &Input { batch, length, step, u, a, b, c, aside } = input;
        let Self { channels, states } = *self;
        want_some(
            operation,
            &[("size", batch), ("length", length), ("number of channels", channels), ("number of states", states)],
        )?;
        want(operation, "a", a.len(), self.size(), || format!("{states} states x {channels} channels"))?;
        want(operation, "the list of steps aside", aside.map_or(batch * length, <[bool]>::len), batch * length, || {
            "batch x length".into()
        })?;
        for (what, values, width) in [("the steps", step, channels), ("u", u, channels), ("b", b, states), ("c", c, states)] {
            want(operation, what, values.len(), batch * length * width, || format!("batch {batch} x length {length} x {width}"))?;
            finite(operation, what, values, |i| {
                format!("series {}, step {}, number {}", i / (length * width), i / width % length, i % width)
            })?;
        }
        finite(operation, "a", a, |i| format!("state {}, channel {}", i / channels, i % channels))
    }
}

/// One step of one series on its state, `[N, E]`: `y` from `step`, `u` (`[E]`), `b` and `c` (`[N]`).
///
/// # Errors
/// If an array has the wrong size, or the state overflows.
pub fn step<T: Float>(a: &[T], state: &mut [T], [step, u]: [&[T]; 2], [b, c]: [&[T]; 2], y: &mut [T]) -> Result<(), Error> {
    let (operation, channels, states) = ("a step of the selective scan", u.len(), b.len());
    for (what, seen, wanted) in [
        ("a", a.len(), channels * states),
        ("the state", state.len(), channels * states),
        ("the steps", step.len(), channels),
        ("c", c.len(), states),
        ("y", y.len(), channels),
    ] {
        want(operation, what, seen, wanted, || format!("of {states} states and {channels} channels"))?;
    }
    T::selective_push(a, state, [step, u], [b, c], y);
    finite_states(NAME, y, 1, channels)
}
