//! The operation on tensors: values and gradients are the library's, in both types, in every form.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::sync::Arc;

use burn_autodiff::Autodiff;
use burn_flex::Flex;
use burn_tensor::{DType, Tensor, TensorData};
use ncde_layers::signature::{self, Error};
use ncde_signature::{Basis, Paths, Signature};

type B = Autodiff<Flex>;

const SHAPE: [usize; 3] = [3, 8, 2];

fn values() -> Vec<f64> {
    (0..SHAPE.iter().product::<usize>()).map(|i| (i as f64 * 0.7).sin() + 0.01 * i as f64).collect()
}

fn tensor(values: Vec<f64>) -> Tensor<B, 3> {
    Tensor::from_data(TensorData::new(values, SHAPE), (&Default::default(), DType::F64))
}

fn numbers<const D: usize>(tensor: Tensor<impl burn_tensor::backend::Backend, D>) -> Vec<f64> {
    tensor.into_data().to_vec().unwrap()
}

/// The sum of squares: its gradient with respect to the results is twice the results.
#[test]
fn values_and_gradients_are_the_librarys() {
    let _graph = ncde_layers::graph::lock();
    let x = values();
    let paths = Paths::new(&x, SHAPE[0], SHAPE[1], SHAPE[2]).unwrap();
    let windows = paths.windows(3).unwrap();
    for transform in [Signature::new(2, 3).unwrap(), Signature::log(2, 4, Basis::Lyndon).unwrap()] {
        let transform = Arc::new(transform);
        let twice = |values: &[f64]| values.iter().map(|x| 2.0 * x).collect::<Vec<f64>>();
        let whole = transform.of(&paths).unwrap();
        let stream = transform.stream(&paths).unwrap();
        let windowed = transform.intervals(&paths, &windows).unwrap();
        let gradients = [
            transform.of_backward(&paths, &twice(&whole)).unwrap(),
            transform.stream_backward(&paths, &twice(&stream)).unwrap(),
            transform.intervals_backward(&paths, &windows, &twice(&windowed)).unwrap(),
        ];
        for (form, (expected, gradient)) in [whole, stream, windowed].into_iter().zip(gradients).enumerate() {
            let path = tensor(x.clone()).require_grad();
            let out: Tensor<B, 3> = match form {
                0 => signature::signature(&transform, path.clone()).unwrap().unsqueeze_dim(1),
                1 => signature::stream(&transform, path.clone()).unwrap(),
                _ => signature::windows(&transform, path.clone(), 3).unwrap(),
            };
            assert_eq!(out.dims(), [3, [1, 7, 3][form], transform.len()]);
            assert_eq!(numbers(out.clone().inner()), expected);
            let grads = out.powf_scalar(2.0).sum().backward();
            assert_eq!(numbers(path.grad(&grads).unwrap()), gradient);
        }
    }
}

#[test]
fn gradients_flow_through_other_operations() {
    let _graph = ncde_layers::graph::lock();
    // Scaling the path by c scales level k by c^k: d/dc of the sum at c = 1 is the sum of k times level k.
    let transform = Arc::new(Signature::new(2, 3).unwrap());
    let scale =
        Tensor::<B, 3>::from_data(TensorData::new(vec![1.0_f64], [1, 1, 1]), (&Default::default(), DType::F64)).require_grad();
    // A transposed view on the way in: the kernel must not read it as it lies in memory.
    let path = tensor(values()).swap_dims(0, 1).swap_dims(0, 1) * scale.clone().expand(SHAPE);
    let out = signature::signature(&transform, path).unwrap();
    let shape = transform.shape();
    let rows = numbers(out.clone().inner());
    let expected: f64 = rows
        .chunks(shape.len())
        .map(|row| (1..=3).map(|k| k as f64 * row[shape.level(k)].iter().sum::<f64>()).sum::<f64>())
        .sum();
    let gradient = numbers(scale.grad(&out.sum().backward()).unwrap())[0];
    assert!((gradient - expected).abs() < 1e-10 * expected.abs(), "{gradient} {expected}");
}

#[test]
fn single_precision_and_views() {
    let transform = Arc::new(Signature::new(2, 2).unwrap());
    let path = Tensor::<B, 3>::from_data(TensorData::new(values(), SHAPE).convert::<f32>(), &Default::default());
    let reversed = path.clone().swap_dims(1, 2);
    assert!(signature::signature(&transform, reversed).is_err(), "eight channels are not two");
    let first = signature::signature(&transform, path.clone().narrow(0, 0, 1)).unwrap();
    let all = signature::signature(&transform, path).unwrap();
    assert_eq!(first.into_data(), all.narrow(0, 0, 1).into_data());
}

#[test]
fn bad_input_is_an_error() {
    let transform = Arc::new(Signature::new(2, 2).unwrap());
    let mut x = values();
    x[5] = f64::NAN;
    let message = signature::signature(&transform, tensor(x)).unwrap_err().to_string();
    assert!(message.contains("series 0, observation 2"), "{message}");
    let half = tensor(values()).cast(DType::F16);
    assert_eq!(signature::signature(&transform, half).unwrap_err(), Error::Type { dtype: DType::F16 });
    assert!(signature::windows(&transform, tensor(values()), 0).is_err());
}
