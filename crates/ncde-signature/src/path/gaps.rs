//! Missing values, filled forward: `x_i = ` the last value observed at or before `t_i`.
//!
//! This uses no later observation. Filling backward would, so it is not offered; a channel that starts
//! with a gap needs a starting value. O(length x channels).

use std::ops::Deref;

use super::Series;
use super::series::not_finite;
use crate::algebra::basis::want;
use crate::{Error, Float};

/// The value of a channel before its first observation.
#[derive(Debug, Clone, PartialEq)]
pub enum Start<T> {
    /// None: a channel that starts with a gap is an error.
    Required,
    /// Zero.
    Zero,
    /// One value for each channel.
    Values(Vec<T>),
}

/// A series without gaps, made without looking ahead.
///
/// Only [`Series::complete`] and [`Series::fill_forward`] make one: the type is the proof that causal
/// interpolations ask for. It reads like the [`Series`] that it is.
#[derive(Debug, Clone)]
pub struct Observed<T>(Series<T>);

impl<T> Observed<T> {
    /// The series, without the proof.
    pub fn into_series(self) -> Series<T> {
        self.0
    }
}

impl<T> Deref for Observed<T> {
    type Target = Series<T>;

    fn deref(&self) -> &Series<T> {
        &self.0
    }
}

impl<T: Float> Series<T> {
    /// The series itself, if nothing is missing.
    ///
    /// # Errors
    /// [`Error::NotFinite`], which says where the first missing value is.
    pub fn complete(self) -> Result<Observed<T>, Error> {
        match self.values().iter().position(|value| value.is_nan()) {
            None => Ok(Observed(self)),
            Some(at) => Err(not_finite(
                self.values(),
                self.channels(),
                at,
                "it is missing; fill it with `fill_forward` or interpolate with `across_gaps`",
            )),
        }
    }

    /// Each missing value replaced by the last one observed in its channel.
    ///
    /// ```
    /// use ncde_signature::path::{Series, Start};
    /// let nan = f64::NAN;
    /// let series = Series::with_missing(vec![0.0, 1.0, 2.0, 3.0], vec![nan, 7.0, nan, 8.0], 1)?;
    /// let filled = series.fill_forward(&Start::Zero)?;
    /// assert_eq!(filled.values(), [0.0, 7.0, 7.0, 8.0]);
    /// # Ok::<(), ncde_signature::Error>(())
    /// ```
    ///
    /// # Errors
    /// With [`Start::Required`], [`Error::MissingStart`] or [`Error::NeverObserved`]. With
    /// [`Start::Values`], [`Error::Size`] or [`Error::BadParameter`] if they are not one finite value for
    /// each channel.
    pub fn fill_forward(&self, start: &Start<T>) -> Result<Observed<T>, Error> {
        let channels = self.channels();
        let mut last = self.starting_values(start)?;
        let mut values = self.values().to_vec();
        for row in values.chunks_exact_mut(channels) {
            for (value, last) in row.iter_mut().zip(&mut last) {
                if value.is_nan() {
                    *value = *last;
                }
                *last = *value;
            }
        }
        Ok(Observed(Self::trusted(self.times().to_vec(), values, channels)))
    }

    fn starting_values(&self, start: &Start<T>) -> Result<Vec<T>, Error> {
        match start {
            Start::Zero => Ok(vec![T::ZERO; self.channels()]),
            Start::Values(values) => {
                let what = "the list of starting values (one for each channel)";
                want("fill forward", what, values.len(), self.channels())?;
                match values.iter().position(|value| !value.is_finite()) {
                    None => Ok(values.clone()),
                    Some(channel) => Err(Error::BadParameter {
                        what: "a starting value",
                        wanted: "finite",
                        seen: format!("`{}` (channel {channel})", values[channel]),
                    }),
                }
            }
            Start::Required => (0..self.channels())
                .map(|channel| match self.observed(channel)?[0] {
                    0 => Ok(self.values()[channel]),
                    first => Err(Error::MissingStart { channel, first }),
                })
                .collect(),
        }
    }

    /// The observations, at least one, at which a channel is not missing.
    pub(super) fn observed(&self, channel: usize) -> Result<Vec<usize>, Error> {
        let column = self.values()[channel..].iter().step_by(self.channels());
        let observed: Vec<usize> = column.enumerate().filter(|(_, value)| !value.is_nan()).map(|(index, _)| index).collect();
        if observed.is_empty() {
            return Err(Error::NeverObserved { channel });
        }
        Ok(observed)
    }
}

/// Keeps one channel constant before the first and after the last of its observations.
pub(super) fn hold_outside<T: Float>(values: &mut [T], channels: usize, channel: usize, observed: &[usize]) {
    let (first, last) = (observed[0], observed[observed.len() - 1]);
    let (before, after) = (values[first * channels + channel], values[last * channels + channel]);
    for (index, row) in values.chunks_exact_mut(channels).enumerate() {
        if index < first {
            row[channel] = before;
        } else if index > last {
            row[channel] = after;
        }
    }
}
