//! Push an observation, read the current value: `S <- S exp(x)` in constant memory.

use std::sync::Arc;

use crate::signature::Signature;
use crate::signature::tools::{Tools, check_observation};
use crate::{Error, Float};

/// The signature or log-signature of all observations so far.
///
/// Its gradient with respect to the observations is [`Signature::of_backward`] of the path they make.
///
/// ```
/// use std::sync::Arc;
/// use ncde_signature::{Online, Signature};
/// let transform = Arc::new(Signature::new(1, 2)?);
/// let mut online = Online::new(&transform);
/// for x in [5.0, 6.0, 7.0] {
///     online.push(&[x])?;
/// }
/// assert_eq!(online.value()?, [2.0, 2.0]);
/// # Ok::<(), ncde_signature::Error>(())
/// ```
#[derive(Debug)]
pub struct Online<T: Float> {
    signature: Arc<Signature>,
    last: Option<Vec<T>>,
    increment: Vec<T>,
    /// Mirrored, so that an increment at the end is one step.
    state: Vec<T>,
    usual: Vec<T>,
    tools: Tools<T>,
}

impl<T: Float> Online<T> {
    /// No observation yet.
    pub fn new(signature: &Arc<Signature>) -> Self {
        let zeros = |n: usize| vec![T::ZERO; n];
        Self {
            last: None,
            increment: zeros(signature.shape().width()),
            state: zeros(signature.shape().len()),
            usual: zeros(signature.shape().len()),
            tools: Tools::new(signature),
            signature: Arc::clone(signature),
        }
    }

    /// Takes the next observation.
    ///
    /// # Errors
    /// If it has the wrong number of channels or a value that is not finite; nothing is changed then.
    pub fn push(&mut self, observation: &[T]) -> Result<(), Error> {
        check_observation(&self.signature, observation)?;
        match &mut self.last {
            None => self.last = Some(observation.to_vec()),
            Some(last) => {
                for ((x, &new), last) in self.increment.iter_mut().zip(observation).zip(last) {
                    *x = new - *last;
                    *last = new;
                }
                self.tools.step(&self.signature, &mut self.state, &self.increment);
            }
        }
        Ok(())
    }

    /// The current value, in the coordinates of the transform; zero until there are two observations.
    ///
    /// # Errors
    /// If it has grown too large for the number type.
    pub fn value(&mut self) -> Result<Vec<T>, Error> {
        self.signature.mirror().copy(self.signature.shape(), &self.state, &mut self.usual);
        self.tools.read(&self.signature, &self.usual)
    }

    /// Forgets all observations.
    pub fn clear(&mut self) {
        self.last = None;
        self.state.fill(T::ZERO);
    }
}
