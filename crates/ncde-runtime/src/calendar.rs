//! Steps that are no fixed time: months, and working days.
//!
//! ```text
//! months n:      slot = (12 year + month) div n,     k later: the same day and clock k n months later, or the last day of that month
//! month-ends n:  likewise,                           k later: the last day of the month k n months later
//! weekdays:      slot = 5 week + min(weekday, 5),    k later: the weekday of slot + k;   weekday 0 is Monday
//! ```
//!
//! Times are seconds since 1970 began, a Thursday.

use serde::{Deserialize, Serialize};

const DAY: f64 = 86_400.0;
/// Days from Monday to the first day of 1970.
const THURSDAY: i64 = 3;
/// Days that are counted with; beyond them a calendar has no meaning.
const MAX_DAYS: f64 = 1e9;

/// A calendar that observations keep to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Calendar {
    /// Every so many months, on the same day.
    Months(u32),
    /// Every so many months, on the last day.
    MonthEnds(u32),
    /// Monday to Friday.
    Weekdays,
}

impl Calendar {
    /// The place of a time; it grows by 1 from one step to the next.
    pub fn slot(self, time: f64) -> i64 {
        let (days, _) = split(time);
        match self {
            Self::Months(n) | Self::MonthEnds(n) => {
                let [year, month, _] = civil(days);
                (12 * year + month - 1).div_euclid(i64::from(n.max(1)))
            }
            Self::Weekdays => 5 * (days + THURSDAY).div_euclid(7) + (days + THURSDAY).rem_euclid(7).min(5),
        }
    }

    /// The time so many steps later.
    pub fn later(self, time: f64, steps: usize) -> f64 {
        let (days, clock) = split(time);
        let steps = i64::try_from(steps).unwrap_or(i64::MAX).min(1 << 32);
        let later = match self {
            Self::Months(n) | Self::MonthEnds(n) => {
                let [year, month, day] = civil(days);
                let first_of = |month: i64| from_civil(month.div_euclid(12), month.rem_euclid(12) + 1);
                let month = 12 * year + month - 1 + steps * i64::from(n);
                let length = first_of(month + 1) - first_of(month);
                first_of(month) - 1 + if matches!(self, Self::Months(_)) { day.min(length) } else { length }
            }
            Self::Weekdays => {
                let slot = self.slot(time) + steps;
                7 * slot.div_euclid(5) + slot.rem_euclid(5) - THURSDAY
            }
        };
        later as f64 * DAY + clock
    }

    /// Whether a time lies on it: any day of a month, the last one, no Saturday or Sunday.
    pub fn holds(self, time: f64) -> bool {
        let (_, clock) = split(time);
        match self {
            Self::Months(_) => true,
            Self::MonthEnds(_) => self.later(time, 0) == time,
            Self::Weekdays => clock >= 0.0 && self.later(time, 0) == time,
        }
    }

    /// The day of the month of a time.
    pub fn day(time: f64) -> i64 {
        civil(split(time).0)[2]
    }

    /// What makes no sense.
    pub(crate) fn problem(self) -> Option<String> {
        match self {
            Self::Months(n) | Self::MonthEnds(n) if !(1..=1200).contains(&n) => {
                Some(format!("a calendar of {n} months; from 1 to 1200 are possible"))
            }
            _ => None,
        }
    }
}

/// Whole days, and seconds of the day.
fn split(time: f64) -> (i64, f64) {
    let days = (time / DAY).floor().clamp(-MAX_DAYS, MAX_DAYS);
    (days as i64, time - days * DAY)
}

/// Year, month and day, of days since 1970 began. Years begin in March here, so that a leap day is the last one.
fn civil(days: i64) -> [i64; 3] {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    [year + 400 * era + i64::from(month <= 2), month, day]
}

/// The days from the beginning of 1970 to the first of a month, from 1.
fn from_civil(year: i64, month: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * if month > 2 { month - 3 } else { month + 9 } + 2) / 5;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Noon of a day.
    fn at(year: i64, month: i64, day: i64) -> f64 {
        (from_civil(year, month) + day - 1) as f64 * DAY + 43_200.0
    }

    #[test]
    fn months_keep_their_day_as_far_as_they_have_it() {
        let (months, ends) = (Calendar::Months(1), Calendar::MonthEnds(3));
        assert_eq!(months.later(at(2024, 1, 31), 1), at(2024, 2, 29));
        assert_eq!(months.later(at(2023, 11, 15), 3), at(2024, 2, 15));
        assert_eq!(ends.later(at(2023, 12, 31), 1), at(2024, 3, 31));
        assert_eq!(ends.later(at(1969, 9, 30), 2), at(1970, 3, 31));
        for days in -800_000..800_000 {
            let [year, month, day] = civil(days);
            assert_eq!(from_civil(year, month) + day - 1, days);
        }
        assert_eq!([civil(0), civil(19_782)], [[1970, 1, 1], [2024, 2, 29]]);
    }

    #[test]
    fn working_days_skip_weekends() {
        // A Friday, and the Monday after it.
        let (friday, monday) = (at(2024, 3, 1), at(2024, 3, 4));
        let days = Calendar::Weekdays;
        assert_eq!([days.later(friday, 1), days.later(friday, 5)], [monday, at(2024, 3, 8)]);
        assert_eq!(days.slot(monday) - days.slot(friday), 1);
        assert!(days.holds(friday) && !days.holds(at(2024, 3, 2)) && !days.holds(at(2024, 3, 3)));
    }

    #[test]
    fn slots_count_steps_of_all_calendars_and_wild_times_are_no_panic() {
        for calendar in [Calendar::Months(1), Calendar::Months(3), Calendar::MonthEnds(1), Calendar::Weekdays] {
            let start = calendar.later(at(2023, 12, 29), 0);
            for k in 0..200 {
                assert_eq!(calendar.slot(calendar.later(start, k)), calendar.slot(start) + k as i64, "{calendar:?} {k}");
            }
            for time in [f64::MAX, f64::MIN, 0.0, -1.0] {
                assert!(calendar.later(time, usize::MAX).is_finite() || time.abs() == f64::MAX);
                calendar.slot(time);
            }
        }
    }
}
