//! The recurrence of matrices that are one-hot by columns or by rows times a diagonal, both chosen by the input, on device buffers.
//!
//! ```text
//! h_t = A_t h_{t-1} + b_t,   P_t = hardmax(sum_k s_k M_k) line by line,   s = softmax(q_t),   D_t = diag(m e^{i phi}),   A_t = P_t D_t or D_t P_t
//! ```
//!
//! The same equations as `ncde_kernels::permutation`, straight through the choice in reverse. The mixed matrix and its gradient are never in memory: lines are mixed in registers from a dictionary in shared memory, and only the
//! argmax index of each line is stored. Then a cube goes through each series. The reverse pass mixes lines again, once for what the soft-max needs and the gradients of weights, once for the gradient of the dictionary;
//! parts are added in order. Only states are stored between the passes.

mod cut;
mod passes;

use cubecl::prelude::*;
use cubecl::server::Handle;

use crate::device::Gpu;
use crate::error::Error;
use crate::recurrence::{want, want_countable, want_list, want_some};
use cut::Cut;
use passes::Pass;

/// What the diagonal is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Diagonal {
    /// Ones.
    One,
    /// Between 0 and 1.
    Real,
    /// In the complex unit disc.
    Complex,
}

/// Which lines of `P` have one entry each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OneHot {
    /// Every state goes to one state: `A = P D`.
    Columns,
    /// Every state comes from one state: `A = D P`.
    Rows,
}

/// What is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PermutationDiagonal {
    /// `H`.
    pub hidden: usize,
    /// `K`.
    pub matrices: usize,
    /// What the diagonal is.
    pub diagonal: Diagonal,
    /// Which lines have one entry each.
    pub one_hot: OneHot,
    /// Whether there is an input `b`.
    pub input: bool,
}

/// The buffers of one call, each contiguous, in the layouts of `ncde_kernels::permutation::Input`.
#[derive(Debug, Clone)]
pub struct Arrays {
    /// How many series.
    pub batch: usize,
    /// How many steps.
    pub length: usize,
    /// `M_1, ..., M_K`, line by line.
    pub dictionary: Handle,
    /// Scores, numbers of the diagonal and input.
    pub control: Handle,
    /// `h_0`.
    pub initial: Handle,
    /// The time that passes before each step; 1 without it.
    pub spans: Option<Vec<f32>>,
    /// The number of steps of each series; all of them without it.
    pub lengths: Option<Vec<usize>>,
}

/// The gradients, in the layouts of what they belong to.
#[derive(Debug)]
pub struct Gradients {
    /// In the dictionary.
    pub dictionary: Handle,
    /// In the control.
    pub control: Handle,
    /// In `h_0`.
    pub initial: Handle,
}

impl PermutationDiagonal {
    /// Real numbers of one state.
    pub(crate) fn parts(&self) -> usize {
        if self.diagonal == Diagonal::Complex { 2 } else { 1 }
    }

    /// Real numbers of all states.
    pub fn width(&self) -> usize {
        self.parts() * self.hidden
    }

    /// Free numbers of the diagonal.
    pub(crate) fn raw(&self) -> usize {
        if self.diagonal == Diagonal::One { 0 } else { self.width() }
    }

    /// Numbers of a row of control.
    pub fn columns(&self) -> usize {
        self.matrices + self.raw() + if self.input { self.width() } else { 0 }
    }

    /// Numbers of the dictionary.
    pub fn dictionary(&self) -> usize {
        self.matrices * self.hidden * self.hidden
    }

    /// Whether units send their numbers to where a line has its entry; or fetch them from there.
    pub(crate) fn sends(&self, back: bool) -> bool {
        (self.one_hot == OneHot::Columns) != back
    }

    /// Numbers of shared memory for where numbers are sent to, in two halves.
    pub(crate) fn targets(&self, back: bool) -> usize {
        if self.sends(back) { 2 * self.hidden } else { 1 }
    }

    /// Whether a cube of the device holds the states of a series.
    pub fn fits<R: Runtime>(&self, gpu: &Gpu<R>) -> bool {
        self.cut(gpu, 1).is_some()
    }

    fn cut<R: Runtime>(&self, gpu: &Gpu<R>, steps: usize) -> Option<Cut> {
        let hardware = &gpu.client().properties().hardware;
        Cut::new(self, steps, gpu.limits(), hardware.max_units_per_cube as usize, hardware.max_shared_memory_size)
    }

    /// The states after each step, `[batch, length, width]`. Past the length of a series its last state is repeated. States that overflow are not finite.
    ///
    /// # Errors
    /// If a buffer has the wrong size, or a cube does not hold the states.
    pub fn forward<R: Runtime>(&self, gpu: &Gpu<R>, arrays: &Arrays) -> Result<Handle, Error> {
        let pass = self.pass(gpu, arrays)?;
        Ok(pass.states(&pass.choose(None).at))
    }

    /// The gradients from the states that [`forward`](Self::forward) gave and the gradient in them.
    ///
    /// # Errors
    /// As for [`forward`](Self::forward).
    pub fn backward<R: Runtime>(
        &self,
        gpu: &Gpu<R>,
        arrays: &Arrays,
        states: &Handle,
        gradient: &Handle,
    ) -> Result<Gradients, Error> {
        let numbers = arrays.batch * arrays.length * self.width();
        want("the states", states, numbers)?;
        want("the gradient", gradient, numbers)?;
        let pass = self.pass(gpu, arrays)?;
        Ok(pass.gradients(states, gradient))
    }

    /// Everything that can be wrong with sizes, on which every launch relies; then the call, ready to be made.
    fn pass<'a, R: Runtime>(&self, gpu: &'a Gpu<R>, arrays: &'a Arrays) -> Result<Pass<'a, R>, Error> {
        let &Arrays { batch, length, .. } = arrays;
        let sizes = [
            ("the batch", batch),
            ("the length", length),
            ("the number of states", self.hidden),
            ("the number of matrices", self.matrices),
        ];
        want_some(&sizes)?;
        let rows = batch * length;
        let largest = self.dictionary().max(rows * self.columns()).max(rows * 2 * self.width());
        want_countable(largest)?;
        let steps = arrays.lengths.as_ref().map_or(rows, |lengths| lengths.iter().sum());
        let Some(cut) = self.cut(gpu, steps) else {
            let most = gpu.client().properties().hardware.max_shared_memory_size;
            let fix = "take fewer states, or `--device cpu`";
            return Err(Error::TooLarge { what: "the state of a series in bytes", seen: Cut::bytes(self), most, fix });
        };
        want("the dictionary", &arrays.dictionary, self.dictionary())?;
        want("the control", &arrays.control, rows * self.columns())?;
        want("the initial state", &arrays.initial, batch * self.width())?;
        want_list("the list of spans", arrays.spans.as_ref().map_or(rows, Vec::len), rows)?;
        let lengths = gpu.lengths_of(arrays.lengths.as_deref(), batch, length)?;
        Ok(Pass::new(gpu, *self, cut, arrays, lengths))
    }
}
