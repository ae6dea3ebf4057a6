//! The signature of a growing path, one observation at a time: `S <- S exp(x)` in constant memory.

use std::sync::Arc;

use crate::algebra::basis::want;
use crate::signature::Signature;
use crate::signature::stepper::{Stepper, check_observation};
use crate::{Error, Float};

/// The signature or log-signature of all observations so far.
///
/// Its gradient with respect to the observations is [`Signature::of_backward`] of the path they make.
///
/// ```
/// use std::sync::Arc;
/// use ncde_signature::{OnlineSignature, Signature};
/// let transform = Arc::new(Signature::new(1, 2)?);
/// let mut online = OnlineSignature::new(&transform);
/// for x in [5.0, 6.0, 7.0] {
///     online.push(&[x])?;
/// }
/// assert_eq!(online.value()?, [2.0, 2.0]);
/// # Ok::<(), ncde_signature::Error>(())
/// ```
#[derive(Debug)]
pub struct OnlineSignature<T: Float> {
    signature: Arc<Signature>,
    last: Option<Vec<T>>,
    /// Mirrored, so that an increment at the end is one step.
    state: Vec<T>,
    unmirrored: Vec<T>,
    stepper: Stepper<T>,
}

/// The state of an [`OnlineSignature`], for [`swap`](OnlineSignature::swap).
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesState<T> {
    /// The last observation.
    pub last: Option<Vec<T>>,
    /// The signature so far, in the order the kernel works in.
    pub state: Vec<T>,
}

impl<T: Float> OnlineSignature<T> {
    /// A path without observations.
    pub fn new(signature: &Arc<Signature>) -> Self {
        let zeros = |n: usize| vec![T::ZERO; n];
        Self {
            last: None,
            state: zeros(signature.shape().len()),
            unmirrored: zeros(signature.shape().len()),
            stepper: Stepper::new(signature),
            signature: Arc::clone(signature),
        }
    }

    /// Appends an observation.
    ///
    /// # Errors
    /// If it has the wrong number of channels or a value that is not finite; nothing is changed then.
    pub fn push(&mut self, observation: &[T]) -> Result<(), Error> {
        check_observation(&self.signature, observation)?;
        match &mut self.last {
            None => self.last = Some(observation.to_vec()),
            Some(last) => {
                self.stepper.step_between(&self.signature, &mut self.state, last, observation);
                last.copy_from_slice(observation);
            }
        }
        Ok(())
    }

    /// The current value, in the coordinates of the transform; zero until there are two observations.
    ///
    /// # Errors
    /// If it has grown too large for the number type.
    pub fn value(&mut self) -> Result<Vec<T>, Error> {
        self.signature.mirror().copy(self.signature.shape(), &self.state, &mut self.unmirrored);
        self.stepper.read(&self.signature, &self.unmirrored)
    }

    /// Restarts at the last observation: from now on the value is over the path since then.
    pub fn restart(&mut self) {
        self.state.fill(T::ZERO);
    }

    /// The state of a series without observations, for [`swap`](Self::swap).
    pub fn fresh(&self) -> SeriesState<T> {
        SeriesState { last: None, state: vec![T::ZERO; self.state.len()] }
    }

    /// Exchanges the state with `series`, so that many series share one set of working memory. O(1).
    ///
    /// # Errors
    /// If `series` belongs to another transform; nothing is changed then.
    pub fn swap(&mut self, series: &mut SeriesState<T>) -> Result<(), Error> {
        want("an online signature", "the signature put away", series.state.len(), self.state.len())?;
        if let Some(last) = &series.last {
            check_observation(&self.signature, last)?;
        }
        std::mem::swap(&mut self.last, &mut series.last);
        std::mem::swap(&mut self.state, &mut series.state);
        Ok(())
    }

    /// Forgets all observations.
    pub fn clear(&mut self) {
        self.last = None;
        self.state.fill(T::ZERO);
    }
}
