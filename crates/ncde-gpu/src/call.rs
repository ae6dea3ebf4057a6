//! What every call of a recurrence has in common: its arrays, their sizes, and coefficients slab by slab.

use cubecl::prelude::*;
use cubecl::server::Handle;

use crate::device::{Gpu, launch};
use crate::error::Error;
use crate::flow::Flow;
use crate::kernel::action::places;
use crate::plan::Shapes;
use crate::recurrence::{Arrays, Gradients, want, want_countable, want_some};

/// The first step of a slab, and how many it has.
pub(crate) type Slab = (usize, usize);

/// One call; sizes have been checked.
pub(crate) struct Call<'a, R: Runtime> {
    pub(crate) gpu: &'a Gpu<R>,
    pub(crate) hidden: usize,
    pub(crate) flow: Flow,
    pub(crate) shapes: Shapes,
    pub(crate) arrays: &'a Arrays,
    pub(crate) lengths: Handle,
}

impl<'a, R: Runtime> Call<'a, R> {
    /// Checks all sizes, on which every launch relies. `parameters` are those of all channels.
    pub(crate) fn new(
        gpu: &'a Gpu<R>,
        shapes: Shapes,
        arrays: &'a Arrays,
        hidden: usize,
        parameters: usize,
        flow: Flow,
    ) -> Result<Self, Error> {
        let Shapes { batch, length, columns, coefficients } = shapes;
        let sizes = [
            ("the batch", batch),
            ("the length", length),
            ("the number of columns", columns),
            ("the number of channels", coefficients),
        ];
        want_some(&sizes)?;
        let states = batch * length * columns * hidden;
        want_countable(states.max(batch * length * coefficients).max(parameters))?;
        want("A", &arrays.a, parameters)?;
        want("the buffer of coefficients", &arrays.coefficients, batch * length * coefficients)?;
        want("the initial state", &arrays.initial, batch * columns * hidden)?;
        match &arrays.affine {
            Some(affine) => want("the affine input", affine, states)?,
            None if flow.is_affine() => return Err(Error::Empty { what: "the affine input" }),
            None => {}
        }
        let lengths = gpu.lengths_of(arrays.lengths.as_deref(), batch, length)?;
        Ok(Self { gpu, hidden, flow, shapes, arrays, lengths })
    }

    pub(crate) fn rows(&self, slab: Slab) -> usize {
        self.shapes.batch * slab.1
    }

    pub(crate) fn state_count(&self) -> usize {
        let Shapes { batch, length, columns, .. } = self.shapes;
        batch * length * columns * self.hidden
    }

    pub(crate) fn initial_count(&self) -> usize {
        self.shapes.batch * self.shapes.columns * self.hidden
    }

    pub(crate) fn coefficient_count(&self) -> usize {
        self.shapes.batch * self.shapes.length * self.shapes.coefficients
    }

    /// Without an affine input the initial state stands in for it, and is not read.
    pub(crate) fn beta(&self) -> &Handle {
        self.arrays.affine.as_ref().unwrap_or(&self.arrays.initial)
    }

    /// Where gradients go; that of the parameters comes last.
    pub(crate) fn gradients(&self, of_coefficients: bool) -> Gradients {
        Gradients {
            a: self.gpu.floats(0),
            coefficients: of_coefficients.then(|| self.gpu.floats(self.coefficient_count())),
            initial: self.gpu.floats(self.initial_count()),
            affine: self.flow.is_affine().then(|| self.gpu.floats(self.state_count())),
        }
    }

    /// Without an affine input the gradient in the initial state stands in for its gradient, and is not written.
    pub(crate) fn d_beta<'b>(&self, out: &'b Gradients) -> &'b Handle {
        out.affine.as_ref().unwrap_or(&out.initial)
    }

    /// The coefficients of a slab.
    pub(crate) fn slab_coefficients(&self, slab: Slab) -> Handle {
        let (width, rows) = (self.shapes.coefficients, self.rows(slab));
        let out = self.gpu.floats(rows * width);
        launch!(self.gpu, places::slab, each rows * width;
            [self.arrays.coefficients, self.lengths, out], self.shapes.length, slab.0, slab.1, width, rows * width);
        out
    }

    /// The gradient in the coefficients of a slab to its place.
    pub(crate) fn put_coefficients(&self, slab: Slab, values: &Handle, all: &Handle) {
        let (width, units) = (self.shapes.coefficients, self.rows(slab) * self.shapes.coefficients);
        launch!(self.gpu, places::unslab, each units; [values, all], self.shapes.length, slab.0, slab.1, width, units);
    }
}
