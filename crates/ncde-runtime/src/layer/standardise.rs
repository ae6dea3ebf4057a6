//! Features of mean 0 and variance 1 over the training data: `y = s * (x - m)`.
//!
//! Weights, fitted and not trained: `shift` `m` and `factor` `s`, `[width]`. A feature that does not vary gets the factor 0.

use serde::{Deserialize, Serialize};

use super::per_row::per_row;
use super::{Init, Layer, Role, Signal, Step, StepChain, Values, Weight};
use crate::Error;

/// Standardisation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Standardise {}

impl Layer for Standardise {
    fn describe(&self) -> String {
        "mean 0 and variance 1 over the training data".into()
    }

    fn output(&self, input: &Signal, _: &[Signal]) -> Result<Signal, Error> {
        Ok(input.with_width(input.numbers("standardise")?))
    }

    fn demand(&self, input: &Signal) -> usize {
        2 * input.width()
    }

    fn weights(&self, input: &Signal) -> Result<Vec<Weight>, Error> {
        let weight = |name, value| Weight::trained(name, [input.width()], Init::Constant(value)).with_role(Role::Fitted);
        Ok(vec![weight("shift", 0.0), weight("factor", 1.0)])
    }

    fn step(&self, _: &Signal, weights: &mut Values, _: Vec<StepChain>) -> Result<Box<dyn Step>, Error> {
        let (shift, factor) = (weights.take("shift")?, weights.take("factor")?);
        per_row(move |row, out| {
            let scaled = row.values.iter().zip(shift.iter().zip(&factor));
            out.extend(scaled.map(|(&x, (m, s))| f64::from((x as f32 - m) * s)));
            Ok(())
        })
    }
}
