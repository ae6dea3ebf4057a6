//! Dates on an axis: ticks where years, months, days or hours begin, in UTC.
//!
//! Times are seconds since 1970-01-01T00:00:00Z. Days are counted in the Gregorian calendar of Howard Hinnant's
//! `days_from_civil` and `civil_from_days`, whose years begin in March.

use super::scale::Tick;

const DAY: i64 = 86_400;
/// The steps between ticks below a month, in seconds.
const STEPS: [i64; 20] =
    [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, DAY, 2 * DAY, 7 * DAY];
/// The steps above, in months.
const MONTHS: [i64; 14] = [1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 2400, 6000, 12_000];
const NAMES: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Whether all these times are in the years 1 to 9999, as dates must be.
pub(super) fn are_dates(low: f64, high: f64) -> bool {
    low >= -62_135_596_800.0 && high < 253_402_300_800.0
}

/// At most `most` ticks between two times, as dense as they can be.
pub(super) fn ticks(low: f64, high: f64, most: usize) -> Vec<Tick> {
    let multiples =
        |step: i64, low: i64, high: i64| low.div_euclid(step) + i64::from(low.rem_euclid(step) > 0)..=high.div_euclid(step);
    let (first, last) = (low.ceil() as i64, high.floor() as i64);
    for step in STEPS {
        // Weeks begin on Mondays; the first one was 1970-01-05.
        let shift = if step > 2 * DAY { 4 * DAY } else { 0 };
        let range = multiples(step, first - shift, last - shift);
        if range.end() - range.start() < most as i64 {
            return range.map(|k| k * step + shift).map(|time| tick(time, label(time, step))).collect();
        }
    }
    let [from, to] = [first, last].map(|time| {
        let [year, month, _] = civil(time.div_euclid(DAY));
        12 * year + month - 1
    });
    let of_step = |step: i64| -> Vec<i64> {
        multiples(step, from, to).map(|k| k * step).filter(|month| (first..=last).contains(&begin(*month))).collect()
    };
    let months = MONTHS.into_iter().map(of_step).find(|months| months.len() <= most).unwrap_or_default();
    // January stands for its year.
    let name = |month: i64| match month.rem_euclid(12) {
        0 => month.div_euclid(12).to_string(),
        within => NAMES[within as usize].to_owned(),
    };
    months.into_iter().map(|month| tick(begin(month), name(month))).collect()
}

fn tick(time: i64, label: String) -> Tick {
    Tick { value: time as f64, label }
}

/// The day where a day begins, else the time of day.
fn label(time: i64, step: i64) -> String {
    let [_, month, day] = civil(time.div_euclid(DAY));
    let second = time.rem_euclid(DAY);
    match second {
        0 => format!("{day} {}", NAMES[month as usize - 1]),
        _ if step < 60 => format!("{:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60),
        _ => format!("{:02}:{:02}", second / 3600, second / 60 % 60),
    }
}

/// What an axis of these times is called: its first and its last day.
pub(super) fn name(times: impl Iterator<Item = f64>) -> String {
    let (low, high) = times
        .filter(|time| time.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), t| (low.min(t), high.max(t)));
    if low > high || !are_dates(low, high) {
        return "time".into();
    }
    let [first, last] = [low, high].map(|time| {
        let [year, month, day] = civil((time.floor() as i64).div_euclid(DAY));
        format!("{year:04}-{month:02}-{day:02}")
    });
    if first == last { format!("{first} (UTC)") } else { format!("{first} to {last} (UTC)") }
}

/// When a month begins that is counted from January of the year 0.
fn begin(month: i64) -> i64 {
    let (year, month) = (month.div_euclid(12), month.rem_euclid(12) + 1);
    let year = year - i64::from(month <= 2);
    let (era, in_era) = (year.div_euclid(400), year.rem_euclid(400));
    let in_year = (153 * ((month + 9) % 12) + 2) / 5;
    DAY * (146_097 * era + 365 * in_era + in_era / 4 - in_era / 100 + in_year - 719_468)
}

/// Year, month from 1 and day from 1 of a day that is counted from 1970-01-01.
fn civil(days: i64) -> [i64; 3] {
    let days = days + 719_468;
    let (era, in_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (in_era - in_era / 1460 + in_era / 36_524 - in_era / 146_096) / 365;
    let in_year = in_era - (365 * year + year / 4 - year / 100);
    let month = (5 * in_year + 2) / 153;
    let day = in_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    [400 * era + year + i64::from(month <= 2), month, day]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_their_dates_and_months_their_first_days() {
        let known =
            [(0, [1970, 1, 1]), (11_016, [2000, 2, 29]), (19_831, [2024, 4, 18]), (-1, [1969, 12, 31]), (-719_162, [1, 1, 1])];
        for (day, date) in known {
            assert_eq!(civil(day), date);
        }
        for month in 12..120_000 {
            let day = begin(month) / DAY;
            assert_eq!((begin(month) % DAY, civil(day)), (0, [month / 12, month % 12 + 1, 1]));
        }
    }

    #[test]
    fn ticks_are_where_units_of_time_begin() {
        let labels = |low: f64, length: i64| -> Vec<String> {
            ticks(low, low + length as f64, 5).into_iter().map(|tick| tick.label).collect()
        };
        // From 2024-04-18T00:30:00Z on.
        let t = 1_713_400_200.0;
        assert_eq!(labels(t, 40), ["00:30:00", "00:30:10", "00:30:20", "00:30:30", "00:30:40"]);
        assert_eq!(labels(t, DAY), ["06:00", "12:00", "18:00", "19 Apr"]);
        assert_eq!(labels(t, 4 * DAY), ["19 Apr", "20 Apr", "21 Apr", "22 Apr"]);
        assert_eq!(labels(t, 30 * DAY), ["22 Apr", "29 Apr", "6 May", "13 May"]);
        assert_eq!(labels(t, 300 * DAY), ["May", "Jul", "Sep", "Nov", "2025"]);
        assert_eq!(labels(t, 40 * 365 * DAY), ["2030", "2040", "2050", "2060"]);
    }
}
