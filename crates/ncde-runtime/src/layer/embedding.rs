//! A vector for each token: `y = E[token]`.
//!
//! Weights: `weight` `[vocabulary, width]`, standard normal at first.

use serde::{Deserialize, Serialize};

use super::per_row::per_row;
use super::signal::{at_least_one, misplaced, product};
use super::{Init, Layer, Role, Rows, Signal, Step, StepChain, Values, Weight};
use crate::Error;

/// An embedding of tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Embedding {
    /// How many numbers stand for a token.
    pub width: usize,
}

impl Embedding {
    fn vocabulary(input: &Signal) -> Result<usize, Error> {
        match input.rows {
            Rows::Tokens { vocabulary } => Ok(vocabulary),
            _ => Err(misplaced("embedding", "it takes tokens, and is given numbers; use `linear`, or read a column of tokens")),
        }
    }
}

impl Layer for Embedding {
    fn describe(&self) -> String {
        format!("{} numbers for each token", self.width)
    }

    fn output(&self, input: &Signal, _: &[Signal]) -> Result<Signal, Error> {
        Self::vocabulary(input)?;
        at_least_one(&[("width", self.width)])?;
        Ok(input.with_width(self.width))
    }

    fn demand(&self, input: &Signal) -> usize {
        Self::vocabulary(input).map_or(0, |vocabulary| product(&[vocabulary, self.width]))
    }

    fn weights(&self, input: &Signal) -> Result<Vec<Weight>, Error> {
        let shape = [Self::vocabulary(input)?, self.width];
        Ok(vec![Weight::trained("weight", shape, Init::Normal(1.0)).with_role(Role::Undecayed)])
    }

    fn step(&self, input: &Signal, weights: &mut Values, _: Vec<StepChain>) -> Result<Box<dyn Step>, Error> {
        let (vocabulary, width, weight) = (Self::vocabulary(input)?, self.width, weights.take("weight")?);
        per_row(move |row, out| {
            let token = row.values.first().copied().unwrap_or(f64::NAN);
            if !(token >= 0.0 && token < vocabulary as f64 && token.fract() == 0.0) {
                let problem = format!("token {token}, but the model knows tokens 0 to {}", vocabulary - 1);
                return Err(misplaced("embedding", problem));
            }
            out.extend(weight[token as usize * width..][..width].iter().map(|&x| f64::from(x)));
            Ok(())
        })
    }
}
