//! A window that moves with the path, at an amortised constant number of operations an observation, without inverses.
//!
//! Two stacks make a queue. `front` holds the signatures of the window's first part from each of its increments to the part's
//! end; `back` is the signature of the rest. A push is one step on `back`; dropping the oldest increment pops `front`; the value
//! is `front.top back` (Chen). When `front` runs empty, the increments of `back` become the new `front`, one step each: every
//! increment is moved once. Memory is (window x |S|). Nothing is ever divided out, so errors do not build up.

use std::sync::Arc;

use crate::signature::Signature;
use crate::signature::stepper::{Stepper, check_observation};
use crate::{Error, Float};

/// The signature or log-signature of the last increments.
///
/// Its gradient with respect to the observations is [`Signature::intervals_backward`] of the path they make.
///
/// ```
/// use std::sync::Arc;
/// use ncde_signature::{Rolling, Signature};
/// let transform = Arc::new(Signature::new(1, 2)?);
/// let mut rolling = Rolling::new(&transform, 2)?;
/// for x in [0.0, 10.0, 11.0, 13.0] {
///     rolling.push(&[x])?;
/// }
/// assert_eq!(rolling.value()?, [3.0, 4.5]); // 10 to 13
/// # Ok::<(), ncde_signature::Error>(())
/// ```
#[derive(Debug)]
pub struct Rolling<T: Float> {
    signature: Arc<Signature>,
    window: usize,
    last: Option<Vec<T>>,
    /// Increments in `back`, oldest first.
    increments: Vec<T>,
    /// The signature of `increments`, mirrored.
    back: Vec<T>,
    /// The oldest increment's is the last row.
    front: Vec<T>,
    unmirrored: Vec<T>,
    product: Vec<T>,
    stepper: Stepper<T>,
}

impl<T: Float> Rolling<T> {
    /// A window of the last `window` increments, that is, of `window + 1` observations. `usize::MAX` never drops one by itself:
    /// call [`drop_oldest`](Self::drop_oldest), for example when an observation is too old.
    ///
    /// # Errors
    /// If `window` is 0.
    pub fn new(signature: &Arc<Signature>, window: usize) -> Result<Self, Error> {
        if window == 0 {
            return Err(Error::BadParameter { what: "the window", wanted: "at least one increment", seen: "0".into() });
        }
        let zeros = |n: usize| vec![T::ZERO; n];
        let len = signature.shape().len();
        Ok(Self {
            window,
            last: None,
            increments: Vec::new(),
            back: zeros(len),
            front: Vec::new(),
            unmirrored: zeros(len),
            product: zeros(len),
            stepper: Stepper::new(signature),
            signature: Arc::clone(signature),
        })
    }

    /// How many increments the window holds now.
    pub fn steps(&self) -> usize {
        self.front.len() / self.signature.shape().len() + self.increments.len() / self.signature.shape().width()
    }

    /// Takes the next observation, and drops the oldest increment if the window is full. One push in each window's length costs
    /// a step for every increment in it; all others cost one step.
    ///
    /// # Errors
    /// If it has the wrong number of channels or a value that is not finite; nothing is changed then.
    pub fn push(&mut self, observation: &[T]) -> Result<(), Error> {
        check_observation(&self.signature, observation)?;
        let Some(last) = &mut self.last else {
            self.last = Some(observation.to_vec());
            return Ok(());
        };
        let start = self.increments.len();
        for (&new, last) in observation.iter().zip(last) {
            self.increments.push(new - *last);
            *last = new;
        }
        let x = &self.increments[start..];
        self.stepper.step(&self.signature, &mut self.back, x);
        if self.steps() > self.window {
            self.drop_oldest();
        }
        Ok(())
    }

    /// Drops the oldest increment, if there is one.
    pub fn drop_oldest(&mut self) {
        let (d, len) = (self.signature.shape().width(), self.signature.shape().len());
        if self.front.is_empty() {
            self.unmirrored.fill(T::ZERO);
            for x in self.increments.rchunks_exact(d) {
                self.stepper.step(&self.signature, &mut self.unmirrored, x);
                self.front.extend_from_slice(&self.unmirrored);
            }
            self.increments.clear();
            self.back.fill(T::ZERO);
        }
        self.front.truncate(self.front.len().saturating_sub(len));
    }

    /// The value over the current window; zero while it is empty.
    ///
    /// # Errors
    /// If it is too large for the number type.
    pub fn value(&mut self) -> Result<Vec<T>, Error> {
        let shape = self.signature.shape();
        self.signature.mirror().copy(shape, &self.back, &mut self.unmirrored);
        let state = if self.front.is_empty() {
            &self.unmirrored
        } else {
            let top = &self.front[self.front.len() - shape.len()..];
            T::join(self.signature.shape(), top, &self.unmirrored, &mut self.product);
            &self.product
        };
        self.stepper.read(&self.signature, state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_increment_is_pushed_once_and_moved_once() {
        for window in [1, 7, 100] {
            let transform = Arc::new(Signature::new(1, 2).unwrap());
            let mut rolling = Rolling::new(&transform, window).unwrap();
            let pushes = 1000;
            for i in 0..=pushes {
                rolling.push(&[f64::from(i)]).unwrap();
            }
            assert!(rolling.stepper.steps <= 2 * pushes as usize, "window {window}: {} steps", rolling.stepper.steps);
        }
    }
}
