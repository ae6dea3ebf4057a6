//! One step at a time: `h <- A h + b`.

use ncde_simd::dispatch_for;

use super::PermutationDiagonal;
use super::choice::{ChoiceScratch, Choose};
use crate::error::{finite, row_is_finite, want};
use crate::{Error, Float};

/// The recurrence with its dictionary, one step at a time.
#[derive(Debug, Clone)]
pub struct Stream<T> {
    spec: PermutationDiagonal,
    dictionary: Vec<T>,
    scratch: ChoiceScratch<T>,
    at: Vec<u32>,
    scale: Vec<T>,
    next: Vec<T>,
}

impl<T: Float> Stream<T> {
    /// With a dictionary, `[K, H, H]`.
    ///
    /// # Errors
    /// If it has another size, or a number that is not finite.
    pub fn new(spec: PermutationDiagonal, dictionary: &[T]) -> Result<Self, Error> {
        let operation = "the permutation-diagonal stream";
        let (hidden, matrices) = (spec.hidden, spec.matrices);
        for (what, size) in [("number of states", hidden), ("number of matrices", matrices)] {
            if size == 0 {
                return Err(Error::Empty { operation, what });
            }
        }
        want(operation, "the dictionary", dictionary.len(), spec.dictionary(), || {
            format!("{matrices} matrices of {hidden} x {hidden}")
        })?;
        finite(operation, "the dictionary", dictionary, |i| format!("place {i}"))?;
        Ok(Self {
            spec,
            dictionary: dictionary.to_vec(),
            scratch: ChoiceScratch::new(&spec),
            at: vec![0; hidden],
            scale: vec![T::ZERO; spec.width()],
            next: vec![T::ZERO; spec.width()],
        })
    }

    /// Takes one step after the time `dt`. On an error the state is unchanged.
    ///
    /// # Errors
    /// If the state or the row has another size, or the state overflows.
    pub fn push(&mut self, state: &mut [T], control: &[T], dt: f64) -> Result<(), Error> {
        let (operation, spec) = ("the permutation-diagonal stream", self.spec);
        want(operation, "the state", state.len(), spec.width(), || format!("{} states", spec.hidden))?;
        want(operation, "the control", control.len(), spec.columns(), || format!("{} columns", spec.columns()))?;
        finite(operation, "the control", control, |i| format!("column {i}"))?;
        T::permutation_push(self, state, control, dt);
        if !row_is_finite(&self.next) {
            return Err(Error::Exploded { structure: "permutation-diagonal", step: 0, series: 0 });
        }
        state.copy_from_slice(&self.next);
        Ok(())
    }
}

/// The next state.
pub(crate) fn push<T: ncde_simd::Float>(stream: &mut Stream<T>, state: &[T], control: &[T], dt: f64) {
    let Stream { spec, dictionary, scratch, at, scale, next } = stream;
    let (scores, rest) = control.split_at(spec.matrices);
    let (raw, affine) = rest.split_at(spec.diagonal.raw(spec.hidden));
    dispatch_for::<T, _>(Choose { dictionary, scores, scratch, at });
    spec.diagonal.scale(raw, dt, scale);
    match spec.input {
        true => next.copy_from_slice(affine),
        false => next.fill(T::ZERO),
    }
    spec.kind().apply((at, scale), state, next);
}
