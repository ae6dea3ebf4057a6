//! A line with time stamps: `(0,1.5),(2,3):(0,7),(1,8)`. Each dimension has times of its own.
//!
//! All times together make the grid; a dimension is missing where it has no value: here `t = 0, 1, 2` with rows
//! `(1.5, 7), (?, 8), (3, ?)`. Dates hold `:` themselves, so dimensions are told apart outside parentheses.

use super::{Parsed, Row};
use crate::error::{Location, shown};
use crate::text::number;
use crate::text::time::time_cell;
use crate::{Clock, Error};

pub(super) fn parse(row: &Row<'_>, series: &[u8], label: Vec<u8>) -> Result<Parsed, Error> {
    let mut clock = None;
    let mut dimensions: Vec<Vec<(f64, f64)>> = Vec::new();
    let mut rest = Some(series);
    while let Some(text) = rest {
        let mut stamps = Vec::new();
        rest = dimension(row, text, dimensions.len(), &mut clock, &mut stamps)?;
        dimensions.push(stamps);
    }
    let (times, values) = merged(&dimensions);
    let clock = clock.unwrap_or(Clock::Numbers);
    Ok(Parsed { line: row.line, clock, times, values, dimensions: dimensions.len(), label })
}

/// Reads one dimension; what is left starts with the next one.
fn dimension<'a>(
    row: &Row<'_>,
    text: &'a [u8],
    index: usize,
    clock: &mut Option<Clock>,
    into: &mut Vec<(f64, f64)>,
) -> Result<Option<&'a [u8]>, Error> {
    let mut rest = text.trim_ascii_start();
    loop {
        match rest.first() {
            None => return Ok(None),
            Some(b':') => return Ok(Some(&rest[1..])),
            Some(b',') if !into.is_empty() => rest = rest[1..].trim_ascii_start(),
            Some(_) => {}
        }
        let at = || row.at(index, into.len());
        let close = rest.iter().position(|&byte| byte == b')');
        let Some(stamp) = close.and_then(|close| rest[..close].strip_prefix(b"(")) else {
            let end = rest.iter().position(|byte| matches!(byte, b',' | b':')).unwrap_or(rest.len());
            return Err(Error::NotATime {
                at: at(),
                seen: shown(&rest[..end]),
                wanted: "a time stamp and value `(time,value)`",
                fix: "write it so, or say `@timeStamps false`",
            });
        };
        let (t, x) = pair(stamp, clock, at)?;
        if let Some(&(before, _)) = into.last()
            && before >= t
        {
            let fix = "times must increase: sort them, and keep one value a time";
            return Err(Error::time_order(at(), None, [before, t], clock.unwrap_or(Clock::Numbers), fix));
        }
        into.push((t, x));
        rest = rest[stamp.len() + 2..].trim_ascii_start();
    }
}

/// The time and the value in `time,value`.
fn pair(stamp: &[u8], clock: &mut Option<Clock>, at: impl Fn() -> Location) -> Result<(f64, f64), Error> {
    let comma = stamp.iter().rposition(|&byte| byte == b',').unwrap_or(0);
    let (when, what) = (&stamp[..comma], stamp.get(comma + 1..).unwrap_or(b""));
    let (t, kind) = time_cell(when, *clock, &at)?;
    *clock = Some(kind);
    let x = number::cell(what).value().ok_or_else(|| Error::NotANumber {
        at: at(),
        seen: shown(what),
        fix: "write a number, or `?` where it is missing",
    })?;
    Ok((t, x))
}

/// All times, and rows of values at them.
fn merged(dimensions: &[Vec<(f64, f64)>]) -> (Vec<f64>, Vec<f64>) {
    let mut times: Vec<f64> = dimensions.iter().flatten().map(|&(t, _)| t).collect();
    times.sort_by(f64::total_cmp);
    times.dedup();
    let mut values = vec![f64::NAN; times.len() * dimensions.len()];
    for (k, stamps) in dimensions.iter().enumerate() {
        let mut i = 0;
        for &(t, x) in stamps {
            while times[i] < t {
                i += 1;
            }
            values[i * dimensions.len() + k] = x;
        }
    }
    (times, values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dimensions_meet_on_one_grid() {
        let (times, values) = merged(&[vec![(0.0, 1.5), (2.0, 3.0)], vec![(0.0, 7.0), (1.0, 8.0)], vec![]]);
        assert_eq!(times, [0.0, 1.0, 2.0]);
        let known: Vec<Option<f64>> = values.iter().map(|x| (!x.is_nan()).then_some(*x)).collect();
        let wanted = [Some(1.5), Some(7.0), None, None, Some(8.0), None, Some(3.0), None, None];
        assert_eq!(known, wanted);
    }
}
