//! The recurrence and the brackets on tensors: values are the kernels', gradients are those of finite differences.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common;

use std::sync::Arc;

use burn_tensor::{DType, Tensor};
use common::{B, check_gradients, difference, numbers, tensor, values};
use ncde_kernels::{
    Affine, Bound, Bracket, Brackets, Contraction, Field, Input, Mode, Pattern, Recurrence, Structure, Transition,
};
use ncde_layers::linear::{self, Arguments, Error};

/// One of each, with `H` = 4 or 5.
fn structures(channels: usize) -> Vec<Structure> {
    let pattern = Pattern::bernoulli(5, channels, 0.5, |i| ncde_runtime::random::Stream::new(3, 0).uniform(i)).unwrap();
    vec![
        Structure::Dense { hidden: 5 },
        Structure::Diagonal { hidden: 5 },
        Structure::Block { sizes: vec![2, 1, 2] },
        Structure::DiagonalDense { hidden: 5, block: 2 },
        Structure::Dplr { hidden: 5, rank: 2 },
        Structure::Sparse { pattern: Arc::new(pattern) },
        Structure::WalshHadamard { hidden: 4, bound: Bound::Tanh },
    ]
}

/// Weights of a loss in which no gradient vanishes.
fn loss(states: Tensor<B, 4>) -> Tensor<B, 1> {
    let size = states.dims().iter().product();
    (states.flatten::<1>(0, 3).square() * tensor(values(size, 1.0, 7), [size])).sum()
}

const BATCH: usize = 2;
const LENGTH: usize = 3;
const COLUMNS: usize = 2;

#[test]
fn gradients_are_those_of_finite_differences() {
    for (transition, affine) in
        [(Transition::Exp, Affine::Exact), (Transition::Exp, Affine::Approximate), (Transition::Euler, Affine::Exact)]
    {
        for structure in structures(3) {
            let field = Field::new(structure, 3).unwrap();
            let (hidden, parameters) = (field.hidden(), field.parameters());
            let name = format!("{} {transition:?} {affine:?}", field.structure().name());
            let recurrence = Arc::new(Recurrence::new(field).with_transition(transition).with_affine(affine));
            let inputs = [
                values(parameters, 0.8, 1),
                values(BATCH * LENGTH * 3, 0.7, 2),
                values(BATCH * COLUMNS * hidden, 1.0, 3),
                values(BATCH * LENGTH * COLUMNS * hidden, 1.0, 4),
            ];
            let lengths: Arc<[usize]> = Arc::from([3, 1]);
            check_gradients(&name, &inputs, |inputs| {
                let [a, coefficients, initial, affine] = inputs.try_into().unwrap();
                let arguments = Arguments {
                    a,
                    coefficients: coefficients.reshape([BATCH, LENGTH, 3]),
                    initial: initial.reshape([BATCH, COLUMNS, hidden]),
                    affine: Some(affine.reshape([BATCH, LENGTH, COLUMNS, hidden])),
                    lengths: Some(lengths.clone()),
                };
                loss(linear::recurrence(&recurrence, arguments).unwrap())
            });
        }
    }
}

#[test]
fn gradients_without_an_affine_input_and_over_words() {
    for structure in structures(2) {
        let field = Field::new(structure, 2).unwrap();
        let (hidden, parameters) = (field.hidden(), field.parameters());
        let name = field.structure().name();
        let recurrence = Arc::new(Recurrence::new(field).with_contraction(Contraction::Words { depth: 2 }).unwrap());
        let inputs = [values(parameters, 0.6, 1), values(2 * 3 * 6, 0.5, 2), values(2 * hidden, 1.0, 3)];
        check_gradients(name, &inputs, |inputs| {
            let [a, coefficients, initial] = inputs.try_into().unwrap();
            let arguments = Arguments {
                a,
                coefficients: coefficients.reshape([2, 3, 6]),
                initial: initial.reshape([2, 1, hidden]),
                affine: None,
                lengths: None,
            };
            loss(linear::recurrence(&recurrence, arguments).unwrap())
        });
    }
}

/// 1, 2, xi, [1,2], [1,xi], [xi,2], [[1,2],xi], [1,[1,2]].
fn table() -> Vec<Bracket> {
    use Bracket::{Letter, Pair};
    vec![Letter(0), Letter(1), Letter(2), Pair(0, 1), Pair(0, 2), Pair(2, 1), Pair(3, 2), Pair(0, 3)]
}

#[test]
fn brackets_have_gradients() {
    for structure in structures(2) {
        let field = Field::new(structure, 2).unwrap();
        let (hidden, parameters) = (field.hidden(), field.parameters());
        let name = field.structure().name();
        let brackets = Arc::new(Brackets::new(&field, 1, &table()).unwrap());
        let weigh = |all: Tensor<B, 1>| {
            let size = all.dims()[0];
            (all * tensor(values(size, 1.0, 8), [size])).sum()
        };
        let (a, b) = (values(parameters, 0.8, 1), values(hidden, 1.0, 2));
        let expected = brackets.vectors(&a, &b).unwrap();
        let seen = linear::vectors(&brackets, tensor(a.clone(), [parameters]), tensor(b.clone(), [1, hidden])).unwrap();
        assert_eq!(seen.dims(), [4, hidden]);
        assert_eq!(numbers(seen), expected);
        check_gradients(name, &[a.clone(), b], |inputs| {
            let [a, b] = inputs.try_into().unwrap();
            weigh(linear::vectors(&brackets, a, b.reshape([1, hidden])).unwrap().flatten(0, 1))
        });
        if field.structure().is_closed() {
            let expected = brackets.matrices(&a).unwrap();
            assert_eq!(numbers(linear::matrices(&brackets, tensor(a.clone(), [parameters])).unwrap()), expected);
            check_gradients(name, &[a], |inputs| {
                let [a] = inputs.try_into().unwrap();
                weigh(linear::matrices(&brackets, a).unwrap())
            });
        } else {
            assert!(linear::matrices(&brackets, tensor(a, [parameters])).is_err());
        }
    }
}

fn small(dtype: DType) -> (Arc<Recurrence>, Arguments<B>) {
    let recurrence = Recurrence::new(Field::new(Structure::blocks(4, 2).unwrap(), 3).unwrap());
    let arguments = Arguments {
        a: tensor(values(24, 0.5, 1), [24]).cast(dtype),
        coefficients: tensor(values(2 * 7 * 3, 0.5, 2), [2, 7, 3]).cast(dtype),
        initial: tensor(values(8, 1.0, 3), [2, 1, 4]).cast(dtype),
        affine: None,
        lengths: None,
    };
    (Arc::new(recurrence), arguments)
}

#[test]
fn values_are_the_kernels_in_both_types_and_for_views() {
    let (recurrence, arguments) = small(DType::F64);
    let coefficients = numbers(arguments.coefficients.clone());
    let (a, initial) = (numbers(arguments.a.clone()), numbers(arguments.initial.clone()));
    let input = Input {
        batch: 2,
        length: 7,
        columns: 1,
        a: &a,
        coefficients: &coefficients,
        initial: &initial,
        affine: None,
        lengths: None,
    };
    let expected = recurrence.forward(&input).unwrap();
    let states = linear::recurrence(&recurrence, arguments.clone()).unwrap();
    assert_eq!(states.dims(), [2, 7, 1, 4]);
    assert_eq!(numbers(states), expected);
    // The same numbers, laid out in another order.
    let view =
        Arguments { coefficients: arguments.coefficients.clone().swap_dims(1, 2).clone().swap_dims(1, 2), ..arguments.clone() };
    assert_eq!(numbers(linear::recurrence(&recurrence, view).unwrap()), expected);
    let turned = tensor((0..42).map(|i| coefficients[(i / 7 % 3) + 3 * (i % 7) + 21 * (i / 21)]).collect(), [2, 3, 7]);
    let turned = Arguments { coefficients: turned.swap_dims(1, 2), ..arguments };
    assert_eq!(numbers(linear::recurrence(&recurrence, turned).unwrap()), expected);
    let (recurrence, single) = small(DType::F32);
    let states = linear::recurrence(&recurrence, single).unwrap();
    assert_eq!(states.dtype(), DType::F32);
    assert!(difference(&numbers(states), &expected) < 1e-5);
}

#[test]
fn only_tracked_arguments_get_gradients() {
    let _graph = ncde_layers::graph::lock();
    let (recurrence, arguments) = small(DType::F64);
    let initial = arguments.initial.clone().require_grad();
    let states = linear::recurrence(&recurrence, Arguments { initial: initial.clone(), ..arguments.clone() }).unwrap();
    let grads = states.sum().backward();
    assert!(initial.grad(&grads).is_some());
    assert!(arguments.a.grad(&grads).is_none() && arguments.coefficients.grad(&grads).is_none());
}

#[test]
fn a_reverse_pass_that_overflows_gives_nan_and_says_why() {
    let _graph = ncde_layers::graph::lock();
    // The state grows to 1e38 and is f32; its gradient in the coefficient, 1e38 x 1e30, is not finite.
    let recurrence = Arc::new(Recurrence::new(Field::new(Structure::Diagonal { hidden: 1 }, 1).unwrap()));
    let a = Tensor::<B, 1>::from_data([80.0], &Default::default()).require_grad();
    let arguments = Arguments {
        a: a.clone(),
        coefficients: Tensor::from_data([[[1.0]]], &Default::default()),
        initial: Tensor::from_data([[[1.0]]], &Default::default()),
        affine: None,
        lengths: None,
    };
    let states = linear::recurrence(&recurrence, arguments).unwrap();
    let grads = (states * 1e30).sum().backward();
    assert!(numbers(a.grad(&grads).unwrap())[0].is_nan());
    let error = ncde_layers::layer::Error::from(ncde_layers::graph::take_error().unwrap());
    assert!(error.is_overflow(), "{error}");
    assert_eq!(ncde_layers::graph::take_error(), None);
}

#[test]
fn bad_input_is_an_error() {
    let (recurrence, good) = small(DType::F64);
    let refused = |arguments: Arguments<B>| linear::recurrence(&recurrence, arguments).unwrap_err();
    let shape = refused(Arguments { initial: tensor(values(12, 1.0, 3), [3, 1, 4]), ..good.clone() });
    assert_eq!(
        shape.to_string(),
        "the linear recurrence: the initial state has shape [3, 1, 4], but [2, 1, 4] = [batch, columns, H] is needed"
    );
    let channels = refused(Arguments { coefficients: tensor(values(28, 1.0, 3), [2, 7, 2]), ..good.clone() });
    assert!(matches!(channels, Error::Shape { what: "the coefficients", .. }), "{channels}");
    let mixed = refused(Arguments { coefficients: good.coefficients.clone().cast(DType::F32), ..good.clone() });
    assert_eq!(mixed, Error::Mixed { what: "the coefficients", seen: DType::F32, wanted: DType::F64 });
    let half = refused(Arguments { a: good.a.clone().cast(DType::F16), ..good.clone() });
    assert_eq!(half, Error::Type { dtype: DType::F16 });
    let nan = refused(Arguments { a: good.a.clone() * f64::NAN, ..good.clone() });
    assert!(matches!(nan, Error::Kernel(ncde_kernels::Error::NotFinite { .. })), "{nan}");
    let length = refused(Arguments { lengths: Some(Arc::from([7, 8])), ..good.clone() });
    assert!(matches!(length, Error::Kernel(ncde_kernels::Error::Length { series: 1, .. })), "{length}");
    let affine = refused(Arguments { affine: Some(tensor(values(56, 1.0, 3), [2, 7, 2, 2])), ..good });
    assert!(matches!(affine, Error::Shape { what: "the affine input", .. }), "{affine}");
}

#[test]
fn modes_agree() {
    let (_, arguments) = small(DType::F64);
    let field = Field::new(Structure::blocks(4, 2).unwrap(), 3).unwrap();
    let by = |mode| {
        let recurrence = Arc::new(Recurrence::new(field.clone()).with_chunk(2).with_mode(mode).unwrap());
        numbers(linear::recurrence(&recurrence, arguments.clone()).unwrap())
    };
    assert!(difference(&by(Mode::Recurrent), &by(Mode::Parallel)) < 1e-14);
}
