//! A saved model on a device, in batches, says what it says one observation after the other.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

use ncde_data::{Dataset, Targets};
use ncde_runtime::{At, Model, Prediction};
use ncde_train::demo::turns;
use ncde_train::{Answered, Config, Run, TrainRequest, ignore, predict_all, predict_on};

use crate::common::devices;

/// Series of different lengths, with a class for each or for each observation, or with nothing but a future.
fn data(targets: &str) -> Dataset {
    let mut data = turns(3).subset(&(0..24).collect::<Vec<_>>());
    for (i, case) in data.cases.iter_mut().enumerate() {
        let length = 9 + 2 * (i % 5);
        case.times.truncate(length);
        case.values.truncate(length * data.channels.len());
    }
    if let ("steps", Targets::Classes { names, of }) = (targets, &data.targets) {
        let of = of.iter().zip(&data.cases).map(|(&own, case)| (0..case.len()).map(|t| (t % 3 != 1).then_some(own)).collect());
        data.targets = Targets::ClassSteps { names: names.clone(), of: of.collect() };
    }
    if targets == "none" {
        data.targets = Targets::None;
    }
    data
}

fn trained(settings: &[&str], data: &Dataset) -> Model {
    let mut config = Config::default();
    let common = ["steps=6", "evaluate_every=3", "hidden=8", "validation=0.2", "test_share=0"];
    common.iter().chain(settings).for_each(|setting| config.set(setting).unwrap());
    let folder = tempfile::tempdir().unwrap();
    let run = Run::new(&config, data.clone(), None).unwrap();
    run.train(&TrainRequest::new(folder.path()), &mut ignore).unwrap();
    Model::load(folder.path()).unwrap()
}

fn numbers(all: &[Prediction]) -> Vec<f64> {
    let one = |own: &Prediction| match own {
        Prediction::Class { probabilities, .. } => probabilities.clone(),
        Prediction::Value(value) => vec![*value],
        Prediction::Values(forecasts) => forecasts.values.clone(),
    };
    all.iter().flat_map(one).collect()
}

fn same(what: &str, seen: &Answered, wanted: &Answered) {
    assert_eq!(seen.overflowed, wanted.overflowed, "{what}");
    for (i, (seen, wanted)) in seen.predictions.iter().zip(&wanted.predictions).enumerate() {
        assert_eq!(seen.len(), wanted.len(), "{what}, case {i}");
        let (seen, wanted) = (numbers(seen), numbers(wanted));
        let most = seen.iter().zip(&wanted).map(|(a, b)| (a - b).abs() / (1.0 + b.abs())).fold(0.0, f64::max);
        assert!(most < 1e-4, "{what}, case {i}: {seen:?}, wanted {wanted:?}");
    }
}

#[test]
fn a_batch_says_what_a_series_says() {
    let models: [(&str, &[&str]); 8] = [
        ("end", &["name=slice", "window=4", "depth=2"]),
        ("end", &["name=stack", "blocks=1", "members=2", "window=3"]),
        ("end", &["name=log-ncde", "window=5", "field_width=8"]),
        ("end", &["name=ncde", "field_width=8"]),
        ("steps", &["name=slice", "window=4"]),
        ("steps", &["name=stack", "blocks=1", "window=1"]),
        ("none", &["name=slice", "window=3", "horizon=2"]),
        ("none", &["name=slice", "structure=diagonal", "horizon=2"]),
    ];
    for (targets, settings) in models {
        let data = data(targets);
        let model = trained(settings, &data);
        for device in devices() {
            let what = format!("{settings:?} on {device:?}");
            same(&what, &predict_on(device, &model, &data, At::End).unwrap(), &predict_all(&model, &data, At::End).unwrap());
            let everywhere = predict_on(device, &model, &data, model.spec().task.at()).unwrap();
            same(&what, &everywhere, &predict_all(&model, &data, model.spec().task.at()).unwrap());
        }
    }
}

/// A case whose states overflow has no more predictions from there on, and the others are as they were.
#[test]
fn a_case_that_overflows_stands_alone() {
    let mut data = data("steps");
    let model = trained(&["name=slice", "window=1", "stability=free", "transition=euler"], &data);
    let (width, far) = (data.channels.len(), 5);
    data.cases[7].values[far * width..].iter_mut().enumerate().for_each(|(i, x)| *x = if i % 2 == 0 { 1e38 } else { -1e38 });
    for device in devices() {
        let (seen, wanted) =
            (predict_on(device, &model, &data, At::Steps).unwrap(), predict_all(&model, &data, model.spec().task.at()).unwrap());
        assert_eq!((&seen.overflowed[..], &wanted.overflowed[..]), (&[7][..], &[7][..]));
        assert!((far..data.cases[7].len()).contains(&seen.predictions[7].len()));
        let without = |mut all: Answered| {
            all.predictions.remove(7);
            all
        };
        same(&format!("{device:?}"), &without(seen), &without(wanted));
    }
}

#[test]
fn a_reservoir_is_asked_on_the_processor() {
    let mut config = Config::default();
    ["name=reservoir", "test_share=0"].iter().for_each(|setting| config.set(setting).unwrap());
    let (data, folder) = (data("end"), tempfile::tempdir().unwrap());
    Run::new(&config, data.clone(), None).unwrap().train(&TrainRequest::new(folder.path()), &mut ignore).unwrap();
    let model = Model::load(folder.path()).unwrap();
    for device in devices() {
        assert_eq!(
            predict_on(device, &model, &data, At::End).unwrap(),
            predict_all(&model, &data, model.spec().task.at()).unwrap()
        );
    }
}
