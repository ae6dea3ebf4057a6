//! A linear model of signature features: the honest baseline.
//!
//! ```text
//! y = W s * (x - m) + c,   x = (knot_0, statics, S^N of the path from its first knot)
//! ```

use std::sync::Arc;

use ncde_signature::{Memory, Online, Signature};
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::head::Layers;
use crate::spec::SignatureSpec;
use crate::weights::Weights;

/// The working parts of the model.
#[derive(Debug)]
pub(crate) struct SignatureCore {
    online: Online<f64>,
    shift: Vec<f32>,
    factor: Vec<f32>,
    layers: Layers,
}

/// What is remembered of one series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SignatureState {
    /// The first knot, then the statics.
    start: Vec<f64>,
    last: Option<Vec<f64>>,
    signature: Vec<f64>,
}

impl SignatureCore {
    pub(crate) fn new(spec: &SignatureSpec, [width, statics, outputs]: [usize; 3], weights: &mut Weights) -> Result<Self, Error> {
        let transform = Arc::new(Signature::new(width, spec.depth)?);
        let features = width + statics + transform.len();
        Ok(Self {
            online: Online::new(&transform),
            shift: weights.take("shift", &[features])?,
            factor: weights.take("factor", &[features])?,
            layers: Layers::take(weights, &[features, outputs])?,
        })
    }

    pub(crate) fn fresh(&self) -> SignatureState {
        let Memory { last, state } = self.online.fresh();
        SignatureState { start: Vec::new(), last, signature: state }
    }

    pub(crate) fn check(&self, series: &SignatureState) -> Result<(), Error> {
        let (seen, wanted) = (series.signature.len(), self.online.fresh().state.len());
        if seen == wanted {
            return Ok(());
        }
        Err(Error::State(format!("{seen} coordinates of a signature, but the model has {wanted}")))
    }

    pub(crate) fn push(&mut self, series: &mut SignatureState, knot: &[f64], statics: &[f64]) -> Result<(), Error> {
        if series.last.is_none() {
            series.start = knot.iter().chain(statics).copied().collect();
        }
        self.exchange(series)?;
        let pushed = self.online.push(knot);
        self.exchange(series)?;
        Ok(pushed?)
    }

    pub(crate) fn outputs(&mut self, series: &mut SignatureState) -> Result<Vec<f32>, Error> {
        self.exchange(series)?;
        let value = self.online.value();
        self.exchange(series)?;
        let features = series.start.iter().chain(&value?).map(|&x| x as f32).collect::<Vec<f32>>();
        let scaled = features.iter().zip(&self.shift).zip(&self.factor).map(|((&x, &m), &s)| (x - m) * s);
        Ok(self.layers.last(&scaled.collect::<Vec<f32>>()))
    }

    fn exchange(&mut self, series: &mut SignatureState) -> Result<(), Error> {
        let mut memory = Memory { last: series.last.take(), state: std::mem::take(&mut series.signature) };
        let result = self.online.swap(&mut memory);
        (series.last, series.signature) = (memory.last, memory.state);
        Ok(result?)
    }
}
