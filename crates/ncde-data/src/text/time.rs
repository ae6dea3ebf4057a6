//! Times: numbers, or dates in the ways they are written, in seconds since 1970-01-01T00:00:00Z.
//!
//! | format | such as |
//! | --- | --- |
//! | `number` | `0.5`, in the file's own unit |
//! | `iso` | `2021-03-04`, `2021-03-04T15:06:07Z`, `2021/03/04 3:06 PM` |
//! | `us` | `3/4/2021 15:06`, month first |
//! | `european` | `4.3.2021`, `04/03/2021 15:06:07`, day first |
//! | `compact` | `20210304`, `20210304150607` |
//! | `unix`, `unix-ms` | `1614870367`, `1614870367000` |
//! | `month` | `2021-03`, `2021/03`, the first of the month |
//! | `named-month` | `Mar 2021`, `March 2021`, `Mar-21`, the first of the month |
//! | `clock` | `15:06:07`, seconds since midnight |
//!
//! A date without an offset is taken as UTC, unless its zone is said (`zone`): only differences matter to a model.

use std::fmt;

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use super::date::{Order, compact, month, named_month, of_day, written_date};
use super::marks::Marks;
use super::number::{self, Cell};
use crate::error::{Location, shown};
use crate::{Clock, Error};

/// How the times of a column are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TimeFormat {
    /// Numbers, in a unit of their own.
    Number,
    /// Year, month, day, as ISO 8601 has them.
    Iso,
    /// Month, day, year.
    Us,
    /// Day, month, year.
    European,
    /// Year, month and day without anything between them.
    Compact,
    /// Seconds since 1970.
    Unix,
    /// Thousandths of seconds since 1970.
    UnixMs,
    /// Year and month.
    Month,
    /// Name of the month and year, in English.
    NamedMonth,
    /// Hours, minutes and seconds of a day.
    Clock,
}

impl TimeFormat {
    /// All of them, with what each is called.
    pub const ALL: [(&'static str, Self); 10] = [
        ("number", Self::Number),
        ("iso", Self::Iso),
        ("us", Self::Us),
        ("european", Self::European),
        ("compact", Self::Compact),
        ("unix", Self::Unix),
        ("unix-ms", Self::UnixMs),
        ("month", Self::Month),
        ("named-month", Self::NamedMonth),
        ("clock", Self::Clock),
    ];

    /// What times of this format are.
    pub(crate) fn clock(self) -> Clock {
        match self {
            Self::Number | Self::Clock => Clock::Numbers,
            _ => Clock::Dates,
        }
    }

    pub(crate) fn time(self, text: &[u8], marks: Marks) -> Option<f64> {
        let number = || marks.cell(text).number();
        let text = str::from_utf8(text).ok().map(str::trim);
        match self {
            Self::Number | Self::Unix => number(),
            Self::UnixMs => number().map(|t| t / 1000.0),
            Self::Iso => seconds(text?).or_else(|| written_date(text?, Order::Year)),
            Self::Us => written_date(text?, Order::Month),
            Self::European => written_date(text?, Order::Day),
            Self::Compact => compact(text?),
            Self::Month => month(text?),
            Self::NamedMonth => named_month(text?),
            Self::Clock => of_day(text?).filter(|_| text.is_some_and(|text| text.matches(':').count() == 2)),
        }
    }

    /// A time as it is written in files of this format; a date without a time of day if all of them are whole days.
    ///
    /// ```
    /// use ncde_data::TimeFormat;
    /// assert_eq!(TimeFormat::European.written(1_614_870_367.0, false), "04.03.2021 15:06:07");
    /// assert_eq!(TimeFormat::Iso.written(1_614_816_000.0, true), "2021-03-04");
    /// ```
    pub fn written(self, time: f64, is_daily: bool) -> String {
        let date = |day: &str, clock: &str| {
            let whole = time.floor();
            let stamp = Timestamp::new(whole as i64, ((time - whole) * 1e9).round().min(999_999_999.0) as i32).ok()?;
            let pattern = if is_daily { day.to_owned() } else { format!("{day}{clock}") };
            jiff::fmt::strtime::format(&pattern, &stamp.to_zoned(TimeZone::UTC)).ok()
        };
        let text = match self {
            Self::Number | Self::Unix => None,
            Self::UnixMs => Some((time * 1000.0).to_string()),
            Self::Iso => date("%Y-%m-%d", "T%H:%M:%S%.fZ"),
            Self::Us => date("%m/%d/%Y", " %H:%M:%S%.f"),
            Self::European => date("%d.%m.%Y", " %H:%M:%S%.f"),
            Self::Compact => date("%Y%m%d", "%H%M%S"),
            Self::Month => date("%Y-%m", ""),
            Self::NamedMonth => date("%b %Y", ""),
            Self::Clock => Timestamp::new(time.rem_euclid(86_400.0) as i64, 0).ok().and_then(|_| date("", "%H:%M:%S%.f")),
        };
        text.unwrap_or_else(|| time.to_string())
    }

    /// Whether such a time is one of the clocks where it was made.
    pub(crate) fn is_local(self, cell: &[u8]) -> bool {
        match self {
            Self::Number | Self::Unix | Self::UnixMs | Self::Clock => false,
            Self::Iso => !has_offset(cell),
            Self::Us | Self::European | Self::Compact | Self::Month | Self::NamedMonth => true,
        }
    }

    /// The time in a cell of a file, in which times may have to say how far they are from UTC.
    pub(crate) fn cell(self, cell: &[u8], marks: Marks, offset: bool, at: impl FnOnce() -> Location) -> Result<f64, Error> {
        let wrong = |wanted| Error::NotATime { at: at(), seen: shown(cell), wanted, fix: FIX };
        match self.time(cell, marks) {
            None => Err(wrong(self.words()[1])),
            Some(_) if offset && !has_offset(cell) => Err(wrong("a date with its offset from UTC")),
            Some(t) => Ok(t),
        }
    }

    /// What such times are called in a layout, and in a message that wants one.
    fn words(self) -> [&'static str; 2] {
        match self {
            Self::Number => ["numbers", "a number"],
            Self::Iso => ["ISO", "a date with the year first"],
            Self::Us => ["month first", "a date with the month first"],
            Self::European => ["day first", "a date with the day first"],
            Self::Compact => ["yyyymmdd", "a date such as 20210304"],
            Self::Unix => ["Unix seconds", "a number of seconds since 1970"],
            Self::UnixMs => ["Unix milliseconds", "a number of milliseconds since 1970"],
            Self::Month => ["year and month", "a month such as 2021-03"],
            Self::NamedMonth => ["month and year", "a month such as Mar 2021"],
            Self::Clock => ["time of day", "a time of day such as 15:06:07"],
        }
    }
}

/// What to try with a time that is none.
const FIX: &str = "write all times in one way, or say how they are written (`--time-format`)";

impl fmt::Display for TimeFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words()[0])
    }
}

/// Whether a time says how far it is from UTC.
pub(crate) fn has_offset(text: &[u8]) -> bool {
    str::from_utf8(text).is_ok_and(|text| text.trim().parse::<Timestamp>().is_ok())
}

/// The time in a cell and its kind; see [`time`].
pub(crate) fn time_cell(cell: &[u8], clock: Option<Clock>, at: impl Fn() -> Location) -> Result<(f64, Clock), Error> {
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

    #[test]
    fn every_format_gives_the_same_seconds() {
        let wanted = 1_614_870_367.0;
        let march = 1_614_556_800.0;
        for (format, text) in [
            (TimeFormat::Month, "2021-03"),
            (TimeFormat::Month, " 2021/3"),
            (TimeFormat::NamedMonth, "Mar 2021"),
            (TimeFormat::NamedMonth, "march 2021"),
            (TimeFormat::NamedMonth, "MAR-21"),
        ] {
            assert_eq!(format.time(text.as_bytes(), Marks::PLAIN), Some(march), "{text}");
        }
        assert_eq!(
            (TimeFormat::Month.written(march, true), TimeFormat::NamedMonth.written(march, false)),
            ("2021-03".into(), "Mar 2021".into())
        );
        for text in ["2021", "2021-13", "21-03", "2021-3-4", "Mar", "Marc 2021", "Mar 4 2021", "Mar-1"] {
            assert_eq!(
                (
                    TimeFormat::Month.time(text.as_bytes(), Marks::PLAIN),
                    TimeFormat::NamedMonth.time(text.as_bytes(), Marks::PLAIN)
                ),
                (None, None),
                "{text}"
            );
        }
        for (format, text) in [
            (TimeFormat::Iso, "2021-03-04T15:06:07"),
            (TimeFormat::Iso, "2021-03-04 16:06:07+01:00"),
            (TimeFormat::Iso, "2021/3/4 3:06:07 pm"),
            (TimeFormat::Us, "3/4/2021 15:06:07"),
            (TimeFormat::European, "04.03.2021 15:06:07"),
            (TimeFormat::European, "04-03-21 03:06:07 PM"),
            (TimeFormat::Compact, "20210304150607"),
            (TimeFormat::Unix, "1614870367"),
            (TimeFormat::UnixMs, "1614870367000"),
        ] {
            assert_eq!(format.time(text.as_bytes(), Marks::PLAIN), Some(wanted), "{text}");
        }
        assert_eq!(TimeFormat::Clock.time(b"01:00:01", Marks::PLAIN), Some(3601.0));
        let comma = Marks { decimal: ',', thousands: None };
        assert_eq!(TimeFormat::Number.time(b"0,5", comma), Some(0.5));
    }
}
