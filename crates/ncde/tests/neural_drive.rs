//! Neural models from rows and steps of one's own, and with numbers that a series has once.
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use burn::module::Param;
use burn::tensor::{DType, FloatDType, Tensor};
use common::{B, check_gradients, difference, numbers, tensor, values};
use ncde::model::{Error, NeuralCde, NeuralCdeConfig, NeuralDrive, NeuralKind, Observations, StepRule, TimeChannel, Times, cast};
use ncde::neural::{Outputs, Schedule};
use ncde_signature::path::{Linear, Series};

fn config() -> NeuralCdeConfig {
    NeuralCdeConfig::new(NeuralKind::LogNcde { depth: 2 }, 5, 3)
        .with_layers(7, 2)
        .with_divisor(1.0)
        .with_steps(StepRule::EachWindow(2))
}

fn double(config: &NeuralCdeConfig) -> NeuralCde<B> {
    cast(config.init::<B>(&Default::default(), 3).unwrap(), FloatDType::F64)
}

#[test]
fn statics_move_the_initial_state_alone() {
    let (plain, config) = (config(), config().with_statics(2));
    let (without, mut with) = (double(&plain), double(&config));
    with.field = Param::initialized(with.field.id, without.field.val());
    let (first, statics, logs) = (values(6, 1.0, 1), values(4, 1.0, 2), tensor(values(2 * 4 * 6, 0.5, 3), [2, 4, 6]));
    let wide = [&first[..3], &statics[..2], &first[3..], &statics[2..]].concat();
    let drive = config.windows(tensor(wide, [2, 5]), logs.clone(), &[0.5; 8], None).unwrap();
    // By hand: the first three rows of the map read the observation, the other two the statics.
    let (weight, bias) = (with.first.weight.val(), with.first.bias.as_ref().unwrap().val().unsqueeze());
    let start = tensor(first.clone(), [2, 3]).matmul(weight.clone().narrow(0, 0, 3))
        + tensor(statics.clone(), [2, 2]).matmul(weight.narrow(0, 3, 2))
        + bias;
    let error = difference(&numbers(with.initial(&drive.first).unwrap()), &numbers(start.clone()));
    assert!(error < 1e-14, "{error}");
    // After it the same equation: the model without statics, from that state.
    let bare = plain.windows(tensor(first, [2, 3]), logs, &[0.5; 8], None).unwrap();
    let error = difference(&numbers(with.forward(&drive).unwrap()), &numbers(without.forward_from(start, &bare).unwrap()));
    assert!(error < 1e-14, "{error}");
    // The same drive, with the statics appended.
    let appended = bare.with_statics(tensor(statics, [2, 2])).unwrap();
    assert_eq!(numbers(with.forward(&appended).unwrap()), numbers(with.forward(&drive).unwrap()));
}

#[test]
fn statics_follow_tensors_and_paths() {
    let config = NeuralCdeConfig { kind: NeuralKind::LogNcde { depth: 1 }, ..config().with_statics(1) };
    let (model, plain) = (double(&config), values(2 * 9, 1.0, 1));
    let observations = Observations { values: tensor(plain.clone(), [1, 9, 2]), times: Times::Regular(0.5), lengths: None };
    let tensors = config.windows_from(observations, TimeChannel::Present, 1).unwrap();
    let series = Series::new((0..9).map(|i| 0.5 * f64::from(i)).collect(), plain, 2).unwrap().with_time().unwrap();
    let path = Linear::new(&series.complete().unwrap()).unwrap();
    let along = config.along(&[path], (&Default::default(), DType::F64)).unwrap();
    let [a, b] = [tensors, along].map(|drive| {
        let drive = drive.with_statics(tensor(vec![0.7], [1, 1])).unwrap();
        numbers(model.forward(&drive).unwrap())
    });
    let error = difference(&a, &b);
    assert!(error < 1e-13, "{error}");
}

#[test]
fn statics_have_gradients() {
    let config = config().with_statics(2);
    let model = double(&config);
    let logs = tensor(values(3 * 6, 0.5, 2), [1, 3, 6]);
    check_gradients("statics", &[values(3, 1.0, 1), values(2, 1.0, 5)], |inputs| {
        let [first, statics] = inputs.try_into().unwrap();
        let drive = config.windows(first.reshape([1, 3]), logs.clone(), &[0.3, 0.5, 0.2], None).unwrap();
        let states = model.forward(&drive.with_statics(statics.reshape([1, 2])).unwrap()).unwrap();
        (states * tensor(values(15, 1.0, 7), [1, 3, 5])).sum()
    });
}

/// Rates that are given are those that windows divide by their lengths.
#[test]
fn rows_of_one_s_own_are_not_divided() {
    let config = config();
    let (model, first) = (double(&config), tensor(values(6, 1.0, 1), [2, 3]));
    let logs = values(2 * 2 * 6, 0.5, 3);
    let spans = [0.5, 0.25, 2.0, 4.0];
    let windows = config.windows(first.clone(), tensor(logs.clone(), [2, 2, 6]), &spans, None).unwrap();
    let rates = logs.iter().enumerate().map(|(i, x)| x / spans[i / 6]).collect();
    let schedule = Schedule {
        steps: 4,
        dt: spans.iter().flat_map(|span| [span / 2.0; 2]).collect(),
        rows: [0, 0, 0, 0, 1, 1, 1, 1].repeat(2),
        outputs: Outputs::At(vec![1, 3, 1, 3]),
    };
    let own = NeuralDrive::new(first, tensor(rates, [2, 2, 6]), schedule).unwrap();
    assert_eq!(own.lengths[..], [2, 2]);
    assert_eq!(own.clone().with_lengths(&[2, 1]).unwrap().lengths[..], [2, 1]);
    assert_eq!(numbers(model.forward(&own).unwrap()), numbers(model.forward(&windows).unwrap()));
}

#[test]
fn what_does_not_fit_is_refused() {
    let schedule = Schedule { steps: 2, dt: vec![0.5; 2], rows: vec![0, 0, 1, 1], outputs: Outputs::Every };
    let made = |batch: usize, schedule: &Schedule| {
        let first = Tensor::<B, 2>::zeros([batch, 3], &Default::default());
        NeuralDrive::new(first, Tensor::zeros([1, 2, 6], &Default::default()), schedule.clone())
    };
    let drive = made(1, &schedule).unwrap();
    for (batch, schedule, wanted) in [
        (2, schedule.clone(), "neural drive: the tensor of first observations has 2 series, but 1 is needed"),
        (1, Schedule { dt: vec![0.5; 3], ..schedule.clone() }, "has 3 numbers, but one for each of 1 series x 2 steps is needed"),
        (1, Schedule { rows: vec![0; 3], ..schedule.clone() }, "has 3 numbers, but as many for each of 1 series x 2 steps"),
        (1, Schedule { rows: vec![0, 0, 0, 2], ..schedule.clone() }, "the list of rows has `2`, but a row below 2 is needed"),
        (1, Schedule { outputs: Outputs::At(vec![2]), ..schedule.clone() }, "step"),
    ] {
        let error = made(batch, &schedule).unwrap_err().to_string();
        assert!(error.contains(wanted), "{error}");
    }
    let error = drive.clone().with_lengths(&[3]).unwrap_err().to_string();
    assert!(error.contains("one length between 0 and 2 for each of 1 series"), "{error}");
    let error = drive.clone().with_statics(Tensor::zeros([2, 1], &Default::default())).unwrap_err().to_string();
    assert_eq!(error, "neural drive: the tensor of statics has 2 series, but 1 is needed");
    let model = config().with_statics(2).init::<B>(&Default::default(), 0).unwrap();
    let error = model.forward(&drive).unwrap_err();
    assert!(matches!(error, Error::Shape { .. }));
    assert_eq!(error.to_string(), "neural CDE: the first observation has 3 channels, but 3 and 2 statics is needed");
}
