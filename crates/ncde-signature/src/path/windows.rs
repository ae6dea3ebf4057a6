//! Log-ODE windows: intervals `[r_0, r_1], [r_1, r_2], ..., [r_{m-1}, r_m]` of time that cover the domain,
//! `r_0 = t_0` and `r_m = t_n`.
//!
//! Neighbours share an end point and no increment, so the log-signatures of the windows see each increment
//! once. The last window may be shorter; it is never padded. O(n + m).

use super::grid::{check_path, check_times};
use crate::Error;

/// More windows than this (2 GiB of end points) come from a slip in units, not from data.
const MAX_WINDOWS: f64 = (1_u64 << 28) as f64;

/// How to cut the domain of a path into windows.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Windows {
    /// Windows of this number of increments.
    Observations(usize),
    /// Windows of this duration, from the start of the domain.
    Duration(f64),
    /// At these times; the ends of the domain may be left out.
    Times(Vec<f64>),
}

impl Windows {
    /// The end points `r_0 < r_1 < ... < r_m` for a path with these knots.
    ///
    /// ```
    /// use ncde_signature::path::Windows;
    /// let knots = [0.0, 0.5, 1.0, 3.0, 4.0];
    /// assert_eq!(Windows::Observations(3).ends(&knots)?, [0.0, 3.0, 4.0]);
    /// assert_eq!(Windows::Duration(1.5).ends(&knots)?, [0.0, 1.5, 3.0, 4.0]);
    /// assert_eq!(Windows::Times(vec![2.5]).ends(&knots)?, [0.0, 2.5, 4.0]);
    /// # Ok::<(), ncde_signature::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::BadParameter`] for a number of observations or a duration that is not positive, a duration far
    /// too short for the domain, or times that are not finite or do not increase; [`Error::OutsideDomain`] for
    /// a time outside of it; and the errors of knots that make no path.
    pub fn ends(&self, knots: &[f64]) -> Result<Vec<f64>, Error> {
        check_times(knots)?;
        check_path(knots)?;
        let (start, end) = (knots[0], knots[knots.len() - 1]);
        match self {
            Windows::Observations(count) => every(*count, knots),
            Windows::Duration(duration) => steps(*duration, start, end),
            Windows::Times(times) => listed(times, start, end),
        }
    }
}

fn every(count: usize, knots: &[f64]) -> Result<Vec<f64>, Error> {
    if count == 0 {
        let what = "the number of observations in a window";
        return Err(Error::BadParameter { what, wanted: "1 or more", seen: "`0`".into() });
    }
    let last = knots.len() - 1;
    let starts = knots[..last].iter().step_by(count);
    Ok(starts.chain(&knots[last..]).copied().collect())
}

fn steps(duration: f64, start: f64, end: f64) -> Result<Vec<f64>, Error> {
    if !(duration > 0.0 && duration.is_finite()) {
        let seen = format!("`{duration}`");
        return Err(Error::BadParameter { what: "the duration of a window", wanted: "positive and finite", seen });
    }
    // A remainder below a billionth of a window is rounding: it makes no window of its own.
    let windows = ((end - start) / duration - 1e-9).ceil().max(1.0);
    // A step of a few units in the last place of a time would be lost to rounding.
    let shortest = 4.0 * f64::EPSILON * start.abs().max(end.abs());
    if windows > MAX_WINDOWS || duration < shortest {
        return Err(Error::BadParameter {
            what: "the duration of a window",
            wanted: "a larger part of the path's domain (are the units those of the times?)",
            seen: format!("`{duration}` in a domain of length `{}`", end - start),
        });
    }
    let mut ends: Vec<f64> = (0..windows as usize)
        .map(|window| start + window as f64 * duration)
        // Short windows at large times may round onto the end.
        .take_while(|&start| start < end)
        .collect();
    ends.push(end);
    Ok(ends)
}

fn listed(times: &[f64], start: f64, end: f64) -> Result<Vec<f64>, Error> {
    let mut ends = vec![start];
    let mut previous = f64::NEG_INFINITY;
    for (index, &time) in times.iter().enumerate() {
        if !time.is_finite() || time <= previous {
            let seen = format!("`{time}` at position {index}, after `{previous}`");
            return Err(Error::BadParameter { what: "the list of window ends", wanted: "finite and increasing", seen });
        }
        if time < start || time > end {
            return Err(Error::OutsideDomain { time, start, end });
        }
        if start < time && time < end {
            ends.push(time);
        }
        previous = time;
    }
    ends.push(end);
    Ok(ends)
}
