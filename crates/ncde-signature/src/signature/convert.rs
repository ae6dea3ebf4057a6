//! Between signatures and log-signatures, and joining two of either, with reverse passes.
//!
//! `log S` projected onto the basis one way; `exp(sum_w lambda_w P_w)` the other; `S_[a,c] = S_[a,b] S_[b,c]` (Chen) for joining.

use rayon::prelude::*;

use crate::algebra::Shape;
use crate::algebra::basis::want;
use crate::algebra::product::{multiply, multiply_backward};
use crate::algebra::series::{self, Function};
use crate::signature::Signature;
use crate::signature::emit::Emitter;
use crate::signature::plan;
use crate::signature::transform::no_overflow;
use crate::{Error, Float};
use ncde_simd::{Buffer, kernel};

impl Signature {
    /// Results of this transform from signatures, `[rows, shape.len()]` to `[rows, len]`: log-signatures, or a copy.
    ///
    /// # Errors
    /// If the size is not a whole number of rows, the result overflows, or the memory cannot be had.
    pub fn from_signature<T: Float>(&self, signatures: &[T]) -> Result<Vec<T>, Error> {
        let rows = self.rows("a conversion from signatures", signatures.len(), self.shape().len())?;
        let mut out = self.shape().zeros(rows, self.len(), "the conversion")?;
        let (row, out_row) = (self.task() * self.shape().len(), self.task() * self.len());
        let tasks = signatures.par_chunks(row).zip(out.par_chunks_mut(out_row));
        tasks.for_each(|(signatures, out)| T::log(self, signatures, out));
        no_overflow(signatures, out)
    }

    /// The reverse pass of [`from_signature`](Self::from_signature).
    ///
    /// # Errors
    /// If the sizes do not fit or the result overflows.
    pub fn from_signature_backward<T: Float>(&self, signatures: &[T], gradient: &[T]) -> Result<Vec<T>, Error> {
        let rows = self.rows("the reverse pass of a conversion", signatures.len(), self.shape().len())?;
        want("the reverse pass of a conversion", "the gradient", gradient.len(), rows * self.len())?;
        let mut out = self.shape().zeros(rows, self.shape().len(), "the gradient")?;
        let (row, out_row) = (self.task() * self.shape().len(), self.task() * self.len());
        let tasks = signatures.par_chunks(row).zip(gradient.par_chunks(out_row)).zip(out.par_chunks_mut(row));
        tasks.for_each(|((signatures, gradient), out)| T::log_backward(self, signatures, gradient, out));
        no_overflow(gradient, out)
    }

    /// Signatures from results of this transform, `[rows, len]` to `[rows, shape.len()]`: exponentials, or a copy.
    ///
    /// # Errors
    /// If the size is not a whole number of rows, the result overflows, or the memory cannot be had.
    pub fn to_signature<T: Float>(&self, values: &[T]) -> Result<Vec<T>, Error> {
        let rows = self.rows("a conversion to signatures", values.len(), self.len())?;
        let Some(basis) = self.basis() else { return Ok(values.to_vec()) };
        let mut out = self.shape().zeros(rows, self.shape().len(), "the conversion")?;
        let mut stages = Buffer::zeros(series::scratch(self.shape()));
        for (values, out) in values.chunks_exact(self.len()).zip(out.chunks_exact_mut(self.shape().len())) {
            T::series(self.shape(), Function::Exp, &basis.expand(values)?, &mut stages, out);
        }
        no_overflow(values, out)
    }

    /// The reverse pass of [`to_signature`](Self::to_signature).
    ///
    /// # Errors
    /// If the sizes do not fit or the result overflows.
    pub fn to_signature_backward<T: Float>(&self, values: &[T], gradient: &[T]) -> Result<Vec<T>, Error> {
        let rows = self.rows("the reverse pass of a conversion", values.len(), self.len())?;
        want("the reverse pass of a conversion", "the gradient", gradient.len(), rows * self.shape().len())?;
        let Some(basis) = self.basis() else { return Ok(gradient.to_vec()) };
        let mut out = Vec::with_capacity(values.len());
        let mut d_lie = self.shape().zeros(1, self.shape().len(), "the gradient")?;
        for (values, gradient) in values.chunks_exact(self.len()).zip(gradient.chunks_exact(self.shape().len())) {
            d_lie.fill(T::ZERO);
            T::exp_backward(self.shape(), &basis.expand(values)?, gradient, &mut d_lie);
            out.extend(basis.expand_backward(&d_lie)?);
        }
        no_overflow(gradient, out)
    }

    /// Joins results over neighbouring intervals, row by row: `[rows, len]` each.
    ///
    /// ```
    /// use ncde_signature::{Basis, Paths, Signature};
    /// let log = Signature::log(2, 2, Basis::Lyndon)?;
    /// let right = log.of(&Paths::single(&[0.0, 0.0, 1.0, 0.0], 2)?)?;
    /// let up = log.of(&Paths::single(&[1.0, 0.0, 1.0, 1.0], 2)?)?;
    /// assert_eq!(log.join(&right, &up)?, [1.0, 1.0, 0.5]);
    /// # Ok::<(), ncde_signature::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the sizes do not fit or the result overflows.
    pub fn join<T: Float>(&self, earlier: &[T], later: &[T]) -> Result<Vec<T>, Error> {
        want("joining", "the later part", later.len(), earlier.len())?;
        let (a, b) = (self.to_signature(earlier)?, self.to_signature(later)?);
        self.from_signature(&self.product(&a, &b))
    }

    /// The reverse pass of [`join`](Self::join): the gradients of both parts.
    ///
    /// # Errors
    /// If the sizes do not fit or the result overflows.
    pub fn join_backward<T: Float>(&self, earlier: &[T], later: &[T], gradient: &[T]) -> Result<(Vec<T>, Vec<T>), Error> {
        want("the reverse pass of joining", "the later part", later.len(), earlier.len())?;
        let (a, b) = (self.to_signature(earlier)?, self.to_signature(later)?);
        let gradient = self.from_signature_backward(&self.product(&a, &b), gradient)?;
        let (mut da, mut db) = (vec![T::ZERO; a.len()], vec![T::ZERO; b.len()]);
        let row = self.task() * self.shape().len();
        let given = a.par_chunks(row).zip(b.par_chunks(row)).zip(gradient.par_chunks(row));
        let tasks = given.zip(da.par_chunks_mut(row).zip(db.par_chunks_mut(row)));
        tasks.for_each(|(((a, b), g), (da, db))| T::join_backward(self.shape(), a, b, g, da, db));
        Ok((self.to_signature_backward(earlier, &da)?, self.to_signature_backward(later, &db)?))
    }

    /// Chen, row by row.
    fn product<T: Float>(&self, a: &[T], b: &[T]) -> Vec<T> {
        let mut product = vec![T::ZERO; a.len()];
        let row = self.task() * self.shape().len();
        let tasks = a.par_chunks(row).zip(b.par_chunks(row)).zip(product.par_chunks_mut(row));
        tasks.for_each(|((a, b), out)| T::join(self.shape(), a, b, out));
        product
    }

    /// Rows that are worth a task of their own.
    fn task(&self) -> usize {
        plan::task(usize::MAX, 1, self.shape().depth(), self.shape().len())
    }

    fn rows(&self, operation: &'static str, seen: usize, row: usize) -> Result<usize, Error> {
        let rows = seen.div_ceil(row);
        want(operation, "the array of rows", seen, rows * row)?;
        Ok(rows)
    }
}

kernel! {
    /// `out` = results of signatures, row by row.
    pub(crate) dispatch fn log<'a, S: Simd, T: Float>(simd: S, signature: &'a Signature, signatures: &'a [T], out: &'a mut [T]) {
        let (output, shape) = (signature.output(), signature.shape());
        let mut emitter = Emitter::new(output, shape);
        for (s, out) in signatures.chunks_exact(shape.len()).zip(out.chunks_exact_mut(output.len())) {
            emitter.emit(simd, output, shape, s);
            out.copy_from_slice(&emitter.out);
        }
    }
}

kernel! {
    /// `out +=` the gradient of signatures.
    pub(crate) dispatch fn log_backward<'a, S: Simd, T: Float>(
        simd: S,
        signature: &'a Signature,
        signatures: &'a [T],
        gradient: &'a [T],
        out: &'a mut [T],
    ) {
        let (output, shape) = (signature.output(), signature.shape());
        let mut emitter = Emitter::new(output, shape);
        let rows = signatures.chunks_exact(shape.len()).zip(gradient.chunks_exact(output.len()));
        for ((s, gradient), out) in rows.zip(out.chunks_exact_mut(shape.len())) {
            emitter.out.copy_from_slice(gradient);
            emitter.backward(simd, output, shape, s, out);
        }
    }
}

kernel! {
    /// `out +=` the gradient of an expanded log-signature.
    pub(crate) dispatch fn exp_backward<'a, S: Simd, T: Float>(
        simd: S,
        shape: &'a Shape,
        lie: &'a [T],
        gradient: &'a [T],
        out: &'a mut [T],
    ) {
        let (mut stages, mut adjoints) = (Buffer::zeros(series::scratch(shape)), Buffer::zeros(series::scratch(shape)));
        series::climb(simd, shape, Function::Exp, lie, &mut stages);
        series::backward(simd, shape, Function::Exp, lie, &stages, gradient, &mut adjoints, out);
    }
}

kernel! {
    /// Chen: `out` = the signature of one path followed by another, row by row.
    pub(crate) dispatch fn join<'a, S: Simd, T: Float>(simd: S, shape: &'a Shape, a: &'a [T], b: &'a [T], out: &'a mut [T]) {
        let rows = a.chunks_exact(shape.len()).zip(b.chunks_exact(shape.len()));
        for ((a, b), out) in rows.zip(out.chunks_exact_mut(shape.len())) {
            multiply(simd, shape, (T::ONE, a), (T::ONE, b), out);
        }
    }
}

kernel! {
    /// `da` and `db +=` the gradients of both factors.
    pub(crate) dispatch fn join_backward<'a, S: Simd, T: Float>(
        simd: S,
        shape: &'a Shape,
        a: &'a [T],
        b: &'a [T],
        gradient: &'a [T],
        da: &'a mut [T],
        db: &'a mut [T],
    ) {
        let len = shape.len();
        let rows = a.chunks_exact(len).zip(b.chunks_exact(len)).zip(gradient.chunks_exact(len));
        for (((a, b), g), (da, db)) in rows.zip(da.chunks_exact_mut(len).zip(db.chunks_exact_mut(len))) {
            multiply_backward(simd, shape, (T::ONE, a), (T::ONE, b), g, da, db);
        }
    }
}
