//! Signature features: `row_t = (knot_0, statics, S^N of the path up to t)`.
//!
//! Words by length, then lexicographically, no leading 1. No weights. Before `standardise` and `linear` it is the honest baseline.

use std::sync::Arc;

use ncde_signature::{OnlineSignature, SeriesState, Signature};
use serde::{Deserialize, Serialize};

use super::signal::{check_depth, signature_sizes};
use super::{Cost, Layer, Row, Share, Signal, Size, Step, StepChain, Values};
use crate::Error;

/// The signature of the path so far.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignatureFeatures {
    /// `N`.
    pub depth: usize,
}

impl SignatureFeatures {
    /// The transform, for rows like these.
    ///
    /// # Errors
    /// If there is none of that depth.
    pub fn transform(&self, input: &Signal) -> Result<Arc<Signature>, Error> {
        let channels = input.sequence("signature")?;
        check_depth("signature", channels, self.depth)?;
        Ok(Arc::new(Signature::new(channels, self.depth)?))
    }
}

impl Layer for SignatureFeatures {
    fn describe(&self) -> String {
        format!("the signature of the path so far, to depth {}", self.depth)
    }

    fn output(&self, input: &Signal, _: &[Signal]) -> Result<Signal, Error> {
        let transform = self.transform(input)?;
        Ok(input.with_width(input.width() + input.statics + transform.len()))
    }

    fn cost(&self, input: &Signal) -> Cost {
        let words = signature_sizes(input.width(), self.depth).map_or(0, |sizes| sizes.words);
        Cost { bytes: 32 * words, work: 2 * words }
    }

    fn step(&self, input: &Signal, _: &mut Values, _: Vec<StepChain>) -> Result<Box<dyn Step>, Error> {
        let online = OnlineSignature::new(&self.transform(input)?);
        Ok(Box::new(SignatureStep { length: online.fresh().state.len(), online, width: input.width() }))
    }
}

#[derive(Debug)]
struct SignatureStep {
    online: OnlineSignature<f64>,
    width: usize,
    length: usize,
}

impl Step for SignatureStep {
    /// Whether there was a row, the first, the last, the signature so far.
    fn memory(&self) -> Size {
        Size::wide(1 + 2 * self.width + self.length)
    }

    fn push(&mut self, memory: Share<'_>, row: Row<'_>, out: &mut Vec<f64>) -> Result<bool, Error> {
        let ([started], rest) = memory.wide.split_at_mut(1) else { return Ok(false) };
        let (first, rest) = rest.split_at_mut(self.width);
        let (last, state) = rest.split_at_mut(self.width);
        if *started == 0.0 {
            first.copy_from_slice(row.values);
        }
        advance(&mut self.online, *started != 0.0, last, state, row.values)?;
        *started = 1.0;
        out.clear();
        out.extend(first.iter().chain(row.statics));
        out.extend(value(&mut self.online, state)?);
        out.iter_mut().for_each(|x| *x = f64::from(*x as f32));
        Ok(true)
    }
}

/// Takes the next knot into a signature that is kept as numbers.
pub(super) fn advance(
    online: &mut OnlineSignature<f64>,
    started: bool,
    last: &mut [f64],
    state: &mut [f64],
    knot: &[f64],
) -> Result<(), Error> {
    let mut memory = SeriesState { last: started.then(|| last.to_vec()), state: state.to_vec() };
    online.swap(&mut memory)?;
    let pushed = online.push(knot);
    online.swap(&mut memory)?;
    pushed?;
    last.copy_from_slice(knot);
    state.copy_from_slice(&memory.state);
    Ok(())
}

/// The value of a signature that is kept as numbers.
pub(super) fn value(online: &mut OnlineSignature<f64>, state: &[f64]) -> Result<Vec<f64>, Error> {
    let mut memory = SeriesState { last: None, state: state.to_vec() };
    online.swap(&mut memory)?;
    let value = online.value();
    online.swap(&mut memory)?;
    Ok(value?)
}
