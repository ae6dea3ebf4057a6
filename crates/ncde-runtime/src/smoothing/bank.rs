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
/// A log-width at first: nine of ten normal errors are within 2.06 times their mean size.
const NORMAL: f64 = 0.724;
/// The share of errors that may lie beyond a width.
const MISSED: f64 = 0.1;
/// How far an error moves a log-width.
const ADAPT: f64 = 0.025;
/// Log-widths lie within this distance of 0.
const MAX_LOG_WIDTH: f64 = 5.0;

/// Where the numbers of a channel lie: `slot, observations, weight of the errors, first values, log-widths with the forecasts and sizes that wait, of each pool errors and forecasts, of each expert state, errors and forecasts`.
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

    /// Log-widths, and forecasts that wait with their sizes.
    fn widths(self) -> usize {
        self.lags + 2 * self.waiting
    }

    /// Where the pools begin.
    fn pools(self) -> usize {
        HEAD + self.first + self.widths()
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
    widths: &'a mut [f64],
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
        self.layout.pools() + POWERS.len() * tracked + experts
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
        let (widths, rest) = rest.split_at_mut_checked(self.layout.widths())?;
        let (pools, experts) = rest.split_at_mut_checked(POWERS.len() * self.layout.tracked())?;
        let [slot, count, counted] = head else { return None };
        Some(View { slot, count, counted, first, widths, pools, experts })
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
        let (widths, waiting) = view.widths.split_at_mut(self.layout.lags);
        widths.fill(NORMAL);
        waiting.fill(NONE);
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
            self.adapt(view.widths, slot, y);
        }
        let ready = self.ready(memory);
        let lags = || self.of.lags.iter().copied();
        let made = POWERS.map(|power| self.pooled(&ready, slot + 1, lags(), power));
        let mixed: Vec<Option<[f64; 2]>> = self.sizes(memory, lags()).zip(0..).map(|(sizes, i)| mixed(&made, i, sizes)).collect();
        let Some(view) = self.view(memory) else { return };
        for (pool, made) in view.pools.chunks_exact_mut(self.layout.tracked()).zip(made) {
            let mut made = made.into_iter();
            self.promise(pool, slot, is_missing, |_| made.next().flatten().unwrap_or(NONE));
        }
        let mut from = self.layout.lags;
        for (lag, made) in lags().zip(mixed) {
            let made = made.filter(|_| !is_missing).unwrap_or([NONE; 2]);
            view.widths[from + 2 * (slot % lag)..][..2].copy_from_slice(&made);
            from += 2 * lag;
        }
    }

    /// A width grows where the truth lay beyond it, and shrinks a little where it did not: in the long run one of ten is beyond.
    fn adapt(&self, widths: &mut [f64], slot: usize, truth: f64) {
        let (widths, waiting) = widths.split_at_mut(self.layout.lags);
        let mut from = 0;
        for (width, &lag) in widths.iter_mut().zip(&self.of.lags) {
            if let [made, size] = waiting[from + 2 * (slot % lag)..][..2]
                && made != NONE
            {
                let missed = f64::from(u8::from((made - truth).abs() > size * width.exp()));
                *width = (*width + ADAPT * (missed - MISSED)).clamp(-MAX_LOG_WIDTH, MAX_LOG_WIDTH);
            }
            from += 2 * lag;
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
        let mut from = self.layout.pools() + POWERS.len() * self.layout.tracked();
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
            let (low, high, share) = between(&self.of.lags, k);
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

    /// The mean error of each pool at each of these horizons.
    fn sizes<'m>(&self, memory: &'m [f64], horizons: impl Iterator<Item = usize> + 'm) -> impl Iterator<Item = [f64; 2]> + 'm
    where
        'a: 'm,
    {
        let (of, tracked, pools, counted) = (self.of, self.layout.tracked(), self.layout.pools(), memory[2].max(1e-9));
        horizons.map(move |k| {
            let (low, high, share) = between(&of.lags, k);
            std::array::from_fn(|pool| {
                let errors = &memory[pools + pool * tracked..];
                ((1.0 - share) * errors[low] + share * errors[high]) / counted
            })
        })
    }

    /// Adds what each expert weighs in forecasts of the lags.
    pub(super) fn add_weights(&self, memory: &[f64], sums: &mut [f64]) {
        let ready = self.ready(memory);
        for (j, sizes) in self.sizes(memory, self.of.lags.iter().copied()).enumerate() {
            let best = sizes[0].min(sizes[1]).max(1e-300);
            let shares = sizes.map(|size| (best / size.max(best)).powi(BETWEEN));
            for (share, power) in shares.iter().zip(POWERS) {
                let of_pool = weights(ready.iter().map(|of| of.errors[j]).collect(), power);
                let mut of_ready = ready.iter().zip(of_pool).peekable();
                for (expert, sum) in self.of.experts.iter().zip(&mut *sums) {
                    if let Some((_, weight)) = of_ready.next_if(|(of, _)| std::ptr::eq(of.expert, expert)) {
                        *sum += weight * share / (shares[0] + shares[1]);
                    }
                }
            }
        }
    }

    /// For each horizon the forecast, and a width around it within which nine of ten errors of smoothing were.
    pub(super) fn forecasts(&self, memory: &[f64], horizons: RangeInclusive<usize>) -> Vec<[f64; 2]> {
        let Some(last) = (memory[1] as usize).checked_sub(1) else { return horizons.map(|_| [0.0; 2]).collect() };
        let last = memory[HEAD + last.min(self.layout.first - 1)];
        let ready = self.ready(memory);
        let made = POWERS.map(|power| self.pooled(&ready, slot_of(memory[0]), horizons.clone(), power));
        let widths = &memory[HEAD + self.layout.first..][..self.layout.lags];
        let at = |(i, (k, sizes)): (usize, (usize, [f64; 2]))| {
            let (low, high, share) = between(&self.of.lags, k);
            let width = ((1.0 - share) * widths[low] + share * widths[high]).exp();
            let [made, size] = mixed(&made, i, sizes).unwrap_or([last, sizes[0].min(sizes[1])]);
            [made, size * width]
        };
        horizons.clone().zip(self.sizes(memory, horizons)).enumerate().map(at).collect()
    }
}

/// The lags around a horizon, and how far it is on the way from one to the other.
fn between(lags: &[usize], k: usize) -> (usize, usize, f64) {
    let j = lags.partition_point(|&lag| lag <= k).saturating_sub(1);
    let Some(&next) = lags.get(j + 1) else { return (j, j, 0.0) };
    let [low, high, k] = [lags[j], next, k].map(|x| (x as f64).ln());
    (j, j + 1, ((k - low) / (high - low)).clamp(0.0, 1.0))
}

/// From the forecasts of the pools at the horizon of an index, and their mean errors, to one forecast and its mean error; none if no pool has one.
fn mixed(made: &[Vec<Option<f64>>; 2], index: usize, sizes: [f64; 2]) -> Option<[f64; 2]> {
    let best = sizes[0].min(sizes[1]).max(1e-300);
    let (mut sum, mut size, mut all) = (0.0, 0.0, 0.0);
    for (made, of_pool) in made.iter().zip(sizes) {
        let Some(made) = made[index] else { continue };
        let weight = (best / of_pool.max(best)).powi(BETWEEN);
        sum += weight * made;
        size += weight * of_pool;
        all += weight;
    }
    (all > 0.0).then(|| [sum / all, size / all])
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
