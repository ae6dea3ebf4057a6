//! What a head sees beside a state: `y = (f(x), s * x_{1..n}, knot)` for rows `x` that are windows, `f` a list of layers.
//!
//! `x_{1..n}` are the first coordinates of the window (level 1 of its log-signature comes first), the knot is the one at its end, or some channels of it: time and
//! counts grow for ever, and what reads them leaves the range it was trained on in the end.
//! Weights: `scale` `s`, `[n]`, fitted to the training data: one over the root mean square of each coordinate.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::residual::made_inside;
use super::signal::refuse;
use super::{Ended, Init, Layer, LayerSpec, Role, Row, Share, Signal, Size, Step, StepChain, Values, Weight};
use crate::Error;

/// Layers, with what they were given beside what they make of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Beside {
    /// `n`.
    pub coordinates: usize,
    /// Which channels of the knot: from the first number to before the second; none: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub knot: Option<[usize; 2]>,
    /// `f`.
    pub layers: Vec<LayerSpec>,
}

impl Beside {
    /// The channels of the knot that are handed on, of so many.
    pub fn of_knot(&self, channels: usize) -> Range<usize> {
        self.knot.map_or(0..channels, |[from, to]| from..to)
    }
}

impl Layer for Beside {
    fn describe(&self) -> String {
        "what comes in stands beside what these make of it".into()
    }

    fn takes(&self, input: &Signal) -> Result<(), Error> {
        let (channels, coordinates, ..) = input.windows("beside")?;
        if self.coordinates > coordinates {
            return refuse("coordinates", format!("{}, but a window has {coordinates}", self.coordinates));
        }
        let knot = self.of_knot(channels);
        if knot.start > knot.end || knot.end > channels {
            return refuse("knot", format!("[{}, {}], but a knot has {channels} channels", knot.start, knot.end));
        }
        Ok(())
    }

    fn output(&self, input: &Signal, inside: &[Signal]) -> Result<Signal, Error> {
        let (channels, ..) = input.windows("beside")?;
        let (knot, output) = (self.of_knot(channels), made_inside("beside", &self.layers, input, inside)?);
        Ok(output.with_width(output.width() + self.coordinates + knot.len()))
    }

    fn weights(&self, _: &Signal) -> Result<Vec<Weight>, Error> {
        Ok(vec![Weight::trained("scale", [self.coordinates], Init::Constant(1.0)).with_role(Role::Fitted)])
    }

    fn inside(&self) -> Vec<&[LayerSpec]> {
        vec![&self.layers]
    }

    fn step(&self, input: &Signal, weights: &mut Values, mut inside: Vec<StepChain>) -> Result<Box<dyn Step>, Error> {
        let (channels, coordinates, ..) = input.windows("beside")?;
        let Some(chain) = inside.pop() else { return refuse("layers", "none; at least 1 is needed") };
        let knot = self.of_knot(channels);
        Ok(Box::new(BesideStep { chain, scale: weights.take("scale")?, knot: coordinates + knot.start..coordinates + knot.end }))
    }
}

#[derive(Debug)]
struct BesideStep {
    chain: StepChain,
    scale: Vec<f32>,
    /// Where the channels of the knot lie.
    knot: Range<usize>,
}

impl Step for BesideStep {
    fn memory(&self) -> Size {
        self.chain.memory()
    }

    fn push(&mut self, memory: Share<'_>, row: Row<'_>, out: &mut Vec<f64>) -> Result<bool, Error> {
        let ended = self.chain.push(0, memory, row)?;
        out.clear();
        out.extend_from_slice(self.chain.last());
        out.extend(row.values.iter().zip(&self.scale).map(|(&x, s)| f64::from(x as f32 * s)));
        out.extend(row.values[self.knot.clone()].iter().map(|&x| f64::from(x as f32)));
        Ok(ended == Ended::Out)
    }
}
