//! Neural solves of any depth: the generic route is the fused one where both apply.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common;

use std::sync::Arc;

use burn_tensor::{DType, Tensor};
use common::{B, difference, numbers, tensor, values};
use ncde_layers::neural::{Activation, Arguments, Error, Last, Method, Network, Outputs, Route, Schedule, Solve, solve};

/// 5 series in 3 channels, 6 steps with pauses, and a row of its own for each stage.
fn arguments(op: &Solve, dtype: DType) -> Arguments<B> {
    let (count, width) = (op.network().parameters(), op.coefficients());
    let mut dt: Vec<f64> = values(5 * 6, 0.1, 5).iter().map(|x| 0.2 + x).collect();
    dt.chunks_mut(6).enumerate().for_each(|(b, own)| own[6 - b..].fill(0.0));
    dt[2] = 0.0;
    let rows = (0..5 * 6 * op.method().stages()).map(|i| (3 * i + i / 4) % 2).collect();
    Arguments {
        parameters: tensor(values(count, 0.8, 1), [count]).cast(dtype),
        coefficients: tensor(values(5 * 2 * width, 1.0, 2), [5, 2, width]).cast(dtype),
        initial: tensor(values(5 * 4, 1.0, 3), [5, 4]).cast(dtype),
        schedule: Arc::new(Schedule { steps: 6, dt, rows, outputs: Outputs::At([0, 3, 5].repeat(5)) }),
    }
}

/// States, and gradients in parameters, coefficients and initial states.
fn results(op: &Solve, dtype: DType) -> [Vec<f64>; 4] {
    let _graph = ncde_layers::graph::lock();
    let Arguments { parameters, coefficients, initial, schedule } = arguments(op, dtype);
    let (parameters, coefficients, initial) = (parameters.require_grad(), coefficients.require_grad(), initial.require_grad());
    let own =
        Arguments { parameters: parameters.clone(), coefficients: coefficients.clone(), initial: initial.clone(), schedule };
    let states = solve(&Arc::new(op.clone()), own).unwrap();
    let weights = tensor(values(5 * 3 * 4, 1.0, 7), [5, 3, 4]).cast(dtype);
    let grads = (states.clone() * weights).sum().backward();
    [
        numbers(states),
        numbers(parameters.grad(&grads).unwrap()),
        numbers(coefficients.grad(&grads).unwrap()),
        numbers(initial.grad(&grads).unwrap()),
    ]
}

fn network() -> Network {
    Network::new(4, 3, &[7, 5]).unwrap()
}

#[test]
fn the_generic_route_is_the_fused_one() {
    let networks =
        [network(), network().with_activation(Activation::Softplus).with_before_last(Activation::Tanh).with_last(Last::Linear)];
    for (network, depth, solver) in
        networks.iter().flat_map(|network| [(network, 1, Method::Euler), (network, 2, Method::Heun), (network, 2, Method::Rk4)])
    {
        let fused = Solve::new(network.clone()).with_depth(depth).unwrap().with_method(solver);
        let generic = fused.clone().by_generic().unwrap();
        assert_eq!((fused.route(), generic.route()), (Route::Fused, Route::Generic));
        assert_eq!((fused.depth(), fused.coefficients()), (generic.depth(), generic.coefficients()));
        for (dtype, tolerance) in [(DType::F32, 1e-5), (DType::F64, 1e-13)] {
            for (what, (a, b)) in results(&fused, dtype).iter().zip(&results(&generic, dtype)).enumerate() {
                let error = difference(a, b);
                assert!(error < tolerance, "{depth} {solver:?} {dtype:?}, result {what}: {error}");
            }
        }
    }
}

#[test]
fn a_method_may_be_set_after_the_depth() {
    let deep = |solver| Solve::new(network()).with_depth(3).unwrap().with_method(solver);
    let before = Solve::new(network()).with_method(Method::Rk4).with_depth(3).unwrap();
    assert_eq!(results(&deep(Method::Rk4), DType::F64), results(&before, DType::F64));
    assert!(results(&deep(Method::Euler), DType::F64)[0] != results(&before, DType::F64)[0]);
}

#[test]
fn results_do_not_depend_on_threads() {
    let op = Solve::new(network()).with_depth(3).unwrap();
    let with =
        |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(|| results(&op, DType::F32));
    assert_eq!(with(1), with(3));
}

#[test]
fn what_cannot_be_solved_is_a_typed_error() {
    let _graph = ncde_layers::graph::lock();
    for depth in [0, 7] {
        let error = Solve::new(network()).with_depth(depth).unwrap_err();
        assert_eq!(error, Error::Generic(ncde_solve::Error::Depth { depth, most: 6 }));
        assert!(error.to_string().contains("lower the depth and take shorter windows"), "{error}");
    }
    let op = Arc::new(Solve::new(network().with_last(Last::Linear)).with_depth(3).unwrap());
    let explode = Arguments { parameters: arguments(&op, DType::F32).parameters * 1e15, ..arguments(&op, DType::F32) };
    for parameters in [explode.parameters.clone(), explode.parameters.clone().require_grad()] {
        let error = solve(&op, Arguments { parameters, ..explode.clone() }).unwrap_err();
        assert!(matches!(error, Error::Kernel(ncde_kernels::Error::SolveExploded { series: 0, step: 0, .. })), "{error}");
    }
    let broken = Arguments { coefficients: arguments(&op, DType::F32).coefficients * f64::NAN, ..arguments(&op, DType::F32) };
    let error = solve(&op, broken).unwrap_err();
    assert!(error.to_string().contains("NaN at series 0, row 0, coefficient 0"), "{error}");
    let narrow = Arguments { coefficients: Tensor::zeros([5, 2, 6], &Default::default()), ..arguments(&op, DType::F32) };
    let error = solve(&op, narrow).unwrap_err();
    assert!(matches!(error, Error::Shape { what: "the control", .. }), "{error}");
}
