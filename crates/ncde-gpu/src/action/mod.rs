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
//!
//! The numbers of some steps, a slab, are one product of matrices. Then a cube goes through those steps with a column of a series, its state in registers, what others need of it in shared memory. In reverse
//! the same from the end leaves the gradient in those numbers, of which two products make those in `A` and `lambda`; slabs are added in order. Between the passes states alone are kept.

mod cut;
mod passes;
mod table;

use std::sync::Arc;

use cubecl::prelude::*;
use cubecl::server::Handle;

use crate::device::Gpu;
use crate::error::Error;
use crate::flow::Flow;
use crate::plan::Shapes;
use crate::recurrence::{Arrays, Gradients, check, want};
use cut::{Cut, Room};
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
}

impl Acting {
    /// `H`.
    pub fn hidden(&self) -> usize {
        match self {
            Self::WalshHadamard { hidden, .. } => *hidden,
            Self::Sparse(entries) => entries.hidden,
        }
    }

    /// Parameters of so many channels.
    fn parameters(&self, channels: usize) -> usize {
        match self {
            Self::WalshHadamard { hidden, .. } => channels * hidden,
            Self::Sparse(entries) => entries.parameters(),
        }
    }

    /// The numbers of a sparse matrix by rows and by columns.
    fn sides(&self) -> Option<[&Side; 2]> {
        match self {
            Self::WalshHadamard { .. } => None,
            Self::Sparse(entries) => Some([&entries.rows, &entries.columns]),
        }
    }

    /// Numbers of Omega for each state, as they are read forwards and in reverse.
    fn deep(&self) -> [usize; 2] {
        self.sides().map_or([1; 2], |sides| sides.map(|side| side.deep))
    }

    fn acts(&self) -> Acts {
        match self {
            Self::WalshHadamard { .. } => Acts::Hadamard,
            Self::Sparse(_) => Acts::Sparse,
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
    pub(crate) fn each(&self) -> usize {
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

/// What is computed: a structure and how its generators become flows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Action {
    of: Acting,
    flow: Flow,
}

impl Action {
    /// A structure that acts.
    ///
    /// # Errors
    /// If there are no states, or as many as no Hadamard matrix has.
    pub fn new(of: Acting, flow: Flow) -> Result<Self, Error> {
        match of {
            _ if of.hidden() == 0 => Err(Error::Empty { what: "the number of states" }),
            Acting::WalshHadamard { hidden, .. } if !hidden.is_power_of_two() => Err(Error::NoPowerOfTwo { seen: hidden }),
            _ => Ok(Self { of, flow }),
        }
    }

    /// `H`.
    pub fn hidden(&self) -> usize {
        self.of.hidden()
    }

    /// Whether a cube of the device holds the state of a series.
    pub fn fits<R: Runtime>(&self, gpu: &Gpu<R>) -> bool {
        self.cut(gpu, Shapes { batch: 1, length: 1, columns: 1, coefficients: 1 }, false).is_some()
    }

    fn cut<R: Runtime>(&self, gpu: &Gpu<R>, shapes: Shapes, back: bool) -> Option<Cut> {
        let hardware = &gpu.client().properties().hardware;
        let room = Room {
            units: hardware.max_units_per_cube as usize,
            shared: hardware.max_shared_memory_size,
            slab: gpu.limits().slab,
        };
        let [deep, deep_back] = self.of.deep();
        // A reverse pass has the numbers by columns and their gradient, by rows those of an exact flow alone.
        let copies = if back { 2 * deep_back + if self.flow.exact { deep } else { 0 } } else { deep };
        Cut::new(self.of.acts(), self.hidden(), (shapes.batch * copies * self.hidden(), shapes.length), room)
    }

    /// The states after each step, `[batch, length, columns, H]`. Past the length of a series its last state is repeated. States that overflow are NaN.
    ///
    /// # Errors
    /// If a buffer has the wrong size, or a cube does not hold the state.
    pub fn forward<R: Runtime>(&self, gpu: &Gpu<R>, shapes: Shapes, arrays: &Arrays) -> Result<Handle, Error> {
        self.pass(gpu, shapes, arrays, false)?.states()
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
        self.pass(gpu, shapes, arrays, true)?.gradients(states, gradient, of_coefficients)
    }

    /// Everything that can be wrong with sizes, on which every launch relies; then the call, ready to be made.
    fn pass<'a, R: Runtime>(
        &'a self,
        gpu: &'a Gpu<R>,
        shapes: Shapes,
        arrays: &'a Arrays,
        back: bool,
    ) -> Result<Pass<'a, R>, Error> {
        let lengths = check(gpu, shapes, arrays, self.hidden(), self.of.parameters(shapes.coefficients), self.flow)?;
        if let Acting::Sparse(entries) = &self.of
            && entries.channels != shapes.coefficients
        {
            let [seen, wanted] = [shapes.coefficients, entries.channels].map(|count| (size_of::<f32>() * count) as u64);
            return Err(Error::Size { what: "a row of coefficients", seen, wanted });
        }
        let Some(cut) = self.cut(gpu, shapes, back) else {
            let most = gpu.client().properties().hardware.max_shared_memory_size / size_of::<f32>();
            return Err(Error::TooLarge {
                what: "the number of states",
                seen: self.hidden(),
                most,
                fix: "take fewer states, or `--device cpu`",
            });
        };
        Ok(Pass { gpu, of: &self.of, flow: self.flow, cut, shapes, arrays, lengths })
    }
}
