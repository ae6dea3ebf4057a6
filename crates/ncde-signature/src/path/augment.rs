//! Channels and observations added to a series.
//!
//! - time: `(t_i, x_i)`
//! - basepoint: `(s, 0), (t_0, x_0), (t_1, x_1), ...` with `s < t_0`
//! - counts: `(x_i, c_i)`, with `c_i` the number of values observed so far in each channel
//!
//! Each is O(length x channels). They are applied to what the series holds at that moment, so the usual
//! order is counts, basepoint, time: then only data are counted, and the basepoint has its own time.

use super::Series;
use super::series::check_finite;
use crate::{Error, Float};

impl<T: Float> Series<T> {
    /// With the time as a new channel 0, never missing.
    ///
    /// ```
    /// use ncde_signature::path::Series;
    /// let series = Series::new(vec![0.5, 2.0], vec![7.0, 8.0], 1)?.with_time()?;
    /// assert_eq!(series.values(), [0.5, 7.0, 2.0, 8.0]);
    /// # Ok::<(), ncde_signature::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NotFinite`] if a time is too large for `T`.
    pub fn with_time(&self) -> Result<Self, Error> {
        let times: Vec<T> = self.times().iter().map(|&t| T::from_f64(t)).collect();
        check_finite(&times, 1, "this time is too large for the number type; scale the times")?;
        let values =
            times.iter().zip(self.rows()).flat_map(|(&time, row)| std::iter::once(time).chain(row.iter().copied())).collect();
        Ok(Self::trusted(self.times().to_vec(), values, self.channels() + 1))
    }

    /// With an observation of zeros at an earlier time in front.
    ///
    /// Increments forget where a path starts; a basepoint makes the first value an increment too. It also
    /// gives every channel a first value, from which gaps can be filled forward.
    ///
    /// ```
    /// use ncde_signature::path::Series;
    /// let series = Series::regular(vec![7.0, 8.0], 1)?.with_basepoint(-1.0)?;
    /// assert_eq!(series.times(), [-1.0, 0.0, 1.0]);
    /// assert_eq!(series.values(), [0.0, 7.0, 8.0]);
    /// # Ok::<(), ncde_signature::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::BadParameter`] if `time` is not finite or not before the first observation.
    pub fn with_basepoint(&self, time: f64) -> Result<Self, Error> {
        let first = self.times()[0];
        if !(time.is_finite() && time < first) {
            return Err(Error::BadParameter {
                what: "the time of a basepoint",
                wanted: "finite and before the first observation",
                seen: format!("`{time}` (the first observation is at `{first}`)"),
            });
        }
        let times = [&[time], self.times()].concat();
        let values = [&vec![T::ZERO; self.channels()], self.values()].concat();
        Ok(Self::trusted(times, values, self.channels()))
    }

    /// With one more channel for each channel: how many of its values have been observed so far.
    ///
    /// Counts tell a model which values are new after gaps were filled forward. They are never missing.
    ///
    /// ```
    /// use ncde_signature::path::Series;
    /// let series = Series::with_missing(vec![0.0, 1.0, 2.0], vec![7.0, f64::NAN, 9.0], 1)?.with_counts();
    /// let counts: Vec<f64> = series.rows().map(|row| row[1]).collect();
    /// assert_eq!(counts, [1.0, 1.0, 2.0]);
    /// # Ok::<(), ncde_signature::Error>(())
    /// ```
    #[must_use]
    pub fn with_counts(&self) -> Self {
        let mut counts = vec![0_usize; self.channels()];
        let mut values = Vec::with_capacity(2 * self.values().len());
        for row in self.rows() {
            for (count, value) in counts.iter_mut().zip(row) {
                *count += usize::from(!value.is_nan());
            }
            values.extend_from_slice(row);
            values.extend(counts.iter().map(|&count| T::from_f64(count as f64)));
        }
        Self::trusted(self.times().to_vec(), values, 2 * self.channels())
    }
}
