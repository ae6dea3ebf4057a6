//! The signature over any interval of a growing path, from stored signatures of dyadic stretches.
//!
//! Level 0 holds the signature of every [`LEAF`] increments, level `l` those of `2^l` leaves. An interval is a few single
//! increments at each end and at most two stretches a level between: `O(LEAF + log n)` products, where inverses would need one,
//! but every product is of genuine signatures, so answers are as exact as a direct computation. Memory is `2 n |S| / LEAF`.

use std::ops::Range;
use std::sync::Arc;

use crate::signature::stepper::{Stepper, check_observation};
use crate::signature::{Paths, Signature};
use crate::{Error, Float};

/// The increments of the smallest stretch: below this, single steps are cheaper than products.
const LEAF: usize = 16;

/// A growing path that gives its signature over any interval.
///
/// ```
/// use std::sync::Arc;
/// use ncde_signature::{Index, Signature};
/// let transform = Arc::new(Signature::new(1, 2)?);
/// let mut index = Index::new(&transform);
/// for (t, x) in [(0.0, 1.0), (0.5, 2.0), (2.0, 5.0)] {
///     index.push(t, &[x])?;
/// }
/// assert_eq!(index.observations(1, 2)?, [3.0, 4.5]);
/// assert_eq!(index.between(0.25, 1.0)?, [1.5, 1.125]); // linear between observations: 1.5 to 3
/// # Ok::<(), ncde_signature::Error>(())
/// ```
#[derive(Debug)]
pub struct Index<T: Float> {
    signature: Arc<Signature>,
    times: Vec<f64>,
    values: Vec<T>,
    /// `levels[l]`: signatures of consecutive stretches of `LEAF 2^l` increments.
    levels: Vec<Vec<T>>,
}

impl<T: Float> Index<T> {
    /// An empty path.
    pub fn new(signature: &Arc<Signature>) -> Self {
        Self { signature: Arc::clone(signature), times: Vec::new(), values: Vec::new(), levels: Vec::new() }
    }

    /// The number of observations.
    pub fn len(&self) -> usize {
        self.times.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    /// Takes the next observation: amortised one step and `1 / LEAF` products.
    ///
    /// # Errors
    /// If its time does not come after the last one's, if it has the wrong number of channels or a value that is not finite.
    pub fn push(&mut self, time: f64, observation: &[T]) -> Result<(), Error> {
        check_observation(&self.signature, observation)?;
        if !time.is_finite() {
            return Err(Error::TimeNotFinite { index: self.len(), time });
        }
        if let Some(&previous) = self.times.last().filter(|&&previous| previous >= time) {
            return Err(Error::TimesNotIncreasing { index: self.len(), previous, time });
        }
        self.times.push(time);
        self.values.extend_from_slice(observation);
        let increments = self.len() - 1;
        if increments > 0 && increments.is_multiple_of(LEAF) {
            self.grow(increments);
        }
        Ok(())
    }

    /// Closes the stretches that end after `increments` increments.
    fn grow(&mut self, increments: usize) {
        let len = self.signature.shape().len();
        let mut closed = vec![T::ZERO; len];
        let mut stepper = Stepper::new(&self.signature);
        for i in (increments - LEAF..increments).rev() {
            stepper.step_between(&self.signature, &mut closed, self.row(i), self.row(i + 1));
        }
        let mut stretches = increments / LEAF;
        for level in 0.. {
            if self.levels.len() == level {
                self.levels.push(Vec::new());
            }
            self.levels[level].extend_from_slice(&closed);
            if !stretches.is_multiple_of(2) {
                break;
            }
            stretches /= 2;
            let row = |i: usize| &self.levels[level][i * len..][..len];
            T::join(self.signature.shape(), row(2 * stretches - 2), row(2 * stretches - 1), &mut closed);
        }
    }

    /// The value from observation `start` to observation `end`.
    ///
    /// # Errors
    /// Unless `start < end` and both exist, or if the value is too large for the number type.
    pub fn observations(&self, start: usize, end: usize) -> Result<Vec<T>, Error> {
        if start >= end || end >= self.len() {
            return Err(Error::BadInterval { start, end, last: self.len().saturating_sub(1) });
        }
        let mut state = vec![T::ZERO; self.signature.shape().len()];
        let mut stepper = Stepper::new(&self.signature);
        self.multiply(start, end, &mut state, &mut stepper);
        stepper.read(&self.signature, &state)
    }

    /// The value from time `s` to time `t`, the path being linear between observations.
    ///
    /// # Errors
    /// Unless `s < t` and both are within the observed times, or if the value is too large for the number type.
    pub fn between(&self, s: f64, t: f64) -> Result<Vec<T>, Error> {
        let (first, last) = self.inside(s, t)?;
        let mut state = vec![T::ZERO; self.signature.shape().len()];
        let mut stepper = Stepper::new(&self.signature);
        if first > last {
            stepper.step_between(&self.signature, &mut state, &self.at(s), &self.at(t));
        } else {
            stepper.step_between(&self.signature, &mut state, self.row(last), &self.at(t));
            self.multiply(first, last, &mut state, &mut stepper);
            stepper.step_between(&self.signature, &mut state, &self.at(s), self.row(first));
        }
        stepper.read(&self.signature, &state)
    }

    /// The reverse pass of [`between`](Self::between), and with the times of observations of
    /// [`observations`](Self::observations): which observations the value depends on, and the gradient of each,
    /// `[observations, channels]`.
    ///
    /// # Errors
    /// As for [`between`](Self::between), or if the gradient has the wrong size.
    pub fn between_backward(&self, s: f64, t: f64, gradient: &[T]) -> Result<(Range<usize>, Vec<T>), Error> {
        let d = self.signature.shape().width();
        let (first, last) = self.inside(s, t)?;
        // The path from s to t as a polygon of its own; its end points are mixtures of observations.
        let mut polygon = self.at(s);
        for i in first..=last {
            polygon.extend_from_slice(self.row(i));
        }
        polygon.extend(self.at(t));
        let d_polygon = self.signature.of_backward(&Paths::single(&polygon, d)?, gradient)?;
        let ((before_s, _), (before_t, weight_t)) = (self.locate(s), self.locate(t));
        let touched = before_s..before_t + if weight_t == T::ZERO { 1 } else { 2 };
        let mut out = vec![T::ZERO; touched.len() * d];
        let mut add = |i: usize, weight: T, row: &[T]| {
            for (out, &g) in out[(i - touched.start) * d..].iter_mut().zip(row) {
                *out += weight * g;
            }
        };
        let mut rows = d_polygon.chunks_exact(d);
        for (time, row) in [(s, rows.next()), (t, rows.next_back())] {
            let (i, weight) = self.locate(time);
            let row = row.unwrap_or_default();
            add(i, T::ONE - weight, row);
            if weight != T::ZERO {
                add(i + 1, weight, row);
            }
        }
        for (i, row) in (first..=last).zip(rows) {
            add(i, T::ONE, row);
        }
        Ok((touched, out))
    }

    /// The first observation at or after `s` and the last at or before `t`: whole increments run from one to the other.
    fn inside(&self, s: f64, t: f64) -> Result<(usize, usize), Error> {
        let (Some(&start), Some(&end)) = (self.times.first(), self.times.last()) else { return Err(Error::EmptySeries) };
        for time in [s, t] {
            if !(start..=end).contains(&time) {
                return Err(Error::OutsideDomain { time, start, end });
            }
        }
        if s >= t {
            let seen = format!("{t} after {s}");
            return Err(Error::BadParameter { what: "the end of the interval", wanted: "after its start", seen });
        }
        Ok((self.times.partition_point(|&time| time < s), self.times.partition_point(|&time| time <= t) - 1))
    }

    /// `state <- S_[start, end] state`, from the end backwards, in the largest stretches that fit.
    fn multiply(&self, start: usize, end: usize, state: &mut Vec<T>, stepper: &mut Stepper<T>) {
        let len = self.signature.shape().len();
        let mut product = vec![T::ZERO; len];
        let mut at = end;
        while at > start {
            let fits = |level: &usize| {
                let span = LEAF << level;
                at.is_multiple_of(span) && at - start >= span && self.levels[*level].len() / len >= at / span
            };
            match (0..self.levels.len()).take_while(fits).last() {
                None => {
                    stepper.step_between(&self.signature, state, self.row(at - 1), self.row(at));
                    at -= 1;
                }
                Some(level) => {
                    let span = LEAF << level;
                    let stretch = &self.levels[level][(at / span - 1) * len..][..len];
                    T::join(self.signature.shape(), stretch, state, &mut product);
                    std::mem::swap(state, &mut product);
                    at -= span;
                }
            }
        }
    }

    fn row(&self, i: usize) -> &[T] {
        let d = self.signature.shape().width();
        &self.values[i * d..][..d]
    }

    /// The path's value at a time within it.
    fn at(&self, time: f64) -> Vec<T> {
        let (i, weight) = self.locate(time);
        if weight == T::ZERO {
            return self.row(i).to_vec();
        }
        self.row(i).iter().zip(self.row(i + 1)).map(|(&a, &b)| a + weight * (b - a)).collect()
    }

    /// The last observation at or before a time within the path, and the weight of the next one there.
    fn locate(&self, time: f64) -> (usize, T) {
        let i = self.times.partition_point(|&t| t <= time) - 1;
        if self.times[i] == time {
            return (i, T::ZERO);
        }
        (i, T::from_f64((time - self.times[i]) / (self.times[i + 1] - self.times[i])))
    }
}
