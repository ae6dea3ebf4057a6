//! A forecast: later values of all channels, for several horizons at once.
//!
//! ```text
//! horizons k = from, ..., horizon;   outputs y, [horizons, channels];   s: the scaling of channel c;   x: its last known value
//! absolute:  x_{k,c} = s^-1(y_{k,c}),     relative:  x_{k,c} = s^-1(s(x) + y_{k,c}),     for the time t + k step
//! smoothing: x_{k,c} = g_{k,c} + s^-1(y_{k,c}) - s^-1(0),     g: what exponential smoothing of the series itself forecasts
//! ```
//!
//! What is relative or beside smoothing follows a level or a trend out of the range that was trained on.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use crate::prepare::{Preparation, Scaling, Track};
use crate::smoothing::Smoothing;

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
    /// What outputs are added to, in place of the last known values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smoothing: Option<Smoothing>,
    /// Whether each channel has no negative values; its forecasts and intervals have none then. Empty: none is said to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nonnegative: Vec<bool>,
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

/// Forecasts after an observation.
#[derive(Debug, Clone, PartialEq)]
pub struct Forecasts {
    /// `[horizons, channels]`.
    pub values: Vec<f64>,
    /// Half of the interval around each. Where the model has no intervals the size of error to expect, or 1 where nothing is known of it.
    pub widths: Vec<f64>,
}

/// With nothing known of how far off they are.
impl From<Vec<f64>> for Forecasts {
    fn from(values: Vec<f64>) -> Self {
        Self { widths: vec![1.0; values.len()], values }
    }
}

/// As a list of the values alone.
impl Serialize for Forecasts {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.values.serialize(serializer)
    }
}

/// The truth lies within these distances of a forecast, with a stated chance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Intervals {
    /// The chance.
    pub level: f64,
    /// `[horizons][channels]`: in the units of the channels, or with smoothing in units of the mean size of its errors on the series so far.
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
        Self {
            horizon,
            from: None,
            relative: false,
            smoothing: None,
            nonnegative: Vec::new(),
            step: None,
            grid: false,
            intervals: None,
            baseline: None,
        }
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

    /// What outputs are added to, `[horizons, channels]`, in the units of the channels, and the size of error to expect; none without smoothing.
    pub fn base(&self, track: &Track) -> Option<Vec<[f64; 2]>> {
        self.smoothing.as_ref().map(|smoothing| smoothing.forecasts(&track.smoothed, self.horizons()))
    }

    /// From outputs after an observation to forecasts, `[horizons, channels]`.
    pub(crate) fn values(&self, outputs: &[f64], preparation: &Preparation, track: &Track) -> Forecasts {
        let (last, channels) = (preparation.last(track), preparation.channels.len());
        let value = |(y, (scaling, last)): (&f64, (&Scaling, &f64))| scaling.undo(if self.relative { last + y } else { *y });
        let base = self.base(track);
        let mut values: Vec<f64> = match &base {
            None => outputs.iter().zip(preparation.channels.iter().zip(last).cycle()).map(value).collect(),
            Some(base) => {
                let scalings = preparation.channels.iter().cycle();
                outputs.iter().zip(base).zip(scalings).map(|((y, [base, _]), scaling)| base + y / scaling.factor).collect()
            }
        };
        let mut widths = vec![1.0; values.len()];
        if let Some(intervals) = &self.intervals {
            widths.iter_mut().zip(intervals.widths.iter().flatten()).for_each(|(width, own)| *width = *own);
        }
        if let Some(base) = &base {
            widths.iter_mut().zip(base).for_each(|(width, [_, size])| *width *= size);
        }
        for (i, value) in values.iter_mut().enumerate() {
            if self.is_nonnegative(i % channels.max(1)) {
                *value = value.max(0.0);
            }
        }
        Forecasts { values, widths }
    }

    fn is_nonnegative(&self, channel: usize) -> bool {
        self.nonnegative.get(channel) == Some(&true)
    }

    /// The ends of an interval around a forecast of a channel.
    pub fn interval(&self, channel: usize, value: f64, width: f64) -> [f64; 2] {
        let low = value - width;
        [if self.is_nonnegative(channel) { low.max(0.0) } else { low }, value + width]
    }

    /// Takes an observation after the track has taken it, which was at `before`.
    pub(crate) fn follow(&self, track: &mut Track, before: Option<f64>, values: &[f64]) {
        let Some(smoothing) = &self.smoothing else { return };
        let steps = match (before, self.step.filter(|_| self.grid)) {
            (Some(before), Some(step)) => ((track.time - before) / step).round().max(1.0) as usize,
            _ => 1,
        };
        smoothing.push(&mut track.smoothed, steps, values);
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
        if let Some(problem) = self.smoothing.as_ref().and_then(|smoothing| smoothing.problem(channels, last)) {
            return Some(problem);
        }
        if self.relative && self.smoothing.is_some() {
            return Some("forecasts that are relative to the last value and beside smoothing; they are one of the two".into());
        }
        if !self.nonnegative.is_empty() && self.nonnegative.len() != channels {
            return Some(format!("`nonnegative` for {} channels, but there are {channels}", self.nonnegative.len()));
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
