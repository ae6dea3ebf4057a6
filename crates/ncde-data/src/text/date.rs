//! Dates and times of day as people write them.

use std::str::FromStr;

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;

/// Which part of a date stands first.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Year,
    Month,
    Day,
}

/// `4.3.2021 15:06` and the like.
pub(super) fn written_date(text: &str, order: Order) -> Option<f64> {
    let (date, clock) = match text.find([' ', 'T']) {
        Some(at) => (&text[..at], text[at + 1..].trim_start()),
        None => (text.trim_end_matches(','), ""),
    };
    let date = date.trim_end_matches(',');
    let mark = date.chars().find(|c| !c.is_ascii_digit()).filter(|mark| matches!(mark, '/' | '.' | '-'))?;
    let parts: Vec<&str> = date.split(mark).collect();
    let [a, b, c] = parts[..] else { return None };
    let (year, month, day) = match order {
        Order::Year => (a, b, c),
        // Nobody writes `3.4.2021` for the fourth of March.
        Order::Month if mark == '.' => return None,
        Order::Month => (c, a, b),
        Order::Day => (c, b, a),
    };
    let year = match (year.len(), digits::<i16>(year, 4)?) {
        (4, year) => year,
        (2, year) if order != Order::Year => of_century(year),
        _ => return None,
    };
    let date = Date::new(year, digits(month, 2)?, digits(day, 2)?).ok()?;
    let midnight = utc(date.at(0, 0, 0, 0))?;
    Some(midnight + if clock.is_empty() { 0.0 } else { of_day(clock)? })
}

/// A number of up to so many digits and nothing else.
fn digits<T: FromStr>(text: &str, most: usize) -> Option<T> {
    let is_number = (1..=most).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

/// Seconds since midnight of `15:06`, `15:06:07.5`, `3:06 PM`.
pub(super) fn of_day(text: &str) -> Option<f64> {
    let lower = text.trim().to_ascii_lowercase();
    let (clock, half) = match lower.strip_suffix("am").map(|rest| (rest, Some(0.0))) {
        Some(found) => found,
        None => lower.strip_suffix("pm").map_or((lower.as_str(), None), |rest| (rest, Some(12.0))),
    };
    let clock = clock.trim_end().trim_end_matches('z');
    let mut parts = clock.split(':');
    let mut whole = |most: f64| digits(parts.next()?, 2).filter(|x: &f64| *x <= most);
    let (hours, minutes) = (whole(23.0)?, whole(59.0)?);
    let hours = match half {
        None => hours,
        Some(half) if (1.0..=12.0).contains(&hours) => hours % 12.0 + half,
        Some(_) => return None,
    };
    let seconds = match parts.next() {
        None => 0.0,
        Some(text) => {
            let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b','));
            text.replacen(',', ".", 1).parse::<f64>().ok().filter(|x| is_number && *x < 60.0)?
        }
    };
    if parts.next().is_some() {
        return None;
    }
    Some(hours * 3600.0 + minutes * 60.0 + seconds)
}

/// `2021-03` and `2021/3`: the first of the month.
pub(super) fn month(text: &str) -> Option<f64> {
    let (year, month) = text.split_once(['-', '/'])?;
    first_of(digits(year, 4).filter(|_| year.len() == 4)?, digits(month, 2)?)
}

const MONTHS: [&str; 12] =
    ["january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"];

/// `Mar 2021`, `March 2021`, `Mar-21`: the first of the month.
pub(super) fn named_month(text: &str) -> Option<f64> {
    let (name, year) = text.split_once([' ', '-'])?;
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    let month = MONTHS.iter().position(|month| *month == name || (name.len() == 3 && month.starts_with(&name)))?;
    let year = year.trim();
    let number = digits::<i16>(year, 4)?;
    let year = match year.len() {
        4 => number,
        2 => of_century(number),
        _ => return None,
    };
    first_of(year, i8::try_from(month + 1).ok()?)
}

fn first_of(year: i16, month: i8) -> Option<f64> {
    utc(Date::new(year, month, 1).ok()?.at(0, 0, 0, 0))
}

/// A year of two digits as POSIX has it: 69 to 99 are of the last century.
fn of_century(year: i16) -> i16 {
    year + if year < 69 { 2000 } else { 1900 }
}

/// `20210304`, with hours, minutes and seconds behind it or not, of the years 1900 to 2099.
pub(super) fn compact(text: &str) -> Option<f64> {
    if !matches!(text.len(), 8 | 12 | 14) || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let part = |from: usize, to: usize| text.get(from..to).map_or(Some(0), |part| part.parse::<i16>().ok());
    let small = |from: usize| part(from, from + 2).and_then(|x| i8::try_from(x).ok());
    let year = part(0, 4).filter(|year| (1900..2100).contains(year))?;
    let time = DateTime::new(year, small(4)?, small(6)?, small(8)?, small(10)?, small(12)?, 0).ok()?;
    utc(time)
}

fn utc(time: DateTime) -> Option<f64> {
    time.to_zoned(TimeZone::UTC).ok().map(|zoned| zoned.timestamp().as_second() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_day() {
        for (text, wanted) in
            [("15:06", 54_360.0), ("15:06:07.5", 54_367.5), ("3:06 PM", 54_360.0), ("12:00 am", 0.0), ("12:30pm", 45_000.0)]
        {
            assert_eq!(of_day(text), Some(wanted), "{text}");
        }
        for text in ["25:00:00", "12:60:00", "13:00 PM", "1:2:3:4", "0:00 am", "12", ":"] {
            assert_eq!(of_day(text), None, "{text}");
        }
    }
}
