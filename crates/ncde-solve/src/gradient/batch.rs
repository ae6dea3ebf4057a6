//! Gradients of a batch: each sample is solved again, recorded and gone back through, and what they have in common is summed.
//!
//! Nothing of the forward pass is kept but its inputs, so memory is that of one sample a thread.

use rayon::prelude::*;

use super::Gradient;
use crate::Error;
use crate::error::check;
use crate::field::VectorField;
use crate::scalar::Real;
use crate::solve::{Drive, Save, Solver, Term};

/// Derivatives of a loss of a batch.
#[derive(Debug, Clone, PartialEq)]
pub struct BatchGradient<T> {
    /// In the parameters of the field, summed over the batch.
    pub parameters: Vec<T>,
    /// In the initial states, `[batch, H]`.
    pub initial: Vec<T>,
    /// In the numbers behind each sample's control.
    pub controls: Vec<Vec<T>>,
}

impl Solver {
    /// The way back of [`solve_batch`](Solver::solve_batch), through the solver's own steps. `weights` has one list for each sample: the loss's
    /// derivatives in its saved states, `[times, H]`. Uses all threads; results do not depend on their number.
    ///
    /// # Errors
    /// Those of [`solve_batch`](Solver::solve_batch), or if `weights` does not fit.
    pub fn batch_backward<T: Real, F: VectorField + Sync, D: Drive<T> + Sync>(
        &self,
        field: &F,
        drives: &[D],
        parameters: &[T],
        h: &[T],
        save: &Save,
        weights: &[Vec<T>],
    ) -> Result<BatchGradient<T>, Error> {
        check("backward", "the batch of initial states", h.len(), drives.len() * field.hidden())?;
        check("backward", "the batch of gradients in the states", weights.len(), drives.len())?;
        let back = |((drive, h), weights): ((&D, &[T]), &Vec<T>)| {
            self.record(&Term { field, drive }, parameters, h, save)?.backward(weights)
        };
        let samples = drives.par_iter().zip(h.par_chunks(field.hidden())).zip(weights);
        let results: Vec<Result<Gradient<T>, Error>> = samples.map(back).collect();
        let mut batch = BatchGradient { parameters: vec![T::ZERO; parameters.len()], initial: Vec::new(), controls: Vec::new() };
        // In the order of the samples, so that the sum does not depend on threads.
        for result in results {
            let Gradient { parameters, initial, control } = result?;
            for (sum, g) in batch.parameters.iter_mut().zip(parameters) {
                *sum += g;
            }
            batch.initial.extend(initial);
            batch.controls.push(control);
        }
        Ok(batch)
    }
}
