//! Observations to Log-ODE windows: one row for each, with the knot at its end.
//!
//! ```text
//! row_0 = (0, knot_0),   row_k = (log S^N of the path over window k, knot at its end),   a window holds `window` steps of the path
//! ```
//!
//! The last window of a series may be shorter. Log-signatures are those of the piecewise linear path through the knots, level 1 first. Other forms of
//! the numbers of a window: `increments`, their sum first, then one after the other (for flows that need no log-signature); `hermite`, for windows of one step,
//! the increment and before it the slope of the last one times the time of this one (for neural CDEs along a smooth path).
//! No weights.

use std::sync::Arc;

use ncde_signature::algebra::{Shape, words::lie_dimension};
use ncde_signature::{Basis, OnlineSignature, Signature};
use serde::{Deserialize, Serialize};

use super::signal::{check_depth, counted, misplaced, product, refuse, signature_sizes};
use super::signature::{advance, value};
use super::{Cost, Layer, Row, Rows, Share, Signal, Size, Step, StepChain, Values};
use crate::Error;

/// The most numbers of a window: 32 MiB.
const MAX_WINDOW: usize = 1 << 22;

/// What a bracket in the tables of a basis takes as long as, in multiplications for a row.
const BRACKET: usize = 1 << 11;

/// Log-ODE windows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Windows {
    /// How many steps of the path a window holds.
    pub window: usize,
    /// What is known of a window.
    pub form: Form,
}

impl Windows {
    /// Log-signatures of windows of so many steps, in the Lyndon basis.
    pub fn log_signatures(window: usize, depth: usize) -> Self {
        Self { window, form: Form::LogSignature { depth, basis: Basis::Lyndon } }
    }
}

/// What is known of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Form {
    /// The coordinates of its log-signature.
    LogSignature {
        /// `N`.
        depth: usize,
        /// Which coordinates.
        basis: Basis,
    },
    /// The sum of its increments, then each of them; a shorter window is filled up with zeros.
    Increments {},
    /// The increment of a window of one step, then the slope of the one before it times the time of this one.
    Hermite {},
}

/// The observations at which windows of this size end, in a series of `length`: the first one, then the last of each window.
pub fn ends(length: usize, window: usize) -> impl Iterator<Item = usize> {
    (0..1 + length.saturating_sub(1).div_ceil(window)).map(move |k| (k * window).min(length - 1))
}

/// Whether a window of this size ends at an observation of a series of `length`: exactly those of [`ends`].
///
/// ```
/// use ncde_runtime::layer::{ends, is_end};
/// let all: Vec<usize> = (0..11).filter(|&t| is_end(t, 11, 4)).collect();
/// assert!(all == [0, 4, 8, 10] && ends(11, 4).eq(all));
/// ```
pub fn is_end(t: usize, length: usize, window: usize) -> bool {
    t.is_multiple_of(window) || t + 1 == length
}

impl Form {
    /// How many numbers that is, for a path with `channels` channels.
    ///
    /// # Errors
    /// If there is no log-signature of that depth.
    pub fn coordinates(&self, channels: usize, window: usize) -> Result<usize, Error> {
        let coordinates = match *self {
            Self::LogSignature { depth, basis } => {
                check_depth("windows", channels, depth)?;
                let words = Shape::new(channels, depth)?.len();
                let brackets = || lie_dimension(channels, depth).map_or(usize::MAX, |count| count as usize);
                if basis == Basis::Expanded { words } else { brackets() }
            }
            Self::Increments {} => window.saturating_add(1).saturating_mul(channels),
            Self::Hermite {} => 2 * channels,
        };
        if coordinates > MAX_WINDOW {
            let problem = format!("a window has {coordinates} numbers; at most {MAX_WINDOW} are possible");
            return Err(misplaced("windows", problem));
        }
        Ok(coordinates)
    }
}

impl Layer for Windows {
    fn describe(&self) -> String {
        let steps = format!("cuts the path into windows of {}", counted(self.window, "step"));
        match self.form {
            Form::LogSignature { depth, .. } => format!("{steps}, each as its log-signature to depth {depth}"),
            Form::Increments {} => format!("{steps}, each as its increments"),
            Form::Hermite {} => format!("{steps}, along a smooth curve"),
        }
    }

    fn output(&self, input: &Signal, _: &[Signal]) -> Result<Signal, Error> {
        if self.window == 0 {
            return refuse("window", "0; at least 1 is needed");
        }
        let channels = input.sequence("windows")?;
        if let Rows::Windows { .. } = input.rows {
            return Err(misplaced("windows", "it is given windows already; one such layer is enough"));
        }
        if self.form == (Form::Hermite {}) && self.window != 1 {
            return refuse("window", format!("{}; the form `hermite` has one step in each", self.window));
        }
        let coordinates = self.form.coordinates(channels, self.window)?;
        Ok(Signal { rows: Rows::Windows { channels, coordinates, form: self.form, window: self.window }, ..input.clone() })
    }

    fn is_row_for_row(&self) -> bool {
        false
    }

    fn cost(&self, input: &Signal) -> Cost {
        match self.form {
            Form::LogSignature { depth, basis } if depth > 1 => {
                signature_sizes(input.width(), depth).map_or_else(Cost::default, |sizes| {
                    let (brackets, entries) = match basis {
                        Basis::Expanded => (0, 0),
                        Basis::Lyndon => (sizes.brackets, sizes.entries),
                        Basis::Hall => (sizes.brackets, sizes.entries.saturating_mul(2)),
                    };
                    let words = product(&[sizes.words, depth]);
                    Cost {
                        bytes: product(&[8, words]).saturating_add(product(&[16, entries])),
                        work: words.saturating_add(entries).saturating_add(product(&[brackets, BRACKET])),
                    }
                })
            }
            Form::Increments {} => Cost { bytes: product(&[16, self.window, input.width()]), work: 0 },
            _ => Cost::default(),
        }
    }

    fn step(&self, input: &Signal, _: &mut Values, _: Vec<StepChain>) -> Result<Box<dyn Step>, Error> {
        let d = input.width();
        let content = match self.form {
            // Level 1 is a difference: no algebra is needed.
            Form::LogSignature { depth: 1, .. } => Content::Sum,
            Form::LogSignature { depth, basis } => {
                let online = OnlineSignature::new(&Arc::new(Signature::log(d, depth, basis)?));
                Content::Log { length: online.fresh().state.len(), online: Box::new(online) }
            }
            Form::Increments {} => Content::Increments,
            Form::Hermite {} => Content::Hermite,
        };
        Ok(Box::new(WindowStep { window: self.window, d, coordinates: self.form.coordinates(d, self.window)?, content }))
    }
}

#[derive(Debug)]
struct WindowStep {
    window: usize,
    d: usize,
    coordinates: usize,
    content: Content,
}

/// What is kept of an open window.
#[derive(Debug)]
enum Content {
    Sum,
    Log {
        online: Box<OnlineSignature<f64>>,
        length: usize,
    },
    Increments,
    /// The slope before, then `x` and `m`.
    Hermite,
}

/// The parts of the memory: how many knots there were (2 stands for more), the steps of the open window, the last time; the last knot; the open window.
const HEAD: usize = 3;

impl WindowStep {
    fn row(&mut self, state: &[f64], knot: &[f64], out: &mut Vec<f64>) -> Result<(), Error> {
        out.clear();
        match &mut self.content {
            Content::Sum => out.extend_from_slice(state),
            Content::Log { online, .. } => out.extend(value(online, state)?),
            Content::Increments => {
                out.extend((0..self.d).map(|i| state.iter().skip(i).step_by(self.d).sum::<f64>()));
                out.extend_from_slice(state);
            }
            Content::Hermite => out.extend_from_slice(&state[self.d..]),
        }
        out.extend_from_slice(knot);
        Ok(())
    }
}

impl Step for WindowStep {
    fn memory(&self) -> Size {
        let open = match &self.content {
            Content::Sum => self.d,
            Content::Log { length, .. } => *length,
            Content::Increments => self.window * self.d,
            Content::Hermite => 3 * self.d,
        };
        Size::wide(HEAD + self.d + open)
    }

    fn push(&mut self, memory: Share<'_>, row: Row<'_>, out: &mut Vec<f64>) -> Result<bool, Error> {
        let d = self.d;
        let (head, rest) = memory.wide.split_at_mut(HEAD);
        let (last, state) = rest.split_at_mut(d);
        if head[0] == 0.0 {
            out.clear();
            out.resize(self.coordinates, 0.0);
            out.extend_from_slice(row.values);
        } else {
            // A state that was saved may hold any number.
            let steps = (head[1] as usize).min(self.window.saturating_sub(1));
            let increments = row.values.iter().zip(last.iter()).map(|(new, last)| new - last);
            match &mut self.content {
                Content::Sum => state.iter_mut().zip(increments).for_each(|(sum, x)| *sum += x),
                Content::Log { online, .. } => advance(online, true, last, state, row.values)?,
                Content::Increments => state[steps * d..].iter_mut().zip(increments).for_each(|(slot, x)| *slot = x),
                Content::Hermite => {
                    let (slope, window) = state.split_at_mut(d);
                    let (x, m) = window.split_at_mut(d);
                    let span = row.time - head[2];
                    for (i, increment) in increments.enumerate() {
                        x[i] = increment;
                        m[i] = if head[0] < 2.0 { increment } else { slope[i] * span };
                        slope[i] = increment / span;
                    }
                }
            }
        }
        let first = head[0] == 0.0;
        head[0] = if first { 1.0 } else { 2.0 };
        head[2] = row.time;
        last.copy_from_slice(row.values);
        if first {
            return Ok(true);
        }
        head[1] += 1.0;
        if (head[1] as usize) < self.window {
            return Ok(false);
        }
        head[1] = 0.0;
        let (last, state) = memory.wide[HEAD..].split_at_mut(d);
        self.row(state, last, out)?;
        if !matches!(self.content, Content::Hermite) {
            state.fill(0.0);
        }
        Ok(true)
    }

    fn open(&mut self, memory: Share<'_>, out: &mut Vec<f64>) -> Result<(), Error> {
        let (last, state) = memory.wide[HEAD..].split_at(self.d);
        self.row(state, last, out)
    }
}
