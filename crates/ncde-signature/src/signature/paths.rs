//! A batch of sampled paths, `[batch, length, channels]` with a length of its own for each, and intervals of them.

use crate::algebra::basis::want;
use crate::signature::transform::overflow;
use ncde_simd::Float;

use crate::Error;

/// Paths of any lengths, one after the other, each `[length, channels]` row-major.
///
/// The signatures taken of them are those of the piecewise linear paths through the rows.
#[derive(Debug, Clone)]
pub struct Paths<'a, T> {
    values: &'a [T],
    channels: usize,
    /// `starts[i]..starts[i + 1]`: the rows of path `i`.
    starts: Vec<usize>,
}

impl<'a, T: Float> Paths<'a, T> {
    /// `batch` paths of `length` observations each.
    ///
    /// # Errors
    /// If `values` does not have `batch x length x channels` entries, or there are no channels or no observations.
    pub fn new(values: &'a [T], batch: usize, length: usize, channels: usize) -> Result<Self, Error> {
        Self::ragged(values, &vec![length; batch], channels)
    }

    /// One path.
    ///
    /// # Errors
    /// If `values` is not a whole number of observations, or there are none.
    pub fn single(values: &'a [T], channels: usize) -> Result<Self, Error> {
        Self::ragged(values, &[values.len() / channels.max(1)], channels)
    }

    /// Paths with these numbers of observations.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn ragged(values: &'a [T], lengths: &[usize], channels: usize) -> Result<Self, Error> {
        if channels == 0 {
            return Err(Error::NoChannels);
        }
        if lengths.contains(&0) {
            return Err(Error::EmptySeries);
        }
        let mut starts = Vec::with_capacity(lengths.len() + 1);
        starts.push(0);
        let mut rows = 0_usize;
        for &length in lengths {
            rows = rows.saturating_add(length);
            starts.push(rows);
        }
        want("a batch of paths", "the array of values", values.len(), rows.saturating_mul(channels))?;
        Ok(Self { values, channels, starts })
    }

    /// How many paths.
    pub fn batch(&self) -> usize {
        self.starts.len() - 1
    }

    /// How many channels each observation has.
    pub fn channels(&self) -> usize {
        self.channels
    }

    /// How many observations path `i` has.
    pub fn length(&self, i: usize) -> usize {
        self.starts[i + 1] - self.starts[i]
    }

    /// All values, one path after the other.
    pub fn values(&self) -> &'a [T] {
        self.values
    }

    /// The values of path `i`, `[length, channels]`.
    pub fn path(&self, i: usize) -> &'a [T] {
        &self.values[self.starts[i] * self.channels..self.starts[i + 1] * self.channels]
    }

    /// The rows of path `i` among those of all paths.
    pub(crate) fn rows(&self, i: usize) -> std::ops::Range<usize> {
        self.starts[i]..self.starts[i + 1]
    }

    /// Each path from its first observation to its last.
    ///
    /// # Errors
    /// If a path has one observation only.
    pub fn whole(&self) -> Result<Vec<Interval>, Error> {
        self.windows(usize::MAX)
    }

    /// Consecutive windows of `size` increments; neighbours share an observation, a path's last window may be shorter.
    ///
    /// # Errors
    /// If `size` is 0 or a path has one observation only.
    pub fn windows(&self, size: usize) -> Result<Vec<Interval>, Error> {
        if size == 0 {
            return Err(Error::BadParameter { what: "the window", wanted: "at least one increment", seen: "0".into() });
        }
        let mut intervals = Vec::new();
        for path in 0..self.batch() {
            let last = self.length(path) - 1;
            if last == 0 {
                return Err(self.one_observation(path));
            }
            let starts = (0..last).step_by(size);
            intervals.extend(starts.map(|start| Interval { path, start, end: start.saturating_add(size).min(last) }));
        }
        Ok(intervals)
    }

    pub(crate) fn one_observation(&self, path: usize) -> Error {
        let what = if self.batch() == 1 { "the series".into() } else { format!("series {path}") };
        Error::OneObservation { what }
    }

    /// The error for results that are not finite: it names the first value that is not, or reports an overflow.
    pub(crate) fn not_finite_error(&self) -> Error {
        let Some(index) = self.values.iter().position(|x| !x.is_finite()) else {
            return overflow(self.values);
        };
        let row = index / self.channels;
        let path = self.starts.partition_point(|&start| start <= row) - 1;
        let observation = row - self.starts[path];
        Error::NotFinite {
            location: if self.batch() == 1 {
                format!("observation {observation}")
            } else {
                format!("series {path}, observation {observation}")
            },
            channel: index % self.channels,
            value: self.values[index].to_f64(),
            hint: "fill or drop missing values first",
        }
    }
}

/// From observation `start` to observation `end` of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interval {
    /// Which path of the batch.
    pub path: usize,
    /// Its first observation.
    pub start: usize,
    /// Its last observation, after `start`.
    pub end: usize,
}

impl Interval {
    /// How many increments it spans.
    pub fn steps(&self) -> usize {
        self.end - self.start
    }

    pub(crate) fn check<T: Float>(&self, paths: &Paths<'_, T>) -> Result<(), Error> {
        if self.path >= paths.batch() {
            return Err(Error::BadParameter {
                what: "the path of an interval",
                wanted: "one of the batch",
                seen: self.path.to_string(),
            });
        }
        let last = paths.length(self.path) - 1;
        if self.start < self.end && self.end <= last {
            return Ok(());
        }
        Err(Error::BadInterval { start: self.start, end: self.end, last })
    }
}
