//! A forecast: later values of all channels, for several horizons at once.
//!
//! ```text
//! horizons k = from, ..., horizon;   outputs y, [horizons, channels];   s: the scaling of channel c;   x: its last known value
//! absolute:  x_{k,c} = s^-1(y_{k,c}),     relative:  x_{k,c} = s^-1(s(x) + y_{k,c}),     for the time t + k step
//! ```
//!
//! What is relative follows a level or a trend out of the range that was trained on.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use crate::prepare::{Preparation, Scaling, Track};

/// What is forecast, and how sure that is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Forecast {
    /// The largest horizon: how many observations later.
    pub horizon: usize,
    /// The smallest; the largest is the only one if it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<usize>,
    /// Whether outputs are differences to the last known values.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub relative: bool,
    /// The usual time from one observation to the next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<f64>,
    /// Whether observations lie on a grid of such steps, some of them left out: a horizon is then so many steps of time, and not so many observations.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub grid: bool,
    /// How far off forecasts are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intervals: Option<Intervals>,
    /// What forecasts are measured against; it has no effect on them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Baseline>,
}

/// The truth lies within these distances of a forecast, with a stated chance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Intervals {
    /// The chance.
    pub level: f64,
    /// `[horizons][channels]`, in the units of the channels.
    pub widths: Vec<Vec<f64>>,
}

/// What is known of the training part that naive forecasts need.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    /// After how many steps things repeat, if they do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period: Option<usize>,
    /// The mean of each channel.
    pub means: Vec<f64>,
    /// The mean size of the error of the naive forecast, by which errors are scaled: of the same value one period before, or one observation before without a period.
    pub scales: Vec<f64>,
}

impl Forecast {
    /// Of one horizon alone, absolute, with nothing else known.
    pub fn one(horizon: usize) -> Self {
        Self { horizon, from: None, relative: false, step: None, grid: false, intervals: None, baseline: None }
    }

    /// The horizons, in the order of outputs.
    ///
    /// ```
    /// use ncde_runtime::Forecast;
    /// assert_eq!(Forecast::one(5).horizons(), 5..=5);
    /// assert_eq!(Forecast { from: Some(1), ..Forecast::one(5) }.horizons(), 1..=5);
    /// ```
    pub fn horizons(&self) -> RangeInclusive<usize> {
        self.from.unwrap_or(self.horizon)..=self.horizon
    }

    /// How many horizons there are.
    pub fn count(&self) -> usize {
        let (first, last) = self.horizons().into_inner();
        last.saturating_sub(first).saturating_add(1)
    }

    /// How many numbers come out for so many channels.
    pub fn outputs(&self, channels: usize) -> usize {
        self.count().saturating_mul(channels)
    }

    /// The time of what is forecast `k` ahead of `time`; none if the step is not known.
    ///
    /// ```
    /// use ncde_runtime::Forecast;
    /// let forecast = Forecast { step: Some(0.1), ..Forecast::one(3) };
    /// assert_eq!((forecast.time(0.0, 3), Forecast::one(3).time(0.0, 3)), (Some(0.3), None));
    /// ```
    pub fn time(&self, time: f64, k: usize) -> Option<f64> {
        let later = time + k as f64 * self.step?;
        // 0.1 taken three times is 0.3 to people.
        Some(format!("{later:.12e}").parse().unwrap_or(later))
    }

    /// From outputs after an observation to values, `[horizons, channels]`.
    pub(crate) fn values(&self, outputs: &[f64], preparation: &Preparation, track: &Track) -> Vec<f64> {
        let last = preparation.last(track);
        let value = |(y, (scaling, last)): (&f64, (&Scaling, &f64))| scaling.undo(if self.relative { last + y } else { *y });
        outputs.iter().zip(preparation.channels.iter().zip(last).cycle()).map(value).collect()
    }

    /// What makes no sense, for so many channels.
    pub(crate) fn problem(&self, channels: usize) -> Option<String> {
        let (first, last) = self.horizons().into_inner();
        if first == 0 || last == 0 {
            return Some("a horizon of 0; a forecast is of at least 1 observation later".into());
        }
        if first > last {
            return Some(format!("horizons from {first} to {last}"));
        }
        if let Some(step) = self.step.filter(|step| !(step.is_finite() && *step > 0.0)) {
            return Some(format!("forecasts in steps of {step}; a positive time is needed"));
        }
        if self.grid && self.step.is_none() {
            return Some("forecasts on a `grid` without a `step`".into());
        }
        if let Some(Intervals { level, widths }) = &self.intervals {
            let count = self.count();
            if !(*level > 0.0 && *level < 1.0) {
                return Some(format!("intervals of level {level}; it lies between 0 and 1"));
            }
            if widths.len() != count || widths.iter().any(|widths| widths.len() != channels) {
                return Some(format!("widths of intervals that are not {count} lists of {channels}"));
            }
            if let Some(width) = widths.iter().flatten().find(|width| !(width.is_finite() && **width >= 0.0)) {
                return Some(format!("an interval of width {width}"));
            }
        }
        if let Some(Baseline { period, means, scales }) = &self.baseline {
            let (m, s) = (means.len(), scales.len());
            if m != channels || s != channels {
                return Some(format!("a baseline of {m} means and {s} scales, but there are {channels} channels"));
            }
            if let Some(period) = period.filter(|period| *period < 2) {
                return Some(format!("a period of {period}; it is 2 or more"));
            }
            if let Some(number) = means.iter().chain(scales).find(|x| !x.is_finite()) {
                return Some(format!("a baseline with the number {number}"));
            }
        }
        None
    }
}
