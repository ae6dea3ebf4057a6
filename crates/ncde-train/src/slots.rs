//! Where the observations of a series lie: one after the other, or on a grid of time of which some places are left out.
//!
//! ```text
//! slot_0 = 0,   slot_{i+1} = slot_i + 1                                      observations are counted
//!               slot_{i+1} = slot_i + max(1, round((t_{i+1} - t_i) / step))   on a grid, or the steps of a calendar between them
//! ```
//!
//! What is forecast `k` ahead of an observation is what lies `k` slots later, if there is something.

use ncde_data::Clock;
use ncde_runtime::{Calendar, Forecast};

/// A gap is so many steps if it is no further from that than this share of a step.
const CLOSE: f64 = 0.1;
/// Gaps that must be close to a whole number of steps, as a share of all.
const ON_GRID: f64 = 0.95;
/// The largest share of slots that may be empty: weekends are no gaps in data of working days.
const EMPTY: f64 = 0.2;

/// The slots of one series.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Slots {
    /// `0, 1, 2, ...`.
    Counted(usize),
    Grid(Vec<usize>),
}

impl Slots {
    pub(super) fn new(times: &[f64], forecast: &Forecast) -> Self {
        if !forecast.grid {
            return Self::Counted(times.len());
        }
        let steps = times.windows(2).map(|w| forecast.steps(w[0], w[1]));
        let next = |slot: &mut usize, steps: usize| {
            *slot = slot.saturating_add(steps);
            Some(*slot)
        };
        Self::Grid(times.first().map(|_| 0).into_iter().chain(steps.scan(0_usize, next)).collect())
    }

    pub(super) fn slot(&self, observation: usize) -> usize {
        match self {
            Self::Counted(_) => observation,
            Self::Grid(slots) => slots[observation],
        }
    }

    /// The first observation in a slot or after it, all of them being after observation `t`; one past the last if there is none.
    pub(super) fn next(&self, t: usize, slot: usize) -> usize {
        match self {
            Self::Counted(length) => slot.min(*length),
            Self::Grid(slots) => t + 1 + slots[t + 1..].partition_point(|own| *own < slot),
        }
    }

    pub(super) fn find(&self, slot: usize) -> Option<usize> {
        match self {
            Self::Counted(length) => (slot < *length).then_some(slot),
            Self::Grid(slots) => slots.binary_search(&slot).ok(),
        }
    }
}

/// The usual step of series, the calendar they keep to, and whether they lie on a grid of such steps with places left out.
pub(super) fn rhythm(series: &[&[f64]], clock: Clock) -> (Option<f64>, Option<Calendar>, bool) {
    let gaps = || series.iter().flat_map(|times| times.windows(2).map(|w| w[1] - w[0]));
    let mut sorted: Vec<f64> = gaps().collect();
    sorted.sort_by(f64::total_cmp);
    let Some(step) = sorted.get(sorted.len() / 2).copied().filter(|step| *step > 0.0) else { return (None, None, false) };
    let calendar = (clock == Clock::Dates).then(|| calendar(series, step, &sorted)).flatten();
    let forecast = Forecast { step: Some(step), calendar, grid: true, ..Forecast::one(1) };
    let (mut close, mut count, mut slots) = (0_usize, 0_usize, 0.0);
    for w in series.iter().flat_map(|times| times.windows(2)) {
        let whole = forecast.steps(w[0], w[1]) as f64;
        close += usize::from(calendar.is_some() || ((w[1] - w[0]) / step - whole).abs() <= CLOSE);
        count += 1;
        slots += whole;
    }
    let empty = slots - count as f64;
    let grid = close as f64 >= ON_GRID * count as f64 && empty > 0.0 && empty <= EMPTY * slots;
    (Some(step), calendar, grid)
}

const DAY: f64 = 86_400.0;

/// The calendar of which all times are: months where steps are that long, working days where weekends are missing from days.
fn calendar(series: &[&[f64]], step: f64, gaps: &[f64]) -> Option<Calendar> {
    let all = |calendar: Calendar| series.iter().copied().flatten().all(|&time| calendar.holds(time));
    if (27.0 * DAY..=3700.0 * DAY).contains(&step) {
        let months = (step / (30.4375 * DAY)).round() as u32;
        let mut days = series.iter().copied().flatten().map(|&time| Calendar::day(time));
        let first = days.next()?;
        // Steps of as many days in every month are no months.
        let varies = gaps.len() < 3 || gaps[0] != gaps[gaps.len() - 1];
        return [Calendar::MonthEnds(months), Calendar::Months(months)].into_iter().find(|&calendar| {
            varies && if matches!(calendar, Calendar::Months(_)) { days.all(|day| day == first) } else { all(calendar) }
        });
    }
    let weekends = gaps.iter().filter(|gap| **gap > 2.5 * DAY).count();
    (step == DAY && 8 * weekends >= gaps.len() && all(Calendar::Weekdays)).then_some(Calendar::Weekdays)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_with_places_left_out_is_seen_and_nothing_else_is_one() {
        let of = |times: &[f64]| {
            let (step, _, grid) = rhythm(&[times], Clock::Numbers);
            (step, grid)
        };
        let hours: Vec<f64> = (0..100).map(|i| 3600.0 * f64::from(i)).collect();
        assert_eq!(of(&hours), (Some(3600.0), false));
        let gappy: Vec<f64> = hours.iter().copied().filter(|t| (t / 3600.0) as usize % 10 != 7).collect();
        assert_eq!(of(&gappy), (Some(3600.0), true));
        // Five days of seven, and times at random.
        let days: Vec<f64> = (0..200).filter(|day| day % 7 < 5).map(f64::from).collect();
        assert_eq!(of(&days), (Some(1.0), false));
        let random: Vec<f64> = (0..100).map(|i| f64::from(i) + 0.45 * f64::from(i).sin()).collect();
        assert!(!of(&random).1);
        assert_eq!(of(&[3.0]), (None, false));
    }

    #[test]
    fn months_and_working_days_are_seen_in_dates_alone() {
        let start = Calendar::Weekdays.later(0.0, 2);
        let of = |calendar: Calendar, left_out: usize| {
            let times: Vec<f64> = (0..60).filter(|k| *k != left_out).map(|k| calendar.later(start, k)).collect();
            assert_eq!(rhythm(&[&times], Clock::Numbers).1, None);
            let (_, calendar, grid) = rhythm(&[&times], Clock::Dates);
            (calendar, grid)
        };
        for calendar in [Calendar::Months(1), Calendar::Months(3), Calendar::MonthEnds(1), Calendar::Weekdays] {
            assert_eq!([of(calendar, 60), of(calendar, 30)], [(Some(calendar), false), (Some(calendar), true)]);
        }
        let weeks: Vec<f64> = (0..60).map(|k| f64::from(28 * k) * DAY).collect();
        assert_eq!(rhythm(&[&weeks], Clock::Dates).1, None);
    }

    #[test]
    fn slots_are_found_both_ways() {
        let forecast = Forecast { step: Some(2.0), grid: true, ..Forecast::one(1) };
        let slots = Slots::new(&[10.0, 12.0, 15.9, 16.1, 22.0], &forecast);
        assert_eq!(slots, Slots::Grid(vec![0, 1, 3, 4, 7]));
        assert_eq!([slots.find(3), slots.find(2), slots.find(7)], [Some(2), None, Some(4)]);
        assert_eq!(slots.slot(4), 7);
        let counted = Slots::new(&[10.0, 12.0], &Forecast::one(1));
        assert_eq!([counted.find(1), counted.find(2)], [Some(1), None]);
    }
}
