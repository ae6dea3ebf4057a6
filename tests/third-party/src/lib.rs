//! A crate of somebody else, who knows `ncde` alone: a layer and an optimizer of its own.
//!
//! ```text
//! leaky:          y_t = rate y_{t-1} + gain x_t, with gains that are trained
//! sign descent:   m <- 0.9 m + 0.1 g,   theta <- theta - rate sign(m)
//! ```
//!
//! `tests/train.rs` trains them on arrays in memory, saves, loads and streams; the layer is a spec and a step form ([`Leaky`], [`LeakyStep`]), a batch form ([`LeakyBatch`]), and
//! [`register_leaky`].

use std::sync::Arc;

use ncde::layers::burn::autodiff::Autodiff;
use ncde::layers::burn::flex::Flex;
use ncde::layers::burn::tensor::Tensor;
use ncde::layers::layer::{Batch, Context, Error as BatchError, LayerBackend, LayerWeights, Rows, register_batch};
use ncde::runtime::Error;
use ncde::runtime::layer::{Foreign, Init, Layer, Row, Share, Signal, Size, Step, StepChain, Values, Weight, register};
use ncde::train::optimizer::{Moment, Optimizer, Parameter, Updated, one_by_one};

/// `y_t = rate y_{t-1} + gain x_t`, with gains that are trained.
#[derive(Debug)]
pub struct Leaky {
    /// What is left of a row at the next one.
    pub rate: f64,
}

impl Layer for Leaky {
    fn describe(&self) -> String {
        format!("what is left of the past at {} a row", self.rate)
    }

    fn output(&self, input: &Signal, _: &[Signal]) -> Result<Signal, Error> {
        Ok(input.with_width(input.sequence("leaky")?))
    }

    fn weights(&self, input: &Signal) -> Result<Vec<Weight>, Error> {
        Ok(vec![Weight::trained("gain", [input.width()], Init::Uniform(1.0))])
    }

    fn step(&self, _: &Signal, weights: &mut Values, _: Vec<StepChain>) -> Result<Box<dyn Step>, Error> {
        Ok(Box::new(LeakyStep { rate: self.rate, gain: weights.take("gain")? }))
    }
}

/// One row after the other.
#[derive(Debug)]
pub struct LeakyStep {
    rate: f64,
    gain: Vec<f32>,
}

impl Step for LeakyStep {
    fn memory(&self) -> Size {
        Size::wide(self.gain.len())
    }

    fn push(&mut self, memory: Share<'_>, row: Row<'_>, out: &mut Vec<f64>) -> Result<bool, Error> {
        for (y, (x, gain)) in memory.wide.iter_mut().zip(row.values.iter().zip(&self.gain)) {
            *y = self.rate * *y + f64::from(*gain) * x;
        }
        out.clear();
        out.extend_from_slice(memory.wide);
        Ok(true)
    }
}

/// Many series at once, with gradients.
#[derive(Debug)]
pub struct LeakyBatch(f64);

impl<B: LayerBackend> Batch<B> for LeakyBatch {
    fn forward(&self, rows: Rows<B>, weights: &LayerWeights<'_, B>, _: &Context<B>) -> Result<Rows<B>, BatchError> {
        let (trunk, gain) = (rows.trunk(), weights.weight::<1>("gain")?);
        let [batch, length, width] = trunk.dims();
        let gain: Tensor<B, 3> = gain.reshape([1, 1, width]).repeat_dim(0, batch);
        let mut states = vec![trunk.clone().narrow(1, 0, 1) * gain.clone()];
        for t in 1..length {
            states.push(states[t - 1].clone() * self.0 + trunk.clone().narrow(1, t, 1) * gain.clone());
        }
        Ok(rows.with(Tensor::cat(states, 1)))
    }
}

/// Steps of one size, with the sign of the mean of gradients.
#[derive(Debug)]
pub struct SignDescent;

impl Optimizer for SignDescent {
    fn slots(&self) -> &'static [&'static str] {
        &["mean"]
    }

    fn update<B: LayerBackend>(&self, moment: &Moment<B>, parameters: Vec<Parameter<B>>) -> Result<Vec<Updated<B>>, BatchError> {
        Ok(one_by_one(moment, parameters, |Parameter { weight, gradient, mut slots, .. }| {
            let mean = slots.remove(0) * 0.9 + gradient * 0.1;
            Updated { weight: weight - mean.clone().sign() * moment.rate, slots: vec![mean] }
        }))
    }
}

/// Makes the layer known: to files and steps, and to batches with and without gradients.
///
/// # Errors
/// If a layer of ncde has its name.
pub fn register_leaky() -> Result<(), Error> {
    fn batch<B: LayerBackend>(layer: &Foreign, _: &Signal, _: &mut Values) -> Result<Box<dyn Batch<B>>, BatchError> {
        Ok(Box::new(LeakyBatch(layer.settings()["rate"].as_f64().unwrap_or_default())))
    }
    register_batch::<Flex>("leaky", batch);
    register_batch::<Autodiff<Flex>>("leaky", batch);
    register("leaky", |settings| {
        let wrong = || Error::Setting { setting: "rate", problem: "missing; it is a number".into() };
        Ok(Arc::new(Leaky { rate: settings["rate"].as_f64().ok_or_else(wrong)? }))
    })
}
