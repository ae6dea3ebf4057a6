//! The reverse pass of block-diagonal structures: chunks from the last to the first, each with its generators formed again.

use ncde_simd::{Float, Kernel, Number, Scalar, Simd, call, dispatch_for};

use super::{Backward, Buffers, Piece, Prepared, at_least, generate, load_rows, run_class};
use crate::chunks::sum_rows;
use crate::error::row_is_finite;
use crate::linear::layout::{Layout, number, set_number};
use crate::linear::plan::{self, Rows, Shard};
use crate::linear::taylor::Need;
use crate::linear::{Controls, Gradients, Input, Recurrence};
use crate::pool::{self, Loan};
use crate::product::{self, Dots, Panels};
use crate::shards::shards;
use crate::structure::Field;

/// Up to this many coefficients, their gradient is computed by dot products.
const FEW_COEFFICIENTS: usize = product::MAX_COLUMNS;

/// The inputs of the reverse pass through a piece.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Past<'a, T> {
    /// The state before the piece, `[columns, H]`, and after each of its steps, `[steps, columns, H]`.
    pub(crate) before: &'a [T],
    pub(crate) states: &'a [T],
    /// The gradient that arrives at those.
    pub(crate) gradient: &'a [T],
}

/// The outputs of the reverse pass through a piece.
pub(crate) struct Sums<'a, T, R> {
    /// `[steps, K]` and `[steps, columns, H]`, or nothing where they are not wanted.
    pub(crate) lambda: Option<&'a mut [T]>,
    pub(crate) beta: Option<&'a mut [T]>,
    /// Grows: `[K, packed]`; nothing if only the gradient of the state is wanted.
    pub(crate) da: Option<&'a mut [R]>,
}

/// `A^T`, for the gradient of many coefficients.
pub(crate) struct Transposed<R> {
    panels: Panels<R>,
    /// Registers of a row of coefficients.
    width: usize,
}

impl<T: Float, R: Number<Real = T>> Prepared<R> {
    /// `A^T`, if that is how the gradient of coefficients is computed.
    pub(crate) fn transposed(&self) -> Option<Transposed<R>> {
        let channels = self.field.channels();
        if channels <= FEW_COEFFICIENTS {
            return None;
        }
        let (inner, width) = (self.layout.packed * R::WIDTH, channels.div_ceil(R::WIDTH));
        let mut rows = vec![R::ZEROS; inner * width];
        for (k, row) in self.packed.chunks_exact(self.layout.packed).enumerate() {
            for l in 0..inner {
                set_number(&mut rows[l * width..], k, number(row, l));
            }
        }
        Some(Transposed { panels: Panels::new(&rows, inner, width), width })
    }
}

/// Steps back through a piece of a series.
pub(crate) struct RunBack<'a, T, R: Number> {
    pub(crate) prepared: &'a Prepared<R>,
    pub(crate) transposed: Option<&'a Transposed<R>>,
    pub(crate) piece: Piece<'a, T>,
    pub(crate) past: Past<'a, T>,
    pub(crate) buffers: &'a mut Buffers<R>,
    /// The gradient of the state after the piece, then of the one before, `[columns, H]`.
    pub(crate) carry: &'a mut [T],
    pub(crate) sums: Sums<'a, T, R>,
}

impl<T: Float, R: Number<Real = T>> Kernel for RunBack<'_, T, R> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { prepared, transposed, piece, past, buffers, carry, mut sums } = self;
        let (layout, hidden, channels) = (&prepared.layout, prepared.field.hidden(), prepared.field.channels());
        let state_len = piece.columns * hidden;
        let need = Need { derivatives: true, affine: piece.beta.is_some() && prepared.inside() };
        let most = prepared.chunk_steps();
        load_rows(simd, layout, carry, hidden, &mut buffers.reverse.carry);
        let mut end = piece.steps;
        while end > 0 {
            let first = (end - 1) / most * most;
            let part = piece.part(channels, state_len, first, end);
            generate(simd, prepared, part, need, &mut buffers.generated);
            let reverse = &mut buffers.reverse;
            if first == 0 {
                load_rows(simd, layout, past.before, hidden, &mut reverse.h);
                at_least(&mut reverse.h, part.steps * piece.columns * layout.states);
                let registers = &mut reverse.h[piece.columns * layout.states..];
                layout.load(simd, &past.states[..(end - 1) * state_len], hidden, registers);
            } else {
                load_rows(simd, layout, &past.states[(first - 1) * state_len..(end - 1) * state_len], hidden, &mut reverse.h);
            }
            load_rows(simd, layout, &past.gradient[first * state_len..end * state_len], hidden, &mut reverse.gradient);
            at_least(&mut reverse.d_omega, part.steps * layout.padded);
            for row in reverse.d_omega.chunks_exact_mut(layout.padded).take(part.steps) {
                row[layout.entries..].fill(R::ZEROS);
            }
            if part.beta.is_some() {
                at_least(&mut reverse.d_beta, part.steps * piece.columns * layout.states);
            }
            let chunk = buffers.generated.chunk(prepared, part, need);
            for class in &layout.classes {
                run_class(simd, prepared.transition, class, Backward { chunk: &chunk, class, reverse: &mut buffers.reverse });
            }
            if let Some(da) = &mut sums.da {
                let lambda = sums.lambda.as_mut().map(|lambda| &mut lambda[first * channels..end * channels]);
                call(simd, Collect { prepared, transposed, piece: part, buffers: &mut *buffers, lambda, da });
            }
            if let Some(beta) = &mut sums.beta {
                let states = &mut beta[first * state_len..end * state_len];
                layout.store(simd, &buffers.reverse.d_beta, hidden, states);
            }
            end = first;
        }
        layout.store(simd, &buffers.reverse.carry, hidden, carry);
    }
}

/// `dlambda = dOmega A^T` and `dA += lambda^T dOmega`, for a chunk.
struct Collect<'a, T, R: Number> {
    prepared: &'a Prepared<R>,
    transposed: Option<&'a Transposed<R>>,
    piece: Piece<'a, T>,
    buffers: &'a mut Buffers<R>,
    lambda: Option<&'a mut [T]>,
    da: &'a mut [R],
}

impl<T: Float, R: Number<Real = T>> Kernel for Collect<'_, T, R> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { prepared, transposed, piece, buffers, lambda, da } = self;
        let (layout, channels, steps) = (&prepared.layout, prepared.field.channels(), piece.steps);
        let width = layout.packed;
        let d = if layout.is_direct() {
            &buffers.reverse.d_omega[..steps * width]
        } else {
            let packed = at_least(&mut buffers.generated.packed, steps * width);
            layout.compact(&buffers.reverse.d_omega, packed);
            packed
        };
        product::add_product(simd, piece.lambda, channels, (d, width), da, &mut buffers.rows);
        let Some(lambda) = lambda else { return };
        match transposed {
            None => call(simd, Dots { a: d, b: &prepared.packed, width, columns: channels, out: &mut *lambda }),
            Some(transposed) => {
                // The rows of dOmega as numbers.
                let inner = width * R::WIDTH;
                let numbers = &mut buffers.numbers;
                numbers.resize(steps * inner, T::ZERO);
                for (numbers, d) in numbers.chunks_exact_mut(R::WIDTH).zip(d) {
                    d.write(numbers);
                }
                let rows = at_least(&mut buffers.rows, steps * transposed.width);
                transposed.panels.multiply(simd, numbers, rows);
                for (out, row) in lambda.chunks_exact_mut(channels).zip(rows.chunks_exact(transposed.width)) {
                    for (out, register) in out.chunks_mut(R::WIDTH).zip(row) {
                        register.write(out);
                    }
                }
            }
        }
        if !row_is_finite(lambda) {
            da[0] = R::splat(simd, T::from_f64(f64::NAN));
        }
    }
}

/// Registers for a sum, from the pool.
pub(crate) fn zeros<R: Number>(n: usize) -> Loan<Vec<R>> {
    let mut out = pool::borrow::<Vec<R>>();
    out.clear();
    out.resize(n, R::ZEROS);
    out
}

/// The sum of all parts of `dA`, in order, in the layout of the parameters.
pub(crate) fn total<T: Float, R: Number<Real = T>>(layout: &Layout, field: &Field, parts: &mut [Loan<Vec<R>>], a: &mut [T]) {
    if let Some((first, others)) = parts.split_first_mut() {
        for part in others {
            for (sum, &part) in first.iter_mut().zip(part.iter()) {
                *sum = sum.plus(Scalar::new(), part);
            }
        }
        layout.unpack(field, first, a);
    }
}

/// The gradients.
pub(crate) fn backward<T: Float>(
    recurrence: &Recurrence,
    input: &Input<'_, T>,
    states: &[T],
    gradient: &[T],
    gradients: &mut Gradients<T>,
) {
    let prepared = Prepared::<T::Register>::new(recurrence, input.a);
    let transposed = if recurrence.controls() == Controls::Variable { prepared.transposed() } else { None };
    let field = recurrence.field();
    let (hidden, width) = (field.hidden(), recurrence.coefficients());
    let state_len = input.columns * hidden;
    let shards = shards(input.batch, size_of_val(input.a));
    let mut sums = plan::rows(recurrence, input, &shards, gradients, &|Shard { first, rows }| {
        let mut buffers = pool::borrow::<Buffers<T::Register>>();
        let mut packed = zeros::<T::Register>(prepared.packed.len());
        for (i, Rows { coefficients, initial, affine }) in rows.into_iter().enumerate() {
            let b = first + i;
            let steps = input.steps(b);
            let used = b * input.length * state_len..(b * input.length + steps) * state_len;
            let past = Past {
                before: &input.initial[b * state_len..(b + 1) * state_len],
                states: &states[used.clone()],
                gradient: &gradient[used.clone()],
            };
            // The gradients past the end of a series belong to its last state.
            initial.copy_from_slice(&sum_rows(&gradient[used.end..(b + 1) * input.length * state_len], state_len));
            let lambda = coefficients.map(|coefficients| &mut coefficients[..steps * width]);
            let sums = Sums { lambda, beta: affine, da: Some(&mut packed) };
            dispatch_for::<T, _>(RunBack {
                prepared: &prepared,
                transposed: transposed.as_ref(),
                piece: Piece::new(input, width, hidden, b, 0, steps),
                past,
                buffers: &mut buffers,
                carry: initial,
                sums,
            });
        }
        packed
    });
    total(&prepared.layout, field, &mut sums, &mut gradients.a);
}
