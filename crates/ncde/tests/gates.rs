//! Gates: their equations on a path small enough for paper, and S4 and Mamba as affine Linear NCDEs.
#![allow(clippy::unwrap_used, reason = "a test")]

mod common;

use std::sync::Arc;

use burn::module::Param;
use burn::tensor::FloatDType;
use common::{B, difference, numbers, tensor, values};
use ncde::model::{
    First, Gates, GatesConfig, InputTerm, LinearNcde, LinearNcdeConfig, MambaGates, Observations, Preset, StructureConfig,
    TimeChannel, Times, cast,
};
use ncde::random::Stream;

/// Values (1, 2), (3, 5), (4, -1) at times 0, 0.5, 2.
fn observations() -> Observations<B> {
    Observations {
        values: tensor(vec![1.0, 2.0, 3.0, 5.0, 4.0, -1.0], [1, 3, 2]),
        times: Times::Steps(tensor(vec![0.5, 1.5], [1, 2])),
        lengths: None,
    }
}

fn gates(config: GatesConfig) -> Preset<B> {
    cast(config.init::<B>(2, &Default::default(), &Stream::new(0, 0)), FloatDType::F64)
}

#[test]
fn presets_are_their_equations() {
    use TimeChannel::{Absent, Present};
    let tokens = |first| GatesConfig::Tokens { scale: 0.25, first };
    let cases: Vec<(GatesConfig, Vec<f64>, Option<Vec<f64>>)> = vec![
        (GatesConfig::Values { time: Absent }, vec![0.5, 1.0, 4.5, 7.5], None),
        (GatesConfig::Values { time: Present }, vec![0.5, 0.5, 1.0, 1.5, 4.5, 7.5], None),
        (GatesConfig::Increments { time: Absent }, vec![2.0, 3.0, 1.0, -6.0], None),
        (GatesConfig::Increments { time: Present }, vec![0.5, 2.0, 3.0, 1.5, 1.0, -6.0], None),
        (GatesConfig::TimeSquared, vec![0.5, 0.25, 2.0, 3.0, 1.5, 3.75, 1.0, -6.0], None),
        (tokens(First::Drives), vec![0.25, 0.25, 0.5, 0.25, 0.75, 1.25, 0.25, 1.0, -0.25], None),
        (tokens(First::Starts), vec![0.25, 0.75, 1.25, 0.25, 1.0, -0.25], None),
        (GatesConfig::S4, vec![0.5, 0.5, 1.5, 1.5], Some(vec![0.5, 1.0, 4.5, 7.5])),
        (GatesConfig::Ids4, vec![0.5, 1.0, 4.5, 7.5], Some(vec![0.5, 1.0, 4.5, 7.5])),
    ];
    for (config, omega, xi) in cases {
        let gates = gates(config);
        let drive = gates.drive(observations()).unwrap();
        let [d_omega, d_xi] = gates.channels(2);
        assert_eq!((drive.omega.dims()[2], drive.xi.as_ref().map_or(0, |xi| xi.dims()[2])), (d_omega, d_xi), "{config:?}");
        assert_eq!(numbers(drive.omega), omega, "{config:?}");
        assert_eq!(drive.xi.map(numbers), xi, "{config:?}");
        assert_eq!(numbers(drive.first), [1.0, 2.0]);
    }
}

#[test]
fn regular_times_are_equal_steps() {
    let regular = Observations { times: Times::Regular(0.5), ..observations() };
    let omega = gates(GatesConfig::Values { time: TimeChannel::Absent }).drive(regular).unwrap().omega;
    assert_eq!(numbers(omega), [0.5, 1.0, 1.5, 2.5]);
}

#[test]
fn mambas_gate_is_learned_and_does_not_overflow() {
    let Preset::Mamba(gate) = gates(GatesConfig::Mamba) else { panic!("that is what was asked for") };
    let (alpha, beta) = (numbers(gate.alpha.val()), numbers(gate.beta.val()));
    let drive = gate.drive(observations()).unwrap();
    let (omega, xi) = (numbers(drive.omega.clone()), numbers(drive.xi.unwrap()));
    for (step, (dt, x)) in [(0.5, [1.0, 2.0]), (1.5, [3.0, 5.0])].into_iter().enumerate() {
        for k in 0..2 {
            let speed = (x[0] * alpha[k] + x[1] * alpha[2 + k] + beta[k]).exp().ln_1p();
            assert!((omega[2 * step + k] - dt * speed).abs() < 1e-14);
            for i in 0..2 {
                assert!((xi[4 * step + 2 * k + i] - dt * speed * x[k] * x[i]).abs() < 1e-13);
            }
        }
    }
    let slope = gate.alpha.grad(&drive.omega.sum().backward()).unwrap();
    assert!(numbers(slope).iter().all(|x| x.abs() > 1e-3));
    let large = Observations { values: observations().values * 1e4, ..observations() };
    assert!(numbers(gate.drive(large).unwrap().omega).iter().all(|x| x.is_finite()));
}

#[test]
fn lengths_become_steps() {
    let ragged = || Observations {
        values: tensor(values(12, 1.0, 0), [2, 3, 2]),
        times: Times::Regular(1.0),
        lengths: Some(Arc::from([3, 1])),
    };
    let increments = gates(GatesConfig::Increments { time: TimeChannel::Present });
    assert_eq!(*increments.drive(ragged()).unwrap().lengths.unwrap(), [2, 0]);
    let tokens = gates(GatesConfig::Tokens { scale: 1.0, first: First::Drives });
    assert_eq!(*tokens.drive(ragged()).unwrap().lengths.unwrap(), [3, 1]);
    let wrong = Observations { lengths: Some(Arc::from([4, 1])), ..ragged() };
    assert!(increments.drive(wrong).unwrap_err().to_string().contains("between 1 and 3"));
}

#[test]
fn too_few_observations_are_an_error() {
    let one = Observations { values: tensor(vec![1.0, 2.0], [1, 1, 2]), times: Times::Regular(1.0), lengths: None };
    let message = gates(GatesConfig::S4).drive(one.clone()).unwrap_err().to_string();
    assert_eq!(message, "gates: the path has shape [1, 1, 2], but a length of at least 2 is needed");
    assert!(gates(GatesConfig::Tokens { scale: 1.0, first: First::Drives }).drive(one.clone()).is_ok());
    assert!(gates(GatesConfig::Tokens { scale: 1.0, first: First::Starts }).drive(one).is_err());
    let times = Observations { times: Times::Steps(tensor(vec![1.0], [1, 1])), ..observations() };
    let message = gates(GatesConfig::S4).drive(times).unwrap_err().to_string();
    assert_eq!(message, "gates: the list of time steps has shape [1, 1], but [1, 2] is needed");
}

const STATES: usize = 3;

/// A diagonal affine Linear NCDE with these matrices, starting at 0.
fn diagonal(a: Vec<f64>, b: Vec<f64>, inputs: usize) -> LinearNcde<B> {
    let hidden = 2 * STATES;
    let config = LinearNcdeConfig::new(hidden, 2)
        .with_structure(StructureConfig::Diagonal)
        .with_input(InputTerm::Vector { channels: inputs });
    let mut model = config.init::<B>(&Default::default(), 0).unwrap();
    model.a = Param::from_tensor(tensor(a, [2 * hidden]));
    model.b = Some(Param::from_tensor(tensor(b, [inputs, hidden])));
    model.start = Param::from_tensor(tensor(vec![0.0; hidden], [1, hidden]));
    model
}

/// `A^k` has the diagonal `c` in its `k`-th part.
fn parts(c: [&[f64]; 2]) -> Vec<f64> {
    let zero = vec![0.0; STATES];
    [c[0], &zero, &zero, c[1]].concat()
}

#[test]
fn s4_is_an_affine_linear_ncde() {
    let (c, d) = ([values(STATES, 1.0, 1), values(STATES, 1.0, 2)], values(STATES, 1.0, 3));
    let zero = vec![0.0; STATES];
    let model = diagonal(parts([&c[0], &c[1]]), [d.clone(), zero.clone(), zero, d.clone()].concat(), 2);
    let x = observations();
    let states = numbers(model.forward(&gates(GatesConfig::S4).drive(x.clone()).unwrap()).unwrap());
    // Zero-order hold: h <- exp(C dt) h + (C dt)^-1 (exp(C dt) - 1) dt D x.
    let mut h = vec![0.0; 2 * STATES];
    let mut expected = Vec::new();
    for (dt, x) in [(0.5, [1.0, 2.0]), (1.5, [3.0, 5.0])] {
        for j in 0..2 {
            for n in 0..STATES {
                let z: f64 = c[j][n] * dt;
                let state = &mut h[j * STATES + n];
                *state = z.exp() * *state + z.exp_m1() / z * dt * d[n] * x[j];
            }
        }
        expected.extend_from_slice(&h);
    }
    assert!(difference(&states, &expected) < 1e-13);
}

#[test]
fn mamba_is_an_affine_linear_ncde() {
    let (c, d) = (values(STATES, 1.0, 1), values(STATES * 2, 1.0, 3));
    // Input channel (k, i) adds the i-th column of D to the k-th part.
    let mut b = vec![0.0; 4 * 2 * STATES];
    for (k, i) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        for n in 0..STATES {
            b[((2 * k + i) * 2 + k) * STATES + n] = d[n * 2 + i];
        }
    }
    let model = diagonal(parts([&c, &c]), b, 4);
    let (alpha, beta) = (values(4, 0.5, 4), values(2, 0.5, 5));
    let gate = MambaGates::<B> {
        alpha: Param::from_tensor(tensor(alpha.clone(), [2, 2])),
        beta: Param::from_tensor(tensor(beta.clone(), [2])),
    };
    let steps = Observations { times: Times::Regular(1.0), ..observations() };
    let states = numbers(model.forward(&gate.drive(steps).unwrap()).unwrap());
    let mut h = vec![0.0; 2 * STATES];
    let mut expected = Vec::new();
    for x in [[1.0, 2.0], [3.0, 5.0]] {
        for j in 0..2 {
            let delta = (x[0] * alpha[j] + x[1] * alpha[2 + j] + beta[j]).exp().ln_1p();
            for n in 0..STATES {
                let z: f64 = c[n] * delta;
                let input = (d[n * 2] * x[0] + d[n * 2 + 1] * x[1]) * x[j];
                let state = &mut h[j * STATES + n];
                *state = z.exp() * *state + z.exp_m1() / z * delta * input;
            }
        }
        expected.extend_from_slice(&h);
    }
    assert!(difference(&states, &expected) < 1e-13);
}
