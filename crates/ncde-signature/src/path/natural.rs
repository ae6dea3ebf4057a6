//! The natural cubic spline: twice continuously differentiable, with second derivative zero at both ends.
//!
//! The second derivatives `M_i` at the knots, with `h_i = t_{i+1} - t_i`, solve `M_0 = M_n = 0` and
//!
//! `h_{i-1} M_{i-1} + 2 (h_{i-1} + h_i) M_i + h_i M_{i+1}
//!     = 6 ((x_{i+1} - x_i) / h_i - (x_i - x_{i-1}) / h_{i-1})`
//!
//! one tridiagonal system for each channel, O(length) each. Every value depends on every observation.

use super::{Acausal, Cubic, Series};
use crate::{Error, Float};

impl<T: Float> Cubic<T, Acausal> {
    /// The natural cubic spline of each channel through its own observations; constant before its first
    /// and after its last one.
    ///
    /// ```
    /// use ncde_signature::path::{Cubic, Path, Series};
    /// let path = Cubic::natural(&Series::regular(vec![0.0, 1.0, 0.0], 1)?)?;
    /// let mut x = [0.0];
    /// path.evaluate(0.5, &mut x)?;
    /// assert_eq!(x, [0.6875]);
    /// # Ok::<(), ncde_signature::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::OneObservation`], or [`Error::NeverObserved`] for a channel without any value.
    pub fn natural(series: &Series<T>) -> Result<Self, Error> {
        Self::fit(series, pieces)
    }
}

fn pieces(times: &[f64], values: &[f64]) -> Vec<[f64; 3]> {
    let curvature = second_derivatives(times, values);
    (1..times.len())
        .map(|i| {
            let h2 = (times[i] - times[i - 1]).powi(2);
            let (left, right) = (h2 * curvature[i - 1], h2 * curvature[i]);
            [values[i] - values[i - 1] - (2.0 * left + right) / 6.0, left / 2.0, (right - left) / 6.0]
        })
        .collect()
}

/// Gaussian elimination without pivots: the matrix is diagonally dominant.
fn second_derivatives(times: &[f64], values: &[f64]) -> Vec<f64> {
    let step = |i: usize| times[i + 1] - times[i];
    let slope = |i: usize| (values[i + 1] - values[i]) / step(i);
    let mut solution = vec![0.0; times.len()];
    // After elimination row i reads `M_i + upper[i] M_{i+1} = solution[i]`.
    let mut upper = vec![0.0; times.len()];
    for i in 1..times.len().saturating_sub(1) {
        let pivot = 2.0 * (step(i - 1) + step(i)) - step(i - 1) * upper[i - 1];
        upper[i] = step(i) / pivot;
        solution[i] = (6.0 * (slope(i) - slope(i - 1)) - step(i - 1) * solution[i - 1]) / pivot;
    }
    for i in (1..times.len().saturating_sub(1)).rev() {
        solution[i] -= upper[i] * solution[i + 1];
    }
    solution
}
