//! A row, and random functions of it: `y = (x, tanh(W^T x + b))`, `W` and `b` drawn once and never trained.
//!
//! With enough of them a linear readout of `y` is any function of `x`, and it can be solved for. Weights: `weight` `W`, `[inputs, count]`, `bias` `b`, `[count]`. Cost a row:
//! `inputs x count`.

use serde::{Deserialize, Serialize};

use super::linear::affine;
use super::per_row::per_row;
use super::signal::{at_least_one, product};
use super::{Init, Layer, Role, Signal, Step, StepChain, Values, Weight};
use crate::Error;

/// Random functions of a row, behind the row itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RandomFeatures {
    /// How many.
    pub count: usize,
}

impl Layer for RandomFeatures {
    fn describe(&self) -> String {
        format!("{} random functions of these numbers, beside them", self.count)
    }

    fn output(&self, input: &Signal, _: &[Signal]) -> Result<Signal, Error> {
        let inputs = input.numbers("random-features")?;
        at_least_one(&[("count", self.count)])?;
        Ok(input.with_width(inputs + self.count))
    }

    fn demand(&self, input: &Signal) -> usize {
        product(&[input.width(), self.count])
    }

    fn weights(&self, input: &Signal) -> Result<Vec<Weight>, Error> {
        let inputs = input.numbers("random-features")?;
        let fixed = |name, shape: &[usize], init| Weight::trained(name, shape, init).with_role(Role::Fixed);
        Ok(vec![
            fixed("weight", &[inputs, self.count], Init::Normal(1.0 / (inputs.max(1) as f64).sqrt())),
            fixed("bias", &[self.count], Init::Uniform(1.0)),
        ])
    }

    fn step(&self, _: &Signal, weights: &mut Values, _: Vec<StepChain>) -> Result<Box<dyn Step>, Error> {
        let (weight, bias) = (weights.take("weight")?, weights.take("bias")?);
        let mut y = bias.clone();
        per_row(move |row, out| {
            y.copy_from_slice(&bias);
            affine(row.values, &weight, &mut y);
            out.extend_from_slice(row.values);
            out.extend(y.iter().map(|y| f64::from(y.tanh())));
            Ok(())
        })
    }
}
