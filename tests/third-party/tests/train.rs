//! The layer and the optimizer of this crate, trained on arrays in memory, saved, loaded and streamed.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

use std::sync::Arc;

use ncde::data::{Dataset, Targets};
use ncde::runtime::layer::{Activation, Foreign, Function, Linear, Over, Pointwise, Pool};
use ncde::runtime::{At, LayerSpec, Model, Prediction};
use ncde::train::{Config, DataConfig, ModelConfig, Run, TrainConfig, TrainRequest, ignore};
use third_party::{SignDescent, register_leaky};

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
    register_leaky().unwrap();
    let leaky = |rate: f64| {
        let settings = [("rate".to_owned(), rate.into())].into_iter().collect();
        LayerSpec::Foreign(Foreign::new("leaky", settings).unwrap())
    };
    let linear = |outputs: usize| LayerSpec::Linear(Linear { outputs });
    let function = |of: Pointwise| LayerSpec::Activation(Activation { function: Function::Each(of) });
    let layers = vec![
        leaky(0.8),
        linear(8),
        function(Pointwise::Tanh),
        leaky(0.5),
        function(Pointwise::Tanh),
        linear(8),
        function(Pointwise::Silu),
        LayerSpec::Pool(Pool { over: Over::Mean }),
        linear(0), // as many as the task needs
    ];
    let config = Config {
        data: DataConfig { validation: Some(0.2), ..DataConfig::default() },
        model: ModelConfig { layers, ..ModelConfig::default() },
        train: TrainConfig { steps: Some(150), rate: Some(0.01), average: Some(0.9), ..TrainConfig::default() },
        ..Config::default()
    };
    let run = || {
        let run = Run::new(&config, waves(120), None).unwrap();
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
    let whole = ncde::train::predict_all(&model, &waves(4), At::End).unwrap().predictions[3][0].clone();
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
    assert!(message.contains("train.optimizer"), "{message}");
    assert_eq!(longer.with_optimizer(Arc::new(SignDescent)).train(&request, &mut ignore).unwrap().record.steps, 160);
}
