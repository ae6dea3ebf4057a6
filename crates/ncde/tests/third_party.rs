//! What a crate of others can do with `ncde` alone: a layer and an optimizer of its own, trained on arrays in memory, saved, loaded and streamed.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

use std::sync::Arc;

use ncde::data::{Dataset, Targets};
use ncde::layers::burn::autodiff::Autodiff;
use ncde::layers::burn::flex::Flex;
use ncde::layers::burn::tensor::Tensor;
use ncde::layers::layer::{Batch, Context, Error as BatchError, LayerBackend, LayerWeights, Rows, register_batch};
use ncde::runtime::layer::{Init, Layer, Row, Share, Signal, Size, Step, StepChain, Values, Weight, register};
use ncde::runtime::{Error, Model, Prediction};
use ncde::train::optimizer::{Moment, Optimizer, Parameter, Updated, one_by_one};
use ncde::train::{Config, Run, TrainRequest, ignore};

/// `y_t = rate y_{t-1} + gain x_t`, with gains that are trained.
#[derive(Debug)]
struct Leaky {
    rate: f64,
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

#[derive(Debug)]
struct LeakyStep {
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

#[derive(Debug)]
struct LeakyBatch(f64);

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
struct SignDescent;

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

/// Slow and fast waves of one channel.
fn waves(count: usize) -> Dataset {
    let is_fast = |i: usize| i % 2 == 1;
    let wave = |i: usize| -> Vec<f64> {
        let (speed, start) = (if is_fast(i) { 1.3 } else { 0.3 }, i as f64);
        (0..30 + i % 5).map(|t| (start + speed * t as f64).sin()).collect()
    };
    let labels = (0..count).map(|i| if is_fast(i) { "fast" } else { "slow" });
    Dataset::from_arrays(1, (0..count).map(wave), Targets::labels(labels))
}

#[test]
fn a_layer_and_an_optimizer_of_another_crate_train_are_saved_loaded_and_stream() {
    register("leaky", |settings| {
        let wrong = || Error::Setting { setting: "rate", problem: "missing; it is a number".into() };
        Ok(Arc::new(Leaky { rate: settings["rate"].as_f64().ok_or_else(wrong)? }))
    })
    .unwrap();
    fn batch<B: LayerBackend>(rate: Option<f64>) -> Box<dyn Batch<B>> {
        Box::new(LeakyBatch(rate.unwrap_or_default()))
    }
    register_batch::<Flex>("leaky", |layer, _, _| Ok(batch(layer.settings()["rate"].as_f64())));
    register_batch::<Autodiff<Flex>>("leaky", |layer, _, _| Ok(batch(layer.settings()["rate"].as_f64())));

    let layer = |text: &str| format!("[[model.layers]]\nlayer = {text}\n");
    let layers =
        ["\"leaky\"\nrate = 0.8", "\"linear\"\noutputs = 8", "\"activation\"\nfunction = \"tanh\"", "\"leaky\"\nrate = 0.5"];
    let head = [
        "\"activation\"\nfunction = \"tanh\"",
        "\"linear\"\noutputs = 8",
        "\"activation\"\nfunction = \"silu\"",
        "\"pool\"\nover = \"mean\"",
        "\"linear\"",
    ];
    let model: String = layers.iter().chain(&head).map(|text| layer(text)).collect();
    let config = format!("[data]\nvalidation = 0.2\n[train]\nsteps = 150\nrate = 0.01\naverage = 0.9\n{model}");
    let run = || {
        let run = Run::new(&Config::from_toml(&config).unwrap(), waves(120), None).unwrap();
        run.with_optimizer(Arc::new(SignDescent))
    };
    let folder = tempfile::tempdir().unwrap();
    let record = run().train(&TrainRequest::new(folder.path()), &mut ignore).unwrap().record;
    let accuracy = record.test.unwrap().get("accuracy").unwrap();
    assert!(accuracy > 0.9, "{accuracy}: {:?}", record.history);

    // It was saved by its name, and says the same of a series one observation at a time.
    let model = Model::load(folder.path()).unwrap();
    assert!(model.spec().detail().starts_with("leaky, linear, activation, leaky"));
    let wave = &waves(4).cases[3];
    let mut series = model.start(&[]).unwrap();
    let mut seen = Vec::new();
    for (time, value) in wave.times.iter().zip(&wave.values) {
        let Prediction::Class { class, probabilities } = model.step(&mut series, *time, &[*value]).unwrap() else { panic!() };
        seen.push((class, probabilities));
    }
    let whole = ncde::train::predict_all(&model, &waves(4), model.spec().task.at()).unwrap().predictions[3][0].clone();
    assert_eq!(
        Some(&whole),
        seen.last()
            .map(|(class, probabilities)| Prediction::Class { class: *class, probabilities: probabilities.clone() })
            .as_ref()
    );

    // What the optimizer keeps is in the checkpoint: a run goes on with it, and another optimizer is told apart.
    let mut longer = run().config().clone();
    longer.train.steps = Some(160);
    let longer = Run::new(&longer, waves(120), None).unwrap();
    let request = TrainRequest::new(folder.path()).resumed();
    let message = longer.train(&request, &mut ignore).unwrap_err().to_string();
    assert!(message.contains("another model"), "{message}");
    assert_eq!(longer.with_optimizer(Arc::new(SignDescent)).train(&request, &mut ignore).unwrap().record.steps, 160);
}
