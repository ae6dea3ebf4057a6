//! Cubic Hermite pieces with backward differences (Morrill et al. 2022; torchcde and diffrax).
//!
//! With slopes `m_i = (x_{i+1} - x_i) / (t_{i+1} - t_i)` the piece on `[t_i, t_{i+1}]` has derivative `m_{i-1}`
//! where it starts (`m_0` for the first piece, which is a line) and `m_i` where it ends. So the path is once
//! continuously differentiable, and each piece uses one observation later than its start.
//! With `D = x_{i+1} - x_i` and `B = m_{i-1} (t_{i+1} - t_i)` its coefficients are
//! `b = B`, `c = 2 (D - B)`, `d = B - D`. O(length x channels).

use super::{Acausal, AtObservations, Cubic, Observed, Series};
use crate::{Error, Float};

impl<T: Float> Cubic<T, AtObservations> {
    /// The Hermite cubic with backward differences through every observation.
    ///
    /// ```
    /// use ncde_signature::path::{Cubic, Path, Series};
    /// let path = Cubic::hermite(&Series::regular(vec![0.0, 1.0, 0.0], 1)?.complete()?)?;
    /// let mut x = [0.0];
    /// path.evaluate(1.5, &mut x)?;
    /// assert_eq!(x, [0.75]);
    /// # Ok::<(), ncde_signature::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::OneObservation`].
    pub fn hermite(series: &Observed<T>) -> Result<Self, Error> {
        Self::fit(series, pieces)
    }
}

impl<T: Float> Cubic<T, Acausal> {
    /// The Hermite cubic of each channel through its own observations, across gaps; constant before its first and
    /// after its last one.
    ///
    /// # Errors
    /// [`Error::OneObservation`], or [`Error::NeverObserved`] for a channel without any value.
    pub fn hermite_across_gaps(series: &Series<T>) -> Result<Self, Error> {
        Self::fit(series, pieces)
    }
}

fn pieces(times: &[f64], values: &[f64]) -> Vec<[f64; 3]> {
    let rise = |i: usize| values[i + 1] - values[i];
    let step = |i: usize| times[i + 1] - times[i];
    (0..times.len() - 1)
        .map(|i| {
            // The ratio of steps comes first: a slope over a tiny step could overflow.
            let before = match i {
                0 => rise(0),
                _ => rise(i - 1) * (step(i) / step(i - 1)),
            };
            [before, 2.0 * (rise(i) - before), before - rise(i)]
        })
        .collect()
}
