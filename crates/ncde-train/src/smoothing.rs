//! Which exponential smoothing forecasts are made beside: experts for the seasons that the data may have.
//!
//! | experts | level | trend, damping | season | error |
//! | --- | --- | --- | --- | --- |
//! | level | 0.05 to 1 | | | |
//! | trend | 0.3, 0.6, 0.95 | four of (0.05 to 0.3, 0.9 to 1) | | |
//! | season: one, or two together | 0.03 to 0.9 | none, linear, damped | 0.03 to 0.6 | |
//! | slow level, errors that last | 0.01, 0.05 | | with and without | 0.5 to 0.95 |
//! | the value one season before | 0 | | 1 | |
//!
//! Each on the values, and on their logarithms where all are positive. They cost no training; what suits a series is found on the series. Of all, those are kept that weigh the most on the training part.
//!
//! Seasons are those of the calendar (a day, a week, a year) and what the autocorrelation shows, if changes differ with the phase by more than chance:
//!
//! ```text
//! F = (sum of squares between phases / (m - 1)) / (sum of squares within phases / (n - m)) of x_t - x_{t-1},     F > 1 + 3 sqrt(2 / (m - 1) + 2 / (n - m))
//! ```

use ncde_data::{Clock, Dataset};
use ncde_runtime::{Calendar, Expert, Forecast, Smoothing};
use rayon::prelude::*;

use super::slots::Slots;

/// Seasons longer than this have fewer experts, as each remembers all of a season.
const LONG: usize = 60;
/// A season must have come so many times in the longest series.
const CYCLES: usize = 3;
/// The longest season.
const LONGEST: usize = 2016;
const DAY: f64 = 86_400.0;
/// Experts that are kept, by their weights at so many times of so many series.
const MAX_EXPERTS: usize = 24;
const LOOKS: usize = 8;
const MAX_SERIES: usize = 64;
/// Standard deviations of `F` that are more than chance.
const SURE: f64 = 3.0;

const LEVEL: Expert = Expert { level: 0.0, trend: 0.0, damping: 1.0, season: 0.0, error: 0.0, log: false, seasons: Vec::new() };

/// What suits these series.
pub(super) fn smoothing(data: &Dataset, train: &[usize], forecast: &Forecast) -> Smoothing {
    let channels = data.channels.len();
    let longest = train.iter().map(|&i| data.cases[i].len()).max().unwrap_or(0);
    let mut periods = match forecast.step {
        Some(step) if data.times == Clock::Dates => of_calendar(step, forecast.calendar),
        _ => Vec::new(),
    };
    periods.extend(forecast.baseline.as_ref().and_then(|baseline| baseline.period));
    periods.retain(|&period| period >= 2 && period <= LONGEST.min(longest / CYCLES));
    periods.sort_unstable();
    periods.dedup();
    let changes = changes(data, train, forecast);
    let mut found: Vec<usize> = Vec::new();
    for period in periods {
        // A longer season must add something to the one that it contains.
        let within = found.iter().copied().filter(|short| period.is_multiple_of(*short)).max().unwrap_or(1);
        if is_season(&changes, within, period) {
            found.push(period);
        }
    }
    let periods = found;
    let log: Vec<bool> = (0..forecast.width(channels))
        .map(|target| {
            let values = |&i: &usize| data.cases[i].values.iter().skip(forecast.channel(target)).step_by(channels);
            train.iter().flat_map(values).filter(|x| !x.is_nan()).all(|&x| x > 0.0)
        })
        .collect();
    let mut experts = experts(&periods);
    if log.contains(&true) {
        let logs: Vec<Expert> = experts.iter().map(|expert| Expert { log: true, ..expert.clone() }).collect();
        experts.extend(logs);
    }
    let mut lags = vec![1, forecast.horizon.div_ceil(2), forecast.horizon];
    lags.dedup();
    Smoothing { lags, log, experts }
}

/// The experts that weigh the most on the training part, and the simplest: the others cost memory and time, and add noise.
pub(super) fn best_experts(smoothing: &Smoothing, data: &Dataset, train: &[usize], forecast: &Forecast) -> Vec<Expert> {
    let experts = &smoothing.experts;
    if experts.len() <= MAX_EXPERTS {
        return experts.clone();
    }
    let weights = |&i: &usize| {
        let case = &data.cases[i];
        let (mut memory, mut sums) = (smoothing.start(), vec![0.0; experts.len()]);
        for t in 0..case.len() {
            let before = t.checked_sub(1).map(|before| case.times[before]);
            forecast.smooth(&mut memory, before, case.times[t], case.row(t, data.channels.len()));
            if 3 * t > case.len() && (t + 1 == case.len() || t.is_multiple_of((case.len() / LOOKS).max(1))) {
                smoothing.weights(&memory).iter().zip(&mut sums).for_each(|(weight, sum)| *sum += weight);
            }
        }
        sums
    };
    let some: Vec<usize> = train.iter().copied().step_by(train.len().div_ceil(MAX_SERIES).max(1)).collect();
    let all: Vec<Vec<f64>> = some.par_iter().map(weights).collect();
    let total = |e: usize| all.iter().map(|weights| weights[e]).sum::<f64>();
    let mut order: Vec<(f64, usize)> = (0..experts.len()).map(|e| (total(e), e)).collect();
    order.sort_by(|a, b| b.0.total_cmp(&a.0));
    let simplest = experts.iter().position(|expert| !expert.log && expert.seasons.is_empty());
    let mut kept: Vec<usize> = order.into_iter().map(|(_, e)| e).take(MAX_EXPERTS - 1).chain(simplest).collect();
    kept.sort_unstable();
    kept.dedup();
    kept.into_iter().map(|e| experts[e].clone()).collect()
}

/// Changes from one slot to the next with the later slot, for each series and channel.
fn changes(data: &Dataset, train: &[usize], forecast: &Forecast) -> Vec<Vec<(usize, f64)>> {
    let channels = data.channels.len();
    let of = |i: usize, c: usize| {
        let case = &data.cases[i];
        let slots = Slots::new(&case.times, forecast);
        let value = |t: usize| case.values[t * channels + c];
        let pairs = (1..case.len()).filter(|&t| slots.slot(t) == slots.slot(t - 1) + 1);
        pairs.map(|t| (slots.slot(t), value(t) - value(t - 1))).filter(|(_, x)| x.is_finite()).collect::<Vec<_>>()
    };
    train.iter().flat_map(|&i| (0..forecast.width(channels)).map(move |target| of(i, forecast.channel(target)))).collect()
}

/// Whether changes differ between the phases of a period by more than chance, beyond what they do between those of a shorter one.
fn is_season(changes: &[Vec<(usize, f64)>], within: usize, period: usize) -> bool {
    let (mut between, mut inside, mut free, mut left) = (0.0, 0.0, 0.0, 0.0);
    for series in changes.iter().filter(|series| series.len() > 2 * period) {
        let squares: f64 = series.iter().map(|(_, x)| x * x).sum();
        // The sum of squares that the means of the phases of a period explain.
        let explained = |period: usize| {
            let mut sums = vec![(0.0, 0.0); period];
            series.iter().for_each(|&(slot, x)| sums[slot % period] = (sums[slot % period].0 + x, sums[slot % period].1 + 1.0));
            sums.iter().map(|(sum, count): &(f64, f64)| sum * sum / count.max(1.0)).sum::<f64>()
        };
        // Series of all sizes count the same.
        let size = squares.max(f64::MIN_POSITIVE) / series.len() as f64;
        between += (explained(period) - explained(within)) / size;
        inside += (squares - explained(period)) / size;
        free += (period - within) as f64;
        left += (series.len() - period) as f64;
    }
    let f = (between / free) / (inside / left).max(1e-12);
    free > 0.0 && f > 1.0 + SURE * (2.0 / free + 2.0 / left).sqrt()
}

/// The seasons of steps of so many seconds: a day and a week, a week, a year.
fn of_calendar(step: f64, calendar: Option<Calendar>) -> Vec<usize> {
    match calendar {
        Some(Calendar::Weekdays) => return vec![5],
        Some(Calendar::Months(n) | Calendar::MonthEnds(n)) => {
            return (12 % n == 0).then(|| 12 / n as usize).into_iter().collect();
        }
        None => {}
    }
    let whole = |seconds: f64| {
        let steps = seconds / step;
        ((steps - steps.round()).abs() < 0.05).then(|| steps.round() as usize)
    };
    if step < 0.9 * DAY {
        [whole(DAY), whole(7.0 * DAY)].into_iter().flatten().collect()
    } else if step < 1.5 * DAY {
        vec![7]
    } else if step < 10.0 * DAY {
        whole(364.0 * DAY).into_iter().collect()
    } else if step < 45.0 * DAY {
        vec![12]
    } else if step < 120.0 * DAY {
        vec![4]
    } else {
        Vec::new()
    }
}

fn experts(periods: &[usize]) -> Vec<Expert> {
    let mut all: Vec<Expert> = [0.05, 0.1, 0.2, 0.4, 0.7, 1.0].map(|level| Expert { level, ..LEVEL }).to_vec();
    for level in [0.3, 0.6, 0.95] {
        let trends = [(0.05, 1.0), (0.2, 1.0), (0.1, 0.98), (0.3, 0.9)];
        all.extend(trends.map(|(trend, damping)| Expert { level, trend, damping, ..LEVEL }));
    }
    let pair = |a: usize, b: usize| b.is_multiple_of(a).then(|| vec![a, b]);
    let both = periods.windows(2).find_map(|w| pair(w[0], w[1]));
    let seasons = || periods.iter().map(|&period| vec![period]).chain(both.clone());
    for seasons in seasons() {
        let (levels, trends, shares): (&[f64], &[(f64, f64)], &[f64]) = if seasons.iter().any(|&period| period > LONG) {
            (&[0.03, 0.1, 0.3, 0.6], &[(0.0, 1.0), (0.1, 0.98)], &[0.05, 0.2])
        } else {
            (&[0.03, 0.1, 0.3, 0.6, 0.9], &[(0.0, 1.0), (0.02, 1.0), (0.1, 0.98), (0.2, 0.9)], &[0.03, 0.1, 0.3, 0.6])
        };
        for &level in levels {
            for &(trend, damping) in trends {
                // What the level takes of an error is no longer for the season to take.
                let of = |share: &f64| Expert {
                    level,
                    trend,
                    damping,
                    season: share * (1.0 - level / 2.0),
                    seasons: seasons.clone(),
                    ..LEVEL
                };
                all.extend(shares.iter().map(of));
            }
        }
        if seasons.len() == 1 {
            all.push(Expert { season: 1.0, seasons: seasons.clone(), ..LEVEL });
        }
    }
    for seasons in seasons().chain([Vec::new()]) {
        for level in [0.01, 0.05] {
            for error in [0.5, 0.8, 0.95] {
                let shares: &[f64] = if seasons.is_empty() { &[0.0] } else { &[0.05, 0.2] };
                all.extend(shares.iter().map(|&season| Expert { level, error, season, seasons: seasons.clone(), ..LEVEL }));
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seasons_are_those_of_the_calendar() {
        let of = |seconds: f64| of_calendar(seconds, None);
        assert_eq!([of(3600.0), of(1800.0), of(900.0)], [vec![24, 168], vec![48, 336], vec![96, 672]]);
        assert_eq!(
            [of(DAY), of(7.0 * DAY), of(31.0 * DAY), of(92.0 * DAY), of(365.0 * DAY)],
            [vec![7], vec![52], vec![12], vec![4], vec![]]
        );
        let of = |calendar| of_calendar(DAY, Some(calendar));
        assert_eq!([of(Calendar::Weekdays), of(Calendar::Months(3)), of(Calendar::MonthEnds(5))], [vec![5], vec![4], vec![]]);
        let of = |seconds: f64| of_calendar(seconds, None);
        // Steps that no day is a multiple of have none.
        assert_eq!(of(7_000.0), Vec::<usize>::new());
    }

    #[test]
    fn a_season_is_more_than_chance() {
        let noise = ncde_runtime::random::Stream::new(3, 0);
        let series = |season: f64| {
            vec![(0..400).map(|t| (t, noise.normal(t as u64) + season * f64::from(u8::from(t % 7 == 2)))).collect()]
        };
        assert!(is_season(&series(1.0), 1, 7) && !is_season(&series(0.0), 1, 7));
        // What a week explains is not said again by two weeks.
        assert!(!is_season(&series(1.0), 7, 14) && is_season(&series(1.0), 1, 14));
        assert!(!is_season(&[], 1, 7));
    }

    #[test]
    fn shares_are_shares_and_pairs_are_multiples() {
        for periods in [vec![], vec![12], vec![24, 168], vec![7, 30]] {
            let all = experts(&periods);
            assert!(all.iter().all(|e| [e.level, e.trend, e.damping, e.season, e.error].iter().all(|x| (0.0..=1.0).contains(x))));
            assert_eq!(all.iter().any(|e| e.seasons.len() == 2), periods == [24, 168]);
        }
    }
}
