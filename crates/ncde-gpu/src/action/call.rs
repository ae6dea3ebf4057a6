//! What every call of a structure that acts has in common: its arrays, and coefficients slab by slab.

use cubecl::prelude::*;
use cubecl::server::Handle;

use super::cut::Slab;
use crate::device::{Gpu, array};
use crate::flow::Flow;
use crate::kernel::action::places;
use crate::plan::Shapes;
use crate::recurrence::{Arrays, Gradients};
use crate::sizes::CUBE;

/// One call; sizes have been checked.
pub(super) struct Call<'a, R: Runtime> {
    pub(super) gpu: &'a Gpu<R>,
    pub(super) hidden: usize,
    pub(super) flow: Flow,
    pub(super) shapes: Shapes,
    pub(super) arrays: &'a Arrays,
    pub(super) lengths: Handle,
}

impl<R: Runtime> Call<'_, R> {
    pub(super) fn rows(&self, slab: Slab) -> usize {
        self.shapes.batch * slab.1
    }

    pub(super) fn state_count(&self) -> usize {
        let Shapes { batch, length, columns, .. } = self.shapes;
        batch * length * columns * self.hidden
    }

    pub(super) fn initial_count(&self) -> usize {
        self.shapes.batch * self.shapes.columns * self.hidden
    }

    fn coefficient_count(&self) -> usize {
        self.shapes.batch * self.shapes.length * self.shapes.coefficients
    }

    pub(super) fn lengths(&self) -> ArrayArg<R> {
        // SAFETY: one for each series.
        unsafe { array(&self.lengths, self.shapes.batch) }
    }

    pub(super) fn initial(&self) -> ArrayArg<R> {
        // SAFETY: checked by the caller of this type.
        unsafe { array(&self.arrays.initial, self.initial_count()) }
    }

    /// Without an affine input the initial state stands in for it, and is not read.
    pub(super) fn beta(&self) -> ArrayArg<R> {
        match &self.arrays.affine {
            // SAFETY: checked by the caller of this type.
            Some(affine) => unsafe { array(affine, self.state_count()) },
            None => self.initial(),
        }
    }

    /// Where gradients go; that of the parameters comes last.
    pub(super) fn gradients(&self, of_coefficients: bool) -> Gradients {
        Gradients {
            a: self.gpu.floats(0),
            coefficients: of_coefficients.then(|| self.gpu.floats(self.coefficient_count())),
            initial: self.gpu.floats(self.initial_count()),
            affine: self.flow.is_affine().then(|| self.gpu.floats(self.state_count())),
        }
    }

    /// Without an affine input there is nothing in its gradient to be written.
    pub(super) fn d_beta(&self, out: &Gradients) -> ArrayArg<R> {
        // SAFETY: made with these sizes.
        match &out.affine {
            Some(affine) => unsafe { array(affine, self.state_count()) },
            None => unsafe { array(&out.initial, self.initial_count()) },
        }
    }

    /// The coefficients of a slab.
    pub(super) fn coefficients(&self, slab: Slab) -> Handle {
        let (width, rows) = (self.shapes.coefficients, self.rows(slab));
        let out = self.gpu.floats(rows * width);
        // SAFETY: sizes were checked, or are made here.
        unsafe {
            places::slab::launch_unchecked::<R>(
                self.gpu.client(),
                self.gpu.cubes(rows * width),
                CubeDim::new_1d(CUBE),
                array(&self.arrays.coefficients, self.coefficient_count()),
                self.lengths(),
                array(&out, rows * width),
                self.shapes.length,
                slab.0,
                slab.1,
                width,
                rows * width,
            );
        }
        out
    }

    /// The gradient in the coefficients of a slab to its place.
    pub(super) fn put_coefficients(&self, slab: Slab, own: &Handle, all: &Handle) {
        let (width, units) = (self.shapes.coefficients, self.rows(slab) * self.shapes.coefficients);
        // SAFETY: sizes were checked, or are made here.
        unsafe {
            places::unslab::launch_unchecked::<R>(
                self.gpu.client(),
                self.gpu.cubes(units),
                CubeDim::new_1d(CUBE),
                array(own, units),
                array(all, self.coefficient_count()),
                self.shapes.length,
                slab.0,
                slab.1,
                width,
                units,
            );
        }
    }
}
