//! Between tensors of the CPU backend and the slices that kernels take.

use burn::backend::flex::FlexTensor;
use burn::tensor::{DType, Element, Shape, TensorData};
use bytemuck::Pod;

/// Calls a function for the number type of a tensor; another type is the caller's `Error::Type`.
macro_rules! dispatch {
    ($tensor:expr, $function:ident($($argument:expr),*)) => {
        match burn::tensor::TensorMetadata::dtype(&$tensor) {
            burn::tensor::DType::F32 => $function::<f32>($($argument),*),
            burn::tensor::DType::F64 => $function::<f64>($($argument),*),
            dtype => Err(Error::Type { dtype }),
        }
    };
}
pub(crate) use dispatch;

/// The numbers of a contiguous tensor; its type, if that is another one.
pub(crate) fn slice<T: Element + Pod>(tensor: &FlexTensor) -> Result<&[T], DType> {
    tensor.as_slice::<T>().ok_or(tensor.dtype())
}

/// The way back.
pub(crate) fn tensor<T: Element>(values: Vec<T>, shape: impl Into<Shape>) -> FlexTensor {
    FlexTensor::from_data(TensorData::new(values, shape.into()))
}
