//! The output of a state: the signature itself or coordinates of its logarithm, and the reverse pass.

use crate::algebra::Shape;
use crate::algebra::basis::{self, LieBasis};
use crate::algebra::series::{self, Function};
use ncde_simd::{Buffer, Number, Simd};

/// The signature, or its logarithm in a basis.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) shape: Shape,
    pub(crate) log: Option<LieBasis>,
}

impl Output {
    pub(crate) fn len(&self) -> usize {
        self.log.as_ref().map_or(self.shape.len(), LieBasis::len)
    }
}

/// Memory for a state's output, or the gradient of one.
#[derive(Debug)]
pub(crate) struct Emitter<E> {
    /// The output, or its gradient.
    pub(crate) out: Vec<E>,
    log: Buffer<E>,
    stages: Buffer<E>,
    adjoints: Buffer<E>,
    lyndon: Vec<E>,
}

impl<E: Number> Emitter<E> {
    /// The numbers that [`new`](Self::new) allocates.
    pub(crate) fn workspace_len(output: &Output, layout: &Shape) -> usize {
        let (len, stages, lyndon) = Self::sizes(output, layout);
        output.len() + len + 2 * stages + lyndon
    }

    /// The sizes of a logarithm, of its stages and of its Lyndon coordinates.
    fn sizes(output: &Output, layout: &Shape) -> (usize, usize, usize) {
        match &output.log {
            None => (0, 0, 0),
            Some(basis) => (layout.len(), series::scratch(layout), basis.scratch()),
        }
    }

    pub(crate) fn new(output: &Output, layout: &Shape) -> Self {
        let (len, stages, lyndon) = Self::sizes(output, layout);
        Self {
            out: vec![E::ZEROS; output.len()],
            log: Buffer::zeros(len),
            stages: Buffer::zeros(stages),
            adjoints: Buffer::zeros(stages),
            lyndon: vec![E::ZEROS; lyndon],
        }
    }

    /// `out` = the output of `state`, laid out as `layout`.
    #[inline(always)]
    pub(crate) fn emit<S: Simd>(&mut self, simd: S, output: &Output, layout: &Shape, state: &[E]) {
        match &output.log {
            None => layout.compact(state, &mut self.out),
            Some(basis) => {
                series::forward(simd, layout, Function::Log, state, &mut self.stages, &mut self.log);
                basis::project_into(simd, basis, layout, &self.log, &mut self.lyndon, &mut self.out);
            }
        }
    }

    /// `adjoint +=` the gradient of `state` given that of the output in `out`; the last level of `state` is not needed.
    #[inline(always)]
    pub(crate) fn backward<S: Simd>(&mut self, simd: S, output: &Output, layout: &Shape, state: &[E], adjoint: &mut [E]) {
        match &output.log {
            None => {
                let mut start = 0;
                for k in 1..=layout.depth() {
                    let level = layout.level(k);
                    let end = start + level.len();
                    E::axpy(simd, &mut adjoint[level], E::ONES, &self.out[start..end]);
                    start = end;
                }
            }
            Some(basis) => {
                series::climb(simd, layout, Function::Log, state, &mut self.stages);
                basis::project_backward(simd, basis, layout, &self.out, &mut self.lyndon, &mut self.log);
                series::backward(simd, layout, Function::Log, state, &self.stages, &self.log, &mut self.adjoints, adjoint);
            }
        }
    }
}
