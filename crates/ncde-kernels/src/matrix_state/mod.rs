//! Linear recurrences of matrix-valued states, forward and reverse: linear attention, `DeltaNet`, `DeltaProduct`, RWKV-7, Mamba-2, mLSTM.
//!
//! ```text
//! S_t = S_{t-1} (diag(w_t) + a_t c_t^T) + v_t k_t^T,   o_t = S_t q_t
//! ```
//!
//! The state `S`, `[V, K]`, is a memory: it stores values `v` under keys `k` and is read by queries `q`. Every series and head has its own.
//!
//! | model | `w` | `a c^T` |
//! | --- | --- | --- |
//! | linear attention | 1 | none |
//! | Mamba-2, mLSTM | one number | none |
//! | `DeltaNet`, `DeltaProduct` | 1 | `-beta k k^T` |
//! | gated `DeltaNet` | one number | `-w beta k k^T` |
//! | RWKV-7 | `K` numbers | `-kappa (alpha * kappa)^T` |
//!
//! # Reverse
//!
//! With `u_t = S_{t-1} a_t`, the gradient `G_t` in `S_t` and `z_t = G_t c_t`, from the gradients `do_t` in the outputs (and one in the last state,
//! with which `G` starts):
//!
//! ```text
//! G_t = G_{t+1} (diag(w_{t+1}) + c_{t+1} a_{t+1}^T) + do_t q_t^T
//! dq_t = S_t^T do_t,   dv_t = G_t k_t,   dk_t = G_t^T v_t,   da_t = S_{t-1}^T z_t,   dc_t = G_t^T u_t,   dw_t = sum_v (G_t * S_{t-1})[v]
//! ```
//!
//! So `G` is a recurrence of the same form that runs back in time: its outputs are `dv`, its `u` is `z`. With `u` and `z` known, `S` and `G` need no
//! sum over keys any more, and the gradients in `K` numbers are sums over values. Each pass has the other index along registers and sums along none:
//!
//! | file | what it holds |
//! | --- | --- |
//! | `input` | the arrays and their checks |
//! | `pass` | steps with values along registers: forward, and `G` backward |
//! | `columns` | steps with keys along registers: the gradients in `w, a, c, k, q` |
//! | `heads`, `back` | all steps of a head in chunks and all heads of a batch: forward, with one step of a stream, and back |
//!
//! Between the passes, `u` and every 32nd or 64th state are stored; the reverse pass computes those between again, chunk by chunk.

mod back;
mod columns;
mod heads;
mod input;
mod pass;

pub use input::{Gradients, Input, Outputs, Step};

pub(crate) use back::backward;
pub(crate) use heads::{forward, push};

use crate::error::{finite_gradients, finite_states, want_shape};
use crate::pool::borrow;
use crate::{Error, Float};

/// In messages.
const NAME: &str = "matrix-state";

/// The steps between two states that are stored: fewer of large ones, so that those of a chunk stay in the second-level cache.
fn chunk(values: usize) -> usize {
    if values <= 32 { 64 } else { 32 }
}

/// The form of `w`, with which old states are multiplied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decay {
    /// `w = 1`.
    #[default]
    None,
    /// One number for each head and step.
    Scalar,
    /// One number for each key.
    Vector,
}

impl Decay {
    /// The numbers of `w` for each head and step.
    pub fn numbers(self, keys: usize) -> usize {
        match self {
            Self::None => 0,
            Self::Scalar => 1,
            Self::Vector => keys,
        }
    }
}

/// The recurrence of `heads` matrices of `values` rows and `keys` columns.
///
/// ```
/// use ncde_kernels::matrix_state::{Input, MatrixState};
/// // The delta rule: I - k k^T forgets what is stored under k, and v k^T stores v there. The second step overwrites the first.
/// let memory = MatrixState { delta: true, ..MatrixState::new(1, 2, 2) };
/// let (k, minus_k, v) = ([0.6, 0.8, 0.6, 0.8], [-0.6, -0.8, -0.6, -0.8], [5.0, 7.0, 1.0, 2.0]);
/// let input = Input { batch: 1, length: 2, w: &[], a: &minus_k, c: &k, k: &k, q: &k, v: &v, initial: &[] };
/// let read = memory.forward(&input)?.outputs;
/// assert!(read.iter().zip(v).all(|(o, v): (&f64, f64)| (o - v).abs() < 1e-14));
/// # Ok::<(), ncde_kernels::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MatrixState {
    /// The number of matrices of each series.
    pub heads: usize,
    /// The length `K` of keys and queries.
    pub keys: usize,
    /// The length `V` of values and outputs.
    pub values: usize,
    /// The form of `w`.
    pub decay: Decay,
    /// Whether there are `a` and `c`.
    pub delta: bool,
}

impl MatrixState {
    /// Without decay, `a` and `c`: linear attention.
    pub fn new(heads: usize, keys: usize, values: usize) -> Self {
        Self { heads, keys, values, decay: Decay::None, delta: false }
    }

    /// The numbers of the state of a series, `[heads, V, K]`.
    pub fn state(&self) -> usize {
        self.heads * self.values * self.keys
    }

    /// The numbers of the [checkpoints](Outputs::checkpoints) of a batch: for each series and head the state after every chunk of
    /// steps but the last, `[V, K]`, and with `delta` the vectors `u`, `[length, V]`.
    pub fn checkpoints(&self, batch: usize, length: usize) -> usize {
        batch * self.heads * self.head_checkpoints(length)
    }

    /// The numbers of the checkpoints of a head.
    fn head_checkpoints(&self, length: usize) -> usize {
        let u = if self.delta { length * self.values } else { 0 };
        length.saturating_sub(1) / chunk(self.values) * self.values * self.keys + u
    }

    /// The outputs, the last state and what the reverse pass needs.
    ///
    /// # Errors
    /// If an array has the wrong size or holds a number that is not finite, or if a state overflows.
    pub fn forward<T: Float>(&self, input: &Input<'_, T>) -> Result<Outputs<T>, Error> {
        let operation = "the matrix-state recurrence";
        self.check_sizes(operation, input)?;
        let (outputs, finite) = T::matrix_state_forward(self, input);
        if !finite {
            self.check_finite(operation, input)?;
            finite_states(NAME, &outputs.outputs, input.length, self.heads * self.values)?;
        }
        Ok(outputs)
    }

    /// The gradients of a loss, from the checkpoints that [`forward`](Self::forward) gave and the gradients in the outputs and in the last state.
    ///
    /// # Shapes
    /// `outputs`: `[batch, length, heads, V]`; `last`: `[batch, heads, V, K]`, or empty for zeros.
    ///
    /// # Errors
    /// As for [`forward`](Self::forward), or if a gradient overflows.
    pub fn backward<T: Float>(
        &self,
        input: &Input<'_, T>,
        checkpoints: &[T],
        outputs: &[T],
        last: &[T],
    ) -> Result<Gradients<T>, Error> {
        let operation = "the reverse pass of the matrix-state recurrence";
        self.check_sizes(operation, input)?;
        let &Input { batch, length, .. } = input;
        let head = ("# numbers of each head", self.head_checkpoints(length));
        let (batch_size, heads) = (("batch #", batch), ("# heads", self.heads));
        want_shape(operation, "the array of checkpoints", checkpoints.len(), &[batch_size, heads, head])?;
        let shape = [batch_size, ("length #", length), heads, ("# values", self.values)];
        want_shape(operation, "the gradient of the outputs", outputs.len(), &shape)?;
        if !last.is_empty() {
            let shape = [batch_size, heads, ("# values", self.values), ("# keys", self.keys)];
            want_shape(operation, "the gradient of the last state", last.len(), &shape)?;
        }
        let (gradients, finite) = T::matrix_state_backward(self, input, checkpoints, [outputs, last]);
        if !finite {
            self.check_finite(operation, input)?;
            let Gradients { w, a, c, k, q, v, initial } = &gradients;
            finite_gradients(NAME, batch, &[w, a, c, k, q, v, initial])?;
        }
        Ok(gradients)
    }

    /// Takes one step of one series: `state`, `[heads, V, K]`, becomes the next state, and `output`, `[heads, V]`, is filled. On an error the state is
    /// unchanged. The numbers are those of [`forward`](Self::forward).
    ///
    /// # Errors
    /// If an array has the wrong size or holds a number that is not finite, or if the state overflows.
    pub fn push<T: Float>(&self, state: &mut [T], step: &Step<'_, T>, output: &mut [T]) -> Result<(), Error> {
        let operation = "a step of the matrix-state recurrence";
        let heads = ("# heads", self.heads);
        want_shape(operation, "the state", state.len(), &[heads, ("# values", self.values), ("# keys", self.keys)])?;
        want_shape(operation, "the output", output.len(), &[heads, ("# values", self.values)])?;
        let input = step.input(state);
        self.check_sizes(operation, &input)?;
        let mut next = borrow::<Vec<T>>();
        next.resize(self.state(), T::ZERO);
        if !T::matrix_state_push(self, &input, output, &mut next) {
            self.check_finite(operation, &input)?;
            return Err(Error::Exploded { structure: NAME, step: 0, series: 0 });
        }
        state.copy_from_slice(&next);
        Ok(())
    }
}
