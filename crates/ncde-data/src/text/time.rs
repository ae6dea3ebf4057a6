//! Times: numbers, or dates as ISO 8601 has them, in seconds since 1970-01-01T00:00:00Z.
//!
//! A date without an offset is taken as UTC: only differences matter to a model, and no series jumps when clocks change.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;

use super::number::{self, Cell};
use crate::error::{Place, shown};
use crate::{Clock, Error};

/// The time in a cell and its kind; see [`time`].
pub(crate) fn time_cell(cell: &[u8], clock: Option<Clock>, at: impl Fn() -> Box<Place>) -> Result<(f64, Clock), Error> {
    time(cell, clock).ok_or_else(|| Error::NotATime {
        at: at(),
        seen: shown(cell),
        wanted: match clock {
            Some(Clock::Dates) => "a date",
            Some(_) => "a number",
            None => "a time",
        },
        fix: "write times as numbers or as ISO 8601 dates, all in one way",
    })
}

/// A time and its kind. With a clock given, only times of that kind are read.
pub(crate) fn time(text: &[u8], clock: Option<Clock>) -> Option<(f64, Clock)> {
    if clock != Some(Clock::Dates)
        && let Cell::Number(t) = number::cell(text)
    {
        return Some((t, Clock::Numbers));
    }
    if clock == Some(Clock::Numbers) {
        return None;
    }
    let text = str::from_utf8(text).ok()?.trim();
    seconds(text).map(|t| (t, Clock::Dates))
}

fn seconds(text: &str) -> Option<f64> {
    let stamp = text.parse::<Timestamp>().ok().or_else(|| {
        let civil = text.parse::<DateTime>().or_else(|_| text.parse::<Date>().map(|date| date.at(0, 0, 0, 0)));
        civil.ok()?.to_zoned(TimeZone::UTC).ok().map(|zoned| zoned.timestamp())
    })?;
    // Seconds and nanoseconds apart: together they have more digits than an f64.
    Some(stamp.as_second() as f64 + f64::from(stamp.subsec_nanosecond()) / 1e9)
}

/// A time as it is written into a file or a message.
pub(crate) fn written(t: f64, clock: Clock) -> String {
    if clock != Clock::Dates {
        return t.to_string();
    }
    let whole = t.floor();
    let stamp = Timestamp::new(whole as i64, ((t - whole) * 1e9).round() as i32);
    stamp.map_or_else(|_| t.to_string(), |stamp| stamp.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_in_their_forms() {
        for (text, t) in [
            ("1970-01-02", 86_400.0),
            ("1970-01-01T00:00:01Z", 1.0),
            ("1970-01-01T01:00:00+01:00", 0.0),
            ("1970-01-01 00:01", 60.0),
            ("1970-01-01 00:00:00.5", 0.5),
            ("1969-12-31T23:59:59.75Z", -0.25),
            ("2020-02-29T12:00:00", 1_582_977_600.0),
        ] {
            assert_eq!(time(text.as_bytes(), None), Some((t, Clock::Dates)), "{text}");
        }
        assert_eq!(time(b"12", None), Some((12.0, Clock::Numbers)));
        assert_eq!(time(b"12", Some(Clock::Dates)), None);
        assert_eq!(time(b"1970-01-02", Some(Clock::Numbers)), None);
        for text in ["", "NaN", "29.2.2020", "2021-02-29", "noon"] {
            assert_eq!(time(text.as_bytes(), None), None, "{text:?}");
        }
    }

    #[test]
    fn dates_are_written_as_they_are_read() {
        for text in ["2020-02-29T12:00:00Z", "2020-02-29T12:00:00.123456Z", "1969-12-31T23:59:59.75Z"] {
            let (t, clock) = time(text.as_bytes(), None).unwrap();
            let back = time(written(t, clock).as_bytes(), Some(Clock::Dates)).unwrap();
            assert_eq!(back, (t, clock), "{text}");
        }
        assert_eq!(written(0.5, Clock::Dates), "1970-01-01T00:00:00.5Z");
        assert_eq!(written(0.5, Clock::Numbers), "0.5");
    }
}
