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

/// Distances from the mean are multiplied with this before they are squared, so that the squares of states that have grown to 1e31 still fit in `f32`. A power of two changes no digit.
const NORM_SCALE: f64 = 1.0 / (1_u64 << 40) as f64;

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
        let [scale, epsilon] = [NORM_SCALE, NORM_EPSILON].map(|x| T::from(x).unwrap_or_else(T::one));
        let variance = sum(&|x| ((x - mean) * scale).powi(2));
        (mean, scale / (variance + epsilon * scale * scale).sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::LayerNorm;

    #[test]
    fn rows_of_large_states_have_a_variance() {
        let row = [1e25_f32, -3e25, 2e25, 5e24];
        let (mean, factor) = LayerNorm::moments(&row);
        let variance = row.iter().map(|x| ((x - mean) * factor).powi(2)).sum::<f32>() / 4.0;
        assert!((variance - 1.0).abs() < 1e-5, "{variance}");
        // Of small rows no digit changes.
        let (_, factor) = LayerNorm::moments(&[0.5_f32, -0.25, 1.0, 3.0]);
        let plain = |x: f32| (x - 1.0625) * (x - 1.0625);
        let variance = (((plain(0.5) + plain(-0.25)) + plain(1.0)) + plain(3.0)) * 0.25;
        assert_eq!(factor, 1.0 / (variance + 1e-5_f32).sqrt());
    }
}
