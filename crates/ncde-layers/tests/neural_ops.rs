//! The neural solve as an operation: the numbers of the kernel, gradients against differences, refusals.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common;

use std::sync::Arc;

use burn_tensor::{DType, Tensor};
use common::{B, check_gradients, numbers, tensor, values};
use ncde_kernels::neural::{Depth, Input, Solve as Kernel};
use ncde_layers::neural::{Activation, Arguments, Error, Last, Method, Network, Outputs, Schedule, Solve, solve};

/// Steps of different lengths, each series with its own number of them, rows in a mixed order.
fn schedule(batch: usize, steps: usize, control: usize, solver: Method, outputs: Outputs) -> Arc<Schedule> {
    let mut dt: Vec<f64> = values(batch * steps, 0.1, 5).iter().map(|x| 0.2 + x).collect();
    for (b, own) in dt.chunks_mut(steps).enumerate() {
        own[steps - b % steps..].fill(0.0);
    }
    let rows = (0..batch * steps * solver.stages()).map(|i| (3 * i + i / 4) % control).collect();
    Arc::new(Schedule { steps, dt, rows, outputs })
}

fn weighed(states: Tensor<B, 3>) -> Tensor<B, 1> {
    let shape = states.dims();
    let count = shape.iter().product();
    (states * tensor(values(count, 1.0, 7), shape)).sum()
}

#[test]
fn gradients_are_those_of_differences() {
    let cases = [
        (1, Method::Euler, Activation::Tanh, Last::Linear, (2, 1, vec![], [1, 1, 1])),
        (1, Method::Rk4, Activation::Softplus, Last::Tanh, (3, 2, vec![5], [3, 4, 2])),
        (2, Method::Heun, Activation::Silu, Last::Tanh, (3, 3, vec![7, 2], [2, 5, 3])),
        (2, Method::Heun, Activation::Silu, Last::Linear, (5, 2, vec![3], [7, 3, 1])),
        // By the generic solver.
        (3, Method::Heun, Activation::Silu, Last::Tanh, (3, 2, vec![5, 2], [3, 4, 2])),
        (3, Method::Euler, Activation::Softplus, Last::Linear, (2, 3, vec![3], [1, 2, 1])),
        (3, Method::Rk4, Activation::Tanh, Last::Tanh, (1, 1, vec![], [2, 3, 1])),
        (4, Method::Heun, Activation::Silu, Last::Tanh, (2, 2, vec![3], [17, 2, 2])),
    ];
    for (depth, solver, activation, last, (hidden, channels, widths, [batch, steps, control])) in cases {
        let name = format!("{depth} {solver:?} {activation:?} {last:?}");
        let network = Network::new(hidden, channels, &widths).unwrap().with_activation(activation).with_last(last);
        let op = Arc::new(Solve::new(network.clone()).with_method(solver).with_depth(depth).unwrap());
        let width = op.coefficients();
        let some: Vec<usize> = (0..batch).flat_map(|b| [b % steps, steps - 1]).collect();
        for outputs in [Outputs::Every, Outputs::At(some)] {
            let schedule = schedule(batch, steps, control, solver, outputs);
            let inputs =
                [values(network.parameters(), 0.8, 1), values(batch * control * width, 1.0, 2), values(batch * hidden, 1.0, 3)];
            check_gradients(&name, &inputs, |inputs| {
                let [parameters, coefficients, initial] = inputs.try_into().unwrap();
                let arguments = Arguments {
                    parameters,
                    coefficients: coefficients.reshape([batch, control, width]),
                    initial: initial.reshape([batch, hidden]),
                    schedule: schedule.clone(),
                };
                weighed(solve(&op, arguments).unwrap())
            });
        }
    }
}

/// One solve with 3 series, 4 steps and 2 rows.
fn small(outputs: Outputs) -> (Arc<Solve>, Arguments<B>) {
    let op = Arc::new(Solve::new(Network::new(3, 2, &[4]).unwrap()).with_depth(2).unwrap());
    let parameters = op.network().parameters();
    let arguments = Arguments {
        parameters: tensor(values(parameters, 0.8, 1), [parameters]),
        coefficients: tensor(values(3 * 2 * 3, 1.0, 2), [3, 2, 3]),
        initial: tensor(values(9, 1.0, 3), [3, 3]),
        schedule: schedule(3, 4, 2, Method::Heun, outputs),
    };
    (op, arguments)
}

#[test]
fn states_are_the_kernel_s_tracked_or_not() {
    let _graph = ncde_layers::graph::lock();
    let (op, every) = small(Outputs::Every);
    let input = Input {
        batch: 3,
        steps: 4,
        control: 2,
        parameters: &numbers(every.parameters.clone()),
        coefficients: &numbers(every.coefficients.clone()),
        initial: &numbers(every.initial.clone()),
        dt: &every.schedule.dt,
        rows: &every.schedule.rows,
    };
    let wanted = Kernel::new(op.network().clone()).with_depth(Depth::Two).forward(&input).unwrap();
    assert_eq!(numbers(solve(&op, every).unwrap()), wanted);
    let at = [0, 2, 1, 1, 2, 3];
    let chosen: Vec<f64> = (0..6).flat_map(|i| wanted[(i / 2 * 4 + at[i]) * 3..][..3].to_vec()).collect();
    let (_, some) = small(Outputs::At(at.to_vec()));
    let seen = solve(&op, some.clone()).unwrap();
    assert_eq!(seen.dims(), [3, 2, 3]);
    assert_eq!(numbers(seen), chosen);
    let tracked = Arguments { initial: some.initial.clone().require_grad(), ..some };
    assert_eq!(numbers(solve(&op, tracked).unwrap()), chosen);
}

#[test]
fn a_tensor_that_is_not_contiguous_is_read_as_it_is_shaped() {
    let (op, straight) = small(Outputs::Every);
    let turned = Arguments { coefficients: straight.coefficients.clone().swap_dims(0, 2), ..straight.clone() };
    let copied = Arguments { coefficients: tensor(numbers(turned.coefficients.clone()), [3, 2, 3]), ..straight };
    assert_eq!(numbers(solve(&op, turned).unwrap()), numbers(solve(&op, copied).unwrap()));
}

#[test]
fn what_does_not_fit_is_refused() {
    let _graph = ncde_layers::graph::lock();
    let refuse = |change: &dyn Fn(&mut Arguments<B>), outputs: Outputs| {
        let (op, mut arguments) = small(outputs);
        change(&mut arguments);
        // Both ways of solving must see it.
        let tracked = Arguments { parameters: arguments.parameters.clone().require_grad(), ..arguments.clone() };
        let error = solve(&op, arguments).unwrap_err();
        assert_eq!(solve(&op, tracked).unwrap_err().to_string(), error.to_string());
        error
    };
    let error = refuse(&|of| of.parameters = tensor(vec![0.0; 5], [5]), Outputs::Every);
    assert_eq!(error.to_string(), "the neural solve: the vector of parameters has shape [5], but [46] = [parameters] is needed");
    let error = refuse(&|of| of.coefficients = tensor(vec![0.0; 12], [3, 2, 2]), Outputs::Every);
    assert!(matches!(error, Error::Shape { what: "the control", .. }), "{error}");
    let error = refuse(&|of| of.initial = tensor(vec![0.0; 6], [2, 3]), Outputs::Every);
    assert!(matches!(error, Error::Shape { what: "the initial state", .. }), "{error}");
    let error = refuse(&|of| of.initial = of.initial.clone().cast(DType::F32), Outputs::Every);
    assert!(matches!(error, Error::Mixed { what: "the initial state", seen: DType::F32, .. }), "{error}");
    let error = refuse(&|of| of.parameters = of.parameters.clone().cast(DType::F16), Outputs::Every);
    assert_eq!(error, Error::Type { dtype: DType::F16 });
    for (at, wanted) in [
        (vec![], "the neural solve: the batch has number of outputs 0; at least 1 is needed"),
        (vec![0; 4], "the neural solve: the list of outputs holds 4 numbers, but 3 = batch 3 x 1 outputs are needed"),
        (
            vec![0, 1, 4],
            "the neural solve: output 0 of series 2 is wanted after step 4; outputs must be ascending, and there are 4 steps, counted \
             from 0",
        ),
        (
            vec![0, 1, 3, 2, 0, 1],
            "the neural solve: output 0 of series 1 is wanted after step 3; outputs must be ascending, and there are 4 steps, counted \
             from 0",
        ),
    ] {
        assert_eq!(refuse(&|_| (), Outputs::At(at)).to_string(), wanted);
    }
    let error = refuse(&|of| of.coefficients = of.coefficients.clone() * f64::NAN, Outputs::Every);
    assert!(error.to_string().contains("NaN at series 0, row 0, coefficient 0"), "{error}");
}

#[test]
fn a_gradient_that_overflows_is_not_a_number() {
    let _graph = ncde_layers::graph::lock();
    // The state stays at 0; its slope is 1e200 a step, and 1e400 is no number.
    let op = Arc::new(Solve::new(Network::new(1, 1, &[]).unwrap().with_last(Last::Linear)).with_method(Method::Euler));
    let initial = tensor(vec![0.0], [1, 1]).require_grad();
    let arguments = Arguments {
        parameters: tensor(vec![1e200, 0.0], [2]),
        coefficients: tensor(vec![1.0], [1, 1, 1]),
        initial: initial.clone(),
        schedule: Arc::new(Schedule { steps: 2, dt: vec![1.0; 2], rows: vec![0; 2], outputs: Outputs::Every }),
    };
    let grads = solve(&op, arguments).unwrap().sum().backward();
    assert!(numbers(initial.grad(&grads).unwrap())[0].is_nan());
}
