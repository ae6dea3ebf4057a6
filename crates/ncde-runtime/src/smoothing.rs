//! Exponential smoothing: a bank of simple forecasters that follow each series, weighed by how well they did on it so far.
//!
//! ```text
//! expert    yhat = l + phi b + s_1[t] + s_2[t] + rho e,     e' = y - yhat                       (of y or of log y)
//!           l' = l + phi b + alpha e',   b' = phi b + alpha beta e',   s_i'[t] = s_i[t] + gamma e',   e <- rho e + e'
//!           k ahead: f_k = l + (phi + ... + phi^k) b + s_1[t + k] + s_2[t + k] + rho^k e
//! errors    E_j = the mean |y_t - f| of forecasts made j steps before, for some lags j; what is n steps ago weighs 0.995^n
//! pool      g = sum w f over the better half of the experts,   w ~ E_j^-2 (all that are good), and w ~ E_j^-8 (the best)
//!           forecast = sum v g,   v ~ E_j(g)^-20;   at a horizon between two lags, weights between theirs
//! ```
//!
//! Nothing is trained: what a series needs (a level, a trend, a season, logarithms) is found on the series itself, one observation at a time, in constant memory.
//! At first the states are fitted to the observations so far, again each time that more cycles of a season are complete; then only the recursion goes on.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

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

/// A bank of forecasters for every channel.
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

/// The most numbers that are remembered of a series.
const MAX_NUMBERS: usize = 1 << 22;
/// The most steps without an observation that are gone through one by one.
const MAX_EMPTY: usize = 4096;
/// The first observations that levels and trends without a season begin from.
const BEGINNING: usize = 10;
/// Periods up to here are fitted to three cycles, longer ones to two.
const SHORT: usize = 24;
/// Errors count from this observation on, or from the second cycle of the shortest season.
const FROM: usize = 4;
/// Slots are not counted beyond this one, so that all that is added to them stays exact.
const MAX_SLOT: f64 = (1_u64 << 52) as f64;
/// In place of a forecast that was not made; states are saved as JSON, which has no NaN.
const NONE: f64 = f64::MIN;
/// Errors are no larger, so that sums of them stay finite.
const MAX_ERROR: f64 = 1e150;
/// What an error still counts one observation later.
const FORGET: f64 = 0.995;
/// Experts are pooled by these powers of their errors.
const POWERS: [i32; 2] = [2, 8];
/// The pools by this one.
const BETWEEN: i32 = 20;

impl Expert {
    /// Whether it has something for a channel.
    fn follows(&self, log: bool) -> bool {
        log || !self.log
    }

    /// Numbers of its state: level, trend, error, seasons.
    fn numbers(&self) -> usize {
        3 + self.seasons.iter().sum::<usize>()
    }

    /// How many observations its state begins with, of so many; none if these are too few.
    fn beginning(&self, count: usize) -> Option<usize> {
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
    fn at(&self, state: &[f64], slot: usize, damped: f64, left: f64) -> f64 {
        state[0] + damped * state[1] + self.seasons_at(state, slot) + left * state[2]
    }

    /// Goes on to a slot; NaN if nothing was observed there.
    fn step(&self, state: &mut [f64], slot: usize, y: f64) {
        let expected = self.at(state, slot, self.damping, self.error);
        let error = if y.is_nan() { 0.0 } else { y - expected };
        let trend = self.damping * state[1];
        state[0] += trend + self.level * error;
        state[1] = trend + self.level * self.trend * error;
        state[2] = if self.error == 0.0 { 0.0 } else { self.error * state[2] + error };
        let mut from = 3;
        for &period in &self.seasons {
            state[from + slot % period] += self.season * error;
            from += period;
        }
        state.iter_mut().filter(|x| !x.is_finite()).for_each(|x| *x = 0.0);
    }

    /// The state before the first of these observations: seasons by the means of their cycles, trend and level by what is left.
    fn begin(&self, y: &[f64], state: &mut [f64]) {
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

/// How many cycles a season is fitted to.
fn cycles(period: usize) -> usize {
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

/// Where the numbers of a channel lie: `slot, observations, first values, counts of errors, of each pool errors and forecasts, of each expert state, errors and forecasts`.
#[derive(Debug, Clone, Copy)]
struct Layout {
    /// Values that are remembered from the beginning.
    first: usize,
    lags: usize,
    /// The sum of the lags: forecasts that wait for their truth.
    waiting: usize,
}

impl Layout {
    /// Errors (a sum for each lag) and forecasts that wait.
    fn tracked(self) -> usize {
        self.lags + self.waiting
    }
}

const HEAD: usize = 2;

impl Smoothing {
    fn layout(&self) -> Layout {
        let first = self.experts.iter().flat_map(|expert| &expert.seasons).map(|&period| cycles(period) * period).max();
        Layout { first: first.unwrap_or(0).max(BEGINNING), lags: self.lags.len(), waiting: self.lags.iter().sum() }
    }

    /// Whether states are fitted anew after so many observations: a new cycle of a season is complete.
    fn is_threshold(&self, count: usize) -> bool {
        let mut periods = self.experts.iter().flat_map(|expert| &expert.seasons);
        [2, FROM, BEGINNING].contains(&count)
            || periods.any(|&period| count.is_multiple_of(period) && (2..=cycles(period)).contains(&(count / period)))
    }

    fn shortest(&self) -> usize {
        self.experts.iter().flat_map(|expert| &expert.seasons).copied().min().unwrap_or(1)
    }

    /// Numbers remembered of a channel.
    fn numbers_of(&self, log: bool) -> usize {
        let layout = self.layout();
        let experts = self.experts.iter().filter(|expert| expert.follows(log));
        HEAD + layout.first
            + layout.lags
            + POWERS.len() * layout.tracked()
            + experts.map(|e| e.numbers() + layout.tracked()).sum::<usize>()
    }

    /// Numbers remembered of a series.
    pub fn numbers(&self) -> usize {
        self.log.iter().map(|&log| self.numbers_of(log)).sum()
    }

    /// A series without observations.
    pub fn start(&self) -> Vec<f64> {
        vec![0.0; self.numbers()]
    }

    /// Takes an observation, so many steps after the last one; a NaN is a missing value.
    pub fn push(&self, memory: &mut [f64], steps: usize, values: &[f64]) {
        let mut from = 0;
        for (&log, &y) in self.log.iter().zip(values) {
            let to = from + self.numbers_of(log);
            if let Some(memory) = memory.get_mut(from..to) {
                self.channel(log).push(memory, steps, y);
            }
            from = to;
        }
    }

    /// Forecasts of all channels, `[horizons, channels]`, and the size of error to expect of each.
    pub fn forecasts(&self, memory: &[f64], horizons: RangeInclusive<usize>) -> Vec<[f64; 2]> {
        let (channels, count) = (self.log.len(), horizons.clone().count());
        let mut all = vec![[0.0; 2]; count * channels];
        let mut from = 0;
        for (c, &log) in self.log.iter().enumerate() {
            let to = from + self.numbers_of(log);
            if let Some(memory) = memory.get(from..to) {
                let own = self.channel(log).forecasts(memory, horizons.clone());
                own.into_iter().enumerate().for_each(|(k, forecast)| all[k * channels + c] = forecast);
            }
            from = to;
        }
        all
    }

    fn channel(&self, log: bool) -> Bank<'_> {
        Bank { of: self, log, layout: self.layout() }
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
        let all = (4 * periods.sum::<u128>() + (lags + 3) * (self.experts.len() as u128 + 2) + 16) * channels as u128;
        (all > MAX_NUMBERS as u128)
            .then(|| format!("smoothing that remembers about {all} numbers of a series; at most {MAX_NUMBERS} are possible"))
    }
}

/// The bank of one channel.
struct Bank<'a> {
    of: &'a Smoothing,
    log: bool,
    layout: Layout,
}

/// A view of the memory of a channel: the numbers of the bank itself, and those of the experts.
struct View<'a> {
    slot: &'a mut f64,
    count: &'a mut f64,
    first: &'a mut [f64],
    /// How many errors were counted.
    counted: &'a mut [f64],
    pools: &'a mut [f64],
    experts: &'a mut [f64],
}

impl<'a> Bank<'a> {
    fn experts(&self) -> impl Iterator<Item = &'a Expert> {
        let log = self.log;
        self.of.experts.iter().filter(move |expert| expert.follows(log))
    }

    fn view<'m>(&self, memory: &'m mut [f64]) -> Option<View<'m>> {
        let (head, rest) = memory.split_at_mut_checked(HEAD)?;
        let (first, rest) = rest.split_at_mut_checked(self.layout.first)?;
        let (counted, rest) = rest.split_at_mut_checked(self.layout.lags)?;
        let (pools, experts) = rest.split_at_mut_checked(POWERS.len() * self.layout.tracked())?;
        let [slot, count] = head else { return None };
        Some(View { slot, count, first, counted, pools, experts })
    }

    fn push(&self, memory: &mut [f64], steps: usize, y: f64) {
        let empty = steps.saturating_sub(1);
        for _ in 0..empty.min(MAX_EMPTY) {
            self.next(memory, f64::NAN);
        }
        if let Some(slot) = memory.first_mut() {
            *slot = (*slot + (empty - empty.min(MAX_EMPTY)) as f64).min(MAX_SLOT);
        }
        self.next(memory, y);
    }

    /// Goes on by one slot; NaN if nothing was observed there.
    fn next(&self, memory: &mut [f64], y: f64) {
        let Some(view) = self.view(memory) else { return };
        let (slot, count) = (slot_of(*view.slot), *view.count as usize);
        if count < self.layout.first {
            // A series begins with its first value; a missing one is then as the last.
            let last = count.checked_sub(1).map_or(f64::NAN, |last| view.first[last]);
            let value = if y.is_nan() { last } else { y };
            if value.is_nan() {
                return;
            }
            view.first[count] = value;
            *view.count += 1.0;
        }
        *view.slot += 1.0;
        if count < self.layout.first && self.of.is_threshold(count + 1) {
            self.begin_again(memory, count + 1);
        } else {
            self.step(memory, slot, y);
        }
    }

    /// Fits all states to the observations so far, and goes over them.
    fn begin_again(&self, memory: &mut [f64], count: usize) {
        let Some(view) = self.view(memory) else { return };
        let first = view.first[..count].to_vec();
        let logs: Vec<f64> = first.iter().map(|&y| log(y)).collect();
        view.counted.fill(0.0);
        view.pools.chunks_exact_mut(self.layout.tracked()).for_each(|pool| self.forget(pool));
        let mut from = 0;
        for expert in self.experts() {
            let size = expert.numbers();
            let (state, tracked) = view.experts[from..from + size + self.layout.tracked()].split_at_mut(size);
            self.forget(tracked);
            state[0] = NONE;
            let y = if expert.log { &logs } else { &first };
            let begin = expert.beginning(count).map(|n| &y[..n]).filter(|y| y.iter().all(|y| !y.is_nan()));
            if let Some(y) = begin {
                expert.begin(y, state);
            }
            from += size + self.layout.tracked();
        }
        for (slot, &y) in first.iter().enumerate() {
            self.step(memory, slot, y);
        }
    }

    fn forget(&self, tracked: &mut [f64]) {
        let (errors, waiting) = tracked.split_at_mut(self.layout.lags);
        errors.fill(0.0);
        waiting.fill(NONE);
    }

    /// All experts go on to a slot.
    fn step(&self, memory: &mut [f64], slot: usize, y: f64) {
        let Some(view) = self.view(memory) else { return };
        let is_missing = y.is_nan();
        let counts = slot >= self.of.shortest().max(FROM) && !is_missing;
        if counts {
            view.counted.iter_mut().for_each(|count| *count = FORGET * *count + 1.0);
        }
        let mut from = 0;
        for expert in self.experts() {
            let size = expert.numbers();
            let (state, tracked) = view.experts[from..from + size + self.layout.tracked()].split_at_mut(size);
            from += size + self.layout.tracked();
            if state[0] == NONE {
                continue;
            }
            if counts {
                self.learn(tracked, slot, y);
            }
            expert.step(state, slot, if expert.log { log(y) } else { y });
            let ahead = |lag: usize| {
                let made = expert.at(state, slot + lag, damped(expert.damping, lag), expert.error.powi(lag as i32));
                if expert.log { made.exp() } else { made }
            };
            self.promise(tracked, slot, is_missing, ahead);
        }
        if counts {
            view.pools.chunks_exact_mut(self.layout.tracked()).for_each(|pool| self.learn(pool, slot, y));
        }
        let ready = self.ready(memory);
        let made = POWERS.map(|power| self.pooled(&ready, slot + 1, self.of.lags.iter().copied(), power));
        let Some(view) = self.view(memory) else { return };
        for (pool, made) in view.pools.chunks_exact_mut(self.layout.tracked()).zip(made) {
            let mut made = made.into_iter();
            self.promise(pool, slot, is_missing, |_| made.next().flatten().unwrap_or(NONE));
        }
    }

    /// Adds the errors of forecasts of this slot to their sums.
    fn learn(&self, tracked: &mut [f64], slot: usize, truth: f64) {
        let (errors, waiting) = tracked.split_at_mut(self.layout.lags);
        let mut from = 0;
        for (error, &lag) in errors.iter_mut().zip(&self.of.lags) {
            let made = waiting[from + slot % lag];
            let off = if made == NONE { 0.0 } else { (made - truth).abs() };
            *error = FORGET * *error + if off.is_finite() { off.min(MAX_ERROR) } else { MAX_ERROR };
            from += lag;
        }
    }

    /// Remembers forecasts until their slot comes.
    fn promise(&self, tracked: &mut [f64], slot: usize, is_missing: bool, mut ahead: impl FnMut(usize) -> f64) {
        let waiting = &mut tracked[self.layout.lags..];
        let mut from = 0;
        for &lag in &self.of.lags {
            let made = ahead(lag);
            waiting[from + slot % lag] = if is_missing || !made.is_finite() { NONE } else { made };
            from += lag;
        }
    }

    /// The experts that have begun.
    fn ready<'m>(&self, memory: &'m [f64]) -> Vec<Ready<'a, 'm>> {
        let mut from = HEAD + self.layout.first + self.layout.lags + POWERS.len() * self.layout.tracked();
        let mut all = Vec::new();
        for expert in self.experts() {
            let (state, tracked) = memory[from..from + expert.numbers() + self.layout.tracked()].split_at(expert.numbers());
            from += expert.numbers() + self.layout.tracked();
            if memory[1] >= 2.0 && state[0] != NONE {
                all.push(Ready { expert, state, errors: &tracked[..self.layout.lags] });
            }
        }
        all
    }

    /// What a pool forecasts after all before a slot.
    fn pooled(
        &self,
        ready: &[Ready<'_, '_>],
        slot: usize,
        horizons: impl Iterator<Item = usize>,
        power: i32,
    ) -> Vec<Option<f64>> {
        let weights: Vec<Vec<f64>> =
            (0..self.layout.lags).map(|j| weights(ready.iter().map(|of| of.errors[j]).collect(), power)).collect();
        let at = |k: usize| {
            let (low, high, share) = self.between(k);
            let (mut sum, mut all) = (0.0, 0.0);
            for (Ready { expert, state, .. }, (low, high)) in ready.iter().zip(weights[low].iter().zip(&weights[high])) {
                let weight = (1.0 - share) * low + share * high;
                if weight > 0.0 {
                    let made = expert.at(state, slot + k - 1, damped(expert.damping, k), expert.error.powi(k as i32));
                    let made = if expert.log { made.exp() } else { made };
                    if made.is_finite() {
                        sum += weight * made;
                        all += weight;
                    }
                }
            }
            (all > 0.0).then(|| sum / all)
        };
        horizons.map(at).collect()
    }

    /// For each horizon the forecast, and the size of error to expect.
    fn forecasts(&self, memory: &[f64], horizons: RangeInclusive<usize>) -> Vec<[f64; 2]> {
        let Layout { first, lags, .. } = self.layout;
        let Some(last) = (memory[1] as usize).checked_sub(1) else { return horizons.map(|_| [0.0; 2]).collect() };
        let last = memory[HEAD + last.min(first - 1)];
        let ready = self.ready(memory);
        let made = POWERS.map(|power| self.pooled(&ready, slot_of(memory[0]), horizons.clone(), power));
        let pools = HEAD + first + lags;
        let counted = memory[HEAD + first..pools].iter().copied().fold(1e-9, f64::max);
        let errors: Vec<&[f64]> =
            memory[pools..].chunks(self.layout.tracked()).take(POWERS.len()).map(|pool| &pool[..lags]).collect();
        let at = |(i, k): (usize, usize)| {
            let (low, high, share) = self.between(k);
            let sizes: Vec<f64> =
                errors.iter().map(|errors| ((1.0 - share) * errors[low] + share * errors[high]) / counted).collect();
            let best = sizes.iter().copied().fold(f64::INFINITY, f64::min).max(1e-300);
            let (mut sum, mut size, mut all) = (0.0, 0.0, 0.0);
            for (made, own) in made.iter().zip(&sizes) {
                let Some(made) = made[i] else { continue };
                let weight = (best / own.max(best)).powi(BETWEEN);
                sum += weight * made;
                size += weight * own;
                all += weight;
            }
            if all > 0.0 { [sum / all, size / all] } else { [last, best] }
        };
        horizons.enumerate().map(at).collect()
    }

    /// The lags around a horizon, and how far it is on the way from one to the other.
    fn between(&self, k: usize) -> (usize, usize, f64) {
        let lags = &self.of.lags;
        let j = lags.partition_point(|&lag| lag <= k).saturating_sub(1);
        let Some(&next) = lags.get(j + 1) else { return (j, j, 0.0) };
        let [low, high, k] = [lags[j], next, k].map(|x| (x as f64).ln());
        (j, j + 1, ((k - low) / (high - low)).clamp(0.0, 1.0))
    }
}

/// An expert that has begun.
struct Ready<'a, 'm> {
    expert: &'a Expert,
    state: &'m [f64],
    /// Sums for each lag.
    errors: &'m [f64],
}

/// A power of the errors of the better half, summing to 1.
fn weights(errors: Vec<f64>, power: i32) -> Vec<f64> {
    if errors.is_empty() {
        return errors;
    }
    let mut sorted = errors.clone();
    let middle = (sorted.len() / 2).max(1) - 1;
    let half = *sorted.select_nth_unstable_by(middle, f64::total_cmp).1;
    let best = errors.iter().copied().fold(f64::INFINITY, f64::min).max(1e-300);
    let weight = |&e: &f64| if e <= half { (best / e.max(best)).powi(power) } else { 0.0 };
    let all: Vec<f64> = errors.iter().map(weight).collect();
    let sum: f64 = all.iter().sum();
    all.into_iter().map(|w| w / sum).collect()
}

fn slot_of(number: f64) -> usize {
    number.clamp(0.0, MAX_SLOT) as usize
}

/// `phi + ... + phi^k`.
fn damped(phi: f64, k: usize) -> f64 {
    if phi == 1.0 { k as f64 } else { phi * (1.0 - phi.powi(k as i32)) / (1.0 - phi) }
}

/// The logarithm of a positive number; NaN of others.
fn log(y: f64) -> f64 {
    if y > 0.0 { y.ln() } else { f64::NAN }
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
        assert!((size(10.0) / size(1.0) - 10.0).abs() < 1e-6 && (0.6..1.2).contains(&size(1.0)), "{}", size(1.0));
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
