//! Stretches of time between stops: knots of the control and requested times.

use super::drive::{Between, Drive};
use crate::Error;
use crate::scalar::Real;

/// When states are wanted.
#[derive(Debug, Clone, PartialEq)]
pub enum Save {
    /// At the end of the control.
    End,
    /// At every knot of the control, the first included.
    Knots,
    /// At these times, in increasing order. Nothing after the last of them is computed.
    Times(Vec<f64>),
}

/// A stretch on which the rate is smooth, and whose end is reached exactly.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Stretch {
    pub(crate) start: f64,
    pub(crate) end: f64,
    /// The piece of the control.
    pub(crate) piece: usize,
    /// What lies at the end.
    pub(crate) arrival: Arrival,
}

/// Whether the state at the end of a stretch is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arrival {
    Saved,
    Passed,
}

/// The times that are saved, and the stretches that lead there.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Stops {
    pub(crate) times: Vec<f64>,
    /// Whether the initial state is saved.
    pub(crate) start: Arrival,
    pub(crate) stretches: Vec<Stretch>,
    /// The length of the whole control.
    pub(crate) domain: f64,
}

impl Stops {
    pub(crate) fn new<T: Real, D: Drive<T>>(drive: &D, save: &Save) -> Result<Self, Error> {
        let knots = drive.knots();
        let times = match save {
            Save::End => vec![knots[knots.len() - 1]],
            Save::Knots => knots.to_vec(),
            Save::Times(times) => checked(times, knots, drive.between())?,
        };
        let start = if times[0] == knots[0] { Arrival::Saved } else { Arrival::Passed };
        let mut wanted = times.iter().copied().filter(|&time| time > knots[0]).peekable();
        let mut stretches = Vec::new();
        for (piece, ends) in knots.windows(2).enumerate() {
            let mut from = ends[0];
            while let Some(time) = wanted.next_if(|&time| time <= ends[1]) {
                stretches.push(Stretch { start: from, end: time, piece, arrival: Arrival::Saved });
                from = time;
            }
            if wanted.peek().is_none() {
                break;
            }
            if from < ends[1] {
                stretches.push(Stretch { start: from, end: ends[1], piece, arrival: Arrival::Passed });
            }
        }
        Ok(Self { times, start, stretches, domain: knots[knots.len() - 1] - knots[0] })
    }
}

/// The times, moved onto a knot where they differ from it by rounding.
fn checked(times: &[f64], knots: &[f64], between: Between) -> Result<Vec<f64>, Error> {
    let (start, end) = (knots[0], knots[knots.len() - 1]);
    let close = 1e-12 * (end - start).max(start.abs()).max(end.abs());
    let mut result: Vec<f64> = Vec::with_capacity(times.len());
    for &time in times {
        let after = knots.partition_point(|&knot| knot < time - close);
        let snapped = knots.get(after).copied().filter(|knot| (knot - time).abs() <= close);
        let time = match snapped {
            Some(knot) => knot,
            // A NaN fails this test too.
            None if !(time > start && time < end) => return Err(Error::OutsideDomain { time, start, end }),
            None if between == Between::OnlyAtKnots => {
                return Err(Error::InsideWindow { time, start: knots[after - 1], end: knots[after] });
            }
            None => time,
        };
        if let Some(&previous) = result.last()
            && time <= previous
        {
            let seen = format!("{previous}, then {time}");
            return Err(Error::BadParameter { what: "the list of times to save", wanted: "increasing", seen });
        }
        result.push(time);
    }
    if result.is_empty() {
        return Err(Error::BadParameter { what: "the list of times to save", wanted: "not empty", seen: "[]".into() });
    }
    Ok(result)
}
