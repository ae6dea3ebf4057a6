//! Knots, and where a time lies among them.
//!
//! `t = t_i + u (t_{i+1} - t_i)` with `0 <= u < 1`; only the last knot is the end, `u = 1`, of an interval.
//! Finding `i` is a bisection, O(log n). An interpolation defines its value at such a location; this file checks
//! arguments and iterates over channels and knots for all of them.

use super::Series;
use crate::algebra::basis::want;
use crate::{Error, Float};

/// The name of the output in errors.
const OUT: &str = "`out` (one entry per channel)";

/// Checks that `times` are finite and strictly increase, and that there is one.
pub(super) fn check_times(times: &[f64]) -> Result<(), Error> {
    if times.is_empty() {
        return Err(Error::EmptySeries);
    }
    for (index, &time) in times.iter().enumerate() {
        if !time.is_finite() {
            return Err(Error::TimeNotFinite { index, time });
        }
        if index > 0 && time <= times[index - 1] {
            return Err(Error::TimesNotIncreasing { index, previous: times[index - 1], time });
        }
    }
    Ok(())
}

/// Checks that there are two knots or more.
pub(super) fn check_path(times: &[f64]) -> Result<(), Error> {
    match times.len() {
        0 => Err(Error::EmptySeries),
        1 => Err(Error::OneObservation { what: "the series".into() }),
        _ => Ok(()),
    }
}

/// A time and its location: the knot interval and the fraction of it that has passed.
#[derive(Debug, Clone, Copy)]
pub(super) struct KnotLocation {
    pub(super) time: f64,
    pub(super) interval: usize,
    pub(super) fraction: f64,
}

impl KnotLocation {
    fn is_before(self, other: KnotLocation) -> bool {
        (self.interval, self.fraction) < (other.interval, other.fraction)
    }
}

/// The knots of a path and its number of channels.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Grid {
    knots: Vec<f64>,
    channels: usize,
}

impl Grid {
    pub(super) fn of<T: Float>(series: &Series<T>) -> Result<Self, Error> {
        check_path(series.times())?;
        Ok(Self { knots: series.times().to_vec(), channels: series.channels() })
    }

    pub(super) fn knots(&self) -> &[f64] {
        &self.knots
    }

    pub(super) fn channels(&self) -> usize {
        self.channels
    }

    pub(super) fn domain(&self) -> (f64, f64) {
        (self.knots[0], self.knots[self.knots.len() - 1])
    }

    /// The length of a knot interval.
    pub(super) fn step(&self, interval: usize) -> f64 {
        self.knots[interval + 1] - self.knots[interval]
    }

    pub(super) fn locate(&self, time: f64) -> Result<KnotLocation, Error> {
        let (start, end) = self.domain();
        // Written so that NaN fails too.
        if !(start <= time && time <= end) {
            return Err(Error::OutsideDomain { time, start, end });
        }
        let after = self.knots.partition_point(|&knot| knot <= time);
        let interval = (after - 1).min(self.knots.len() - 2);
        let fraction = (time - self.knots[interval]) / self.step(interval);
        Ok(KnotLocation { time, interval, fraction })
    }

    fn locate_interval(&self, s: f64, t: f64) -> Result<(KnotLocation, KnotLocation), Error> {
        let (first, last) = (self.locate(s)?, self.locate(t)?);
        if t < s {
            return Err(Error::Reversed { start: s, end: t });
        }
        Ok((first, last))
    }

    /// Writes `f(location of t, channel)` for each channel.
    pub(super) fn fill<T: Float>(
        &self,
        operation: &'static str,
        t: f64,
        out: &mut [T],
        f: impl Fn(KnotLocation, usize) -> T,
    ) -> Result<(), Error> {
        want(operation, OUT, out.len(), self.channels)?;
        let location = self.locate(t)?;
        for (channel, out) in out.iter_mut().enumerate() {
            *out = f(location, channel);
        }
        Ok(())
    }

    /// Writes `value(t) - value(s)` for each channel.
    pub(super) fn difference<T: Float>(
        &self,
        s: f64,
        t: f64,
        out: &mut [T],
        value: impl Fn(KnotLocation, usize) -> T,
    ) -> Result<(), Error> {
        want("increment", OUT, out.len(), self.channels)?;
        let (first, last) = self.locate_interval(s, t)?;
        for (channel, out) in out.iter_mut().enumerate() {
            *out = value(last, channel) - value(first, channel);
        }
        Ok(())
    }

    /// Checks the arguments of a polyline, empties `vertices`, and finds its ends.
    pub(super) fn begin_polyline<T: Float>(
        &self,
        s: f64,
        t: f64,
        refinement: usize,
        vertices: &mut Vec<T>,
    ) -> Result<(KnotLocation, KnotLocation), Error> {
        if refinement == 0 {
            return Err(Error::BadParameter { what: "the refinement of a polyline", wanted: "1 or more", seen: "`0`".into() });
        }
        let ends = self.locate_interval(s, t)?;
        vertices.clear();
        Ok(ends)
    }

    /// The vertices at `s`, `t` and the points of the refined grid strictly between them.
    pub(super) fn polyline<T: Float>(
        &self,
        s: f64,
        t: f64,
        refinement: usize,
        vertices: &mut Vec<T>,
        value: impl Fn(KnotLocation, usize) -> T,
    ) -> Result<(), Error> {
        let (first, last) = self.begin_polyline(s, t, refinement, vertices)?;
        let mut push = |location| vertices.extend((0..self.channels).map(|channel| value(location, channel)));
        push(first);
        for interval in first.interval..=last.interval {
            for piece in 0..refinement {
                let fraction = piece as f64 / refinement as f64;
                let location = KnotLocation { time: self.knots[interval] + fraction * self.step(interval), interval, fraction };
                if first.is_before(location) && location.is_before(last) {
                    push(location);
                }
            }
        }
        push(last);
        Ok(())
    }
}

/// The methods of [`Path`](super::Path) that need only `self.grid`, `self.value(location, channel)` and `self.slope(location, channel)`.
macro_rules! path_on_grid {
    () => {
        fn channels(&self) -> usize {
            self.grid.channels()
        }

        fn knots(&self) -> &[f64] {
            self.grid.knots()
        }

        fn evaluate(&self, t: f64, out: &mut [T]) -> Result<(), Error> {
            self.grid.fill("evaluate", t, out, |location, channel| self.value(location, channel))
        }

        fn derivative(&self, t: f64, out: &mut [T]) -> Result<(), Error> {
            self.grid.fill("derivative", t, out, |location, channel| self.slope(location, channel))
        }

        fn increment(&self, s: f64, t: f64, out: &mut [T]) -> Result<(), Error> {
            self.grid.difference(s, t, out, |location, channel| self.value(location, channel))
        }
    };
}
pub(super) use path_on_grid;
