//! Each neural model learns which way a noisy loop turns, which no single observation tells.
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use burn::module::{AutodiffModule, Module};
use burn::optim::{AdamConfig, GradientsParams, Optimizer};
use burn::tensor::activation::relu;
use burn::tensor::backend::Backend;
use burn::tensor::{Tensor, TensorData};
use common::{B, numbers};
use ncde::model::{ModelBackend, NeuralCde, NeuralCdeConfig, NeuralKind, Readout, ReadoutConfig, StepRule};
use ncde::random::Stream;
use ncde_signature::path::{AtObservations, Cubic, Linear, Series, Windows};

const BATCH: usize = 16;
const LENGTH: usize = 17;

#[derive(Module, Debug)]
struct Classifier<B: Backend> {
    model: NeuralCde<B>,
    readout: Readout<B>,
}

impl<B: ModelBackend> Classifier<B> {
    fn forward(&self, loops: &[Series<f64>]) -> Tensor<B, 3> {
        let (config, device) = (self.model.config(), Default::default());
        let drive = match config.kind {
            NeuralKind::Ncde => {
                let path = |own: &Series<f64>| Cubic::<f64, AtObservations>::hermite(&own.clone().complete().unwrap()).unwrap();
                config.along(&loops.iter().map(path).collect::<Vec<_>>(), &device).unwrap()
            }
            _ => {
                let path = |own: &Series<f64>| Linear::new(&own.clone().complete().unwrap()).unwrap();
                let paths: Vec<Linear<f64, AtObservations>> = loops.iter().map(path).collect();
                config.windows_of(&paths, &Windows::Observations(4), 1, &device).unwrap()
            }
        };
        self.readout.forward(self.model.forward(&drive).unwrap(), Some(&drive.lengths)).unwrap()
    }
}

/// Noisy loops that start anywhere, and their directions.
fn data(seed: u64, batch: usize) -> (Vec<Series<f64>>, Vec<f64>) {
    let loops = (0..batch as u64).map(|case| {
        let draw = Stream::new(seed, case);
        let sign = if draw.uniform(0) < 0.5 { 1.0 } else { -1.0 };
        let times: Vec<f64> = (0..LENGTH).map(|i| i as f64 / (LENGTH - 1) as f64).collect();
        let values = (0..2 * LENGTH).map(|i| {
            let angle = std::f64::consts::TAU * (draw.uniform(1) + sign * times[i / 2]);
            (if i % 2 == 0 { angle.cos() } else { angle.sin() }) + 0.1 * draw.normal(2 + i as u64)
        });
        (Series::new(times.clone(), values.collect(), 2).unwrap(), sign)
    });
    loops.unzip()
}

/// The share of new loops that are classified right, after some steps of training.
fn accuracy(kind: NeuralKind, divisor: f64) -> f64 {
    let device = Default::default();
    let config = NeuralCdeConfig::new(kind, 8, 2).with_layers(16, 1).with_divisor(divisor).with_steps(StepRule::Shared(16));
    let mut classifier = Classifier::<B> {
        model: config.init(&device, 1).unwrap(),
        readout: ReadoutConfig::new(1).init(8, &device, &Stream::new(2, 0)),
    };
    let mut optimiser = AdamConfig::new().init();
    for step in 0..150 {
        let (loops, signs) = data(100 + step, BATCH);
        let signs = Tensor::from_data(TensorData::new(signs, [BATCH, 1, 1]), &device);
        let margin = classifier.forward(&loops) * signs;
        // The logistic loss, without overflow.
        let loss = relu(margin.clone().neg()) + margin.abs().neg().exp().log1p();
        let loss = loss.mean() + classifier.model.penalty() * 1e-4;
        let gradients = GradientsParams::from_grads(loss.backward(), &classifier);
        classifier = optimiser.step(0.02, classifier, gradients);
    }
    let (loops, signs) = data(7, 200);
    let outputs = numbers(classifier.valid().forward(&loops));
    outputs.iter().zip(&signs).filter(|(output, sign)| *output * *sign > 0.0).count() as f64 / 200.0
}

#[test]
fn an_ncde_learns_which_way_a_loop_turns() {
    let share = accuracy(NeuralKind::Ncde, 1.0);
    assert!(share > 0.95, "{share}");
}

#[test]
fn an_nrde_learns_which_way_a_loop_turns() {
    let share = accuracy(NeuralKind::Nrde { depth: 2 }, 1.0);
    assert!(share > 0.95, "{share}");
}

#[test]
fn a_log_ncde_learns_which_way_a_loop_turns() {
    let share = accuracy(NeuralKind::LogNcde { depth: 2 }, 1.0);
    assert!(share > 0.95, "{share}");
}

#[test]
fn a_log_ncde_of_depth_3_learns_which_way_a_loop_turns() {
    let share = accuracy(NeuralKind::LogNcde { depth: 3 }, 1.0);
    assert!(share > 0.95, "{share}");
}

#[test]
fn a_log_ncde_learns_from_the_thesis_s_small_weights() {
    let share = accuracy(NeuralKind::LogNcde { depth: 2 }, 1000.0);
    assert!(share > 0.95, "{share}");
}
