//! Which format the times of a column have: the one that all of them can have.

use super::date::of_day;
use super::marks::Marks;
use super::number;
use super::time::{TimeFormat, has_offset};

/// The formats that all times so far can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Formats {
    possible: u16,
    /// The first time can have these.
    first: u16,
    seen: bool,
    /// Whether some are no whole days.
    pub(crate) has_clock: bool,
    /// Whether some are no times of day.
    is_no_clock: bool,
    /// Times with and without an offset.
    pub(crate) offsets: u64,
    pub(crate) plain: u64,
}

impl Default for Formats {
    fn default() -> Self {
        Self { possible: u16::MAX, first: 0, seen: false, has_clock: false, is_no_clock: false, offsets: 0, plain: 0 }
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
        self.is_no_clock = self.is_no_clock || is_number || !is_of_day(text);
        if self.seen && self.possible == 0 {
            return;
        }
        let mut possible = 0;
        for (i, (_, format)) in TimeFormat::ALL.into_iter().enumerate() {
            let bit = 1 << i;
            if self.possible & bit == 0 {
                continue;
            }
            let time = || format.time(text, Marks::PLAIN);
            let is_possible = match format {
                TimeFormat::Number => is_number,
                TimeFormat::Unix => is_number && number::cell(text).number().is_some_and(|t| (UNIX_FIRST..UNIX_END).contains(&t)),
                TimeFormat::UnixMs => {
                    is_number && number::cell(text).number().is_some_and(|t| (UNIX_FIRST * 1e3..UNIX_END * 1e3).contains(&t))
                }
                TimeFormat::Compact => is_number && time().inspect(|t| self.has_clock |= t % DAY != 0.0).is_some(),
                _ => !is_number && time().inspect(|t| self.has_clock |= t % DAY != 0.0).is_some(),
            };
            possible |= if is_possible { bit } else { 0 };
        }
        if possible & bit(TimeFormat::Iso) != 0 {
            if has_offset(text) { self.offsets += 1 } else { self.plain += 1 }
        }
        if !self.seen {
            (self.seen, self.first) = (true, possible);
        }
        self.possible &= possible;
    }

    /// The one format of all of them; of times in several formats, that of the first.
    pub(crate) fn found(self) -> Found {
        let set = if self.possible == 0 { self.first } else { self.possible };
        let has = |format: TimeFormat| set & bit(format) != 0;
        if !self.seen || set == 0 {
            return Found::None;
        }
        if has(TimeFormat::Us) && has(TimeFormat::European) {
            return Found::MonthOrDay;
        }
        // A number is any of several; the narrowest that all of them can be.
        let order = [TimeFormat::Compact, TimeFormat::UnixMs, TimeFormat::Unix, TimeFormat::Number];
        let narrow = order.into_iter().find(|&format| has(format) && (self.possible != 0 || format == TimeFormat::Number));
        let found = narrow.or_else(|| TimeFormat::ALL.into_iter().map(|(_, format)| format).find(|&format| has(format)));
        found.map_or(Found::None, Found::One)
    }

    /// Whether all of them are times of day.
    pub(crate) fn are_clocks(self) -> bool {
        self.seen && !self.is_no_clock
    }

    /// Whether all of them are dates, whatever the column is called.
    pub(crate) fn are_dates(self) -> bool {
        let dates = [TimeFormat::Iso, TimeFormat::Us, TimeFormat::European, TimeFormat::Month, TimeFormat::NamedMonth]
            .map(bit)
            .into_iter()
            .sum::<u16>();
        self.seen && self.possible & dates != 0
    }
}

const DAY: f64 = 86_400.0;

/// Numbers of seconds that are dates rather than durations: the years 2000 to 2100.
const UNIX_FIRST: f64 = 946_684_800.0;
const UNIX_END: f64 = 4_102_444_800.0;

/// A time of day, with seconds or without.
fn is_of_day(text: &[u8]) -> bool {
    str::from_utf8(text).is_ok_and(|text| of_day(text).is_some())
}

fn bit(format: TimeFormat) -> u16 {
    1 << TimeFormat::ALL.iter().position(|(_, other)| *other == format).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::number::Cell;

    fn found(cells: &[&str]) -> Found {
        let mut formats = Formats::default();
        for cell in cells {
            formats.add(cell.as_bytes(), matches!(number::cell(cell.as_bytes()), Cell::Number(_)));
        }
        formats.found()
    }

    #[test]
    fn one_value_decides_whether_months_or_days_are_first() {
        use TimeFormat::{Clock, Compact, European, Iso, Month, NamedMonth, Number, Unix, UnixMs, Us};
        assert_eq!(found(&["03/04/2021", "04/04/2021 12:30"]), Found::MonthOrDay);
        for (cells, wanted) in [
            (&["03/04/2021", "03/13/2021"][..], Us),
            (&["03/04/2021", "13/03/2021 1:05:06 pm"], European),
            (&["3.4.2021", "4.4.21 12:30"], European),
            (&["3-14-21"], Us),
            (&["2021/03/04", "2021-03-05"], Iso),
            (&["2021-03", "2021-12"], Month),
            (&["2021/3"], Month),
            (&["Jan 2020", "Dec 2021"], NamedMonth),
            (&["2021-03", "2021-03-05"], Month),
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
}
