//! One step of a Runge-Kutta method, in any number type.

use super::Tableau;
use crate::Error;
use crate::scalar::Scalar;

/// Stages `k_1, ..., k_s` and working memory.
pub(crate) struct Stages<N> {
    tableau: &'static Tableau,
    k: Vec<Vec<N>>,
    y: Vec<N>,
}

/// Whether the first stage is known from the step before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum First {
    Known,
    Unknown,
}

impl<N: Scalar> Stages<N> {
    /// All stages of a method.
    pub(crate) fn all(tableau: &'static Tableau, dimension: usize) -> Self {
        Self { tableau, k: vec![vec![N::zero(); dimension]; tableau.stages()], y: vec![N::zero(); dimension] }
    }

    /// The stages `y_1` is made of, without one that only serves the error and the next step.
    pub(crate) fn propagating(tableau: &'static Tableau, dimension: usize) -> Self {
        let mut stages = Self::all(tableau, dimension);
        stages.k.truncate(tableau.propagating());
        stages
    }

    /// Computes the stages at `y` and writes `y_1` to `out`. `slope(c, y, k)` writes the slope at `t + c dt`.
    pub(crate) fn advance(
        &mut self,
        first: First,
        dt: f64,
        y: &[N],
        out: &mut [N],
        mut slope: impl FnMut(f64, &[N], &mut [N]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let tableau = self.tableau;
        if first == First::Unknown {
            slope(tableau.c[0], y, &mut self.k[0])?;
        }
        for i in 1..self.k.len() {
            let (done, rest) = self.k.split_at_mut(i);
            combine(y, dt, tableau.a[i - 1], done, &mut self.y);
            slope(tableau.c[i], &self.y, &mut rest[0])?;
        }
        combine(y, dt, &tableau.b[..tableau.propagating()], &self.k, out);
        Ok(())
    }

    /// `dt sum_i e_i k_i`.
    pub(crate) fn error(&self, weights: &[f64], dt: f64, out: &mut [N]) {
        for (a, out) in out.iter_mut().enumerate() {
            *out = N::zero().accumulate(weights.len(), |i| (N::of(dt * weights[i]), self.k[i][a]));
        }
    }

    /// The first stage.
    pub(crate) fn first(&mut self) -> &mut Vec<N> {
        &mut self.k[0]
    }

    /// The last stage becomes the first of the next step.
    pub(crate) fn roll(&mut self) {
        let last = self.k.len() - 1;
        self.k.swap(0, last);
    }
}

/// `out = y + dt sum_i w_i k_i`.
fn combine<N: Scalar>(y: &[N], dt: f64, weights: &[f64], k: &[Vec<N>], out: &mut [N]) {
    for (a, out) in out.iter_mut().enumerate() {
        *out = y[a].accumulate(weights.len(), |i| (N::of(dt * weights[i]), k[i][a]));
    }
}
