//! One step at a time: `h <- A h + b`.

use super::choice::{Mixing, Workspace};
use super::{NAME, PermutationDiagonal};
use crate::error::{finite, row_is_finite, want, want_some};
use crate::{Error, Float};

/// The recurrence with its dictionary, one step at a time.
#[derive(Debug, Clone)]
pub struct Stream<T: ncde_simd::Float> {
    spec: PermutationDiagonal,
    dictionary: Mixing<T>,
    workspace: Workspace<T>,
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
        want_some(operation, &[("number of states", hidden), ("number of matrices", matrices)])?;
        spec.check_dictionary(operation, dictionary)?;
        finite(operation, "the dictionary", dictionary, |i| format!("place {i}"))?;
        Ok(Self {
            spec,
            dictionary: Mixing::new(&spec, dictionary),
            workspace: Workspace::default(),
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
            return Err(Error::Exploded { structure: NAME, step: 0, series: 0 });
        }
        state.copy_from_slice(&self.next);
        Ok(())
    }
}

/// The next state.
pub(crate) fn push<T: ncde_simd::Float>(stream: &mut Stream<T>, state: &[T], control: &[T], dt: f64) {
    let Stream { spec, dictionary, workspace, at, scale, next } = stream;
    let (scores, rest) = control.split_at(spec.matrices);
    let (raw, affine) = rest.split_at(spec.diagonal.raw(spec.hidden));
    dictionary.choose(&[scores], workspace, at);
    spec.diagonal.scale(raw, dt, scale);
    match spec.input {
        true => next.copy_from_slice(affine),
        false => next.fill(T::ZERO),
    }
    spec.kind().apply((at, scale), state, next);
}
