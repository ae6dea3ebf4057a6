//! The gradients of a large block of first order as products of matrices: that of a generator is `v h^T`, and is never in memory.
//!
//! ```text
//! v: gradients in states, slab by slab from the end;   dA = (lambda v)^T h,   dlambda_k = v . A_k h,   over some rows at once
//! ```

use cubecl::prelude::*;
use cubecl::server::Handle;

use crate::device::launch;
use crate::error::Error;
use crate::kernel::wide::{Purpose, adjoints};
use crate::plan::{Owner, Shapes};
use crate::product::Matrix;
use crate::reverse::Reverse;
use crate::sizes::Host;
use crate::work::Work;

/// The most numbers of the rows that are worked on at once: 64 MiB.
const ROOM: usize = 1 << 24;

impl<R: Runtime> Work<'_, R> {
    /// Whether it pays: one large block, `I + Omega`, and fewer channels than the block has rows.
    pub(crate) fn is_outer(&self) -> bool {
        let Host { run, shapes, .. } = self.host;
        self.owner() == Owner::Cube && !self.flow.exact && run.count == 1 && shapes.coefficients < run.b
    }

    /// All gradients but that in the initial state. `dA`, as one part.
    pub(crate) fn differentiate_outer(&self, reverse: &Reverse<'_>) -> Result<(Handle, usize), Error> {
        let &Reverse { states, gradient, lambda, out, add } = reverse;
        let Host { run, shapes, plan, .. } = self.host;
        let (b, Shapes { batch, length, columns, coefficients }) = (run.b, shapes);
        // The gradient in what is added is that in the state after it.
        let v = out.affine.clone().unwrap_or_else(|| self.gpu.floats(self.call.state_count()));
        for slab in plan.slabs().rev() {
            self.walk(slab, Purpose::Adjoints, lambda, gradient, Some(&v));
        }
        let all = batch * length * columns;
        // Whole steps, so that columns of one share their coefficients' gradient.
        let most = (ROOM / (coefficients * b * columns)).max(1) * columns;
        let rows = all.min(most);
        let (pieces, width) = (all.div_ceil(rows), coefficients * b * b);
        let mut sum: Option<Handle> = None;
        let (h, wide) = (self.gpu.floats(rows * b), self.gpu.floats(rows * coefficients * b));
        for piece in 0..pieces {
            let first = piece * rows;
            let part_rows = rows.min(all - first);
            let numbers = part_rows * coefficients * b;
            launch!(self.gpu, adjoints::before, each part_rows * b;
                [self.call.arrays.initial, states, h], first, self.host.launch(part_rows * b), b);
            launch!(self.gpu, adjoints::weighted, each numbers;
                [self.call.arrays.coefficients, v, wide], first, self.host.launch(numbers), b);
            let (before, a) = (Matrix::new(&h, part_rows, b), Matrix::new(&self.formed[0].a, coefficients * b, b));
            let weighted = Matrix::new(&wide, part_rows, coefficients * b);
            let part = self.gpu.product(weighted.transposed(), before, None)?;
            sum = Some(self.gpu.add(sum, part, width));
            let Some(d_coefficients) = &out.coefficients else { continue };
            self.gpu.product_into(before, a.transposed(), None, &wide)?;
            let units = part_rows / columns * coefficients;
            launch!(self.gpu, adjoints::along, each units;
                [wide, v, d_coefficients], first, u32::from(add), self.host.launch(units), b);
        }
        Ok((sum.ok_or(Error::Empty { what: "the batch" })?, 1))
    }
}
