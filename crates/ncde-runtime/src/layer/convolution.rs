//! A causal convolution of each channel by itself: `y_t = sum_{j < k} w_j * x_{t-j} + b`, rows before the first are 0.
//!
//! Weights: `weight` `[k, width]`, row `j` for the row `j` places back, and `bias` `[width]`, both uniform on `±1 / sqrt(k)` at first.
//! Cost a row: `k x width`.

use serde::{Deserialize, Serialize};

use super::signal::{at_least_one, product};
use super::{Init, Layer, Row, Share, Signal, Size, Step, StepChain, Values, Weight};
use crate::Error;

/// A causal depthwise convolution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Convolution {
    /// `k`: how many rows it sees, its own included.
    pub size: usize,
}

impl Layer for Convolution {
    fn describe(&self) -> String {
        format!("a weighted sum of the last {} rows, channel by channel", self.size)
    }

    fn output(&self, input: &Signal, _: &[Signal]) -> Result<Signal, Error> {
        at_least_one(&[("size", self.size)])?;
        Ok(input.with_width(input.sequence("convolution")?))
    }

    fn demand(&self, input: &Signal) -> usize {
        product(&[self.size, input.width()])
    }

    fn weights(&self, input: &Signal) -> Result<Vec<Weight>, Error> {
        let (width, init) = (input.width(), Init::linear(self.size));
        Ok(vec![Weight::trained("weight", [self.size, width], init.clone()), Weight::trained("bias", [width], init)])
    }

    fn step(&self, input: &Signal, weights: &mut Values, _: Vec<StepChain>) -> Result<Box<dyn Step>, Error> {
        let (weight, bias) = (weights.take("weight")?, weights.take("bias")?);
        Ok(Box::new(ConvolutionStep { weight, bias, width: input.width() }))
    }
}

#[derive(Debug)]
struct ConvolutionStep {
    weight: Vec<f32>,
    bias: Vec<f32>,
    width: usize,
}

impl Step for ConvolutionStep {
    /// The last rows, the latest first.
    fn memory(&self) -> Size {
        Size::wide(self.weight.len() - self.width)
    }

    fn push(&mut self, memory: Share<'_>, row: Row<'_>, out: &mut Vec<f64>) -> Result<bool, Error> {
        let rows = std::iter::once(row.values).chain(memory.wide.chunks_exact(self.width));
        let mut y = self.bias.clone();
        for (x, weight) in rows.zip(self.weight.chunks_exact(self.width)) {
            y.iter_mut().zip(x.iter().zip(weight)).for_each(|(y, (&x, w))| *y += x as f32 * w);
        }
        out.clear();
        out.extend(y.into_iter().map(f64::from));
        if !memory.wide.is_empty() {
            memory.wide.copy_within(..memory.wide.len() - self.width, self.width);
            memory.wide[..self.width].copy_from_slice(row.values);
        }
        Ok(true)
    }
}
