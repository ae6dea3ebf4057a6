//! One forecaster: how its state begins, goes on and is extrapolated; see the equations of [`smoothing`](super).
//!
//! A state is `l, b, e, s_1[0..m_1], s_2[0..m_2]` in a slice of numbers.

use serde::{Deserialize, Serialize};

/// The first observations that levels and trends without a season begin from.
pub(super) const BEGINNING: usize = 10;
/// Periods up to here are fitted to three cycles, longer ones to two.
const SHORT: usize = 24;

/// A forecaster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expert {
    /// How much of an error the level takes: `alpha`, from 0 to 1.
    pub level: f64,
    /// How much of that the trend takes: `beta`, from 0 to 1.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub trend: f64,
    /// What is left of the trend after a step: `phi`, from 0 to 1.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub damping: f64,
    /// How much of an error the seasons take: `gamma`, from 0 to 1.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub season: f64,
    /// What is left of an error after a step: `rho`, from 0 to less than 1.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub error: f64,
    /// Whether it follows the logarithm, of channels that are positive.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub log: bool,
    /// Its seasons: at most two of the periods.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seasons: Vec<usize>,
}

fn is_zero(x: &f64) -> bool {
    *x == 0.0
}

fn is_one(x: &f64) -> bool {
    *x == 1.0
}

fn one() -> f64 {
    1.0
}

impl Expert {
    /// Whether it has something for a channel.
    pub(super) fn follows(&self, log: bool) -> bool {
        log || !self.log
    }

    /// Numbers of its state: level, trend, error, seasons.
    pub(super) fn numbers(&self) -> usize {
        3 + self.seasons.iter().sum::<usize>()
    }

    /// How many observations its state begins with, of so many; none if these are too few.
    pub(super) fn beginning(&self, count: usize) -> Option<usize> {
        let Some(&longest) = self.seasons.iter().max() else { return (count >= 2).then_some(count.min(BEGINNING)) };
        (count / longest >= 2).then(|| cycles(longest).min(count / longest) * longest)
    }

    fn seasons_at<'a>(&'a self, state: &'a [f64], slot: usize) -> f64 {
        let mut from = 3;
        let mut sum = 0.0;
        for &period in &self.seasons {
            sum += state[from + slot % period];
            from += period;
        }
        sum
    }

    /// What is expected in a slot, `ahead` of the last one: the damped sum of the trend and the power of the error are given.
    pub(super) fn at(&self, state: &[f64], slot: usize, damped: f64, left: f64) -> f64 {
        state[0] + damped * state[1] + self.seasons_at(state, slot) + left * state[2]
    }

    /// Goes on to a slot; NaN if nothing was observed there.
    pub(super) fn step(&self, state: &mut [f64], slot: usize, y: f64) {
        let expected = self.at(state, slot, self.damping, self.error);
        let error = if y.is_nan() { 0.0 } else { y - expected };
        let trend = self.damping * state[1];
        state[0] += trend + self.level * error;
        state[1] = trend + self.level * self.trend * error;
        state[2] = if self.error == 0.0 { 0.0 } else { self.error * state[2] + error };
        state[..3].iter_mut().for_each(keep_finite);
        let mut from = 3;
        for &period in &self.seasons {
            let season = &mut state[from + slot % period];
            *season += self.season * error;
            keep_finite(season);
            from += period;
        }
    }

    /// The state before the first of these observations: seasons by the means of their cycles, trend and level by what is left.
    pub(super) fn begin(&self, y: &[f64], state: &mut [f64]) {
        state.fill(0.0);
        let has_trend = self.trend > 0.0;
        let Some(&first) = self.seasons.first() else {
            let n = y.len() as f64;
            let (middle, mean) = ((n - 1.0) / 2.0, y.iter().sum::<f64>() / n);
            let spread: f64 = (0..y.len()).map(|t| (t as f64 - middle).powi(2)).sum();
            let slope = y.iter().enumerate().map(|(t, y)| (t as f64 - middle) * (y - mean)).sum::<f64>() / spread.max(1.0);
            (state[0], state[1]) = match (has_trend, self.level >= 1.0) {
                (true, _) => (mean - slope * (middle + 1.0), slope),
                (false, true) => (y[0], 0.0),
                (false, false) => (mean, 0.0),
            };
            return;
        };
        let (level, slope) = cycle(&y[..y.len() / first * first], first, &mut state[3..3 + first]);
        if let [_, second] = self.seasons[..] {
            let (seasons, rest) = state[3..].split_at_mut(first);
            let without: Vec<f64> = y.iter().enumerate().map(|(t, y)| y - seasons[t % first]).collect();
            cycle(&without[..y.len() / second * second], second, rest);
        }
        (state[0], state[1]) = if has_trend { (level - slope * (first as f64 + 1.0) / 2.0, slope) } else { (level, 0.0) };
    }
}

/// What overflows begins anew at 0.
fn keep_finite(x: &mut f64) {
    if !x.is_finite() {
        *x = 0.0;
    }
}

/// How many cycles a season is fitted to.
pub(super) fn cycles(period: usize) -> usize {
    if period <= SHORT { 3 } else { 2 }
}

/// The means of a season over some whole cycles, without trend; the mean of the first cycle and the trend are returned.
fn cycle(y: &[f64], period: usize, season: &mut [f64]) -> (f64, f64) {
    let means: Vec<f64> = y.chunks_exact(period).map(|cycle| cycle.iter().sum::<f64>() / period as f64).collect();
    let count = means.len();
    let slope = if count > 1 { (means[count - 1] - means[0]) / ((count - 1) * period) as f64 } else { 0.0 };
    let middle = (period as f64 - 1.0) / 2.0;
    for (j, season) in season.iter_mut().enumerate() {
        let own = |(i, mean): (usize, &f64)| y[i * period + j] - mean - slope * (j as f64 - middle);
        *season = means.iter().enumerate().map(own).sum::<f64>() / count.max(1) as f64;
    }
    (means.first().copied().unwrap_or(0.0), slope)
}

/// `phi + ... + phi^k`.
pub(super) fn damped(phi: f64, k: usize) -> f64 {
    if phi == 1.0 { k as f64 } else { phi * (1.0 - phi.powi(k as i32)) / (1.0 - phi) }
}

/// The logarithm of a positive number; NaN of others.
pub(super) fn log(y: f64) -> f64 {
    if y > 0.0 { y.ln() } else { f64::NAN }
}
