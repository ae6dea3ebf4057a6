//! From an observation as it arrives to a knot of the path that drives a model.
//!
//! ```text
//! knot = ( s_t (t - t_0),   s_i (x_i - m_i),   c_i n_i )        time, channels, counts
//! ```
//!
//! A missing value takes the last one of its channel, and before the first one the centre `m_i`, which is 0 after scaling. `n_i`
//! counts the values seen in channel `i`: with it a model knows what is new. Nothing looks ahead, and every constant comes from the
//! training data alone, so that a series gives the same knots whole, cut, in a batch, or one observation at a time.

use serde::{Deserialize, Serialize};

use crate::Error;

/// `x -> factor (x - shift)`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scaling {
    /// What becomes 0.
    pub shift: f64,
    /// What differences are multiplied with.
    pub factor: f64,
}

impl Scaling {
    /// Nothing changes.
    pub const IDENTITY: Self = Self { shift: 0.0, factor: 1.0 };

    /// From the unit of the data to that of the model.
    pub fn apply(&self, x: f64) -> f64 {
        (x - self.shift) * self.factor
    }

    /// From the unit of the model to that of the data.
    pub fn undo(&self, x: f64) -> f64 {
        x / self.factor + self.shift
    }
}

/// What happens to missing values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum Missing {
    /// They are an error.
    Refuse {},
    /// They take the last value of their channel.
    Forward {},
    /// They take the last value, and the number of values seen is a channel more for each channel.
    Counts {
        /// What each count is multiplied with.
        factors: Vec<f64>,
    },
}

/// How observations become knots. All constants were fitted on training data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preparation {
    /// One for each channel.
    pub channels: Vec<Scaling>,
    /// One for each static covariate.
    pub statics: Vec<Scaling>,
    /// The time since the first observation as channel 0 of the path, scaled; none: no such channel.
    pub time: Option<Scaling>,
    /// Missing values.
    pub missing: Missing,
}

/// Where a series stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Track {
    /// How many observations were taken.
    pub observations: usize,
    /// The time of the first one.
    pub start: f64,
    /// The time of the last one.
    pub time: f64,
    /// The last knot.
    pub knot: Vec<f64>,
    /// What is remembered for the smoothing of forecasts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub smoothed: Vec<f64>,
    /// What is known of later times, `[steps ahead, known channels]`: told after each observation anew, and not saved.
    #[serde(skip)]
    pub ahead: Vec<f64>,
}

impl Track {
    /// Becomes another, without asking for memory.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        (self.observations, self.start, self.time) = (other.observations, other.start, other.time);
        self.knot.clone_from(&other.knot);
        self.smoothed.clone_from(&other.smoothed);
        self.ahead.clone_from(&other.ahead);
    }

    /// Whether its times and its knot are numbers.
    pub(crate) fn is_finite(&self) -> bool {
        self.start.is_finite() && self.time.is_finite() && self.knot.iter().chain(&self.smoothed).all(|x| x.is_finite())
    }
}

impl Preparation {
    /// How many channels a knot has.
    pub fn width(&self) -> usize {
        let counts = if matches!(self.missing, Missing::Counts { .. }) { self.channels.len() } else { 0 };
        usize::from(self.time.is_some()) + self.channels.len() + counts
    }

    /// A series without observations.
    pub fn start(&self) -> Track {
        Track { observations: 0, start: 0.0, time: 0.0, knot: vec![0.0; self.width()], smoothed: Vec::new(), ahead: Vec::new() }
    }

    /// The time since the first observation, in the unit of the model: that of the channel of time, where there is one.
    pub fn clock(&self, track: &Track) -> f64 {
        self.time.map_or(1.0, |scaling| scaling.factor) * (track.time - track.start)
    }

    /// The last known value of each channel, scaled; 0 before the first one. Empty if the knot is one of another model.
    pub fn last<'a>(&self, track: &'a Track) -> &'a [f64] {
        let first = usize::from(self.time.is_some());
        track.knot.get(first..first + self.channels.len()).unwrap_or_default()
    }

    /// Takes an observation; a NaN is a missing value. The new knot is [`Track::knot`].
    ///
    /// # Errors
    /// If the time does not increase, there are more or fewer values than channels, one is infinite, or one is missing where that
    /// is refused, or the knot is one of another model; nothing has changed then.
    pub fn push(&self, track: &mut Track, time: f64, values: &[f64]) -> Result<(), Error> {
        self.check(track, time, values)?;
        if track.observations == 0 {
            track.start = time;
        }
        track.time = time;
        track.observations = track.observations.saturating_add(1);
        let (head, rest) = track.knot.split_at_mut(usize::from(self.time.is_some()));
        if let (Some(scaling), [first]) = (self.time, head) {
            *first = scaling.apply(time - track.start);
        }
        let (knot, counts) = rest.split_at_mut(self.channels.len());
        for ((knot, &x), scaling) in knot.iter_mut().zip(values).zip(&self.channels) {
            if !x.is_nan() {
                *knot = scaling.apply(x);
            }
        }
        if let Missing::Counts { factors } = &self.missing {
            for ((count, x), factor) in counts.iter_mut().zip(values).zip(factors) {
                if !x.is_nan() {
                    *count += factor;
                }
            }
        }
        Ok(())
    }

    fn check(&self, track: &Track, time: f64, values: &[f64]) -> Result<(), Error> {
        let refuse = |problem: String| Err(Error::Observation { index: track.observations, problem });
        if track.knot.len() != self.width() {
            return Err(Error::State(format!("{} channels, but the model has {}", track.knot.len(), self.width())));
        }
        if values.len() != self.channels.len() {
            return refuse(format!("{} values, but the model has {} channels", values.len(), self.channels.len()));
        }
        if !time.is_finite() {
            return refuse(format!("its time is {time}"));
        }
        if track.observations > 0 && time <= track.time {
            return refuse(format!(
                "its time `{time}` is not after the last one, `{}`; sort the observations by time",
                track.time
            ));
        }
        if let Some(i) = values.iter().position(|x| x.is_infinite()) {
            return refuse(format!("channel {} is {}; leave it out if it is missing", i + 1, values[i]));
        }
        if self.missing == (Missing::Refuse {})
            && let Some(i) = values.iter().position(|x| x.is_nan())
        {
            return refuse(format!(
                "channel {} is missing, and the model was trained to refuse that (`missing = \"refuse\"`)",
                i + 1
            ));
        }
        Ok(())
    }

    /// The scaled static covariates; a missing one is 0.
    ///
    /// # Errors
    /// If there are more or fewer than the model has, or one is infinite.
    pub fn statics(&self, values: &[f64]) -> Result<Vec<f64>, Error> {
        if values.len() != self.statics.len() {
            let problem = format!("{} static covariates, but the model has {}", values.len(), self.statics.len());
            return Err(Error::Observation { index: 0, problem });
        }
        if let Some(i) = values.iter().position(|x| x.is_infinite()) {
            let problem = format!("static covariate {} is {}", i + 1, values[i]);
            return Err(Error::Observation { index: 0, problem });
        }
        Ok(values.iter().zip(&self.statics).map(|(&x, s)| if x.is_nan() { 0.0 } else { s.apply(x) }).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn preparation() -> Preparation {
        Preparation {
            channels: vec![Scaling { shift: 1.0, factor: 2.0 }, Scaling::IDENTITY],
            statics: vec![Scaling { shift: 10.0, factor: 0.1 }],
            time: Some(Scaling { shift: 0.0, factor: 0.5 }),
            missing: Missing::Counts { factors: vec![0.25, 0.5] },
        }
    }

    #[test]
    fn gaps_are_filled_forward_and_counted() {
        let preparation = preparation();
        let mut track = preparation.start();
        let rows = [(4.0, [f64::NAN, 3.0]), (6.0, [2.0, f64::NAN]), (7.0, [f64::NAN, 1.0])];
        let wanted = [[0.0, 0.0, 3.0, 0.0, 0.5], [1.0, 2.0, 3.0, 0.25, 0.5], [1.5, 2.0, 1.0, 0.25, 1.0]];
        for ((time, values), wanted) in rows.into_iter().zip(wanted) {
            preparation.push(&mut track, time, &values).unwrap();
            assert_eq!(track.knot, wanted);
        }
        assert_eq!(preparation.statics(&[20.0]).unwrap(), [1.0]);
        assert_eq!(preparation.statics(&[f64::NAN]).unwrap(), [0.0]);
    }

    #[test]
    fn what_is_refused_changes_nothing() {
        let preparation = Preparation { missing: Missing::Refuse {}, ..preparation() };
        let mut track = preparation.start();
        preparation.push(&mut track, 1.0, &[1.0, 2.0]).unwrap();
        let before = track.clone();
        let cases: [(f64, &[f64], &str); 5] = [
            (1.0, &[1.0, 2.0], "its time `1` is not after the last one, `1`"),
            (f64::NAN, &[1.0, 2.0], "its time is NaN"),
            (2.0, &[1.0], "1 values, but the model has 2 channels"),
            (2.0, &[1.0, f64::INFINITY], "channel 2 is inf"),
            (2.0, &[f64::NAN, 2.0], "channel 1 is missing"),
        ];
        for (time, values, wanted) in cases {
            let message = preparation.push(&mut track, time, values).unwrap_err().to_string();
            assert!(message.starts_with("observation 1: ") && message.contains(wanted), "{message}");
            assert_eq!(track, before);
        }
    }
}
