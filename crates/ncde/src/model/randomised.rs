//! Randomised signatures: a Linear NCDE whose `A` stays random, read by least squares.
//!
//! ```text
//! h_t = h_0 + ∫ sum_i A^i h_s domega^i_s,   h_0 ~ N(0, 1),   A^i random and fixed,   y = W (h_t, 1)
//! ```
//!
//! `h_t` is a random projection of the signature of omega: `h_t = sum_I S^I(omega) A^I h_0` (thesis, section "Expressiveness").
//! With a distribution of maximal probabilistic expressivity a linear readout approximates any continuous function of the path as
//! the number of states grows. Everything is in f64, without a tensor library; nothing is trained by gradients.

use ncde_kernels::{Field, Input, Mode, Recurrence, Transition};
use serde::{Deserialize, Serialize};

use super::Error;
use super::least_squares::solve;
use super::linear_config::ModeName;
use super::structure::Init;
use crate::random::Stream;
use ncde_runtime::{StructureConfig, TransitionName};

/// The settings of a [`RandomisedSignature`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RandomisedSignatureConfig {
    /// `H`.
    pub hidden: usize,
    /// `d_omega`.
    pub omega: usize,
    /// The structure of `A`; dense if not said otherwise.
    pub structure: StructureConfig,
    /// How `A` is drawn.
    pub init: Init,
    /// How a generator becomes a flow.
    #[serde(with = "TransitionName")]
    pub transition: Transition,
    /// The order of computation.
    #[serde(with = "ModeName")]
    pub mode: Mode,
}

impl RandomisedSignatureConfig {
    /// `hidden` states driven by `omega` channels, dense matrices.
    pub fn new(hidden: usize, omega: usize) -> Self {
        Self {
            hidden,
            omega,
            structure: StructureConfig::Dense,
            init: Init::MaximallyExpressive,
            transition: Transition::Exp,
            mode: Mode::Auto,
        }
    }

    /// Another structure.
    #[must_use]
    pub fn with_structure(self, structure: StructureConfig) -> Self {
        Self { structure, ..self }
    }

    /// The random field of `seed`.
    ///
    /// # Errors
    /// If the settings make no sense.
    pub fn init(&self, seed: u64) -> Result<RandomisedSignature, Error> {
        let stream = Stream::new(seed, 0);
        let field: Field = self.structure.field(self.hidden, self.omega, &stream.child(0))?;
        let a = self.init.draw(&self.structure, &field, &stream.child(1))?;
        let start = (0..self.hidden as u64).map(|i| stream.child(2).normal(i)).collect();
        let recurrence = Recurrence::new(field).with_transition(self.transition).with_mode(self.mode)?;
        Ok(RandomisedSignature { recurrence, a, start })
    }
}

/// A fixed random linear field.
#[derive(Debug, Clone)]
pub struct RandomisedSignature {
    recurrence: Recurrence,
    a: Vec<f64>,
    start: Vec<f64>,
}

impl RandomisedSignature {
    /// `H`.
    pub fn hidden(&self) -> usize {
        self.start.len()
    }

    /// The last state of every series.
    ///
    /// # Shapes
    /// `increments` of omega: `[batch, steps, d_omega]`, to `[batch, H]`.
    ///
    /// # Errors
    /// If the size is wrong, a number is not finite, or a state overflows.
    pub fn features(&self, increments: &[f64], batch: usize, lengths: Option<&[usize]>) -> Result<Vec<f64>, Error> {
        let (width, hidden) = (self.recurrence.coefficients(), self.hidden());
        let input = Input {
            batch,
            length: increments.len() / (batch * width).max(1),
            columns: 1,
            a: &self.a,
            coefficients: increments,
            initial: &self.start.repeat(batch),
            affine: None,
            lengths,
        };
        let states = self.recurrence.forward(&input)?;
        Ok(states.chunks_exact(input.length * hidden).flat_map(|own| own[own.len() - hidden..].iter().copied()).collect())
    }

    /// Fits `W` to targets of every series, `[batch, outputs]`: `|Y - W (h, 1)|^2 + ridge |W|^2` is least.
    ///
    /// # Errors
    /// As for [`features`](Self::features), or if the series do not determine `W`.
    pub fn fit(
        &self,
        increments: &[f64],
        targets: &[f64],
        batch: usize,
        lengths: Option<&[usize]>,
        ridge: f64,
    ) -> Result<Regression, Error> {
        if batch == 0 || targets.is_empty() || !targets.len().is_multiple_of(batch) {
            return Err(Error::Shape {
                operation: "randomised signature",
                what: "the list of targets",
                seen: format!("{} numbers", targets.len()),
                wanted: format!("the same positive number for each of {batch} series"),
            });
        }
        if !(ridge >= 0.0 && ridge.is_finite()) {
            return Err(Error::Setting { setting: "ridge", problem: format!("{ridge} is not a number from 0 on") });
        }
        let x = with_one(&self.features(increments, batch, lengths)?, self.hidden());
        let weights = solve(&x, targets, batch, self.hidden() + 1, ridge)?;
        Ok(Regression { signature: self.clone(), outputs: targets.len() / batch, weights })
    }
}

/// A randomised signature with a readout.
#[derive(Debug, Clone)]
pub struct Regression {
    signature: RandomisedSignature,
    outputs: usize,
    /// `[H + 1, outputs]`.
    weights: Vec<f64>,
}

impl Regression {
    /// `W`, `[H + 1, outputs]`; the last row is the constant.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// Predictions.
    ///
    /// # Shapes
    /// `increments` of omega: `[batch, steps, d_omega]`, to `[batch, outputs]`.
    ///
    /// # Errors
    /// As for [`RandomisedSignature::features`].
    pub fn predict(&self, increments: &[f64], batch: usize, lengths: Option<&[usize]>) -> Result<Vec<f64>, Error> {
        let hidden = self.signature.hidden();
        let x = with_one(&self.signature.features(increments, batch, lengths)?, hidden);
        let rows = x.chunks_exact(hidden + 1);
        let output =
            |row: &[f64], o: usize| row.iter().zip(self.weights[o..].iter().step_by(self.outputs)).map(|(x, w)| x * w).sum();
        Ok(rows.flat_map(|row| (0..self.outputs).map(move |o| output(row, o))).collect())
    }
}

/// Every row with a 1 behind it.
fn with_one(features: &[f64], hidden: usize) -> Vec<f64> {
    features.chunks_exact(hidden).flat_map(|row| row.iter().copied().chain([1.0])).collect()
}
