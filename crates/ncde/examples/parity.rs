//! Is the number of ones odd? A one-layer block `SLiCE` learns it, at any length; a positive diagonal cannot, it only counts.
//!
//! ```text
//! h_{j+1} = exp(x_j A) h_j,   x_j in {0, 1}:   with 2 x 2 blocks a one can be half a turn, exp(A) = -I, a diagonal exp(a) is positive
//! ```
//!
//! Trained on the parity of every prefix of sequences of up to 40 bits, tested on the last bit of longer ones.
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use burn::backend::{Autodiff, Flex};
use burn::module::{AutodiffModule, Module};
use burn::optim::{AdamConfig, GradientsParams, Optimizer};
use burn::tensor::activation::relu;
use burn::tensor::backend::Backend;
use burn::tensor::{Tensor, TensorData};
use ncde::model::{
    Error, Gates, GatesConfig, Init, LinearNcde, LinearNcdeConfig, ModelBackend, Observations, Over, Readout, ReadoutConfig,
    StructureConfig, TimeChannel, Times,
};
use ncde::random::Stream;

const HIDDEN: usize = 8;
const STEPS: u64 = 400;
const BATCH: usize = 16;

#[derive(Module, Debug)]
struct Classifier<B: Backend> {
    layer: LinearNcde<B>,
    readout: Readout<B>,
}

impl<B: ModelBackend> Classifier<B> {
    /// An output for every prefix, `[batch, length, 1]`, of `length + 1` bits: a bit is the speed of omega until the next one.
    fn forward(&self, bits: Vec<f64>, batch: usize) -> Result<Tensor<B, 3>, Error> {
        let (device, length) = (Default::default(), bits.len() / batch);
        let values = Tensor::from_data(TensorData::new(bits, [batch, length, 1]), &device);
        let gates = GatesConfig::Values { time: TimeChannel::Absent }.init::<B>(1, &device, &Stream::new(0, 0));
        let drive = gates.drive(Observations { values, times: Times::Regular(1.0), lengths: None })?;
        self.readout.forward(self.layer.forward(&drive)?, None)
    }
}

/// Bits, and the parity of every prefix: 1 if even, -1 if odd.
fn data(batch: usize, length: usize, stream: &Stream) -> (Vec<f64>, Vec<f64>) {
    let all = (batch * (length + 1)) as u64;
    let bits: Vec<f64> = (0..all).map(|i| f64::from(u8::from(stream.uniform(i) < 0.5))).collect();
    let mut signs = Vec::with_capacity(batch * length);
    for series in bits.chunks_exact(length + 1) {
        let mut sign = 1.0;
        for bit in &series[..length] {
            sign *= 1.0 - 2.0 * bit;
            signs.push(sign);
        }
    }
    (bits, signs)
}

fn train(structure: StructureConfig) -> Result<Classifier<Flex>, Error> {
    let device = Default::default();
    let config = LinearNcdeConfig::new(HIDDEN, 1).with_structure(structure).with_init(Init::Scaled { std: 0.5 });
    let mut model = Classifier::<Autodiff<Flex>> {
        layer: config.init(&device, 2)?,
        readout: ReadoutConfig::new(1).with_over(Over::EveryStep).init(HIDDEN, &device, &Stream::new(0, 1)),
    };
    let mut optimiser = AdamConfig::new().init();
    for step in 0..STEPS {
        let length = [4, 8, 16, 40][[150, 230, 310].iter().filter(|&&end| step >= end).count()];
        let (bits, signs) = data(BATCH, length, &Stream::new(1, step));
        let signs = Tensor::from_data(TensorData::new(signs, [BATCH, length, 1]), &device);
        let margin = model.forward(bits, BATCH)? * signs;
        // The logistic loss, without overflow.
        let loss = relu(margin.clone().neg()) + margin.abs().neg().exp().log1p();
        let gradients = GradientsParams::from_grads(loss.mean().backward(), &model);
        model = optimiser.step(0.03 * (1.0 - step as f64 / STEPS as f64), model, gradients);
    }
    Ok(model.valid())
}

/// The share of new sequences whose last prefix is classified right.
fn accuracy(model: &Classifier<Flex>, length: usize) -> Result<f64, Error> {
    let cases = 200;
    let (bits, signs) = data(cases, length, &Stream::new(2, 0));
    let outputs: Vec<f64> = model.forward(bits, cases)?.into_data().iter().collect();
    let last = (1..=cases).map(|case| case * length - 1);
    Ok(last.filter(|&i| outputs[i] * signs[i] > 0.0).count() as f64 / cases as f64)
}

fn main() -> Result<(), Error> {
    let block = train(StructureConfig::Block { block: 2 })?;
    let diagonal = train(StructureConfig::Diagonal)?;
    println!("accuracy on new sequences, trained on up to 40 bits");
    for length in [10, 40, 80] {
        let (block, diagonal) = (accuracy(&block, length)?, accuracy(&diagonal, length)?);
        println!("  {length:3} bits: blocks of 2 {:5.1} %, positive diagonal {:5.1} %", 100.0 * block, 100.0 * diagonal);
        if length == 40 {
            assert!(block > 0.95 && diagonal < 0.7, "a turn can be learned, counting is not parity");
        }
    }
    Ok(())
}
