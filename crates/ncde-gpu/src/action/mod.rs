//! The recurrence of structures whose matrices act on a state without being formed, on device buffers.
//!
//! ```text
//! h_{t+1} = Phi_t h_t + b_t,   Phi_t = exp(Omega_t) or I + Omega_t,   Omega_t = sum_k lambda_{t,k} A^k
//! ```
//!
//! | structure | numbers of Omega, linear in those of `A` | `Omega h` |
//! | --- | --- | --- |
//! | Walsh-Hadamard | `H`: a diagonal | the fast transform of `delta h` |
//! | sparse | the places of the union of all masks | row by row |
//! | DPLR | `H`: a diagonal, `delta` | `delta h + U (lambda (V^T h))`, `U` and `V` of all channels side by side |
//!
//! The numbers of some steps, a slab, are one product of matrices. Then a cube goes through those steps with a column of a series, its state in registers, what others need of it in shared memory. In reverse
//! the same from the end leaves the gradient in those numbers, of which two products make those in `A` and `lambda`; slabs are added in order. Only states are stored between the passes.
//!
//! Coefficients may also be those of words ([`Action::with_words`]), as Log-ODE windows have them; then matrices are made full.

mod cut;
mod dplr;
mod full;
mod passes;
mod table;

use std::sync::Arc;

use cubecl::prelude::*;
use cubecl::server::Handle;

use crate::call::Call;
use crate::device::Gpu;
use crate::error::Error;
use crate::flow::Flow;
use crate::plan::Shapes;
use crate::recurrence::{Arrays, Gradients, want, want_list};
use crate::signature::cut::Words;
use cut::{Cut, Room, Steps};
use dplr::FirstOrder;
use full::Full;
use passes::Pass;
use table::Side;

pub use table::Entries;

/// A structure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Acting {
    /// A Hadamard matrix times a diagonal.
    WalshHadamard {
        /// `H`, a power of two.
        hidden: usize,
        /// Whether parameters go through a hyperbolic tangent.
        bounded: bool,
    },
    /// Few entries, at fixed places.
    Sparse(Arc<Entries>),
    /// A diagonal plus a matrix of low rank.
    Dplr {
        /// `H`.
        hidden: usize,
        /// `r`.
        rank: usize,
    },
}

impl Acting {
    /// `H`.
    pub fn hidden(&self) -> usize {
        match self {
            Self::WalshHadamard { hidden, .. } | Self::Dplr { hidden, .. } => *hidden,
            Self::Sparse(entries) => entries.hidden,
        }
    }

    /// Parameters of so many channels.
    fn parameters(&self, channels: usize) -> usize {
        match self {
            Self::WalshHadamard { hidden, .. } => channels * hidden,
            Self::Sparse(entries) => entries.parameters(),
            Self::Dplr { hidden, rank } => channels * hidden * (1 + 2 * rank),
        }
    }

    /// The numbers of a sparse matrix by rows and by columns.
    fn sides(&self) -> Option<[&Side; 2]> {
        match self {
            Self::WalshHadamard { .. } | Self::Dplr { .. } => None,
            Self::Sparse(entries) => Some([&entries.rows, &entries.columns]),
        }
    }

    /// Numbers of Omega for each state, as they are read forwards and in reverse.
    fn deep(&self) -> [usize; 2] {
        self.sides().map_or([1; 2], |sides| sides.map(|side| side.deep))
    }

    /// None for a structure with more than the numbers of Omega.
    fn acts(&self) -> Option<Acts> {
        match self {
            Self::WalshHadamard { .. } => Some(Acts::Hadamard),
            Self::Sparse(_) => Some(Acts::Sparse),
            Self::Dplr { .. } => None,
        }
    }
}

/// How Omega acts, as far as a kernel is compiled for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Acts {
    Hadamard,
    Sparse,
}

/// The most terms of a series.
pub(crate) const TERMS: usize = 20;

/// A cube with the state of a column of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Cube {
    pub(crate) acts: Acts,
    pub(crate) hidden: usize,
    pub(crate) units: usize,
}

impl Cube {
    /// States of a unit.
    pub(crate) fn per_unit(&self) -> usize {
        self.hidden.div_ceil(self.units)
    }

    /// Bytes of shared memory.
    pub(crate) fn bytes(&self) -> usize {
        self.hidden * size_of::<f32>()
    }

    /// The factor of a Hadamard matrix.
    pub(crate) fn scale(&self) -> f32 {
        1.0 / (self.hidden as f32).sqrt()
    }
}

/// A cube with the state of a column of a series, for a diagonal plus low rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct LowRank {
    pub(crate) hidden: usize,
    pub(crate) channels: usize,
    pub(crate) rank: usize,
    pub(crate) units: usize,
}

impl LowRank {
    /// States of a unit.
    pub(crate) fn per_unit(&self) -> usize {
        self.hidden.div_ceil(self.units)
    }

    /// Columns of `u`, and of `v`, of all channels.
    pub(crate) fn coordinates(&self) -> usize {
        self.channels * self.rank
    }

    /// Bytes of shared memory.
    pub(crate) fn bytes(&self) -> usize {
        (2 * self.hidden + self.coordinates() + self.units) * size_of::<f32>()
    }
}

/// What is computed: a structure and how its generators become flows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Action {
    of: Acting,
    flow: Flow,
    words: Option<Words>,
}

/// A call, ready to be made.
enum Ready<'a, R: Runtime> {
    Numbers(Pass<'a, R>),
    FirstOrder(FirstOrder<'a, R>),
    Full(Full<'a, R>),
}

impl Action {
    /// A structure that acts.
    ///
    /// # Errors
    /// If there are no states, as many as no Hadamard matrix has, or nothing of low rank.
    pub fn new(of: Acting, flow: Flow) -> Result<Self, Error> {
        match of {
            _ if of.hidden() == 0 => Err(Error::Empty { what: "the number of states" }),
            Acting::WalshHadamard { hidden, .. } if !hidden.is_power_of_two() => Err(Error::NoPowerOfTwo { seen: hidden }),
            Acting::Dplr { rank: 0, .. } => Err(Error::Empty { what: "the rank" }),
            _ => Ok(Self { of, flow, words: None }),
        }
    }

    /// Coefficients of all words of up to `depth` letters, by length, then in lexicographic order, in place of those of letters: `Omega = sum_w lambda_w A^{w_n} ... A^{w_1}`.
    #[must_use]
    pub fn with_words(self, letters: usize, depth: usize) -> Self {
        Self { words: Some(Words { channels: letters, depth }), ..self }
    }

    /// The words, where matrices are made full.
    fn full(&self, coefficients: usize) -> Option<Words> {
        let exact = matches!(self.of, Acting::Dplr { .. }) && self.flow.exact;
        self.words.or_else(|| exact.then_some(Words { channels: coefficients, depth: 1 }))
    }

    /// `H`.
    pub fn hidden(&self) -> usize {
        self.of.hidden()
    }

    /// Whether a cube of the device holds the state of a series with so many coefficients a step.
    pub fn fits<R: Runtime>(&self, gpu: &Gpu<R>, coefficients: usize) -> bool {
        let shapes = Shapes { batch: 1, length: 1, columns: 1, coefficients };
        if let Some(words) = self.full(coefficients) {
            return full::fits(words, self.hidden(), room(gpu).shared);
        }
        match self.of {
            Acting::Dplr { hidden, rank } => LowRank::new(hidden, coefficients, rank, room(gpu)).is_some(),
            _ => self.cut(gpu, shapes, false).is_some(),
        }
    }

    fn cut<R: Runtime>(&self, gpu: &Gpu<R>, shapes: Shapes, back: bool) -> Option<Cut> {
        let [deep, deep_back] = self.of.deep();
        // A reverse pass has the numbers by columns and their gradient, by rows those of an exact flow alone.
        let copies = if back { 2 * deep_back + if self.flow.exact { deep } else { 0 } } else { deep };
        let numbers = shapes.batch * copies * self.hidden();
        Cut::new(self.of.acts()?, self.hidden(), (numbers, shapes.length), room(gpu))
    }

    /// The states after each step, `[batch, length, columns, H]`. Past the length of a series its last state is repeated. States that overflow are NaN.
    ///
    /// # Errors
    /// If a buffer has the wrong size, or a cube does not hold the state.
    pub fn forward<R: Runtime>(&self, gpu: &Gpu<R>, shapes: Shapes, arrays: &Arrays) -> Result<Handle, Error> {
        match self.ready(gpu, shapes, arrays, false)? {
            Ready::Numbers(call) => call.states(),
            Ready::FirstOrder(call) => call.states(),
            Ready::Full(call) => call.states(),
        }
    }

    /// The gradients from the states that [`forward`](Self::forward) gave and the gradient in them.
    ///
    /// # Errors
    /// As for [`forward`](Self::forward).
    pub fn backward<R: Runtime>(
        &self,
        gpu: &Gpu<R>,
        shapes: Shapes,
        arrays: &Arrays,
        (states, gradient): (&Handle, &Handle),
        of_coefficients: bool,
    ) -> Result<Gradients, Error> {
        let numbers = shapes.batch * shapes.length * shapes.columns * self.hidden();
        want("the states", states, numbers)?;
        want("the gradient", gradient, numbers)?;
        match self.ready(gpu, shapes, arrays, true)? {
            Ready::Numbers(call) => call.gradients(states, gradient, of_coefficients),
            Ready::FirstOrder(call) => call.gradients(states, gradient, of_coefficients),
            Ready::Full(call) => call.gradients(states, gradient, of_coefficients),
        }
    }

    /// Everything that can be wrong with sizes, on which every launch relies; then the call, ready to be made.
    fn ready<'a, R: Runtime>(
        &'a self,
        gpu: &'a Gpu<R>,
        shapes: Shapes,
        arrays: &'a Arrays,
        back: bool,
    ) -> Result<Ready<'a, R>, Error> {
        let hidden = self.hidden();
        let letters = self.words.map_or(shapes.coefficients, |words| words.channels);
        let call = Call::new(gpu, shapes, arrays, hidden, self.of.parameters(letters), self.flow)?;
        if let Acting::Sparse(entries) = &self.of {
            want_list("a row of coefficients", letters, entries.channels)?;
        }
        want_list("a row of coefficients", shapes.coefficients, self.words.map_or(shapes.coefficients, |words| words.len()))?;
        let ready = match (self.full(shapes.coefficients), &self.of) {
            (Some(words), of) => full::fits(words, hidden, room(gpu).shared).then_some(Ready::Full(Full { call, of, words })),
            (None, Acting::Dplr { rank, .. }) => LowRank::new(hidden, shapes.coefficients, *rank, room(gpu)).map(|of| {
                let steps = Steps::new(FirstOrder::<R>::numbers(of, shapes), shapes.length, room(gpu));
                Ready::FirstOrder(FirstOrder { call, of, steps })
            }),
            (None, of) => self.cut(gpu, shapes, back).map(|cut| Ready::Numbers(Pass::new(call, of, cut))),
        };
        ready.ok_or_else(|| {
            let most = room(gpu).shared / size_of::<f32>();
            Error::TooLarge { what: "the number of states", seen: hidden, most, fix: "take fewer states, or `--device cpu`" }
        })
    }
}

/// What a device can do.
fn room<R: Runtime>(gpu: &Gpu<R>) -> Room {
    let hardware = &gpu.client().properties().hardware;
    Room { units: hardware.max_units_per_cube as usize, shared: hardware.max_shared_memory_size, slab: gpu.limits().slab }
}
