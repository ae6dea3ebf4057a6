//! Dropout: in training each number stays with probability `1 - rate` and is divided by that; in a prediction nothing happens.

use serde::{Deserialize, Serialize};

use super::signal::refuse;
use super::{Layer, Row, Share, Signal, Step, StepChain, Values};
use crate::Error;

/// Dropout.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dropout {
    /// The probability that a number is dropped, below 1.
    pub rate: f64,
}

impl Layer for Dropout {
    fn describe(&self) -> String {
        format!("leaves out a share of {} in training alone", self.rate)
    }

    fn output(&self, input: &Signal, _: &[Signal]) -> Result<Signal, Error> {
        if !(0.0..1.0).contains(&self.rate) {
            return refuse("rate", format!("{}; it is a probability, from 0 to below 1", self.rate));
        }
        Ok(input.with_width(input.numbers("dropout")?))
    }

    fn step(&self, _: &Signal, _: &mut Values, _: Vec<StepChain>) -> Result<Box<dyn Step>, Error> {
        Ok(Box::new(Identity))
    }
}

/// Hands on every row as it is.
#[derive(Debug)]
pub(super) struct Identity;

impl Step for Identity {
    fn is_identity(&self) -> bool {
        true
    }

    fn push(&mut self, _: Share<'_>, row: Row<'_>, out: &mut Vec<f64>) -> Result<bool, Error> {
        out.clear();
        out.extend_from_slice(row.values);
        Ok(true)
    }
}
