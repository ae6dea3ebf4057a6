//! Features of mean 0 and variance 1 over the training data: `y = s * (x - m)`.
//!
//! Weights, fitted and not trained: `shift` `m` and `factor` `s`, `[width]`. A feature that does not vary gets the factor 0.

use serde::{Deserialize, Serialize};

use super::{Init, Layer, Role, Row, Share, Signal, Step, StepChain, Values, Weight};
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
        Ok(Box::new(StandardiseStep { shift: weights.take("shift")?, factor: weights.take("factor")? }))
    }
}

#[derive(Debug)]
struct StandardiseStep {
    shift: Vec<f32>,
    factor: Vec<f32>,
}

impl Step for StandardiseStep {
    fn push(&mut self, _: Share<'_>, row: Row<'_>, out: &mut Vec<f64>) -> Result<bool, Error> {
        let scaled = row.values.iter().zip(self.shift.iter().zip(&self.factor));
        out.clear();
        out.extend(scaled.map(|(&x, (m, s))| f64::from((x as f32 - m) * s)));
        Ok(true)
    }
}
