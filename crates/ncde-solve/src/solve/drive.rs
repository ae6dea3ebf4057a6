//! Controls: what multiplies the field, as a rate, `dh/dt = F(h; rate(t))`.
//!
//! | drive | rate at `t` | knots | depth |
//! | --- | --- | --- | --- |
//! | [`Time`] | 1 | the two ends | 1 |
//! | [`Along`] | `dX/dt` of an interpolated path | its observations | 1 |
//! | [`LogOde`] | `log S(X)_[r_k, r_{k+1}] / (r_{k+1} - r_k)` | the window ends `r_k` | any |
//!
//! Between two knots a rate is smooth; at a knot it may jump, so no step of a solver goes across one.

use ncde_signature::path::{Path, Windows};
use ncde_signature::{Basis, Control, Signature};

use crate::Error;
use crate::brackets::{MAX_DEPTH, words};
use crate::error::check;
use crate::scalar::Real;

/// The times at which a state is meaningful.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Between {
    /// At any time.
    Meaningful,
    /// At knots only: between them it depends on what comes later.
    OnlyAtKnots,
}

/// A control, known by its rate.
pub trait Drive<T: Real> {
    /// `d`.
    fn channels(&self) -> usize;

    /// The length of the longest words a rate has; 1 for a plain derivative.
    fn depth(&self) -> usize {
        1
    }

    /// The times `r_0 < ... < r_m`, at least two, between which the rate is smooth.
    fn knots(&self) -> &[f64];

    /// Whether a state between knots means something.
    fn between(&self) -> Between {
        Between::Meaningful
    }

    /// Writes the rate at `t` to `out`, as piece `k` from `r_k` to `r_{k+1}` has it, at both of its ends too: one number for each
    /// word of up to [`depth`](Drive::depth) letters.
    ///
    /// # Errors
    /// As the path below has them.
    fn rate(&self, k: usize, t: f64, out: &mut [T]) -> Result<(), Error>;

    /// The number of values that the rate depends on linearly, if gradients in them are supported; else 0.
    fn values(&self) -> usize {
        0
    }

    /// Adds to `out`, one entry for each of those numbers, what the gradient in a rate makes of it: the transpose of [`rate`](Drive::rate).
    fn rate_backward(&self, k: usize, t: f64, gradient: &[T], out: &mut [T]) {
        let _ = (k, t, gradient, out);
    }
}

/// The control of an ordinary differential equation, `dh = f(h) dt`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Time {
    ends: [f64; 2],
}

impl Time {
    /// From `start` to `end`.
    ///
    /// # Errors
    /// If they are not finite and in order.
    pub fn new(start: f64, end: f64) -> Result<Self, Error> {
        increasing(&[start, end])?;
        Ok(Self { ends: [start, end] })
    }
}

impl<T: Real> Drive<T> for Time {
    fn channels(&self) -> usize {
        1
    }

    fn knots(&self) -> &[f64] {
        &self.ends
    }

    fn rate(&self, _: usize, _: f64, out: &mut [T]) -> Result<(), Error> {
        out[0] = T::ONE;
        Ok(())
    }
}

/// A path and its derivative.
#[derive(Debug, Clone, Copy)]
pub struct Along<'a, P> {
    path: &'a P,
}

impl<'a, P> Along<'a, P> {
    /// Along a path that does not jump.
    ///
    /// # Errors
    /// [`Error::Jump`] for one that does.
    pub fn new<T: Real>(path: &'a P) -> Result<Self, Error>
    where
        P: Path<T>,
    {
        let knots = path.knots();
        let (mut before, mut after) = (vec![T::ZERO; path.channels()], vec![T::ZERO; path.channels()]);
        for &time in &knots[1..] {
            path.evaluate(time.next_down(), &mut before)?;
            path.evaluate(time, &mut after)?;
            for (channel, (a, b)) in before.iter().zip(&after).enumerate() {
                let (a, b) = (a.to_f64(), b.to_f64());
                // A continuous path moves by a rounding error here.
                if (b - a).abs() > 1e-5 * (1e-3 + a.abs().max(b.abs())) {
                    return Err(Error::Jump { time, channel, size: b - a });
                }
            }
        }
        Ok(Self { path })
    }
}

impl<T: Real, P: Path<T>> Drive<T> for Along<'_, P> {
    fn channels(&self) -> usize {
        self.path.channels()
    }

    fn knots(&self) -> &[f64] {
        self.path.knots()
    }

    fn rate(&self, k: usize, t: f64, out: &mut [T]) -> Result<(), Error> {
        // The derivative of a path is that from the right; at the end of a piece it must still be that of the piece.
        let knots = self.path.knots();
        Ok(self.path.derivative(t.clamp(knots[k], knots[k + 1].next_down()), out)?)
    }
}

/// Windows with one log-signature each.
///
/// ```
/// use ncde_signature::path::{Linear, Series, Windows};
/// use ncde_solve::solve::{Drive, LogOde};
/// let corner = Series::new(vec![0.0, 1.0, 2.0], vec![0.0, 0.0, 1.0, 0.0, 1.0, 1.0], 2)?;
/// let path = Linear::new(&corner.complete()?)?;
/// let drive = LogOde::new(&path, &Windows::Duration(2.0), 2, 1)?;
/// let mut rate = [0.0; 6];
/// drive.rate(0, 1.0, &mut rate)?;
/// assert_eq!(rate, [0.5, 0.5, 0.0, 0.25, -0.25, 0.0]); // increment and area, per unit of time
/// # Ok::<(), ncde_solve::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct LogOde<T> {
    ends: Vec<f64>,
    rows: Vec<T>,
    channels: usize,
    depth: usize,
}

impl<T: Real> LogOde<T> {
    /// The log-signatures of a path over windows. A cubic is taken as the polygon through `refinement` points an interval.
    ///
    /// # Errors
    /// If the windows do not fit the path, or the depth is 0 or more than [`MAX_DEPTH`].
    pub fn new<P: Path<T>>(path: &P, windows: &Windows, depth: usize, refinement: usize) -> Result<Self, Error> {
        let log = Signature::log(path.channels(), depth, Basis::Expanded)?;
        let control = Control::signatures(path, windows, &log, refinement)?;
        Self::from_rows(control.ends().to_vec(), control.values().to_vec(), path.channels(), depth)
    }

    /// Log-signatures that are there already, `[windows, words]`, in expanded form; `LieBasis::expand` of `ncde-signature` makes that
    /// of others. They are not yet divided by the lengths of the windows. A field with one column for each coordinate of a log-signature, as an
    /// NRDE has, takes those coordinates as channels of depth 1.
    ///
    /// # Errors
    /// If the sizes do not fit, the ends do not increase, or the depth is 0 or more than [`MAX_DEPTH`].
    pub fn from_rows(ends: Vec<f64>, rows: Vec<T>, channels: usize, depth: usize) -> Result<Self, Error> {
        increasing(&ends)?;
        if !(1..=MAX_DEPTH).contains(&depth) {
            return Err(Error::Depth { depth, most: MAX_DEPTH });
        }
        let wanted = (ends.len() - 1).saturating_mul(words(channels, depth));
        check("log-ode", "the table of log-signatures (one for each window and word)", rows.len(), wanted)?;
        Ok(Self { ends, rows, channels, depth })
    }

    /// The log-signatures, `[windows, words]`.
    pub fn rows(&self) -> &[T] {
        &self.rows
    }

    fn length(&self, k: usize) -> T {
        T::from_f64(self.ends[k + 1] - self.ends[k])
    }
}

impl<T: Real> Drive<T> for LogOde<T> {
    fn channels(&self) -> usize {
        self.channels
    }

    fn depth(&self) -> usize {
        self.depth
    }

    fn knots(&self) -> &[f64] {
        &self.ends
    }

    fn between(&self) -> Between {
        Between::OnlyAtKnots
    }

    fn rate(&self, k: usize, _: f64, out: &mut [T]) -> Result<(), Error> {
        let row = &self.rows[k * out.len()..];
        for (out, &l) in out.iter_mut().zip(row) {
            *out = l / self.length(k);
        }
        Ok(())
    }

    fn values(&self) -> usize {
        self.rows.len()
    }

    fn rate_backward(&self, k: usize, _: f64, gradient: &[T], out: &mut [T]) {
        for (out, &g) in out[k * gradient.len()..].iter_mut().zip(gradient) {
            *out += g / self.length(k);
        }
    }
}

fn increasing(times: &[f64]) -> Result<(), Error> {
    let bad = |pair: &[f64]| !(pair[0] < pair[1] && pair[0].is_finite() && pair[1].is_finite());
    match times.windows(2).find(|pair| bad(pair)) {
        None if times.len() >= 2 => Ok(()),
        None => Err(Error::BadParameter { what: "the number of knots", wanted: "2 or more", seen: times.len().to_string() }),
        Some(pair) => {
            let seen = format!("{}, then {}", pair[0], pair[1]);
            Err(Error::BadParameter { what: "the list of times", wanted: "finite and increasing", seen })
        }
    }
}
