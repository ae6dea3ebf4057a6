//! How far training went: the longest series, the longest time, the range of each channel.
//!
//! A model is asked beyond that all the time, and most do well a little further. How far is too far nobody can say in general, so it is said that it is further.

use serde::{Deserialize, Serialize};

/// A value this share of its channel's range outside of it is still within.
const MARGIN: f64 = 0.1;

/// What was seen in training.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Extent {
    /// The most observations of a series.
    pub length: usize,
    /// The longest time from the first observation of a series to its last.
    pub duration: f64,
    /// The least value of each channel; of a channel that was always missing, 0.
    pub low: Vec<f64>,
    /// The largest.
    pub high: Vec<f64>,
}

/// In which ways an observation lies beyond what was seen in training.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Beyond {
    /// More observations.
    pub length: bool,
    /// A longer time.
    pub duration: bool,
    /// Channels whose value lies outside of their range by more than a tenth of it, counted from 0.
    pub channels: Vec<usize>,
}

impl Beyond {
    /// Whether it lies within.
    pub fn is_none(&self) -> bool {
        !self.length && !self.duration && self.channels.is_empty()
    }
}

impl Extent {
    /// Of series given by their times and values, `[times, channels]`.
    pub fn of<'a>(channels: usize, series: impl Iterator<Item = (&'a [f64], &'a [f64])>) -> Self {
        let mut extent =
            Self { length: 0, duration: 0.0, low: vec![f64::INFINITY; channels], high: vec![f64::NEG_INFINITY; channels] };
        for (times, values) in series {
            extent.length = extent.length.max(times.len());
            extent.duration = extent.duration.max(times.last().zip(times.first()).map_or(0.0, |(last, first)| last - first));
            for row in values.chunks_exact(channels.max(1)) {
                for ((low, high), &x) in extent.low.iter_mut().zip(&mut extent.high).zip(row).filter(|(_, x)| !x.is_nan()) {
                    (*low, *high) = (low.min(x), high.max(x));
                }
            }
        }
        let unseen = |x: &mut f64| *x = if x.is_finite() { *x } else { 0.0 };
        extent.low.iter_mut().chain(&mut extent.high).for_each(unseen);
        extent
    }

    /// Where the last observation of a series of so many, after so much time, lies beyond it. A NaN is a missing value.
    pub fn beyond(&self, observations: usize, duration: f64, values: &[f64]) -> Beyond {
        let ranges = self.low.iter().zip(&self.high);
        let outside = |((low, high), value): ((&f64, &f64), &f64)| {
            let margin = MARGIN * (high - low);
            *value < low - margin || *value > high + margin
        };
        Beyond {
            length: observations > self.length,
            // Sums of gaps round.
            duration: duration > self.duration * (1.0 + 1e-9),
            channels: ranges.zip(values).enumerate().filter_map(|(i, channel)| outside(channel).then_some(i)).collect(),
        }
    }

    /// Everything about so many channels is there, and a number.
    pub(crate) fn problem(&self, channels: usize) -> Option<String> {
        if self.low.len() != channels || self.high.len() != channels {
            return Some(format!("ranges of {} and {} channels, but there are {channels}", self.low.len(), self.high.len()));
        }
        let all = self.low.iter().chain(&self.high).chain([&self.duration]);
        all.copied().find(|x| !x.is_finite()).map(|x| format!("an extent of training with the number {x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_beyond_is_told() {
        let missing = f64::NAN;
        let series: [(&[f64], &[f64]); 2] = [(&[0.0, 2.0], &[1.0, missing, 3.0, missing]), (&[5.0, 6.0, 6.5], &[missing; 6])];
        let extent = Extent::of(2, series.into_iter());
        assert_eq!(extent, Extent { length: 3, duration: 2.0, low: vec![1.0, 0.0], high: vec![3.0, 0.0] });
        assert!(extent.beyond(3, 2.0, &[3.2, missing]).is_none());
        assert_eq!(extent.beyond(4, 2.1, &[0.7, 0.0]), Beyond { length: true, duration: true, channels: vec![0] });
        assert_eq!(extent.problem(2), None);
        assert!(extent.problem(3).is_some());
    }
}
