//! Parity of bits: a state that must turn. Rotations do it exactly and learn it; positive diagonal flows cannot.
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use burn::module::{AutodiffModule, Module, Param};
use burn::optim::{AdamConfig, GradientsParams, Optimizer};
use burn::tensor::activation::relu;
use burn::tensor::backend::Backend;
use burn::tensor::{Tensor, TensorData};
use common::{B, numbers, tensor};
use ncde::model::{
    First, Gates, GatesConfig, Init, LinearNcde, LinearNcdeConfig, ModelBackend, Observations, Over, Readout, ReadoutConfig,
    StructureConfig, TimeChannel, Times,
};
use ncde::random::Stream;

fn gates<B: Backend>() -> impl Gates<B> {
    GatesConfig::Tokens { scale: 1.0, first: First::Drives }.init::<B>(1, &Default::default(), &Stream::new(0, 0))
}

#[test]
fn half_a_turn_a_bit_is_parity() {
    let config = LinearNcdeConfig::new(2, 2).with_structure(StructureConfig::Dense);
    let mut model = config.init::<B>(&Default::default(), 0).unwrap();
    let pi = std::f64::consts::PI;
    model.a = Param::from_tensor(tensor(vec![0.0, 0.0, 0.0, 0.0, 0.0, -pi, pi, 0.0], [8]));
    model.start = Param::from_tensor(tensor(vec![1.0, 0.0], [1, 2]));
    let bits: Vec<f64> = (0..200).map(|i| f64::from(u8::from(Stream::new(4, 0).uniform(i) < 0.5))).collect();
    let values = tensor(bits.clone(), [1, 200, 1]);
    let drive = gates().drive(Observations { values, times: Times::Regular(1.0), lengths: None }).unwrap();
    let states = numbers(model.forward(&drive).unwrap());
    let mut sign = 1.0;
    for (state, bit) in states.chunks(2).zip(&bits) {
        sign *= 1.0 - 2.0 * bit;
        assert!((state[0] - sign).abs() < 1e-12 && state[1].abs() < 1e-12);
    }
}

#[test]
fn diagonal_flows_only_count() {
    // exp(a n) is monotone in the number n of ones: no state ever turns, however A is drawn.
    for seed in 0..20 {
        let config = LinearNcdeConfig::new(8, 2).with_structure(StructureConfig::Diagonal).with_init(Init::Scaled { std: 2.0 });
        let mut model = config.init::<B>(&Default::default(), seed).unwrap();
        let mut a = numbers(model.a.val());
        a[..8].fill(0.0);
        model.a = Param::from_tensor(tensor(a, [16]));
        model.start = Param::from_tensor(tensor(numbers(model.start.val()), [1, 8]));
        let drive =
            gates().drive(Observations { values: tensor(vec![1.0; 6], [1, 6, 1]), times: Times::Regular(1.0), lengths: None });
        let states = numbers(model.forward_with_start(&drive.unwrap()).unwrap());
        for h in 0..8 {
            let steps: Vec<f64> = (0..6).map(|t| states[(t + 1) * 8 + h] - states[t * 8 + h]).collect();
            assert!(steps.iter().all(|s| *s > 0.0) || steps.iter().all(|s| *s < 0.0), "{steps:?}");
        }
    }
}

#[derive(Module, Debug)]
struct Classifier<B: Backend> {
    recurrence: LinearNcde<B>,
    readout: Readout<B>,
}

impl<B: ModelBackend> Classifier<B> {
    /// An output for every prefix. A bit is the speed of omega until the next: there is one more bit than there are steps.
    fn forward(&self, bits: &[f64], batch: usize) -> Tensor<B, 3> {
        let device = Default::default();
        let values = Tensor::from_data(TensorData::new(bits.to_vec(), [batch, bits.len() / batch, 1]), &device);
        let gates = GatesConfig::Values { time: TimeChannel::Absent }.init::<B>(1, &device, &Stream::new(0, 0));
        let drive = gates.drive(Observations { values, times: Times::Regular(1.0), lengths: None }).unwrap();
        self.readout.forward(self.recurrence.forward(&drive).unwrap(), None).unwrap()
    }
}

const LENGTH: usize = 40;
const HIDDEN: usize = 8;

/// Bits, and the parity of every prefix as -1 or 1.
fn data(batch: usize, length: usize, stream: &Stream) -> (Vec<f64>, Vec<f64>) {
    let all = (batch * (length + 1)) as u64;
    let bits: Vec<f64> = (0..all).map(|i| f64::from(u8::from(stream.uniform(i) < 0.5))).collect();
    let mut signs = Vec::with_capacity(batch * length);
    for series in bits.chunks(length + 1) {
        let mut sign = 1.0;
        for bit in &series[..length] {
            sign *= 1.0 - 2.0 * bit;
            signs.push(sign);
        }
    }
    (bits, signs)
}

/// The accuracy at step 40 on new sequences, after training on the parity of every prefix of ever longer ones.
fn trained(structure: StructureConfig) -> f64 {
    let device = Default::default();
    let config = LinearNcdeConfig::new(HIDDEN, 1).with_structure(structure).with_init(Init::Scaled { std: 0.5 });
    let mut model = Classifier::<B> {
        recurrence: config.init(&device, 2).unwrap(),
        readout: ReadoutConfig::new(1).with_over(Over::EveryStep).init(HIDDEN, &device, &Stream::new(0, 1)),
    };
    let mut optimiser = AdamConfig::new().init();
    let (batch, steps) = (16, 400);
    for step in 0..steps {
        let length = [4, 8, 16, LENGTH][[150, 230, 310].iter().filter(|&&end| step >= end).count()];
        let (bits, signs) = data(batch, length, &Stream::new(1, step));
        let signs = Tensor::<B, 3>::from_data(TensorData::new(signs, [batch, length, 1]), &device);
        let margin = model.forward(&bits, batch) * signs;
        // The logistic loss, without overflow.
        let loss = relu(margin.clone().neg()) + margin.abs().neg().exp().log1p();
        let grads = GradientsParams::from_grads(loss.mean().backward(), &model);
        model = optimiser.step(0.03 * (1.0 - step as f64 / steps as f64), model, grads);
    }
    let (bits, signs) = data(200, LENGTH, &Stream::new(2, 0));
    let outputs = numbers(model.valid().forward(&bits, 200));
    let last = (0..200).map(|i| i * LENGTH + LENGTH - 1);
    last.filter(|&i| outputs[i] * signs[i] > 0.0).count() as f64 / 200.0
}

#[test]
fn blocks_learn_parity() {
    let accuracy = trained(StructureConfig::Block { block: 2 });
    assert!(accuracy > 0.98, "{accuracy}");
}

#[test]
fn positive_diagonals_do_not_learn_parity() {
    let accuracy = trained(StructureConfig::Diagonal);
    assert!((0.3..0.7).contains(&accuracy), "{accuracy}");
}
