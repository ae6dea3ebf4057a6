//! A forecast: later values of the targets, which are all or some of the channels, for several horizons at once.
//!
//! ```text
//! horizons k = from, ..., horizon;   outputs y, [horizons, targets];   s: the scaling of target c;   x: its last known value
//! absolute:  x_{k,c} = s^-1(y_{k,c}),     relative:  x_{k,c} = s^-1(s(x) + y_{k,c}),     for the time t + k step
//! smoothing: x_{k,c} = g_{k,c} + s^-1(y_{k,c}) - s^-1(0),     g: what exponential smoothing of the series itself forecasts
//! ```
//!
//! What is relative or beside smoothing follows a level or a trend out of the range that was trained on.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use crate::calendar::Calendar;
use crate::prepare::{Preparation, Scaling, Track};
use crate::smoothing::{Known, Smoothing};

/// What is forecast, and how sure that is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Forecast {
    /// The largest horizon: how many observations later.
    pub horizon: usize,
    /// The smallest; the largest is the only one if it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<usize>,
    /// Which channels are forecast, increasing; empty: all. What follows is for each of them, where it is a list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<usize>,
    /// Whether outputs are differences to the last known values.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub relative: bool,
    /// What outputs are added to, in place of the last known values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smoothing: Option<Smoothing>,
    /// Channels that are known ahead, beside smoothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known: Option<Known>,
    /// Whether each target has no negative values; its forecasts and intervals have none then. Empty: none is said to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nonnegative: Vec<bool>,
    /// The usual time from one observation to the next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<f64>,
    /// Where a step is no fixed time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calendar: Option<Calendar>,
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
    /// `[horizons, targets]`.
    pub values: Vec<f64>,
    /// Half of the interval around each. Where the model has no intervals the width that smoothing found, or 1 where nothing is known of it.
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
    /// `[horizons][targets]`: in the units of the targets, or with smoothing in units of the width that it found on the series so far.
    pub widths: Vec<Vec<f64>>,
}

/// What is known of the training part that naive forecasts need.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    /// After how many steps things repeat, if they do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period: Option<usize>,
    /// The mean of each target.
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
            targets: Vec::new(),
            relative: false,
            smoothing: None,
            known: None,
            nonnegative: Vec::new(),
            step: None,
            calendar: None,
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
        self.count().saturating_mul(self.width(channels))
    }

    /// How many targets there are among so many channels.
    pub fn width(&self, channels: usize) -> usize {
        if self.targets.is_empty() { channels } else { self.targets.len() }
    }

    /// The channel of a target.
    pub fn channel(&self, target: usize) -> usize {
        self.targets.get(target).copied().unwrap_or(target)
    }

    /// Of something that each channel has what the targets have.
    ///
    /// ```
    /// use ncde_runtime::Forecast;
    /// let forecast = Forecast { targets: vec![0, 2], ..Forecast::one(1) };
    /// assert!(forecast.of_targets(&["load", "wind", "sun"]).eq(&["load", "sun"]));
    /// ```
    pub fn of_targets<'a, T>(&'a self, all: &'a [T]) -> impl Iterator<Item = &'a T> + Clone {
        (0..self.width(all.len())).filter_map(|target| all.get(self.channel(target)))
    }

    /// How many steps lie between two observations, on a grid; else it is one.
    pub fn steps(&self, before: f64, after: f64) -> usize {
        let steps = match (self.grid, self.calendar, self.step) {
            (true, Some(calendar), _) => (calendar.slot(after) - calendar.slot(before)) as f64,
            (true, None, Some(step)) => ((after - before) / step).round(),
            _ => 1.0,
        };
        steps.max(1.0) as usize
    }

    /// The time of what is forecast `k` ahead of `time`; none if the step is not known.
    ///
    /// ```
    /// use ncde_runtime::Forecast;
    /// let forecast = Forecast { step: Some(0.1), ..Forecast::one(3) };
    /// assert_eq!((forecast.time(0.0, 3), Forecast::one(3).time(0.0, 3)), (Some(0.3), None));
    /// ```
    pub fn time(&self, time: f64, k: usize) -> Option<f64> {
        if let Some(calendar) = self.calendar {
            return Some(calendar.later(time, k));
        }
        let later = time + k as f64 * self.step?;
        // 0.1 taken three times is 0.3 to people.
        Some(format!("{later:.12e}").parse().unwrap_or(later))
    }

    /// What outputs are added to, `[horizons, targets]`, in the units of the targets, and the width around each; none without smoothing.
    pub fn base(&self, track: &Track) -> Option<Vec<[f64; 2]>> {
        let smoothing = self.smoothing.as_ref()?;
        let mut all = smoothing.forecasts(&track.smoothed, self.horizons());
        if let Some(known) = &self.known {
            let count = known.channels.len();
            for (k, row) in self.horizons().zip(all.chunks_mut(smoothing.log.len().max(1))) {
                let inputs = track.ahead.chunks(count.max(1)).nth(k - 1).unwrap_or_default();
                for (target, (made, &log)) in row.iter_mut().zip(&smoothing.log).enumerate() {
                    *made = known.with(log, target, *made, inputs);
                }
            }
        }
        Some(all)
    }

    /// From outputs after an observation to forecasts, `[horizons, targets]`.
    pub(crate) fn values(&self, outputs: &[f64], preparation: &Preparation, track: &Track) -> Forecasts {
        let scalings = || self.of_targets(&preparation.channels).cycle();
        let value = |(y, (scaling, last)): (&f64, (&Scaling, &f64))| scaling.undo(if self.relative { last + y } else { *y });
        let base = self.base(track);
        let mut values: Vec<f64> = match &base {
            None => {
                let last = self.of_targets(preparation.last(track)).cycle();
                outputs.iter().zip(scalings().zip(last)).map(value).collect()
            }
            Some(base) => outputs.iter().zip(base).zip(scalings()).map(|((y, [base, _]), s)| base + y / s.factor).collect(),
        };
        let mut widths = vec![1.0; values.len()];
        if let Some(intervals) = &self.intervals {
            widths.iter_mut().zip(intervals.widths.iter().flatten()).for_each(|(width, own)| *width = *own);
        }
        if let Some(base) = &base {
            widths.iter_mut().zip(base).for_each(|(width, [_, size])| *width *= size);
        }
        let targets = self.width(preparation.channels.len()).max(1);
        for (i, value) in values.iter_mut().enumerate() {
            if self.is_nonnegative(i % targets) {
                *value = value.max(0.0);
            }
        }
        Forecasts { values, widths }
    }

    fn is_nonnegative(&self, target: usize) -> bool {
        self.nonnegative.get(target) == Some(&true)
    }

    /// The ends of an interval around a forecast of a target.
    pub fn interval(&self, target: usize, value: f64, width: f64) -> [f64; 2] {
        let low = value - width;
        [if self.is_nonnegative(target) { low.max(0.0) } else { low }, value + width]
    }

    /// Takes an observation after the track has taken it, which was at `before`.
    pub(crate) fn follow(&self, track: &mut Track, before: Option<f64>, values: &[f64]) {
        track.ahead.clear();
        self.smooth(&mut track.smoothed, before, track.time, values);
    }

    /// Takes the values of all channels at a time into the memory of the smoothing, where there is one.
    pub fn smooth(&self, memory: &mut [f64], before: Option<f64>, time: f64, values: &[f64]) {
        let Some(smoothing) = &self.smoothing else { return };
        let steps = before.map_or(1, |before| self.steps(before, time));
        let targets: Vec<f64> = match &self.known {
            None => self.of_targets(values).copied().collect(),
            Some(known) => {
                let of = self.of_targets(values).zip(&smoothing.log).enumerate();
                of.map(|(target, (&y, &log))| known.without(log, target, y, values)).collect()
            }
        };
        smoothing.push(memory, steps, &targets);
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
        if let Some(problem) = self.calendar.and_then(Calendar::problem) {
            return Some(problem);
        }
        if self.targets.windows(2).any(|w| w[0] >= w[1]) || self.targets.iter().any(|target| *target >= channels) {
            return Some(format!("the targets {:?}; they are some of the {channels} channels, in their order", self.targets));
        }
        let targets: Vec<usize> = (0..self.width(channels)).map(|target| self.channel(target)).collect();
        if let Some(problem) = self.known.as_ref().and_then(|known| known.problem(channels, &targets)) {
            return Some(problem);
        }
        if self.known.is_some() && self.smoothing.is_none() {
            return Some("channels that are known ahead without smoothing".into());
        }
        let channels = targets.len();
        if let Some(problem) = self.smoothing.as_ref().and_then(|smoothing| smoothing.problem(channels, last)) {
            return Some(problem);
        }
        if self.relative && self.smoothing.is_some() {
            return Some("forecasts that are relative to the last value and beside smoothing; they are one of the two".into());
        }
        if !self.nonnegative.is_empty() && self.nonnegative.len() != channels {
            return Some(format!("`nonnegative` for {} targets, but there are {channels}", self.nonnegative.len()));
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
                return Some(format!("a baseline of {m} means and {s} scales, but there are {channels} targets"));
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
