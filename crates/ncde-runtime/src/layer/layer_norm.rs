//! Rows of mean 0 and variance 1: `y = (x - mean x) / sqrt(var x + 1e-5)`, then with `affine` `g y + c`.
//!
//! Linear flows may grow without bound on series unlike those of training; what comes after this layer does not.
//! Weights, with `affine`: `gain` and `offset`, `[width]`, 1 and 0 at first.

use num_traits::Float;
use serde::{Deserialize, Serialize};

use super::per_row::per_row;
use super::state_memory::narrow;
use super::{Init, Layer, Role, Signal, Step, StepChain, Values, Weight};
use crate::Error;

/// What is added to the variance of a row before it is divided by its root.
pub const NORM_EPSILON: f64 = 1e-5;

/// Layer normalisation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LayerNorm {
    /// Whether a gain and an offset are learned.
    #[serde(default)]
    pub affine: bool,
}

impl Layer for LayerNorm {
    fn describe(&self) -> String {
        "mean 0 and variance 1 in each row".into()
    }

    fn output(&self, input: &Signal, _: &[Signal]) -> Result<Signal, Error> {
        Ok(input.with_width(input.numbers("layer-norm")?))
    }

    fn weights(&self, input: &Signal) -> Result<Vec<Weight>, Error> {
        let width = input.width();
        let weight = |name: &str, value| Weight::trained(name, [width], Init::Constant(value)).with_role(Role::Undecayed);
        Ok(if self.affine { vec![weight("gain", 1.0), weight("offset", 0.0)] } else { Vec::new() })
    }

    fn step(&self, input: &Signal, weights: &mut Values, _: Vec<StepChain>) -> Result<Box<dyn Step>, Error> {
        let affine = if self.affine { Some([weights.take("gain")?, weights.take("offset")?]) } else { None };
        let mut x = vec![0.0; input.width()];
        per_row(move |row, out| {
            narrow(row.values, &mut x);
            let (mean, factor) = Self::moments(&x);
            x.iter_mut().for_each(|x| *x = (*x - mean) * factor);
            if let Some([gain, offset]) = &affine {
                x.iter_mut().zip(gain.iter().zip(offset)).for_each(|(x, (g, c))| *x = *x * g + c);
            }
            out.extend(x.iter().map(|&x| f64::from(x)));
            Ok(())
        })
    }
}

impl LayerNorm {
    /// The mean of a row, and what its distances from it are multiplied with.
    pub fn moments<T: Float>(x: &[T]) -> (T, T) {
        let share = T::one() / T::from(x.len()).unwrap_or_else(T::one);
        let sum = |of: &dyn Fn(T) -> T| x.iter().fold(T::zero(), |sum, &x| sum + of(x)) * share;
        let mean = sum(&|x| x);
        let variance = sum(&|x| (x - mean) * (x - mean));
        (mean, T::one() / (variance + T::from(NORM_EPSILON).unwrap_or_else(T::zero)).sqrt())
    }
}
