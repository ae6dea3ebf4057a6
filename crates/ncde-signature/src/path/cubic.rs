//! Piecewise cubics: `X(t) = x_i + b u + c u^2 + d u^3` with `t = t_i + u (t_{i+1} - t_i)`, `0 <= u <= 1`.
//!
//! `b, c, d` are in the units of the values, since `u` has none: short intervals do not overflow. They
//! are found in `f64` and stored as `T`, one triple for each interval and channel, `[length - 1, channels]`.
//! Evaluating is O(log length + channels). [`Cubic::natural`] and [`Cubic::hermite`] differ only in how they
//! fit the triples of one channel.

use std::marker::PhantomData;

use super::gaps::hold_outside;
use super::grid::{Grid, KnotLocation, path_on_grid};
use super::{Causality, Path, Series};
use crate::{Error, Float};

/// A piecewise cubic path through the observations.
#[derive(Debug, Clone)]
pub struct Cubic<T, C> {
    grid: Grid,
    values: Vec<T>,
    pieces: Vec<[T; 3]>,
    causality: PhantomData<C>,
}

impl<T: Float, C: Causality> Cubic<T, C> {
    /// Fits each channel through its own observations and keeps it constant outside of them.
    ///
    /// `fit` takes the times and values at which one channel was observed, two or more, and gives
    /// `[b, c, d]` for each interval between them.
    pub(super) fn fit(series: &Series<T>, fit: impl Fn(&[f64], &[f64]) -> Vec<[f64; 3]>) -> Result<Self, Error> {
        let grid = Grid::of(series)?;
        let (channels, knots) = (grid.channels(), grid.knots());
        let mut values = series.values().to_vec();
        let mut pieces = vec![[T::ZERO; 3]; (series.length() - 1) * channels];
        for channel in 0..channels {
            let at = |index: usize| index * channels + channel;
            let observed = series.observed(channel)?;
            let times: Vec<f64> = observed.iter().map(|&index| knots[index]).collect();
            let observations: Vec<f64> = observed.iter().map(|&index| values[at(index)].to_f64()).collect();
            hold_outside(&mut values, channels, channel, &observed);
            for (piece, cubic) in fit(&times, &observations).into_iter().enumerate() {
                let (from, to) = (observed[piece], observed[piece + 1]);
                let span = times[piece + 1] - times[piece];
                for index in from..to {
                    let start = (knots[index] - times[piece]) / span;
                    let scale = grid.step(index) / span;
                    let (rise, cut) = restrict(cubic, start, scale);
                    pieces[at(index)] = cut.map(T::from_f64);
                    if index > from {
                        values[at(index)] = T::from_f64(observations[piece] + rise);
                    }
                }
            }
        }
        Ok(Self { grid, values, pieces, causality: PhantomData })
    }

    fn value(&self, location: KnotLocation, channel: usize) -> T {
        let at = location.interval * self.grid.channels() + channel;
        // The sum of the coefficients need not round to the next observation.
        if location.fraction == 1.0 {
            return self.values[at + self.grid.channels()];
        }
        let u = T::from_f64(location.fraction);
        let [b, c, d] = self.pieces[at];
        self.values[at] + u * (b + u * (c + u * d))
    }

    fn slope(&self, location: KnotLocation, channel: usize) -> T {
        let [b, c, d] = self.pieces[location.interval * self.grid.channels() + channel].map(T::to_f64);
        let u = location.fraction;
        T::from_f64((b + u * (2.0 * c + u * 3.0 * d)) / self.grid.step(location.interval))
    }
}

/// The cubic `b v + c v^2 + d v^3` on the part `v = start + scale u` of its interval: its rise up to
/// `start`, and its coefficients in `u`.
fn restrict([b, c, d]: [f64; 3], start: f64, scale: f64) -> (f64, [f64; 3]) {
    let rise = start * (b + start * (c + start * d));
    let cut =
        [scale * (b + start * (2.0 * c + start * 3.0 * d)), scale * scale * (c + start * 3.0 * d), scale * scale * scale * d];
    (rise, cut)
}

impl<T: Float, C: Causality> Path<T> for Cubic<T, C> {
    type Causality = C;

    path_on_grid!();

    fn polyline(&self, s: f64, t: f64, refinement: usize, vertices: &mut Vec<T>) -> Result<(), Error> {
        self.grid.polyline(s, t, refinement, vertices, |location, channel| self.value(location, channel))
    }
}
