//! Parameters drawn from streams, and constants of a given type.

use burn::module::{Module, ModuleMapper, Param};
use burn::nn::Linear;
use burn::tensor::backend::Backend;
use burn::tensor::{Bool, FloatDType, Int, Tensor, TensorData};

use super::Error;
use crate::random::Stream;

/// A parameter with these values.
pub(crate) fn parameter<B: Backend, const D: usize>(
    values: Vec<f64>,
    shape: [usize; D],
    device: &B::Device,
) -> Param<Tensor<B, D>> {
    Param::from_tensor(Tensor::from_data(TensorData::new(values, shape), device))
}

/// Normal numbers with mean 0.
pub(crate) fn normal(stream: &Stream, count: usize, std: f64) -> Vec<f64> {
    (0..count as u64).map(|i| std * stream.normal(i)).collect()
}

/// Uniform numbers between `-bound` and `bound`.
pub(crate) fn uniform(stream: &Stream, count: usize, bound: f64) -> Vec<f64> {
    (0..count as u64).map(|i| bound * (2.0 * stream.uniform(i) - 1.0)).collect()
}

/// A linear layer, weights and bias uniform on `±1 / sqrt(inputs)`.
pub(crate) fn linear<B: Backend>(stream: &Stream, [inputs, outputs]: [usize; 2], device: &B::Device) -> Linear<B> {
    let bound = 1.0 / (inputs as f64).sqrt();
    Linear {
        weight: parameter(uniform(&stream.child(0), inputs * outputs, bound), [inputs, outputs], device),
        bias: Some(parameter(uniform(&stream.child(1), outputs, bound), [outputs], device)),
    }
}

/// A constant of the same number type and on the same device as `like`.
pub(crate) fn constant<B: Backend, const D: usize, const E: usize>(
    values: Vec<f64>,
    shape: [usize; D],
    like: &Tensor<B, E>,
) -> Tensor<B, D> {
    Tensor::from_data(TensorData::new(values, shape), (&like.device(), like.dtype()))
}

/// Places, for `select`.
pub(crate) fn places<B: Backend>(places: &[usize], device: &B::Device) -> Tensor<B, 1, Int> {
    let values: Vec<i64> = places.iter().map(|&place| place as i64).collect();
    Tensor::from_data(TensorData::new(values, [places.len()]), device)
}

/// Refuses a list of lengths that is not one number between `least` and `longest` for each series.
pub(crate) fn check_lengths(
    operation: &'static str,
    lengths: Option<&[usize]>,
    batch: usize,
    [least, longest]: [usize; 2],
) -> Result<(), Error> {
    match lengths {
        Some(lengths) if lengths.len() != batch || lengths.iter().any(|own| !(least..=longest).contains(own)) => {
            Err(Error::Shape {
                operation,
                what: "the list of lengths",
                seen: format!("{lengths:?}"),
                wanted: format!("one length between {least} and {longest} for each of {batch} series"),
            })
        }
        _ => Ok(()),
    }
}

/// Sets everything after the length of each series to 0, `[batch, steps, channels]`; also what is not a number.
pub(crate) fn clear_padding<B: Backend>(values: Tensor<B, 3>, lengths: Option<&[usize]>) -> Tensor<B, 3> {
    let [batch, steps, channels] = values.dims();
    let Some(lengths) = lengths.filter(|lengths| lengths.iter().any(|&length| length < steps)) else {
        return values;
    };
    let past: Vec<bool> = lengths.iter().flat_map(|&length| (0..steps).map(move |t| t >= length)).collect();
    let past = Tensor::<B, 3, Bool>::from_data(TensorData::new(past, [batch, steps, 1]), &values.device());
    values.mask_fill(past.expand([batch, steps, channels]), 0.0)
}

/// A module whose parameters have another number type.
///
/// Models are made in the default type of their device, f32 unless told otherwise. f64 is for tests and for flows over very long
/// series.
pub fn cast<B: Backend, M: Module<B>>(module: M, dtype: FloatDType) -> M {
    struct Cast(FloatDType);
    impl<B: Backend> ModuleMapper<B> for Cast {
        fn map_float<const D: usize>(&mut self, parameter: Param<Tensor<B, D>>) -> Param<Tensor<B, D>> {
            let (id, tensor, mapper) = parameter.consume();
            let tracked = tensor.is_require_grad();
            // A parameter is a leaf: the cast is no part of its graph.
            Param::from_mapped_value(id, tensor.cast(self.0).detach().set_require_grad(tracked), mapper)
        }
    }
    module.map(&mut Cast(dtype))
}
