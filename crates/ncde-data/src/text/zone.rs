//! Local times of a zone in seconds since 1970: an hour that is there twice, as clocks are set back, in the order of its rows.

use std::collections::HashMap;

use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{SignedDuration, Timestamp};

use crate::Error;
use crate::error::{at_line, shown};
use crate::schema::{Cells, Layout, Role};

/// A zone, and where each series is within an hour that is there twice.
#[derive(Debug, Clone)]
pub(crate) struct Zone {
    zone: TimeZone,
    /// The last time of series that are in such an hour.
    last: HashMap<String, f64>,
}

impl Zone {
    /// A zone by its name in the database of time zones, such as `Europe/Berlin`.
    pub(crate) fn new(name: &str, file: &str) -> Result<Self, Error> {
        let zone = TimeZone::get(name).map_err(|_| Self::unknown(name, file))?;
        Ok(Self { zone, last: HashMap::new() })
    }

    /// There is no zone of this name.
    pub(crate) fn unknown(name: &str, file: &str) -> Error {
        let seen = format!("`{}` is no time zone", shown(name));
        Error::header(at_line(file, 0), seen, "name one as `Europe/Berlin` or `UTC` (`--time-zone`)")
    }

    /// The time of a row of a series, of its local time as if that were UTC. A time that clocks skip is moved forward.
    pub(crate) fn time(&mut self, local: f64, series: &str) -> f64 {
        let whole = local.floor();
        let Some(civil) = civil(whole) else { return local };
        let utc = |offset: jiff::tz::Offset| local - f64::from(offset.seconds());
        match self.zone.to_ambiguous_timestamp(civil).offset() {
            AmbiguousOffset::Unambiguous { offset } => {
                if !self.last.is_empty() {
                    self.last.remove(series);
                }
                utc(offset)
            }
            AmbiguousOffset::Gap { before, .. } => utc(before),
            AmbiguousOffset::Fold { before, after } => {
                let (first, second) = (utc(before), utc(after));
                let time = if self.last.get(series).is_some_and(|&last| last >= first) { second } else { first };
                self.last.insert(series.to_owned(), time);
                time
            }
        }
    }

    /// How far its clocks are from UTC then, in seconds.
    fn offset(&self, time: f64) -> i32 {
        Timestamp::new(time.floor() as i64, 0).map_or(0, |stamp| self.zone.to_offset(stamp).seconds())
    }
}

impl Layout {
    /// A time as it is written in the column of times: in its format, and with the clocks of its zone; ISO 8601 then has the offset.
    ///
    /// ```
    /// use ncde_data::{Columns, ReadOptions, load_bytes};
    /// let columns = Columns { time_zone: Some("Europe/Berlin".into()), ..Columns::default() };
    /// let file = b"time,x\n30.03.2021 12:00,1\n31.03.2021 12:00,2\n";
    /// let loaded = load_bytes("x.csv", file, &ReadOptions { columns, ..ReadOptions::default() })?;
    /// assert_eq!(loaded.data.cases[0].times[1], 1_617_184_800.0); // 10:00 of UTC
    /// assert_eq!(loaded.layout.unwrap().written(1_617_184_800.0, false).unwrap(), "31.03.2021 12:00:00");
    /// # Ok::<(), ncde_data::Error>(())
    /// ```
    pub fn written(&self, time: f64, is_daily: bool) -> Option<String> {
        let Cells::Time { format, .. } = self.with(Role::Time).next()?.cells else { return None };
        let zone = self.time_zone.as_deref().filter(|_| format.is_local(b"")).and_then(|name| Zone::new(name, "").ok());
        let Some(offset) = zone.map(|zone| zone.offset(time)) else { return Some(format.written(time, is_daily)) };
        let text = format.written(time + f64::from(offset), is_daily);
        let Some(text) = text.strip_suffix('Z') else { return Some(text) };
        let (sign, minutes) = (if offset < 0 { '-' } else { '+' }, offset.abs() / 60);
        Some(format!("{text}{sign}{:02}:{:02}", minutes / 60, minutes % 60))
    }
}

fn civil(seconds: f64) -> Option<DateTime> {
    let duration = SignedDuration::try_from_secs_f64(seconds).ok()?;
    jiff::civil::date(1970, 1, 1).at(0, 0, 0, 0).checked_add(duration).ok()
}

/// Whether a time not after the one before it looks as if clocks had been set back: in the night of a Sunday, up to two hours.
pub(crate) fn is_set_back(before: f64, time: f64) -> bool {
    const NIGHT: f64 = 4.0 * 3600.0;
    let day = (time / 86_400.0).floor();
    // The first day of 1970 was a Thursday.
    let is_sunday = (day + 4.0).rem_euclid(7.0) == 0.0;
    is_sunday && time.rem_euclid(86_400.0) > 0.0 && time.rem_euclid(86_400.0) < NIGHT && before - time <= 7200.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::marks::Marks;
    use crate::text::time::TimeFormat;

    fn local(text: &str) -> f64 {
        TimeFormat::Iso.time(text.as_bytes(), Marks::PLAIN).unwrap()
    }

    #[test]
    fn an_hour_is_there_twice_in_the_order_of_rows() {
        let mut zone = Zone::new("Europe/Berlin", "x").unwrap();
        let hour = 3600.0;
        let start = local("2021-10-30T23:30:00");
        let mut read = |text: &str, series: &str| (zone.time(local(text), series) - start) / hour;
        let times = ["01:30", "02:00", "02:30", "02:00", "02:30", "03:00"].map(|clock| format!("2021-10-31 {clock}"));
        assert_eq!(times.each_ref().map(|time| read(time, "a")), [0.0, 0.5, 1.0, 1.5, 2.0, 2.5]);
        assert_eq!(
            (read("2021-10-31 02:00", "b"), read("2021-10-31 02:00", "c"), read("2021-10-31 02:00", "b")),
            (0.5, 0.5, 1.5)
        );
        // A skipped hour is moved forward.
        assert_eq!(read("2021-03-28 02:30", "a"), read("2021-03-28 03:30", "a"));
        assert_eq!((zone.offset(0.0), zone.offset(local("2021-07-01T10:00:00"))), (3600, 7200));
        assert!(Zone::new("Europe/Bärlin", "x").is_err());
        assert!(is_set_back(local("2021-10-31 02:30"), local("2021-10-31 02:00")));
        assert!(!is_set_back(local("2021-10-30 02:30"), local("2021-10-30 02:00")));
    }
}
