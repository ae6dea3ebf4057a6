//! Straight lines: `X(t) = x_i + u (x_{i+1} - x_i)` with `t = t_i + u (t_{i+1} - t_i)`.
//!
//! Building copies the series, O(length x channels); evaluating is O(log length + channels).

use std::marker::PhantomData;

use super::gaps::hold_outside;
use super::grid::{Grid, KnotLocation, path_on_grid};
use super::{Acausal, AtObservations, Causality, Observed, Path, Series};
use crate::{Error, Float};

/// The piecewise linear path through the observations.
#[derive(Debug, Clone)]
pub struct Linear<T, C> {
    grid: Grid,
    values: Vec<T>,
    causality: PhantomData<C>,
}

impl<T: Float> Linear<T, AtObservations> {
    /// Through every observation. Between two of them the path uses the later one.
    ///
    /// ```
    /// use ncde_signature::path::{Linear, Path, Series};
    /// let path = Linear::new(&Series::new(vec![0.0, 2.0], vec![1.0, 5.0], 1)?.complete()?)?;
    /// let mut x = [0.0];
    /// path.evaluate(0.5, &mut x)?;
    /// assert_eq!(x, [2.0]);
    /// # Ok::<(), ncde_signature::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::OneObservation`].
    pub fn new(series: &Observed<T>) -> Result<Self, Error> {
        Ok(Self::through(Grid::of(series)?, series.values().to_vec()))
    }
}

impl<T: Float> Linear<T, Acausal> {
    /// Each channel through its own observations, across gaps; constant before its first and after its
    /// last one.
    ///
    /// ```
    /// use ncde_signature::path::{Linear, Path, Series};
    /// let series = Series::with_missing(vec![0.0, 1.0, 4.0], vec![0.0, f64::NAN, 8.0], 1)?;
    /// let path = Linear::across_gaps(&series)?;
    /// let mut x = [0.0];
    /// path.evaluate(1.0, &mut x)?;
    /// assert_eq!(x, [2.0]);
    /// # Ok::<(), ncde_signature::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::OneObservation`], or [`Error::NeverObserved`] for a channel without any value.
    pub fn across_gaps(series: &Series<T>) -> Result<Self, Error> {
        let grid = Grid::of(series)?;
        let mut values = series.values().to_vec();
        let (times, channels) = (series.times(), series.channels());
        // A line cut at the times of other channels is the same line, so filling the gaps is enough.
        for channel in 0..channels {
            let at = |index: usize| index * channels + channel;
            let observed = series.observed(channel)?;
            hold_outside(&mut values, channels, channel, &observed);
            for pair in observed.windows(2) {
                let (from, to) = (pair[0], pair[1]);
                for index in from + 1..to {
                    let fraction = (times[index] - times[from]) / (times[to] - times[from]);
                    values[at(index)] = between(values[at(from)], values[at(to)], fraction);
                }
            }
        }
        Ok(Self::through(grid, values))
    }
}

/// `a + u (b - a)`: exact where `a = b`.
fn between<T: Float>(a: T, b: T, fraction: f64) -> T {
    a + T::from_f64(fraction) * (b - a)
}

impl<T: Float, C: Causality> Linear<T, C> {
    fn through(grid: Grid, values: Vec<T>) -> Self {
        Self { grid, values, causality: PhantomData }
    }

    fn ends(&self, interval: usize, channel: usize) -> (T, T) {
        let at = interval * self.grid.channels() + channel;
        (self.values[at], self.values[at + self.grid.channels()])
    }

    fn value(&self, location: KnotLocation, channel: usize) -> T {
        let (a, b) = self.ends(location.interval, channel);
        // `a + (b - a)` need not round to `b`, and a path passes through its observations.
        if location.fraction == 1.0 { b } else { between(a, b, location.fraction) }
    }

    fn slope(&self, location: KnotLocation, channel: usize) -> T {
        let (a, b) = self.ends(location.interval, channel);
        T::from_f64((b - a).to_f64() / self.grid.step(location.interval))
    }
}

impl<T: Float, C: Causality> Path<T> for Linear<T, C> {
    type Causality = C;

    path_on_grid!();

    fn polyline(&self, s: f64, t: f64, refinement: usize, vertices: &mut Vec<T>) -> Result<(), Error> {
        // Straight pieces need no refinement; 0 is still refused.
        let refinement = refinement.min(1);
        self.grid.polyline(s, t, refinement, vertices, |location, channel| self.value(location, channel))
    }
}
