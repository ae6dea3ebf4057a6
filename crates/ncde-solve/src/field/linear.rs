//! `f_j(h) = A^j h`: linear vector fields, with matrices as parameters.
//!
//! Their brackets are commutators: `[e_i, e_j]` goes with `A^j A^i - A^i A^j`. `ncde-kernels` has fast flows of these; here they
//! serve as a field whose brackets are known.

use super::VectorField;
use crate::scalar::Scalar;

/// `d` full matrices, `[d, H, H]`, each row by row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Linear {
    /// `H`.
    pub hidden: usize,
    /// `d`.
    pub channels: usize,
}

impl VectorField for Linear {
    fn channels(&self) -> usize {
        self.channels
    }

    fn hidden(&self) -> usize {
        self.hidden
    }

    fn parameters(&self) -> usize {
        self.channels * self.hidden * self.hidden
    }

    fn eval<N: Scalar>(&self, parameters: &[N], h: &[N], out: &mut [N]) {
        for (row, out) in parameters.chunks_exact(self.hidden).zip(out) {
            *out = N::zero().accumulate(row.len(), |i| (row[i], h[i]));
        }
    }

    fn eval_channel<N: Scalar>(&self, j: usize, parameters: &[N], h: &[N], out: &mut [N]) {
        let size = self.hidden * self.hidden;
        self.eval(&parameters[j * size..(j + 1) * size], h, out);
    }
}
