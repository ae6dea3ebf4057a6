//! Push an observation, read the current value: `S <- S exp(x)` in constant memory.

use crate::algebra::basis::want;
use crate::signature::group::{Pass, Scratch, emit};
use crate::signature::{Signature, step};
use crate::simd::{Kernel, dispatch};
use crate::{Error, Float};

/// The signature or log-signature of all observations so far.
///
/// ```
/// use ncde_signature::{Online, Signature};
/// let transform = Signature::new(1, 2)?;
/// let mut online = Online::new(&transform);
/// for x in [5.0, 6.0, 7.0] {
///     online.push(&[x])?;
/// }
/// assert_eq!(online.value(), [2.0, 2.0]);
/// # Ok::<(), ncde_signature::Error>(())
/// ```
#[derive(Debug)]
pub struct Online<'a, T: Float> {
    signature: &'a Signature,
    last: Option<Vec<T>>,
    increment: Vec<T>,
    /// Mirrored, so that an increment at the end is one step.
    state: Vec<T>,
    usual: Vec<T>,
    scratch: Scratch<T>,
}

impl<'a, T: Float> Online<'a, T> {
    /// No observation yet.
    pub fn new(signature: &'a Signature) -> Self {
        let zeros = |n: usize| vec![T::ZERO; n];
        Self {
            last: None,
            increment: zeros(signature.shape().width()),
            state: zeros(signature.shape().len()),
            usual: zeros(signature.shape().len()),
            scratch: Scratch::new(signature.output(), Pass::Forward),
            signature,
        }
    }

    /// Takes the next observation.
    ///
    /// # Errors
    /// If it has the wrong number of channels or a value that is not finite; nothing is changed then.
    pub fn push(&mut self, observation: &[T]) -> Result<(), Error> {
        check_observation(self.signature, observation)?;
        match &mut self.last {
            None => self.last = Some(observation.to_vec()),
            Some(last) => {
                for ((x, &new), last) in self.increment.iter_mut().zip(observation).zip(last) {
                    *x = new - *last;
                    *last = new;
                }
                dispatch(Step { signature: self.signature, state: &mut self.state, x: &self.increment, scratch: &mut self.scratch.step });
            }
        }
        Ok(())
    }

    /// The current value, in the coordinates of the transform; zero until there are two observations.
    pub fn value(&mut self) -> Vec<T> {
        self.signature.mirror().copy(self.signature.shape(), &self.state, &mut self.usual);
        dispatch(Read { signature: self.signature, state: &self.usual, scratch: &mut self.scratch });
        self.scratch.out.clone()
    }

    /// Forgets all observations.
    pub fn clear(&mut self) {
        self.last = None;
        self.state.fill(T::ZERO);
    }
}

/// The right number of finite values.
pub(crate) fn check_observation<T: Float>(signature: &Signature, observation: &[T]) -> Result<(), Error> {
    want("push of an observation", "the observation", observation.len(), signature.shape().width())?;
    match observation.iter().position(|x| !x.is_finite()) {
        None => Ok(()),
        Some(channel) => Err(Error::NotFinite {
            place: "the pushed observation".into(),
            channel,
            value: observation[channel].to_f64(),
            hint: "fill missing values before pushing",
        }),
    }
}

/// `S <- exp(x) S`.
pub(crate) struct Step<'a, T> {
    pub(crate) signature: &'a Signature,
    pub(crate) state: &'a mut [T],
    pub(crate) x: &'a [T],
    pub(crate) scratch: &'a mut [T],
}

impl<T: Float> Kernel for Step<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        step::forward::<T, FUSED>(self.signature.shape(), self.state, self.x, self.scratch);
    }
}

/// `scratch.out` = the output of a state in the usual layout.
pub(crate) struct Read<'a, T: Float> {
    pub(crate) signature: &'a Signature,
    pub(crate) state: &'a [T],
    pub(crate) scratch: &'a mut Scratch<T>,
}

impl<T: Float> Kernel for Read<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let (_, _, _, _, mut emitting) = self.scratch.parts();
        emit::<T, FUSED>(self.signature.output(), self.state, &mut emitting);
    }
}
