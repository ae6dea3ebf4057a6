//! Exponential smoothing: a bank of simple forecasters that follow each series, weighed by how well they did on it so far.
//!
//! ```text
//! expert    yhat = l + phi b + s_1[t] + s_2[t] + rho e,     e' = y - yhat                       (of y or of log y)
//!           l' = l + phi b + alpha e',   b' = phi b + alpha beta e',   s_i'[t] = s_i[t] + gamma e',   e <- rho e + e'
//!           k ahead: f_k = l + (phi + ... + phi^k) b + s_1[t + k] + s_2[t + k] + rho^k e
//! errors    E_j = the mean |y_t - f| of forecasts made j steps before, for some lags j; what is n steps ago weighs 0.995^n
//! pool      g = sum w f over the better half of the experts,   w ~ E_j^-2 (all that are good), and w ~ E_j^-8 (the best)
//!           forecast = sum v g,   v ~ E_j(g)^-20;   at a horizon between two lags, weights between theirs
//! width     e^{a_j} times the mean error of the forecast,   a_j += 0.025 (1 - 0.1 if an error was beyond its width, else 0 - 0.1)
//! ```
//!
//! Nothing is trained: what a series needs (a level, a trend, a season, logarithms) is found on the series itself, one observation at a time, in constant memory.
//! At first the states are fitted to the observations so far, again each time that more cycles of a season are complete; then only the recursion goes on.

mod bank;
mod expert;
mod known;

use std::ops::{Range, RangeInclusive};

use serde::{Deserialize, Serialize};

use bank::Bank;
pub use expert::Expert;
pub use known::Known;

/// The most numbers that are remembered of a series.
const MAX_NUMBERS: usize = 1 << 22;

/// A bank of forecasters for every target, called channels here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Smoothing {
    /// So many steps back forecasts were made whose errors are counted; increasing.
    pub lags: Vec<usize>,
    /// Whether the logarithm of each channel is followed as well.
    pub log: Vec<bool>,
    /// The forecasters.
    pub experts: Vec<Expert>,
}

impl Smoothing {
    /// The bank of each channel, with its place in the memory of a series.
    fn banks(&self) -> impl Iterator<Item = (Bank<'_>, Range<usize>)> {
        self.log.iter().scan(0, |from, &log| {
            let bank = Bank::new(self, log);
            let place = *from..*from + bank.numbers();
            *from = place.end;
            Some((bank, place))
        })
    }

    /// Numbers remembered of a series.
    pub fn numbers(&self) -> usize {
        self.banks().last().map_or(0, |(_, place)| place.end)
    }

    /// A series without observations.
    pub fn start(&self) -> Vec<f64> {
        vec![0.0; self.numbers()]
    }

    /// Takes an observation, so many steps after the last one; a NaN is a missing value.
    pub fn push(&self, memory: &mut [f64], steps: usize, values: &[f64]) {
        for ((bank, place), &y) in self.banks().zip(values) {
            if let Some(memory) = memory.get_mut(place) {
                bank.push(memory, steps, y);
            }
        }
    }

    /// What each expert weighs in forecasts of the lags as they are made now, summed over channels and lags.
    pub fn weights(&self, memory: &[f64]) -> Vec<f64> {
        let mut sums = vec![0.0; self.experts.len()];
        for (bank, place) in self.banks() {
            if let Some(memory) = memory.get(place) {
                bank.add_weights(memory, &mut sums);
            }
        }
        sums
    }

    /// Forecasts of all channels, `[horizons, channels]`, and the width around each within which nine of ten errors were.
    pub fn forecasts(&self, memory: &[f64], horizons: RangeInclusive<usize>) -> Vec<[f64; 2]> {
        let channels = self.log.len();
        let mut all = vec![[0.0; 2]; horizons.clone().count() * channels];
        for (c, (bank, place)) in self.banks().enumerate() {
            let Some(memory) = memory.get(place) else { continue };
            let forecasts = bank.forecasts(memory, horizons.clone());
            forecasts.into_iter().enumerate().for_each(|(k, forecast)| all[k * channels + c] = forecast);
        }
        all
    }

    /// What makes no sense, for so many channels.
    pub(crate) fn problem(&self, channels: usize, horizon: usize) -> Option<String> {
        if self.log.len() != channels {
            return Some(format!(
                "smoothing says of {} channels whether their logarithm is followed, but there are {channels}",
                self.log.len()
            ));
        }
        if self.experts.iter().all(|expert| expert.log || !expert.seasons.is_empty()) {
            return Some("smoothing needs an expert without logarithms and seasons".into());
        }
        if self.lags.is_empty()
            || self.lags[0] == 0
            || self.lags.windows(2).any(|w| w[0] >= w[1])
            || self.lags.iter().any(|&lag| lag > horizon)
        {
            return Some(format!(
                "smoothing with the lags {:?}; they increase from 1 or more to the horizon, {horizon}, at most",
                self.lags
            ));
        }
        for Expert { level, trend, damping, season, error, seasons, .. } in &self.experts {
            let shares = [level, trend, damping, season, error];
            if let Some(share) = shares.into_iter().find(|share| !(0.0..=1.0).contains(*share)) {
                return Some(format!("an expert with the share {share}; shares are from 0 to 1"));
            }
            if seasons.len() > 2 || seasons.iter().any(|period| *period < 2) || *error >= 1.0 {
                return Some(format!(
                    "an expert with the seasons {seasons:?} and the error {error}; at most two periods of 2 or more, and less than 1"
                ));
            }
        }
        // Counted in 128 bits, as periods are numbers of a stranger.
        let periods = self.experts.iter().flat_map(|e| &e.seasons).map(|&p| p as u128);
        let lags: u128 = self.lags.iter().map(|&lag| lag as u128 + 1).sum();
        let all = (4 * periods.sum::<u128>() + (lags + 3) * (self.experts.len() as u128 + 4) + 16) * channels as u128;
        (all > MAX_NUMBERS as u128)
            .then(|| format!("smoothing that remembers about {all} numbers of a series; at most {MAX_NUMBERS} are possible"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEVEL: Expert =
        Expert { level: 0.0, trend: 0.0, damping: 1.0, season: 0.0, error: 0.0, log: false, seasons: Vec::new() };

    fn bank(log: bool) -> Smoothing {
        let seasons = vec![4];
        let plain = [
            Expert { level: 1.0, ..LEVEL },
            Expert { level: 0.3, ..LEVEL },
            Expert { level: 0.5, trend: 0.2, ..LEVEL },
            Expert { level: 0.2, season: 0.1, seasons: seasons.clone(), ..LEVEL },
            Expert { level: 0.2, trend: 0.1, season: 0.1, seasons, ..LEVEL },
        ];
        let logs = plain.clone().map(|expert| Expert { log: true, ..expert });
        Smoothing { lags: vec![1, 3], log: vec![log], experts: [plain, logs].concat() }
    }

    /// Forecasts 1 to 6 ahead after these values.
    fn after(bank: &Smoothing, y: impl Iterator<Item = f64>) -> Vec<f64> {
        let mut memory = bank.start();
        y.for_each(|y| bank.push(&mut memory, 1, &[y]));
        bank.forecasts(&memory, 1..=6).into_iter().map(|[y, _]| y).collect()
    }

    #[test]
    fn what_an_expert_is_made_for_is_forecast_exactly() {
        let season = [0.0, 2.0, -1.0, 5.0];
        let shapes: [(&str, &dyn Fn(usize) -> f64); 4] = [
            ("constant", &|_| 7.0),
            ("line", &|t| 3.0 - 0.5 * t as f64),
            ("line and season", &|t| 10.0 + 0.25 * t as f64 + season[t % 4]),
            ("growth and season, which multiply", &|t| (0.01 * t as f64 + 0.2 * season[t % 4]).exp()),
        ];
        for (what, y) in shapes {
            let positive = (0..60).all(|t| y(t) > 0.0);
            let said = after(&bank(positive), (0..60).map(y));
            for (k, seen) in said.iter().enumerate() {
                let wanted = y(60 + k);
                assert!((seen - wanted).abs() < 1e-6 * wanted.abs().max(1.0), "{what} {k}: {seen} {wanted}");
            }
        }
    }

    #[test]
    fn a_gap_keeps_the_phase_and_one_without_end_is_no_loop() {
        let bank = bank(false);
        let y = |t: usize| [0.0, 2.0, -1.0, 5.0][t % 4];
        let mut memory = bank.start();
        (0..40).for_each(|t| bank.push(&mut memory, 1, &[y(t)]));
        // Slots 40 to 42 are empty, 44 is missing.
        bank.push(&mut memory, 4, &[y(43)]);
        bank.push(&mut memory, 1, &[f64::NAN]);
        assert!((bank.forecasts(&memory, 1..=1)[0][0] - y(45)).abs() < 1e-9);
        bank.push(&mut memory, usize::MAX, &[1.0]);
        assert!(bank.forecasts(&memory, 1..=6).iter().flatten().chain(&memory).all(|x| x.is_finite()));
    }

    #[test]
    fn wild_values_leave_everything_finite_and_sizes_follow_errors() {
        let mut memory = bank(true).start();
        for t in 0..200 {
            bank(true).push(&mut memory, 1, &[[1e300, -1e300, 0.0, f64::MIN_POSITIVE][t % 4]]);
            assert!(memory.iter().all(|x| x.is_finite()), "{t}");
        }
        let size = |loud: f64| {
            let (bank, noise) = (bank(false), crate::random::Stream::new(1, 0));
            let mut memory = bank.start();
            (0..500).for_each(|t| bank.push(&mut memory, 1, &[loud * noise.normal(t)]));
            bank.forecasts(&memory, 1..=1)[0][1]
        };
        assert!((size(10.0) / size(1.0) - 10.0).abs() < 1e-6 && (1.3..2.2).contains(&size(1.0)), "{}", size(1.0));
    }

    #[test]
    fn nine_of_ten_errors_lie_within_widths_whatever_their_distribution() {
        let noise = crate::random::Stream::new(2, 0);
        let shapes: [(&str, &dyn Fn(u64) -> f64); 3] = [
            ("normal", &|t| noise.normal(t)),
            ("uniform", &|t| noise.uniform(t)),
            ("mostly nothing", &|t| if noise.uniform(t) < 0.15 { 5.0 + noise.child(1).uniform(t) } else { 0.0 }),
        ];
        for (what, y) in shapes {
            let (bank, mut held) = (bank(false), 0);
            let mut memory = bank.start();
            for t in 0..3000 {
                let [made, width] = bank.forecasts(&memory, 1..=1)[0];
                held += u64::from(t >= 1000 && (y(t) - made).abs() <= width);
                bank.push(&mut memory, 1, &[y(t)]);
            }
            assert!((1760..=1840).contains(&held), "{what}: {held} of 2000");
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let good = bank(true);
        assert_eq!(good.problem(1, 3), None);
        let with = |change: &dyn Fn(&mut Smoothing)| {
            let mut bad = good.clone();
            change(&mut bad);
            bad.problem(1, 3).unwrap_or_default()
        };
        assert!(with(&|s| s.log.push(true)).contains("2 channels"));
        assert!(with(&|s| s.lags = vec![1, 4]).contains("lags [1, 4]"));
        assert!(with(&|s| s.experts[0].level = f64::NAN).contains("the share NaN"));
        assert!(with(&|s| s.experts[0].seasons = vec![1]).contains("seasons [1]"));
        assert!(with(&|s| s.experts.retain(|expert| expert.log)).contains("without logarithms"));
        assert!(with(&|s| s.experts[3].seasons = vec![usize::MAX]).contains("at most"));
    }
}
