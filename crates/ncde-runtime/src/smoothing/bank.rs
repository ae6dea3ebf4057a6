//! The experts of one channel in its memory, a slice of numbers: they go on slot by slot, and are pooled by their errors.

use std::ops::RangeInclusive;

use super::Smoothing;
use super::expert::{BEGINNING, Expert, cycles, damped, log};

/// The most steps without an observation that are gone through one by one.
const MAX_EMPTY: usize = 4096;
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

/// Where the numbers of a channel lie: `slot, observations, weight of the errors, first values, of each pool errors and forecasts, of each expert state, errors and forecasts`.
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

/// Slot, observations, weight of the errors.
const HEAD: usize = 3;

/// The bank of one channel.
pub(super) struct Bank<'a> {
    of: &'a Smoothing,
    log: bool,
    layout: Layout,
    /// The shortest season.
    shortest: usize,
}

/// A view of the memory of a channel: the numbers of the bank itself, and those of the experts.
struct View<'a> {
    slot: &'a mut f64,
    count: &'a mut f64,
    /// How many errors were counted, each by what it still weighs.
    counted: &'a mut f64,
    first: &'a mut [f64],
    pools: &'a mut [f64],
    experts: &'a mut [f64],
}

impl<'a> Bank<'a> {
    pub(super) fn new(of: &'a Smoothing, log: bool) -> Self {
        let periods = || of.experts.iter().flat_map(|expert| &expert.seasons).copied();
        let first = periods().map(|period| cycles(period) * period).fold(BEGINNING, usize::max);
        let layout = Layout { first, lags: of.lags.len(), waiting: of.lags.iter().sum() };
        Self { of, log, layout, shortest: periods().min().unwrap_or(1) }
    }

    /// Numbers remembered of a channel.
    pub(super) fn numbers(&self) -> usize {
        let tracked = self.layout.tracked();
        let experts: usize = self.experts().map(|expert| expert.numbers() + tracked).sum();
        HEAD + self.layout.first + POWERS.len() * tracked + experts
    }

    /// Whether states are fitted anew after so many observations: a new cycle of a season is complete.
    fn is_threshold(&self, count: usize) -> bool {
        let mut periods = self.of.experts.iter().flat_map(|expert| &expert.seasons);
        [2, FROM, BEGINNING].contains(&count)
            || periods.any(|&period| count.is_multiple_of(period) && (2..=cycles(period)).contains(&(count / period)))
    }

    fn experts(&self) -> impl Iterator<Item = &'a Expert> {
        let log = self.log;
        self.of.experts.iter().filter(move |expert| expert.follows(log))
    }

    fn view<'m>(&self, memory: &'m mut [f64]) -> Option<View<'m>> {
        let (head, rest) = memory.split_at_mut_checked(HEAD)?;
        let (first, rest) = rest.split_at_mut_checked(self.layout.first)?;
        let (pools, experts) = rest.split_at_mut_checked(POWERS.len() * self.layout.tracked())?;
        let [slot, count, counted] = head else { return None };
        Some(View { slot, count, counted, first, pools, experts })
    }

    pub(super) fn push(&self, memory: &mut [f64], steps: usize, y: f64) {
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
        if count < self.layout.first && self.is_threshold(count + 1) {
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
        *view.counted = 0.0;
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
        let counts = slot >= self.shortest.max(FROM) && !is_missing;
        if counts {
            *view.counted = FORGET * *view.counted + 1.0;
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
        let mut from = HEAD + self.layout.first + POWERS.len() * self.layout.tracked();
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
    pub(super) fn forecasts(&self, memory: &[f64], horizons: RangeInclusive<usize>) -> Vec<[f64; 2]> {
        let Layout { first, lags, .. } = self.layout;
        let Some(last) = (memory[1] as usize).checked_sub(1) else { return horizons.map(|_| [0.0; 2]).collect() };
        let last = memory[HEAD + last.min(first - 1)];
        let ready = self.ready(memory);
        let made = POWERS.map(|power| self.pooled(&ready, slot_of(memory[0]), horizons.clone(), power));
        let (pools, counted) = (HEAD + first, memory[2].max(1e-9));
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
