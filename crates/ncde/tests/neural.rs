//! NCDE, NRDE and Log-NCDE: equal to the generic solver, to each other where they should be, and to themselves in any batch.
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use burn::backend::Flex;
use burn::module::Param;
use burn::tensor::{DType, FloatDType, Tensor};
use common::{B, check_gradients, difference, numbers, tensor, values};
use ncde::model::{Error, NeuralCde, NeuralCdeConfig, NeuralDrive, NeuralKind, Observations, StepRule, TimeChannel, Times, cast};
use ncde::neural::{self, Activation, Last, Solver};
use ncde_signature::path::{AtObservations, Cubic, Linear, Series, Windows};
use ncde_solve::field::{Activation as Function, Network};
use ncde_solve::lip::weight_penalty;
use ncde_solve::solve::{Along, Drive, LogOde, Method, Save, Solver as Generic, Steps, Term};

const KINDS: [NeuralKind; 5] = [
    NeuralKind::Ncde,
    NeuralKind::Nrde { depth: 3 },
    NeuralKind::LogNcde { depth: 1 },
    NeuralKind::LogNcde { depth: 2 },
    NeuralKind::LogNcde { depth: 3 },
];

/// A path in two channels and time, at times without a pattern.
fn series(length: usize, seed: u64) -> Series<f64> {
    let mut t = 0.0;
    let times = values(length, 0.1, seed).into_iter().map(|x| {
        t += 0.15 + x;
        t
    });
    Series::new(times.collect(), values(2 * length, 1.0, seed + 50), 2).unwrap().with_time().unwrap()
}

fn linear(length: usize, seed: u64) -> Linear<f64, AtObservations> {
    Linear::new(&series(length, seed).complete().unwrap()).unwrap()
}

fn hermite(length: usize, seed: u64) -> Cubic<f64, AtObservations> {
    Cubic::hermite(&series(length, seed).complete().unwrap()).unwrap()
}

fn config(kind: NeuralKind) -> NeuralCdeConfig {
    NeuralCdeConfig::new(kind, 5, 3).with_layers(7, 2).with_divisor(1.0).with_steps(StepRule::Shared(40))
}

fn double(config: &NeuralCdeConfig) -> NeuralCde<B> {
    cast(config.init::<B>(&Default::default(), 3).unwrap(), FloatDType::F64)
}

/// An NCDE is driven by the linear control here, the others by windows of four observations.
fn drive(config: &NeuralCdeConfig, paths: &[Linear<f64, AtObservations>]) -> NeuralDrive<B> {
    let options = (&Default::default(), DType::F64);
    match config.kind {
        NeuralKind::Ncde => config.along(paths, options).unwrap(),
        _ => config.windows_of(paths, &Windows::Observations(4), 1, options).unwrap(),
    }
}

/// States by the solver of `ncde-solve`, in f64, with the weights of the model.
fn generic<D: Drive<f64>>(model: &NeuralCde<Flex>, first: &Tensor<Flex, 2>, drive: &D) -> Vec<f64> {
    let config = model.config();
    let function = |activation| match activation {
        Activation::Silu => Function::Silu,
        Activation::Relu => Function::Relu,
        Activation::Tanh => Function::Tanh,
        Activation::Softplus => Function::Softplus,
    };
    let last = match config.last {
        Last::Tanh => Function::Tanh,
        Last::Linear => Function::Identity,
    };
    let (width, layers) = (config.width, config.layers);
    let network = Network::new(config.hidden, drive.channels(), width, layers, function(config.activation), last).unwrap();
    let network = config.before_last.map(function).into_iter().fold(network, Network::with_before_last);
    let method = match config.solver {
        Solver::Euler => Method::Euler,
        Solver::Heun => Method::Heun,
        Solver::Rk4 => Method::Rk4,
    };
    let steps = match config.steps {
        StepRule::Shared(count) => Steps::Shared(count),
        StepRule::AtMost(step) => Steps::AtMost(step),
        StepRule::EachWindow(_) => unreachable!("the generic solver has no such rule"),
    };
    let term = Term { field: &network, drive };
    let start = numbers(model.initial(first).unwrap());
    Generic { method, steps }.solve(&term, &numbers(model.field.val()), &start, &Save::Knots).unwrap().states
}

#[test]
fn fused_is_generic_in_windows() {
    for (depth, steps) in
        [(1, StepRule::Shared(40)), (2, StepRule::Shared(40)), (2, StepRule::AtMost(0.07)), (3, StepRule::Shared(40))]
    {
        for solver in [Solver::Euler, Solver::Heun, Solver::Rk4] {
            let config = config(NeuralKind::LogNcde { depth }).with_solver(solver).with_steps(steps);
            let (path, windows) = (linear(19, 1), Windows::Duration(0.55));
            let model = config.init::<Flex>(&Default::default(), 2).unwrap();
            let drive = config.windows_of(std::slice::from_ref(&path), &windows, 1, &Default::default()).unwrap();
            let wanted = generic(&model, &drive.first, &LogOde::new(&path, &windows, depth, 1).unwrap());
            let seen = numbers(model.forward_with_start(&drive).unwrap());
            let error = difference(&seen, &wanted);
            assert!(error < 1e-5, "{depth} {steps:?} {solver:?}: {error}");
        }
    }
}

#[test]
fn fused_is_generic_along_a_cubic() {
    for solver in [Solver::Euler, Solver::Heun, Solver::Rk4] {
        let config = config(NeuralKind::Ncde).with_solver(solver);
        let path = hermite(11, 4);
        let model = config.init::<Flex>(&Default::default(), 2).unwrap();
        let drive = config.along(std::slice::from_ref(&path), &Default::default()).unwrap();
        let wanted = generic(&model, &drive.first, &Along::new::<f64>(&path).unwrap());
        let seen = numbers(model.forward_with_start(&drive).unwrap());
        assert_eq!(seen.len(), 11 * 5);
        let error = difference(&seen, &wanted);
        assert!(error < 1e-5, "{solver:?}: {error}");
    }
}

#[test]
fn fused_is_generic_with_a_column_for_each_coordinate() {
    let config = config(NeuralKind::Nrde { depth: 3 });
    assert_eq!(config.coordinates().unwrap(), 14);
    let (path, windows) = (linear(17, 5), Windows::Observations(4));
    let model = config.init::<Flex>(&Default::default(), 2).unwrap();
    let drive = config.windows_of(std::slice::from_ref(&path), &windows, 1, &Default::default()).unwrap();
    let control = ncde_signature::Control::signatures(&path, &windows, &config.log_signature().unwrap(), 1).unwrap();
    let rows = LogOde::from_rows(control.ends().to_vec(), control.values().to_vec(), 14, 1).unwrap();
    let wanted = generic(&model, &drive.first, &rows);
    let error = difference(&numbers(model.forward_with_start(&drive).unwrap()), &wanted);
    assert!(error < 1e-5, "{error}");
}

#[test]
fn a_log_ncde_of_depth_1_with_a_window_per_observation_is_an_ncde_with_linear_control() {
    let log = config(NeuralKind::LogNcde { depth: 1 });
    let plain = NeuralCdeConfig { kind: NeuralKind::Ncde, ..log.clone() };
    let (paths, options) = ([linear(9, 1), linear(6, 2)], (&Default::default(), DType::F64));
    let windows = log.windows_of(&paths, &Windows::Observations(1), 1, options).unwrap();
    let along = plain.along(&paths, options).unwrap();
    let [a, b] = [(&log, windows), (&plain, along)].map(|(config, drive)| numbers(double(config).forward(&drive).unwrap()));
    let error = difference(&a, &b);
    assert!(error < 1e-13, "{error}");
}

#[test]
fn neither_padding_nor_batch_change_a_series() {
    for kind in KINDS {
        for steps in [StepRule::Shared(40), StepRule::AtMost(0.1), StepRule::EachWindow(3)] {
            let config = config(kind).with_steps(steps);
            let model = double(&config);
            let paths = [linear(9, 1), linear(23, 2), linear(2, 3), linear(14, 4)];
            let batch = drive(&config, &paths);
            let states = model.forward(&batch).unwrap();
            let [_, longest, _] = states.dims();
            for (b, path) in paths.iter().enumerate() {
                let alone = drive(&config, std::slice::from_ref(path));
                let own = batch.lengths[b];
                assert_eq!(alone.lengths[0], own);
                let wanted = numbers(model.forward(&alone).unwrap());
                let seen = numbers(states.clone().slice([b..b + 1, 0..longest, 0..5]));
                let error = difference(&seen[..own * 5], &wanted);
                assert!(error < 1e-13, "{kind:?} {steps:?}: {error}");
                let last = &seen[(own - 1) * 5..own * 5];
                assert!(seen[own * 5..].chunks(5).all(|later| later == last), "{kind:?} {steps:?}: the last state is repeated");
            }
        }
    }
}

#[test]
fn what_lies_after_a_series_is_not_read() {
    let config = config(NeuralKind::LogNcde { depth: 2 });
    let model = double(&config);
    let first = tensor(values(6, 1.0, 1), [2, 3]);
    let run = |padding: f64| {
        let mut logs = values(2 * 4 * 6, 1.0, 2);
        logs[2 * 6..4 * 6].fill(padding);
        let spans = [0.2, 0.3, padding, padding, 0.1, 0.2, 0.3, 0.4];
        let drive = config.windows(first.clone(), tensor(logs, [2, 4, 6]), &spans, Some(&[2, 4])).unwrap();
        numbers(model.forward(&drive).unwrap())
    };
    assert_eq!(run(0.0), run(f64::NAN));
}

#[test]
fn a_series_without_windows_stays_where_it_starts() {
    let config = config(NeuralKind::LogNcde { depth: 2 });
    let model = double(&config);
    let (first, logs) = (tensor(values(6, 1.0, 1), [2, 3]), tensor(values(2 * 4 * 6, 1.0, 2), [2, 4, 6]));
    let start = numbers(model.initial(&first).unwrap());
    let run = |lengths: &[usize]| {
        let states = model.forward(&config.windows(first.clone(), logs.clone(), &[0.5; 8], Some(lengths)).unwrap()).unwrap();
        assert_eq!(states.dims(), [2, 4, 5]);
        numbers(states)
    };
    let states = run(&[3, 0]);
    assert!(states[20..].chunks(5).all(|state| *state == start[5..]));
    assert!(states[..5] != start[..5]);
    assert!(run(&[0, 0])[..20].chunks(5).all(|state| *state == start[..5]));
}

/// The same series as tensors, padded with what is no number, and as paths.
#[test]
fn windows_of_tensors_are_windows_of_paths() {
    let lengths = [9, 14, 2];
    for (time, channels) in [(TimeChannel::Present, 3), (TimeChannel::Absent, 2)] {
        for kind in KINDS {
            let config = NeuralCdeConfig { channels, ..config(kind) };
            let mut paths = Vec::new();
            let (mut all, mut steps) = (Vec::new(), Vec::new());
            for (b, &length) in lengths.iter().enumerate() {
                // Time starts at 0, as it does for tensors.
                let own = series(length, 10 + b as u64);
                let times: Vec<f64> = own.times().iter().map(|t| t - own.times()[0]).collect();
                let plain: Vec<f64> = own.values().chunks(3).flat_map(|row| row[1..].to_vec()).collect();
                all.extend_from_slice(&plain);
                all.resize((b + 1) * 14 * 2, f64::NAN);
                steps.extend(times.windows(2).map(|two| two[1] - two[0]));
                steps.resize((b + 1) * 13, f64::NAN);
                let own = Series::new(times, plain, 2).unwrap();
                let own = if time == TimeChannel::Present { own.with_time().unwrap() } else { own };
                paths.push(Linear::new(&own.complete().unwrap()).unwrap());
            }
            let observations = Observations {
                values: tensor(all, [3, 14, 2]),
                times: Times::Steps(tensor(steps, [3, 13])),
                lengths: Some(lengths.into()),
            };
            let tensors = config.windows_from(observations, time, 4).unwrap();
            let wanted = config.windows_of(&paths, &Windows::Observations(4), 1, (&Default::default(), DType::F64)).unwrap();
            assert_eq!(tensors.lengths, wanted.lengths);
            let model = double(&config);
            let [a, b] = [tensors, wanted].map(|drive| numbers(model.forward_with_start(&drive).unwrap()));
            let error = difference(&a, &b);
            assert!(error < 1e-12, "{kind:?} {time:?}: {error}");
        }
    }
}

#[test]
fn states_at_observations_do_not_see_the_future() {
    let config = config(NeuralKind::Ncde).with_steps(StepRule::AtMost(0.05));
    let model = double(&config);
    let before = series(12, 1);
    let mut changed = before.values().to_vec();
    changed[8 * 3..].iter_mut().skip(1).step_by(3).for_each(|x| *x += 5.0);
    let after = Series::new(before.times().to_vec(), changed, 3).unwrap();
    let [a, b] = [before, after].map(|series| {
        let path = Cubic::hermite(&series.complete().unwrap()).unwrap();
        numbers(model.forward(&config.along(&[path], (&Default::default(), DType::F64)).unwrap()).unwrap())
    });
    // Observation 8 is that of state 7.
    assert_eq!(a[..7 * 5], b[..7 * 5]);
    assert!(a[7 * 5..8 * 5] != b[7 * 5..8 * 5]);
}

#[test]
fn gradients_reach_weights_first_observations_and_windows() {
    for kind in KINDS {
        // A smooth field: differences do not see the kink of a ReLU.
        let config = config(kind).with_activation(Activation::Silu).with_steps(StepRule::EachWindow(2));
        let (model, width) = (double(&config), config.coordinates().unwrap());
        let inputs =
            [numbers(model.field.val()), numbers(model.first.weight.val()), values(2 * 3, 1.0, 1), values(2 * 3 * width, 0.5, 2)];
        check_gradients(&format!("{kind:?}"), &inputs, |inputs| {
            let [field, weight, first, logs] = inputs.try_into().unwrap();
            let mut model = model.clone();
            let penalty = {
                model.field = Param::initialized(model.field.id, field);
                model.first.weight = Param::initialized(model.first.weight.id, weight.reshape([3, 5]));
                model.penalty()
            };
            let spans = [0.3, 0.5, 0.2, 1.0, 2.0, 3.0];
            let drive = config.windows(first.reshape([2, 3]), logs.reshape([2, 3, width]), &spans, Some(&[3, 3])).unwrap();
            let states = model.forward(&drive).unwrap();
            (states * tensor(values(30, 1.0, 7), [2, 3, 5])).sum() + penalty * 0.1
        });
    }
}

#[test]
fn the_penalty_is_that_of_the_generic_network() {
    let config = config(NeuralKind::LogNcde { depth: 2 });
    let mut model = double(&config);
    let network = Network::new(5, 3, 7, 2, Function::Silu, Function::Tanh).unwrap();
    let wanted = weight_penalty(&network, &numbers(model.field.val())).unwrap();
    let seen = numbers(model.penalty())[0];
    assert!((seen - wanted).abs() < 1e-12 * wanted, "{seen} {wanted}");
    // Its slope at 0 is a number.
    let zeros = Tensor::<B, 1>::zeros(model.field.val().dims(), &Default::default()).require_grad();
    model.field = Param::initialized(model.field.id, zeros.clone());
    let grads = model.penalty().backward();
    assert!(numbers(zeros.grad(&grads).unwrap()).iter().all(|x| *x == 0.0));
}

#[test]
fn a_field_that_explodes_is_a_typed_error() {
    let config = config(NeuralKind::Ncde).with_layers(1, 0).with_last(Last::Linear).with_steps(StepRule::EachWindow(3));
    let mut model = config.init::<Flex>(&Default::default(), 0).unwrap();
    model.field = Param::from_tensor(Tensor::ones(model.field.val().dims(), &Default::default()) * 1e15);
    let drive = config.along(&[linear(9, 1), linear(6, 2)], &Default::default()).unwrap();
    let error = model.forward(&drive).unwrap_err();
    let Error::Neural(neural::Error::Kernel(kernel)) = &error else { unreachable!("{error}") };
    assert!(matches!(kernel, ncde_kernels::Error::SolveExploded { series: 0, .. }), "{error}");
    assert!(error.to_string().contains("bound the field with a last tanh"), "{error}");
    // The same field, bounded, is solved.
    let bounded = NeuralCdeConfig { last: Last::Tanh, ..config }.init::<Flex>(&Default::default(), 0).unwrap();
    assert!(numbers(bounded.forward(&drive).unwrap()).iter().all(|x| x.is_finite()));
}

#[test]
fn settings_have_the_thesis_s_defaults_and_survive_a_file() {
    let [ncde, nrde, _, log, _] = KINDS.map(|kind| NeuralCdeConfig::new(kind, 64, 6));
    assert_eq!((ncde.activation, ncde.last, ncde.divisor), (Activation::Relu, Last::Tanh, 1.0));
    assert_eq!((nrde.activation, nrde.last, nrde.divisor), (Activation::Relu, Last::Linear, 1.0));
    assert_eq!((log.activation, log.last, log.divisor), (Activation::Silu, Last::Tanh, 1000.0));
    assert_eq!([&ncde, &nrde, &log].map(|own| own.before_last), [None, Some(Activation::Tanh), None]);
    let [whole, divided] = [1.0, 1000.0]
        .map(|divisor| numbers(log.clone().with_divisor(divisor).init::<Flex>(&Default::default(), 4).unwrap().field.val()));
    assert!(whole.iter().zip(&divided).all(|(whole, divided)| (whole - 1000.0 * divided).abs() < 1e-6));
    for config in [ncde, nrde, log] {
        let text = serde_json::to_string(&config).unwrap();
        assert_eq!(serde_json::from_str::<NeuralCdeConfig>(&text).unwrap(), config, "{text}");
    }
    // What came later may be missing in a file.
    let mut old = serde_json::to_value(NeuralCdeConfig::new(NeuralKind::Ncde, 4, 2)).unwrap();
    let fields = old.as_object_mut().unwrap();
    assert!(fields.remove("statics").is_some() && fields.remove("before_last").is_some());
    assert_eq!(serde_json::from_value::<NeuralCdeConfig>(old).unwrap(), NeuralCdeConfig::new(NeuralKind::Ncde, 4, 2));
}

#[test]
fn what_makes_no_sense_is_refused() {
    let device = Default::default();
    let log = |depth| config(NeuralKind::LogNcde { depth });
    for (config, setting) in [
        (log(0), "depth"),
        (log(7), "depth"),
        (log(2).with_activation(Activation::Relu), "activation"),
        (log(3).with_activation(Activation::Relu), "activation"),
        (log(2).with_before_last(Some(Activation::Relu)), "activation"),
        (log(1).with_divisor(0.0), "divisor"),
        (log(1).with_steps(StepRule::AtMost(-1.0)), "steps"),
    ] {
        let error = config.init::<Flex>(&device, 0).unwrap_err();
        assert!(matches!(error, Error::Setting { setting: seen, .. } if seen == setting), "{error}");
    }
    let error = log(2).along::<Flex, _>(&[linear(5, 1)], &device).unwrap_err();
    assert!(error.to_string().starts_with("setting `depth`: `2` along a derivative"), "{error}");
    let none: [Linear<f64, AtObservations>; 0] = [];
    let error = log(1).along::<Flex, _>(&none, &device).unwrap_err();
    assert_eq!(error.to_string(), "neural drive: the list of paths has 0 paths, but at least 1 is needed");
    let error = NeuralCdeConfig::new(NeuralKind::Ncde, 4, 2).along::<Flex, _>(&[linear(5, 1)], &device).unwrap_err();
    assert_eq!(error.to_string(), "neural drive: a path has 3 channels, but 2 is needed");

    let windows = |width: usize, spans: &[f64], lengths: Option<&[usize]>| {
        let (first, logs) = (Tensor::<Flex, 2>::zeros([1, 3], &device), Tensor::zeros([1, 2, width], &device));
        log(2).windows(first, logs, spans, lengths).map(|_| ()).unwrap_err().to_string()
    };
    assert_eq!(windows(3, &[1.0; 2], None), "neural drive: the tensor of log-signatures has 3 coordinates, but 6 is needed");
    assert!(windows(6, &[1.0; 3], None).contains("has 3 numbers"));
    assert!(windows(6, &[1.0, 0.0], None).contains("has `0` at window 1 of series 0, but a positive length of time is needed"));
    assert!(windows(6, &[1.0; 2], Some(&[3])).contains("one length between 0 and 2"));
    let from = |channels: usize, steps: usize| {
        let values = Tensor::<Flex, 3>::zeros([1, 4, channels], &device);
        let observations = Observations { values, times: Times::Regular(0.1), lengths: None };
        log(2).windows_from(observations, TimeChannel::Absent, steps).map(|_| ()).unwrap_err().to_string()
    };
    assert_eq!(from(3, 0), "neural drive: a window has 0 steps, but at least 1 is needed");
    assert_eq!(from(2, 1), "neural drive: the path through the observations has 2 channels, but 3 is needed");

    // Stages of another solver, and an observation of another kind.
    let drive = log(1).with_solver(Solver::Euler).along(&[linear(5, 1)], &device).unwrap();
    let model = log(1).init::<Flex>(&device, 0).unwrap();
    let error = model.forward(&drive).unwrap_err();
    assert!(matches!(error, Error::Neural(neural::Error::Kernel(ncde_kernels::Error::Size { .. }))), "{error}");
    let error = model.initial(&Tensor::zeros([1, 2], &device)).unwrap_err();
    assert_eq!(error.to_string(), "neural CDE: the first observation has 2 channels, but 3 is needed");
    let error = model.initial(&Tensor::<Flex, 2>::zeros([1, 3], &device).cast(DType::F64)).unwrap_err();
    assert!(matches!(error, Error::Neural(neural::Error::Mixed { .. })), "{error}");
}
