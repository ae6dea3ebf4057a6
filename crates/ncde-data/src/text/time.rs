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
//! | `clock` | `15:06:07`, seconds since midnight |
//!
//! A date without an offset is taken as UTC: only differences matter to a model, and no series jumps when clocks change.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use super::marks::Marks;
use super::number::{self, Cell};
use crate::error::{Place, shown};
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
    /// Hours, minutes and seconds of a day.
    Clock,
}

impl TimeFormat {
    /// All of them, with what each is called.
    pub const ALL: [(&'static str, Self); 8] = [
        ("number", Self::Number),
        ("iso", Self::Iso),
        ("us", Self::Us),
        ("european", Self::European),
        ("compact", Self::Compact),
        ("unix", Self::Unix),
        ("unix-ms", Self::UnixMs),
        ("clock", Self::Clock),
    ];

    fn bit(self) -> u8 {
        1 << Self::ALL.iter().position(|(_, other)| *other == self).unwrap_or(0)
    }

    /// What times of this format are.
    pub(crate) fn clock(self) -> Clock {
        match self {
            Self::Number | Self::Clock => Clock::Numbers,
            _ => Clock::Dates,
        }
    }

    /// The time in a cell.
    pub(crate) fn time(self, text: &[u8], marks: Marks) -> Option<f64> {
        let number = || match marks.cell(text) {
            Cell::Number(x) => Some(x),
            Cell::Missing | Cell::Other => None,
        };
        let text = str::from_utf8(text).ok().map(str::trim);
        match self {
            Self::Number | Self::Unix => number(),
            Self::UnixMs => number().map(|t| t / 1000.0),
            Self::Iso => seconds(text?).or_else(|| written_date(text?, Order::YearFirst)),
            Self::Us => written_date(text?, Order::MonthFirst),
            Self::European => written_date(text?, Order::DayFirst),
            Self::Compact => compact(text?),
            Self::Clock => of_day(text?).filter(|_| text.is_some_and(|text| text.matches(':').count() == 2)),
        }
    }

    /// The time in a cell of a file, in which times may have to say how far they are from UTC.
    pub(crate) fn cell(self, cell: &[u8], marks: Marks, offset: bool, at: impl FnOnce() -> Box<Place>) -> Result<f64, Error> {
        let wrong = |wanted| Error::NotATime { at: at(), seen: shown(cell), wanted, fix: FIX };
        match self.time(cell, marks) {
            None => Err(wrong(self.words())),
            Some(_) if offset && !has_offset(cell) => Err(wrong("a date with its offset from UTC")),
            Some(t) => Ok(t),
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Number => "a number",
            Self::Iso => "a date with the year first",
            Self::Us => "a date with the month first",
            Self::European => "a date with the day first",
            Self::Compact => "a date such as 20210304",
            Self::Unix => "a number of seconds since 1970",
            Self::UnixMs => "a number of milliseconds since 1970",
            Self::Clock => "a time of day such as 15:06:07",
        }
    }
}

/// What to try with a time that is none.
const FIX: &str = "write all times in one way, or say how they are written (`--time-format`)";

impl fmt::Display for TimeFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Number => "numbers",
            Self::Iso => "ISO",
            Self::Us => "month first",
            Self::European => "day first",
            Self::Compact => "yyyymmdd",
            Self::Unix => "Unix seconds",
            Self::UnixMs => "Unix milliseconds",
            Self::Clock => "time of day",
        })
    }
}

impl FromStr for TimeFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|(name, _)| *name == text);
        let names = Self::ALL.map(|(name, _)| name).join(", ");
        found.map(|(_, format)| format).ok_or_else(|| format!("`{text}` is no format of times; wanted one of {names}"))
    }
}

/// The formats that all times so far can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Formats {
    possible: u8,
    /// The first time can have these.
    first: u8,
    seen: bool,
    /// Times with and without an offset.
    pub(crate) offsets: u64,
    pub(crate) plain: u64,
}

impl Default for Formats {
    fn default() -> Self {
        Self { possible: u8::MAX, first: 0, seen: false, offsets: 0, plain: 0 }
    }
}

/// What the format of times is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    One(TimeFormat),
    /// Month or day first: no time decides it.
    MonthOrDay,
    None,
}

impl Formats {
    /// Takes a cell into account; numbers may have marks of any kind.
    pub(crate) fn add(&mut self, text: &[u8], is_number: bool) {
        if self.seen && self.possible == 0 {
            return;
        }
        let mut own = 0;
        for (_, format) in TimeFormat::ALL {
            let is_possible = match format {
                TimeFormat::Number => is_number,
                TimeFormat::Unix => is_number && whole(text).is_some_and(|t| (UNIX_FIRST..UNIX_END).contains(&t)),
                TimeFormat::UnixMs => is_number && whole(text).is_some_and(|t| (UNIX_FIRST * 1e3..UNIX_END * 1e3).contains(&t)),
                TimeFormat::Compact => is_number && format.time(text, Marks::PLAIN).is_some(),
                _ => !is_number && format.time(text, Marks::PLAIN).is_some(),
            };
            own |= if is_possible { format.bit() } else { 0 };
        }
        if own & TimeFormat::Iso.bit() != 0 {
            if has_offset(text) { self.offsets += 1 } else { self.plain += 1 }
        }
        if !self.seen {
            (self.seen, self.first) = (true, own);
        }
        self.possible &= own;
    }

    /// The one format of all of them; of times in several formats, that of the first.
    pub(crate) fn found(self) -> Found {
        let set = if self.possible == 0 { self.first } else { self.possible };
        let has = |format: TimeFormat| set & format.bit() != 0;
        if !self.seen || set == 0 {
            return Found::None;
        }
        if has(TimeFormat::Us) && has(TimeFormat::European) {
            return Found::MonthOrDay;
        }
        // A number is any of several; the narrowest that all of them can be.
        let order = [TimeFormat::Compact, TimeFormat::UnixMs, TimeFormat::Unix, TimeFormat::Number];
        let narrow = order.into_iter().find(|&format| has(format));
        let found = narrow.or_else(|| TimeFormat::ALL.into_iter().map(|(_, format)| format).find(|&format| has(format)));
        found.map_or(Found::None, Found::One)
    }

    /// Whether all of them are dates, whatever the column is called.
    pub(crate) fn are_dates(self) -> bool {
        let dates = TimeFormat::Iso.bit() | TimeFormat::Us.bit() | TimeFormat::European.bit();
        self.seen && self.possible & dates != 0
    }
}

/// Numbers of seconds that are dates rather than durations: the years 2000 to 2100.
const UNIX_FIRST: f64 = 946_684_800.0;
const UNIX_END: f64 = 4_102_444_800.0;

fn has_offset(text: &[u8]) -> bool {
    str::from_utf8(text).is_ok_and(|text| text.trim().parse::<Timestamp>().is_ok())
}

fn whole(text: &[u8]) -> Option<f64> {
    number::cell(text).value()
}

/// Which part of a date stands first.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    YearFirst,
    MonthFirst,
    DayFirst,
}

/// `4.3.2021 15:06` and the like.
fn written_date(text: &str, order: Order) -> Option<f64> {
    let (date, clock) = match text.find([' ', 'T']) {
        Some(at) => (&text[..at], text[at + 1..].trim_start()),
        None => (text.trim_end_matches(','), ""),
    };
    let date = date.trim_end_matches(',');
    let mark = date.chars().find(|c| !c.is_ascii_digit()).filter(|mark| matches!(mark, '/' | '.' | '-'))?;
    let parts: Vec<&str> = date.split(mark).collect();
    let [a, b, c] = parts[..] else { return None };
    let (year, month, day) = match order {
        Order::YearFirst => (a, b, c),
        // Nobody writes `3.4.2021` for the fourth of March.
        Order::MonthFirst if mark == '.' => return None,
        Order::MonthFirst => (c, a, b),
        Order::DayFirst => (c, b, a),
    };
    let number = |text: &str, most: usize| -> Option<i16> {
        let is_number = (1..=most).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse().ok().filter(|_| is_number)
    };
    let year = match (year.len(), number(year, 4)?) {
        (4, year) => year,
        // As POSIX has it: 69 to 99 are of the last century.
        (2, year) if order != Order::YearFirst => year + if year < 69 { 2000 } else { 1900 },
        _ => return None,
    };
    let small = |text: &str| number(text, 2).and_then(|x| i8::try_from(x).ok());
    let date = Date::new(year, small(month)?, small(day)?).ok()?;
    let midnight = utc(date.at(0, 0, 0, 0))?;
    Some(midnight + if clock.is_empty() { 0.0 } else { of_day(clock)? })
}

/// Seconds since midnight of `15:06`, `15:06:07.5`, `3:06 PM`.
fn of_day(text: &str) -> Option<f64> {
    let lower = text.trim().to_ascii_lowercase();
    let (clock, half) = match lower.strip_suffix("am").map(|rest| (rest, Some(0.0))) {
        Some(found) => found,
        None => lower.strip_suffix("pm").map_or((lower.as_str(), None), |rest| (rest, Some(12.0))),
    };
    let clock = clock.trim_end().trim_end_matches('z');
    let mut parts = clock.split(':');
    let mut whole = |most: f64| -> Option<f64> {
        let text = parts.next()?;
        let is_number = (1..=2).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse().ok().filter(|x| is_number && *x <= most)
    };
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

/// `20210304`, with hours, minutes and seconds behind it or not, of the years 1900 to 2099.
fn compact(text: &str) -> Option<f64> {
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

    fn found(cells: &[&str]) -> Found {
        let mut formats = Formats::default();
        for cell in cells {
            formats.add(cell.as_bytes(), matches!(number::cell(cell.as_bytes()), Cell::Number(_)));
        }
        formats.found()
    }

    #[test]
    fn one_value_decides_whether_months_or_days_are_first() {
        use TimeFormat::{Clock, Compact, European, Iso, Number, Unix, UnixMs, Us};
        assert_eq!(found(&["03/04/2021", "04/04/2021 12:30"]), Found::MonthOrDay);
        for (cells, wanted) in [
            (&["03/04/2021", "03/13/2021"][..], Us),
            (&["03/04/2021", "13/03/2021 1:05:06 pm"], European),
            (&["3.4.2021", "4.4.21 12:30"], European),
            (&["3-14-21"], Us),
            (&["2021/03/04", "2021-03-05"], Iso),
            (&["2021-03-04 3:06 PM"], Iso),
            (&["20210304", "20211231"], Compact),
            (&["202103041530"], Compact),
            (&["20210304", "20211332"], Number),
            (&["1614870367", "1614870368.5"], Unix),
            (&["1614870367000"], UnixMs),
            (&["0", "1614870367"], Number),
            (&["15:06:07", "23:59:59.5"], Clock),
            (&["1", "2021-01-01"], Number),
        ] {
            assert_eq!(found(cells), Found::One(wanted), "{cells:?}");
        }
        for cells in [&["noon"][..], &["12:30"], &["31/31/2021"], &["2021-02-29"]] {
            assert_eq!(found(cells), Found::None, "{cells:?}");
        }
    }

    #[test]
    fn every_format_gives_the_same_seconds() {
        let wanted = 1_614_870_367.0;
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
        for text in ["25:00:00", "12:60:00", "13:00 PM", "1:2:3:4", "0:00 am"] {
            assert_eq!(of_day(text), None, "{text}");
        }
    }
}
