//! One step at a time, for the structures that hold a single path ([`super::OnlineSignature`], [`super::Rolling`], [`super::Index`]).

use crate::algebra::basis::want;
use crate::signature::emit::Emitter;
use crate::signature::transform::no_overflow;
use crate::signature::{Signature, step};
use crate::{Error, Float};
use ncde_simd::{Buffer, kernel};

/// Steps and outputs of a state, with their working memory.
#[derive(Debug)]
pub struct Stepper<T> {
    increment: Vec<T>,
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
            increment: vec![T::ZERO; shape.width()],
            scratch: Buffer::zeros(step::scratch(shape)),
            chain: Buffer::zeros(step::chain_len(shape)),
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

    /// `state <- exp(to - from) state`.
    pub(crate) fn step_between(&mut self, signature: &Signature, state: &mut [T], from: &[T], to: &[T]) {
        let mut increment = std::mem::take(&mut self.increment);
        for ((x, &from), &to) in increment.iter_mut().zip(from).zip(to) {
            *x = to - from;
        }
        self.step(signature, state, &increment);
        self.increment = increment;
    }

    /// The output of a state.
    pub(crate) fn read(&mut self, signature: &Signature, state: &[T]) -> Result<Vec<T>, Error> {
        no_overflow(state, T::read(self, signature, state))
    }
}

kernel! {
    /// Behind [`Stepper::step`].
    pub(crate) dispatch fn step<'a, S: Simd, T: Float>(
        simd: S,
        stepper: &'a mut Stepper<T>,
        signature: &'a Signature,
        state: &'a mut [T],
        x: &'a [T],
    ) {
        step::forward(simd, signature.shape(), state, x, &mut stepper.scratch, &mut stepper.chain);
    }
}

kernel! {
    /// Behind [`Stepper::read`].
    pub(crate) dispatch fn read<'a, S: Simd, T: Float>(
        simd: S,
        stepper: &'a mut Stepper<T>,
        signature: &'a Signature,
        state: &'a [T],
    ) -> Vec<T> {
        stepper.emitter.emit(simd, signature.output(), signature.shape(), state);
        stepper.emitter.out.clone()
    }
}

/// Checks that an observation has the right number of finite values.
pub(crate) fn check_observation<T: Float>(signature: &Signature, observation: &[T]) -> Result<(), Error> {
    want("push of an observation", "the observation", observation.len(), signature.shape().width())?;
    match observation.iter().position(|x| !x.is_finite()) {
        None => Ok(()),
        Some(channel) => Err(Error::NotFinite {
            location: "the pushed observation".into(),
            channel,
            value: observation[channel].to_f64(),
            hint: "fill missing values before pushing",
        }),
    }
}
