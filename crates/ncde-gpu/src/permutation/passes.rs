//! One call: which kernels are launched in which order.

use cubecl::prelude::*;
use cubecl::server::Handle;

use super::cut::Cut;
use super::{Arrays, Gradients, PermutationDiagonal};
use crate::device::{Gpu, array};
use crate::error::Error;
use crate::kernel::permutation::choice::{self, SlabLaunch, TEAM, TEAMS};
use crate::kernel::permutation::walk;
use crate::kernel::scale;
use crate::product::Matrix;
use crate::sizes::CUBE;

/// One call; sizes have been checked.
pub(super) struct Pass<'a, R: Runtime> {
    gpu: &'a Gpu<R>,
    of: PermutationDiagonal,
    cut: Cut,
    arrays: &'a Arrays,
    lengths: Handle,
    spans: Option<Handle>,
}

/// `s` and `M` of a slab.
pub(super) struct Mixed {
    weights: Handle,
    matrices: Handle,
}

impl<'a, R: Runtime> Pass<'a, R> {
    pub(super) fn new(gpu: &'a Gpu<R>, of: PermutationDiagonal, cut: Cut, arrays: &'a Arrays, lengths: Handle) -> Self {
        Self { gpu, of, cut, arrays, lengths, spans: arrays.spans.as_deref().map(|spans| gpu.put(spans)) }
    }

    fn rows(&self) -> usize {
        self.arrays.batch * self.arrays.length
    }

    /// Entries of a matrix.
    fn entries(&self) -> usize {
        self.of.hidden * self.of.hidden
    }

    fn control(&self) -> ArrayArg<R> {
        // SAFETY: checked by the caller of this type.
        unsafe { array(&self.arrays.control, self.rows() * self.of.columns()) }
    }

    fn lengths(&self) -> ArrayArg<R> {
        // SAFETY: one for each series.
        unsafe { array(&self.lengths, self.arrays.batch) }
    }

    /// Without spans the initial state stands in for them, and is not read.
    fn spans(&self) -> ArrayArg<R> {
        match &self.spans {
            // SAFETY: one for each row.
            Some(spans) => unsafe { array(spans, self.rows()) },
            None => self.initial(),
        }
    }

    fn initial(&self) -> ArrayArg<R> {
        // SAFETY: checked by the caller of this type.
        unsafe { array(&self.arrays.initial, self.arrays.batch * self.of.width()) }
    }

    fn slab(&self, (first, rows): (usize, usize)) -> SlabLaunch<R> {
        let PermutationDiagonal { hidden, matrices, .. } = self.of;
        SlabLaunch::new(first, rows, self.arrays.length, self.of.columns(), matrices, hidden, self.of.width())
    }

    /// Cubes over the columns of a slab, and their units.
    fn columns(&self, rows: usize) -> (CubeCount, CubeDim) {
        (self.gpu.spread((rows * self.of.hidden).div_ceil(TEAMS)), CubeDim::new_1d((TEAM * TEAMS) as u32))
    }

    /// The dictionary, a matrix a row.
    fn dictionary(&self) -> Matrix<'_> {
        Matrix::new(&self.arrays.dictionary, self.of.matrices, self.entries())
    }

    /// `s` and `M` of a slab.
    fn mix(&self, slab: (usize, usize)) -> Result<Mixed, Error> {
        let (rows, matrices) = (slab.1, self.of.matrices);
        let weights = self.gpu.floats(rows * matrices);
        // SAFETY: sizes were checked, or are made here.
        unsafe {
            choice::weights::launch_unchecked::<R>(
                self.gpu.client(),
                self.gpu.cubes(rows),
                CubeDim::new_1d(CUBE),
                self.control(),
                self.lengths(),
                array(&weights, rows * matrices),
                self.slab(slab),
            );
        }
        let matrices = self.gpu.product(Matrix::new(&weights, rows, matrices), self.dictionary(), None)?;
        Ok(Mixed { weights, matrices })
    }

    /// Where states go in all steps; `s` and `M`, where one slab has all of them.
    pub(super) fn choose(&self) -> Result<(Handle, Option<Mixed>), Error> {
        let to = self.gpu.floats(self.rows() * self.of.hidden);
        let mut last = None;
        for slab in self.cut.slabs(self.rows()) {
            let mixed = self.mix(slab)?;
            let (cubes, dim) = self.columns(slab.1);
            // SAFETY: sizes were checked, or are made here.
            unsafe {
                choice::maps::launch_unchecked::<R>(
                    self.gpu.client(),
                    cubes,
                    dim,
                    array(&mixed.matrices, slab.1 * self.entries()),
                    array(&to, self.rows() * self.of.hidden),
                    self.slab(slab),
                );
            }
            last = (slab.1 == self.rows()).then_some(mixed);
        }
        Ok((to, last))
    }

    /// The states after each step.
    pub(super) fn states(&self, to: &Handle) -> Handle {
        let &Arrays { batch, length, .. } = self.arrays;
        let count = self.rows() * self.of.width();
        let states = self.gpu.floats(count);
        // SAFETY: sizes were checked, or are made here.
        unsafe {
            walk::states::launch_unchecked::<R>(
                self.gpu.client(),
                self.gpu.spread(batch),
                CubeDim::new_1d(self.cut.units as u32),
                self.control(),
                array(to, self.rows() * self.of.hidden),
                self.spans(),
                self.lengths(),
                self.initial(),
                array(&states, count),
                batch,
                length,
                self.of,
                self.cut.units,
                self.spans.is_some(),
            );
        }
        states
    }

    /// All gradients.
    pub(super) fn gradients(
        &self,
        to: &Handle,
        mut mixed: Option<Mixed>,
        states: &Handle,
        gradient: &Handle,
    ) -> Result<Gradients, Error> {
        let (gpu, rows, numbers) = (self.gpu, self.rows(), self.of.dictionary());
        let control = gpu.floats(rows * self.of.columns());
        let (kept, initial) = self.walk_back(to, states, gradient, &control);
        let mut dictionary: Option<Handle> = None;
        for slab in self.cut.slabs(rows) {
            let Mixed { weights, matrices } = match mixed.take() {
                Some(mixed) => mixed,
                None => self.mix(slab)?,
            };
            let own = self.unchoose(slab, &kept, &weights, &matrices, &control)?;
            match &dictionary {
                None => dictionary = Some(own),
                // SAFETY: both have been made with this size.
                Some(sum) => unsafe {
                    let (sum, own) = (array(sum, numbers), array(&own, numbers));
                    scale::add::launch_unchecked::<R>(gpu.client(), gpu.cubes(numbers), CubeDim::new_1d(CUBE), sum, own, numbers);
                },
            }
        }
        let dictionary = dictionary.ok_or(Error::Empty { what: "the number of steps" })?;
        Ok(Gradients { dictionary, control, initial })
    }

    /// `g` and `u` of all steps, and the gradient in `h_0`; those in numbers of the diagonal and in the input go to their places.
    fn walk_back(&self, to: &Handle, states: &Handle, gradient: &Handle, control: &Handle) -> (Handle, Handle) {
        let (gpu, &Arrays { batch, length, .. }) = (self.gpu, self.arrays);
        let (rows, width, hidden) = (self.rows(), self.of.width(), self.of.hidden);
        let (kept, initial) = (gpu.floats(rows * 2 * width), gpu.floats(batch * width));
        // SAFETY: sizes were checked, or are made here.
        unsafe {
            walk::adjoints::launch_unchecked::<R>(
                gpu.client(),
                gpu.spread(batch),
                CubeDim::new_1d(self.cut.units as u32),
                self.control(),
                array(to, rows * hidden),
                self.spans(),
                self.lengths(),
                array(gradient, rows * width),
                array(&kept, rows * 2 * width),
                array(&initial, batch * width),
                batch,
                length,
                self.of,
                self.cut.units,
                self.spans.is_some(),
            );
            walk::slopes::launch_unchecked::<R>(
                gpu.client(),
                gpu.cubes(rows * hidden),
                CubeDim::new_1d(CUBE),
                self.control(),
                array(to, rows * hidden),
                self.spans(),
                self.lengths(),
                self.initial(),
                array(states, rows * width),
                array(&kept, rows * 2 * width),
                array(control, rows * self.of.columns()),
                length,
                rows * hidden,
                self.of,
                self.spans.is_some(),
            );
        }
        (kept, initial)
    }

    /// What a slab adds to the gradient of the dictionary; those of scores go to their places. `M` becomes `dM`.
    fn unchoose(
        &self,
        slab: (usize, usize),
        kept: &Handle,
        weights: &Handle,
        mixed: &Handle,
        control: &Handle,
    ) -> Result<Handle, Error> {
        let (gpu, rows, matrices, entries) = (self.gpu, slab.1, self.of.matrices, self.entries());
        let (cubes, dim) = self.columns(rows);
        // SAFETY: sizes were checked, or are made here.
        unsafe {
            choice::soften::launch_unchecked::<R>(
                gpu.client(),
                cubes,
                dim,
                array(mixed, rows * entries),
                array(kept, self.rows() * 2 * self.of.width()),
                self.lengths(),
                self.slab(slab),
            );
        }
        let (s, dm) = (Matrix::new(weights, rows, matrices), Matrix::new(mixed, rows, entries));
        let d_weights = gpu.product(dm, self.dictionary().transposed(), None)?;
        // SAFETY: sizes were checked, or are made here.
        unsafe {
            choice::scores::launch_unchecked::<R>(
                gpu.client(),
                gpu.cubes(rows),
                CubeDim::new_1d(CUBE),
                array(weights, rows * matrices),
                array(&d_weights, rows * matrices),
                array(control, self.rows() * self.of.columns()),
                self.slab(slab),
            );
        }
        gpu.product(s.transposed(), dm, None)
    }
}
