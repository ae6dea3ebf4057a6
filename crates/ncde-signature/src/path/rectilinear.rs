//! Hold, then jump: `X(t) = x_i` for `t_i <= t < t_{i+1}`, and a jump to `x_{i+1}` at `t_{i+1}`.
//!
//! With the time as channel 0, which moves on while the others hold, the polyline is
//! `(t_i, x_i) -> (t_{i+1}, x_i) -> (t_{i+1}, x_{i+1})` (Morrill et al. 2022). The path is right-continuous:
//! the jump at `t` belongs to the interval that ends at `t`, not to one that starts there.
//!
//! Building copies the series, O(length x channels); evaluating is O(log length + channels).

use super::grid::{Grid, KnotLocation, path_on_grid};
use super::{Causal, Observed, Path};
use crate::{Error, Float};

/// Where a rectilinear path finds the time among its channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeChannel {
    /// Nowhere: all channels hold and jump.
    None,
    /// In channel 0, as [`Series::with_time`](super::Series::with_time) puts it.
    First,
}

/// The path that holds each observation until the next one.
#[derive(Debug, Clone)]
pub struct Rectilinear<T> {
    grid: Grid,
    values: Vec<T>,
    time: TimeChannel,
}

impl<T: Float> Rectilinear<T> {
    /// Through every observation.
    ///
    /// ```
    /// use ncde_signature::path::{Path, Rectilinear, Series, TimeChannel};
    /// let series = Series::new(vec![0.0, 2.0], vec![5.0, 7.0], 1)?.with_time()?.complete()?;
    /// let path = Rectilinear::new(&series, TimeChannel::First)?;
    /// let mut corners = Vec::new();
    /// path.polyline(0.0, 2.0, 1, &mut corners)?;
    /// assert_eq!(corners, [0.0, 5.0, 2.0, 5.0, 2.0, 7.0]);
    /// # Ok::<(), ncde_signature::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::OneObservation`]; with [`TimeChannel::First`], [`Error::BadParameter`] if channel 0 is not
    /// the time. (If it were any other channel, its value between two observations would tell the next one.)
    pub fn new(series: &Observed<T>, time: TimeChannel) -> Result<Self, Error> {
        let grid = Grid::of(series)?;
        if time == TimeChannel::First {
            for (index, (&t, row)) in series.times().iter().zip(series.rows()).enumerate() {
                if row[0] != T::from_f64(t) {
                    return Err(Error::BadParameter {
                        what: "channel 0, named as the time channel,",
                        wanted: "the observation times (use `with_time`, after any `with_basepoint`)",
                        seen: format!("`{}` at observation {index}, time `{t}`", row[0]),
                    });
                }
            }
        }
        Ok(Self { grid, values: series.values().to_vec(), time })
    }

    /// The last observation at or before a location.
    fn latest(&self, location: KnotLocation) -> usize {
        // Not the fraction, which can round to 1 just before a jump: that would look ahead.
        let jumped = location.time >= self.grid.knots()[location.interval + 1];
        location.interval + usize::from(jumped)
    }

    fn is_time(&self, channel: usize) -> bool {
        self.time == TimeChannel::First && channel == 0
    }

    fn held(&self, observation: usize, time: f64, channel: usize) -> T {
        if self.is_time(channel) { T::from_f64(time) } else { self.values[observation * self.grid.channels() + channel] }
    }

    fn value(&self, location: KnotLocation, channel: usize) -> T {
        self.held(self.latest(location), location.time, channel)
    }

    /// 1 for the time channel and 0 for the others, which move by jumps alone.
    fn slope(&self, _: KnotLocation, channel: usize) -> T {
        if self.is_time(channel) { T::ONE } else { T::ZERO }
    }
}

impl<T: Float> Path<T> for Rectilinear<T> {
    type Causality = Causal;

    path_on_grid!();

    fn polyline(&self, s: f64, t: f64, refinement: usize, vertices: &mut Vec<T>) -> Result<(), Error> {
        let (first, last) = self.grid.begin_polyline(s, t, refinement, vertices)?;
        let (start, end) = (self.latest(first), self.latest(last));
        let mut push = |observation, time| {
            let channels = 0..self.grid.channels();
            vertices.extend(channels.map(|channel| self.held(observation, time, channel)));
        };
        push(start, s);
        for observation in start + 1..=end {
            let time = self.grid.knots()[observation];
            if self.time == TimeChannel::First {
                push(observation - 1, time);
            }
            push(observation, time);
        }
        // Time has gone on since the last jump, or nothing jumped and the last vertex is still to come.
        let time_left = self.time == TimeChannel::First && self.grid.knots()[end] < t;
        if time_left || start == end {
            push(end, t);
        }
        Ok(())
    }
}
