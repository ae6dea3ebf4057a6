//! Between tensors of the CPU backend and the slices that kernels take.

use burn::backend::flex::FlexTensor;
use burn::tensor::{DType, Element, Shape, TensorData};
use bytemuck::Pod;

/// The numbers of a contiguous tensor; its type, if that is another one.
pub(crate) fn slice<T: Element + Pod>(tensor: &FlexTensor) -> Result<&[T], DType> {
    tensor.as_slice::<T>().ok_or(tensor.dtype())
}

/// The way back.
pub(crate) fn tensor<T: Element>(values: Vec<T>, shape: impl Into<Shape>) -> FlexTensor {
    FlexTensor::from_data(TensorData::new(values, shape.into()))
}
