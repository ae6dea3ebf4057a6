//! What operations share: tensors of the CPU backend as slices, and the hand-over of gradients.

use burn::backend::autodiff::NodeId;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::flex::FlexTensor;
use burn::tensor::backend::Backend;
use burn::tensor::ops::FloatTensor;
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

/// A tensor of these numbers.
pub(crate) fn tensor<T: Element>(values: Vec<T>, shape: impl Into<Shape>) -> FlexTensor {
    FlexTensor::from_data(TensorData::new(values, shape.into()))
}

/// A reverse pass cannot fail, but it must not pass a wrong gradient on: NaN is seen by every check after it.
pub(crate) fn unknown<B: Backend>(of: FloatTensor<B>) -> FloatTensor<B> {
    B::float_mul_scalar(of, f64::NAN.into())
}

/// Hands a gradient to a parent that is tracked.
pub(crate) fn register<B: Backend>(parent: Option<NodeId>, gradient: Option<FloatTensor<B>>, grads: &mut Gradients) {
    if let (Some(parent), Some(gradient)) = (parent, gradient) {
        grads.register::<B>(parent, gradient);
    }
}
