//! Which way does a noisy loop turn? A Log-NCDE of depth 2 tells from a single window, one of depth 1 cannot.
//!
//! ```text
//! depth 1: dh/dt = sum_i lambda_i f_i(h)                     lambda_i = X^i_1 - X^i_0, which is nothing but noise for a loop
//! depth 2: dh/dt = ... + lambda_[1,2] [f_1, f_2](h)           lambda_[1,2] = the area it encloses, with its sign
//! ```
//!
//! Each loop is observed 20 to 40 times, at times of its own.
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use burn::backend::{Autodiff, Flex};
use burn::module::{AutodiffModule, Module};
use burn::optim::{AdamConfig, GradientsParams, Optimizer};
use burn::tensor::activation::relu;
use burn::tensor::backend::Backend;
use burn::tensor::{Tensor, TensorData};
use ncde::model::{Error, ModelBackend, NeuralCde, NeuralCdeConfig, NeuralKind, Readout, ReadoutConfig, StepRule};
use ncde::random::Stream;
use ncde_signature::path::{AtObservations, Linear, Series, Windows};

const HIDDEN: usize = 8;
const STEPS: u64 = 200;
const BATCH: usize = 32;

#[derive(Module, Debug)]
struct Classifier<B: Backend> {
    model: NeuralCde<B>,
    readout: Readout<B>,
}

impl<B: ModelBackend> Classifier<B> {
    /// One output a loop, `[batch, 1, 1]`.
    fn forward(&self, loops: &[Linear<f64, AtObservations>]) -> Result<Tensor<B, 3>, Error> {
        let drive = self.model.config().windows_of(loops, &Windows::Duration(1.0), 1, &Default::default())?;
        self.readout.forward(self.model.forward(&drive)?, Some(&drive.lengths))
    }
}

/// Loops and their directions.
type Data = (Vec<Linear<f64, AtObservations>>, Vec<f64>);

/// Loops that start anywhere on the circle.
fn data(seed: u64, count: usize) -> Result<Data, Error> {
    let (mut loops, mut signs) = (Vec::with_capacity(count), Vec::with_capacity(count));
    for case in 0..count as u64 {
        let draw = Stream::new(seed, case);
        let sign = if draw.uniform(0) < 0.5 { 1.0 } else { -1.0 };
        let length = 20 + (draw.uniform(1) * 21.0) as u64;
        // The ends of each loop, and between them a time in each piece.
        let time = |i: u64| match i {
            0 => 0.0,
            i if i + 1 == length => 1.0,
            i => (i as f64 + 0.5 * draw.uniform(100 + i)) / length as f64,
        };
        let times: Vec<f64> = (0..length).map(time).collect();
        let turns = times.iter().map(|t| std::f64::consts::TAU * (draw.uniform(2) + sign * t));
        let exact = turns.flat_map(|angle| [angle.cos(), angle.sin()]);
        let values = exact.enumerate().map(|(i, x)| x + 0.1 * draw.normal(200 + i as u64)).collect();
        loops.push(Linear::new(&Series::new(times, values, 2)?.complete()?)?);
        signs.push(sign);
    }
    Ok((loops, signs))
}

fn train(depth: usize) -> Result<Classifier<Flex>, Error> {
    let device = Default::default();
    let config = NeuralCdeConfig::new(NeuralKind::LogNcde { depth }, HIDDEN, 2)
        .with_layers(16, 2)
        .with_steps(StepRule::EachWindow(10))
        .with_divisor(1.0);
    let mut model = Classifier::<Autodiff<Flex>> {
        model: config.init(&device, 0)?,
        readout: ReadoutConfig::new(1).init(HIDDEN, &device, &Stream::new(0, 1)),
    };
    let mut optimiser = AdamConfig::new().init();
    for step in 0..STEPS {
        let (loops, signs) = data(1000 + step, BATCH)?;
        let margin = model.forward(&loops)? * Tensor::from_data(TensorData::new(signs, [BATCH, 1, 1]), &device);
        // The logistic loss, without overflow, and a little of the penalty that keeps the field smooth.
        let loss = relu(margin.clone().neg()) + margin.abs().neg().exp().log1p();
        let loss = loss.mean() + model.model.penalty() * 1e-4;
        let gradients = GradientsParams::from_grads(loss.backward(), &model);
        model = optimiser.step(0.02, model, gradients);
    }
    Ok(model.valid())
}

/// The share of new loops that are classified right.
fn accuracy(model: &Classifier<Flex>) -> Result<f64, Error> {
    let cases = 500;
    let (loops, signs) = data(1, cases)?;
    let outputs: Vec<f64> = model.forward(&loops)?.into_data().iter().collect();
    Ok(outputs.iter().zip(&signs).filter(|(output, sign)| *output * *sign > 0.0).count() as f64 / cases as f64)
}

fn main() -> Result<(), Error> {
    let [one, two] = [accuracy(&train(1)?)?, accuracy(&train(2)?)?];
    println!("accuracy on new loops, one window each: depth 1 {:5.1} %, depth 2 {:5.1} %", 100.0 * one, 100.0 * two);
    assert!(two > 0.95 && one < 0.7, "the direction is in the area, not in the increment");
    Ok(())
}
