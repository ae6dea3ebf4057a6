//! One step at a time, for the structures that hold a single path ([`super::OnlineSignature`], [`super::Rolling`], [`super::Index`]).

use crate::algebra::basis::want;
use crate::signature::Signature;
use crate::signature::emit::Emitter;
use crate::signature::step as kernel;
use crate::signature::transform::no_overflow;
use crate::{Error, Float};
use ncde_simd::Buffer;
use ncde_simd::{Kernel, Simd, dispatch};

/// Steps and outputs of a state, with their working memory.
#[derive(Debug)]
pub struct Stepper<T> {
    scratch: Buffer<T>,
    chain: Buffer<T>,
    emitter: Emitter<T>,
    /// Steps taken so far: cost as a count, for tests.
    #[cfg(test)]
    pub(crate) steps: usize,
}

impl<T: Float> Stepper<T> {
    pub(crate) fn new(signature: &Signature) -> Self {
        let shape = signature.shape();
        Self {
            scratch: Buffer::zeros(kernel::scratch(shape)),
            chain: Buffer::zeros(kernel::chain_len(shape)),
            emitter: Emitter::new(signature.output(), shape),
            #[cfg(test)]
            steps: 0,
        }
    }

    /// `state <- exp(x) state`.
    pub(crate) fn step(&mut self, signature: &Signature, state: &mut [T], x: &[T]) {
        #[cfg(test)]
        {
            self.steps += 1;
        }
        T::step(self, signature, state, x);
    }

    /// The output of a state.
    pub(crate) fn read(&mut self, signature: &Signature, state: &[T]) -> Result<Vec<T>, Error> {
        no_overflow(state, T::read(self, signature, state))
    }
}

/// Behind [`Stepper::step`].
pub(crate) fn step<T: Float>(stepper: &mut Stepper<T>, signature: &Signature, state: &mut [T], x: &[T]) {
    dispatch(Step { signature, state, x, stepper });
}

/// Behind [`Stepper::read`].
pub(crate) fn read<T: Float>(stepper: &mut Stepper<T>, signature: &Signature, state: &[T]) -> Vec<T> {
    dispatch(Read { signature, state, emitter: &mut stepper.emitter });
    stepper.emitter.out.clone()
}

/// Checks that an observation has the right number of finite values.
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

struct Step<'a, T> {
    signature: &'a Signature,
    state: &'a mut [T],
    x: &'a [T],
    stepper: &'a mut Stepper<T>,
}

impl<T: Float> Kernel for Step<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Stepper { scratch, chain, .. } = self.stepper;
        kernel::forward(simd, self.signature.shape(), self.state, self.x, scratch, chain);
    }
}

struct Read<'a, T> {
    signature: &'a Signature,
    state: &'a [T],
    emitter: &'a mut Emitter<T>,
}

impl<T: Float> Kernel for Read<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        self.emitter.emit(simd, self.signature.output(), self.signature.shape(), self.state);
    }
}
