//! Observations `(t_i, x_i)` at irregular times `t_0 < t_1 < ... < t_n`, with values `x_i` in `R^d`.
//!
//! Values are row-major, `[length, channels]`. A missing value is NaN, and only where gaps were
//! declared. Every check is made here, once; what is built from a [`Series`] trusts it.

use super::grid::check_times;
use crate::algebra::basis::want;
use crate::{Error, Float};

/// Observations at strictly increasing, finite times.
///
/// There is at least one observation and one channel. A value is finite, or NaN for "missing" in a series
/// made by [`Series::with_missing`].
#[derive(Debug, Clone)]
pub struct Series<T> {
    times: Vec<f64>,
    values: Vec<T>,
    channels: usize,
}

/// Whether NaN stands for a missing value or is a mistake.
#[derive(Clone, Copy)]
enum Gaps {
    Allowed,
    Forbidden,
}

impl<T: Float> Series<T> {
    /// A series without gaps, from `values` of shape `[times.len(), channels]`.
    ///
    /// ```
    /// use ncde_signature::path::Series;
    /// let series = Series::new(vec![0.0, 0.5], vec![1.0, 2.0, 3.0, 4.0], 2)?;
    /// assert_eq!(series.rows().nth(1), Some([3.0, 4.0].as_slice()));
    /// # Ok::<(), ncde_signature::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::EmptySeries`], [`Error::NoChannels`], [`Error::Size`] if the sizes disagree,
    /// [`Error::TimeNotFinite`], [`Error::TimesNotIncreasing`], or [`Error::NotFinite`] for a value that is
    /// NaN or infinite.
    pub fn new(times: Vec<f64>, values: Vec<T>, channels: usize) -> Result<Self, Error> {
        Self::checked(times, values, channels, Gaps::Forbidden)
    }

    /// A series in which NaN marks a missing value.
    ///
    /// ```
    /// use ncde_signature::path::Series;
    /// let series = Series::with_missing(vec![0.0, 0.5], vec![1.0, f64::NAN], 1)?;
    /// assert_eq!(series.missing(), 1);
    /// # Ok::<(), ncde_signature::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Series::new`]; an infinite value is still [`Error::NotFinite`].
    pub fn with_missing(times: Vec<f64>, values: Vec<T>, channels: usize) -> Result<Self, Error> {
        Self::checked(times, values, channels, Gaps::Allowed)
    }

    /// A series without gaps at times 0, 1, 2, ...
    ///
    /// ```
    /// use ncde_signature::path::Series;
    /// let series = Series::regular(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 2)?;
    /// assert_eq!(series.times(), [0.0, 1.0, 2.0]);
    /// # Ok::<(), ncde_signature::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Series::new`]; [`Error::Size`] if the last observation is not whole.
    pub fn regular(values: Vec<T>, channels: usize) -> Result<Self, Error> {
        let length = whole_rows("series", values.len(), channels)?;
        Self::new(regular_times(length), values, channels)
    }

    fn checked(times: Vec<f64>, values: Vec<T>, channels: usize, gaps: Gaps) -> Result<Self, Error> {
        if channels == 0 {
            return Err(Error::NoChannels);
        }
        check_times(&times)?;
        // A product that overflows is no size of a vector, so it cannot agree either.
        let wanted = times.len().saturating_mul(channels);
        let what = format!("`values` ({} observations of {channels} channels)", times.len());
        want("series", &what, values.len(), wanted)?;
        let bad = |value: &T| match gaps {
            Gaps::Allowed => !value.is_finite() && !value.is_nan(),
            Gaps::Forbidden => !value.is_finite(),
        };
        if let Some(at) = values.iter().position(bad) {
            let hint = if values[at].is_nan() {
                "if it is missing, say so with `Series::with_missing`"
            } else {
                "values must be finite; `Series::with_missing` takes NaN for what was not measured"
            };
            return Err(not_finite(&values, channels, at, hint));
        }
        Ok(Self { times, values, channels })
    }

    /// A series whose parts were checked before and only rearranged.
    pub(super) fn trusted(times: Vec<f64>, values: Vec<T>, channels: usize) -> Self {
        Self { times, values, channels }
    }

    /// The observation times.
    pub fn times(&self) -> &[f64] {
        &self.times
    }

    /// The values, `[length, channels]`, row-major; NaN where missing.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// The observations in order, one slice of channels each.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[T]> {
        self.values.chunks_exact(self.channels)
    }

    /// The number of channels.
    pub fn channels(&self) -> usize {
        self.channels
    }

    /// The number of observations, at least one.
    pub fn length(&self) -> usize {
        self.times.len()
    }

    /// The number of missing values, over all channels.
    pub fn missing(&self) -> usize {
        self.values.iter().filter(|value| value.is_nan()).count()
    }
}

/// The times 0, 1, ..., `length - 1`.
pub(super) fn regular_times(length: usize) -> Vec<f64> {
    (0..length).map(|i| i as f64).collect()
}

/// How many rows of `channels` entries there are, if the last one is whole.
pub(super) fn whole_rows(operation: &'static str, entries: usize, channels: usize) -> Result<usize, Error> {
    if channels == 0 {
        return Err(Error::NoChannels);
    }
    if !entries.is_multiple_of(channels) {
        return Err(Error::Size { operation, what: "the last row".into(), seen: entries % channels, wanted: channels });
    }
    Ok(entries / channels)
}

/// Checks that no value is NaN or infinite; `hint` says what to try.
pub(super) fn check_finite<T: Float>(values: &[T], channels: usize, hint: &'static str) -> Result<(), Error> {
    match values.iter().position(|value| !value.is_finite()) {
        None => Ok(()),
        Some(at) => Err(not_finite(values, channels, at, hint)),
    }
}

/// The error for entry `at` of `values`.
pub(super) fn not_finite<T: Float>(values: &[T], channels: usize, at: usize, hint: &'static str) -> Error {
    Error::NotFinite {
        location: format!("observation {}", at / channels),
        channel: at % channels,
        value: values[at].to_f64(),
        hint,
    }
}
