//! What the tests share: f64 tensors, and gradients against finite differences.
#![allow(dead_code, reason = "each test uses its own part")]
#![allow(clippy::unwrap_used, reason = "a test")]

use burn_autodiff::Autodiff;
use burn_flex::Flex;
use burn_tensor::backend::Backend;
use burn_tensor::{DType, Tensor, TensorData};

pub(crate) type B = Autodiff<Flex>;

/// Numbers without a pattern, between -`size` and `size`.
pub(crate) fn values(count: usize, size: f64, seed: u64) -> Vec<f64> {
    let stream = ncde_runtime::random::Stream::new(seed, 99);
    (0..count as u64).map(|i| size * (2.0 * stream.uniform(i) - 1.0)).collect()
}

/// In f64.
pub(crate) fn tensor<const D: usize>(values: Vec<f64>, shape: [usize; D]) -> Tensor<B, D> {
    Tensor::from_data(TensorData::new(values, shape), (&Default::default(), DType::F64))
}

pub(crate) fn numbers<const D: usize>(tensor: Tensor<impl Backend, D>) -> Vec<f64> {
    tensor.into_data().convert::<f64>().to_vec().unwrap()
}

/// The largest difference, relative to the largest number.
pub(crate) fn difference(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    let largest = a.iter().chain(b).fold(1e-300_f64, |m, x| m.max(x.abs()));
    a.iter()
        .zip(b)
        .map(|(a, b)| if a == b { 0.0 } else { (a - b).abs() / largest })
        .fold(0.0, |m: f64, x| if x.is_nan() { x } else { m.max(x) })
}

/// Compares the gradient of `loss` in every input with central differences, under the lock of [`ncde_layers::graph`].
pub(crate) fn check_gradients(what: &str, inputs: &[Vec<f64>], loss: impl Fn(Vec<Tensor<B, 1>>) -> Tensor<B, 1>) {
    let _graph = ncde_layers::graph::lock();
    let tracked: Vec<Tensor<B, 1>> = inputs.iter().map(|input| tensor(input.clone(), [input.len()]).require_grad()).collect();
    let grads = loss(tracked.clone()).backward();
    let at = |inputs: &[Vec<f64>]| -> f64 {
        let tensors = inputs.iter().map(|input| tensor(input.clone(), [input.len()])).collect();
        numbers(loss(tensors))[0]
    };
    let step = 1e-5;
    for (i, tracked) in tracked.iter().enumerate() {
        let gradient = numbers(tracked.grad(&grads).unwrap());
        let mut moved = inputs.to_vec();
        let expected: Vec<f64> = (0..inputs[i].len())
            .map(|j| {
                moved[i][j] = inputs[i][j] + step;
                let up = at(&moved);
                moved[i][j] = inputs[i][j] - step;
                let down = at(&moved);
                moved[i][j] = inputs[i][j];
                (up - down) / (2.0 * step)
            })
            .collect();
        let size = expected.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
        assert!(size > 1e-6, "{what}, input {i}: the loss does not depend on it, so nothing is tested");
        let error = difference(&gradient, &expected);
        assert!(error < 1e-6, "{what}, input {i}: {error}");
    }
}

/// `exp(m)` of an `n x n` matrix by scaling and a long Taylor series.
pub(crate) fn exponential(m: &[f64], n: usize) -> Vec<f64> {
    let scaled: Vec<f64> = m.iter().map(|x| x / 1024.0).collect();
    let identity: Vec<f64> = (0..n * n).map(|i| f64::from(u8::from(i % (n + 1) == 0))).collect();
    let (mut sum, mut term) = (identity.clone(), identity);
    for j in 1..=16 {
        term = product(&term, &scaled, n).iter().map(|x| x / f64::from(j)).collect();
        sum.iter_mut().zip(&term).for_each(|(s, t)| *s += t);
    }
    for _ in 0..10 {
        sum = product(&sum, &sum, n);
    }
    sum
}

/// The product of two `n x n` matrices.
pub(crate) fn product(a: &[f64], b: &[f64], n: usize) -> Vec<f64> {
    let entry = |i: usize| (0..n).map(|k| a[i / n * n + k] * b[k * n + i % n]).sum();
    (0..n * n).map(entry).collect()
}

/// A matrix times a vector.
pub(crate) fn apply(a: &[f64], v: &[f64]) -> Vec<f64> {
    a.chunks(v.len()).map(|row| row.iter().zip(v).map(|(a, v)| a * v).sum()).collect()
}
