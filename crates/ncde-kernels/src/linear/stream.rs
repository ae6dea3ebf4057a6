//! One step at a time: the flows of the recurrence in constant memory; the caller owns the state.

use ncde_simd::{Kernel, Simd, dispatch_for};

use super::action::{Scratch, Step};
use super::closed::{Buffers, Piece, Prepared, Run};
use super::dplr::Dplr;
use super::grams::Grams;
use super::nested::Nested;
use super::operator::{Hadamard, Operator, Sparse};
use super::{Contraction, Recurrence};
use crate::error::{finite, row_is_finite, want, want_shape};
use crate::structure::Structure;
use crate::{Error, Float};

/// A recurrence with its parameters, ready to take steps.
///
/// ```
/// use ncde_kernels::{Field, Recurrence, Stream, Structure};
/// let recurrence = Recurrence::new(Field::new(Structure::Diagonal { hidden: 2 }, 1)?);
/// let mut stream = Stream::new(&recurrence, &[-1.0, 0.5])?;
/// let mut h = [1.0, 1.0];
/// stream.push(&mut h, &[0.3], None)?;
/// stream.push(&mut h, &[0.7], None)?;
/// assert!((h[0] - f64::exp(-1.0)).abs() < 1e-15 && (h[1] - f64::exp(0.5)).abs() < 1e-15);
/// # Ok::<(), ncde_kernels::Error>(())
/// ```
#[derive(Debug)]
pub struct Stream<T: ncde_simd::Float> {
    recurrence: Recurrence,
    /// The effective parameters.
    a: Vec<T>,
    engine: Engine<T>,
    steps: usize,
    /// The state before the step, restored if the new state is not finite.
    before: Vec<T>,
}

/// Block-diagonal generators.
#[derive(Debug)]
struct Blocks<R: ncde_simd::Number> {
    prepared: Prepared<R>,
    buffers: Buffers<R>,
}

/// The kernel that takes the steps.
#[derive(Debug)]
enum Engine<T: ncde_simd::Float> {
    Closed(Box<Blocks<T::Register>>),
    Dplr(Dplr<T>, Scratch<T>),
    Sparse(Sparse<T>, Scratch<T>),
    Hadamard(Hadamard<T>, Scratch<T>),
    Nested(Nested<T>, Scratch<T>),
}

impl<T: Float> Stream<T> {
    /// A stream with these parameters of `A`.
    ///
    /// # Errors
    /// If there are not as many as the field has, or one is not finite.
    pub fn new(recurrence: &Recurrence, a: &[T]) -> Result<Self, Error> {
        let field = recurrence.field();
        let (hidden, channels) = (field.hidden(), field.channels());
        want("stream", "A", a.len(), field.parameters(), || format!("the parameters of {channels} channels"))?;
        finite("stream", "A", a, |i| format!("parameter {i}"))?;
        let a = field.effective(a);
        let scratch = Scratch::new(hidden);
        let engine = match (recurrence.contraction(), field.structure()) {
            (Contraction::Words { depth }, _) => Engine::Nested(Nested::new(field, depth, &a), scratch),
            (_, Structure::Dplr { rank, .. }) => {
                Engine::Dplr(Dplr::new(field, *rank, Grams::needed(recurrence, *rank, &a)), scratch)
            }
            (_, Structure::Sparse { pattern }) => Engine::Sparse(Sparse::new(pattern), scratch),
            (_, Structure::WalshHadamard { .. }) => Engine::Hadamard(Hadamard::new(hidden, channels), scratch),
            (
                _,
                Structure::Dense { .. } | Structure::Diagonal { .. } | Structure::Block { .. } | Structure::DiagonalDense { .. },
            ) => Engine::Closed(Box::new(Blocks { prepared: Prepared::new(recurrence, &a), buffers: Buffers::default() })),
        };
        Ok(Self { recurrence: recurrence.clone(), a, engine, steps: 0, before: Vec::new() })
    }

    /// Takes one step: `state`, `[columns, H]`, becomes the next state.
    ///
    /// # Errors
    /// If an array has the wrong size or holds a number that is not finite, or if the state overflows; it is then as it was.
    pub fn push(&mut self, state: &mut [T], coefficients: &[T], affine: Option<&[T]>) -> Result<(), Error> {
        let (hidden, width) = (self.recurrence.field().hidden(), self.recurrence.coefficients());
        let columns = (state.len() / hidden).max(1);
        let shape = [("# columns", columns), ("# states", hidden)];
        want_shape("stream", "the state", state.len(), &shape)?;
        want("stream", "a step", coefficients.len(), width, || "its coefficients".into())?;
        finite("stream", "a step", coefficients, |i| format!("coefficient {i}"))?;
        finite("stream", "the state", state, |i| format!("state {i}"))?;
        if let Some(affine) = affine {
            want_shape("stream", "the affine input", affine.len(), &shape)?;
            finite("stream", "the affine input", affine, |i| format!("state {i}"))?;
        }
        self.before.clear();
        self.before.extend_from_slice(state);
        T::push(self, state, coefficients, affine);
        if !row_is_finite(state) {
            state.copy_from_slice(&self.before);
            return Err(Error::Exploded { structure: self.recurrence.field().structure().name(), step: self.steps, series: 0 });
        }
        self.steps += 1;
        Ok(())
    }

    /// The recurrence.
    pub fn recurrence(&self) -> &Recurrence {
        &self.recurrence
    }
}

/// [`Stream::push`] on arrays that have been checked.
pub(crate) fn push<T: ncde_simd::Float>(stream: &mut Stream<T>, state: &mut [T], lambda: &[T], beta: Option<&[T]>) {
    let (a, step) = (&stream.a[..], stream.recurrence.step());
    match &mut stream.engine {
        Engine::Closed(closed) => {
            let Blocks { prepared, buffers } = &mut **closed;
            let piece = Piece { steps: 1, columns: state.len() / stream.recurrence.field().hidden(), lambda, beta };
            dispatch_for::<T, _>(Run { prepared, piece, buffers, state, states: None });
        }
        Engine::Dplr(operator, scratch) => dispatch_for::<T, _>(SingleStep { a, step, operator, scratch, state, lambda, beta }),
        Engine::Sparse(operator, scratch) => dispatch_for::<T, _>(SingleStep { a, step, operator, scratch, state, lambda, beta }),
        Engine::Hadamard(operator, scratch) => {
            dispatch_for::<T, _>(SingleStep { a, step, operator, scratch, state, lambda, beta });
        }
        Engine::Nested(operator, scratch) => dispatch_for::<T, _>(SingleStep { a, step, operator, scratch, state, lambda, beta }),
    }
}

/// One step by an operator.
struct SingleStep<'a, T, O> {
    a: &'a [T],
    step: Step,
    operator: &'a mut O,
    scratch: &'a mut Scratch<T>,
    state: &'a mut [T],
    lambda: &'a [T],
    beta: Option<&'a [T]>,
}

impl<T: ncde_simd::Float, O: Operator<T>> Kernel for SingleStep<'_, T, O> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { a, step, operator, scratch, state, lambda, beta } = self;
        let hidden = scratch.hidden();
        operator.set(simd, a, lambda);
        for (c, state) in state.chunks_exact_mut(hidden).enumerate() {
            let beta = beta.map(|beta| &beta[c * hidden..(c + 1) * hidden]);
            step.forward(simd, a, operator, state, beta, scratch);
        }
    }
}
