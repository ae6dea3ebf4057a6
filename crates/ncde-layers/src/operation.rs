//! What operations share: their errors, tensors of the CPU backend as slices, and the hand-over of gradients.

use burn_autodiff::Autodiff;
use burn_autodiff::NodeId;
use burn_autodiff::grads::Gradients;
use burn_autodiff::ops::{Backward, ComputePropertyDone, OpsKind, OpsPrep};
use burn_flex::FlexTensor;
use burn_tensor::backend::Backend;
use burn_tensor::ops::FloatTensor;
use burn_tensor::{BasicOps, DType, Element, Shape, Tensor, TensorCreationOptions, TensorData, TensorPrimitive};
use bytemuck::Pod;

/// What can go wrong in an operation.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A kernel refused its input, or a state overflowed.
    #[error(transparent)]
    Kernel(#[from] ncde_kernels::Error),

    /// The generic solver refused: brackets that it does not have.
    #[error(transparent)]
    Generic(#[from] ncde_solve::Error),

    /// The signature transform refused its input.
    #[error(transparent)]
    Signature(#[from] ncde_signature::Error),

    /// The device refused.
    #[cfg(feature = "gpu")]
    #[error(transparent)]
    Gpu(#[from] ncde_gpu::Error),

    /// Tensors that do not fit together.
    #[error("{operation}: {what} has shape {seen:?}, but {wanted:?} = {meaning} is needed")]
    Shape {
        /// What was computed.
        operation: &'static str,
        /// Which tensor.
        what: &'static str,
        /// Its shape.
        seen: Vec<usize>,
        /// The shape it should have.
        wanted: Vec<usize>,
        /// The names of those sizes.
        meaning: &'static str,
    },

    /// A token that a table does not have.
    #[error("embedding: the batch of tokens has token {seen}, but a whole number below {vocabulary} is needed")]
    Token {
        /// The token.
        seen: f64,
        /// How many rows the table has.
        vocabulary: usize,
    },

    /// A number type that there is no kernel for.
    #[error(
        "kernels compute in f32, or in f64 with the feature `f64` of the crate `ncde-layers`, not in {dtype:?}; cast all tensors first"
    )]
    Type {
        /// What the tensor holds.
        dtype: DType,
    },

    /// Two number types in one call.
    #[error("{what} holds {seen:?}, but {wanted:?} is what is computed in; cast one of the tensors first")]
    Mixed {
        /// Which tensor.
        what: &'static str,
        /// Its type.
        seen: DType,
        /// The type of the tensor that decides: the parameters, where there are some.
        wanted: DType,
    },

    /// A gradient of a gradient.
    #[error("the reverse pass of a kernel is not itself differentiable; take first derivatives only")]
    SecondOrder,
}

/// Calls a function for the number type of a tensor.
macro_rules! dispatch {
    ($tensor:expr, $function:ident($($argument:expr),*)) => {
        match burn_tensor::TensorMetadata::dtype(&$tensor) {
            burn_tensor::DType::F32 => $function::<f32>($($argument),*),
            #[cfg(feature = "f64")]
            burn_tensor::DType::F64 => $function::<f64>($($argument),*),
            dtype => Err(crate::operation::Error::Type { dtype }),
        }
    };
}
pub(crate) use dispatch;

/// Refuses a tensor of another shape.
pub(crate) fn want<const D: usize>(
    operation: &'static str,
    what: &'static str,
    seen: [usize; D],
    wanted: [usize; D],
    meaning: &'static str,
) -> Result<(), Error> {
    if seen == wanted {
        return Ok(());
    }
    Err(Error::Shape { operation, what, seen: seen.to_vec(), wanted: wanted.to_vec(), meaning })
}

/// The backend's own tensor.
pub(crate) fn primitive<B: Backend, const D: usize>(tensor: Tensor<B, D>) -> FloatTensor<B> {
    tensor.into_primitive().tensor()
}

/// The way back.
pub(crate) fn public<B: Backend, const D: usize>(primitive: FloatTensor<B>) -> Tensor<B, D> {
    Tensor::from_primitive(TensorPrimitive::Float(primitive))
}

/// The numbers of a contiguous tensor, which should have the type that is computed in.
pub(crate) fn slice<'a, T: Element + Pod>(what: &'static str, tensor: &'a FlexTensor) -> Result<&'a [T], Error> {
    tensor.as_slice::<T>().ok_or_else(|| Error::Mixed { what, seen: tensor.dtype(), wanted: T::dtype() })
}

/// Values on a device. They go there as one row: `CubeCL` pads every row of a tensor that has several, and CUDA copies such a tensor row by row, 10,000 rows in 2 ms.
pub fn put<B: Backend, K: BasicOps<B>, E: Element, const D: usize>(
    values: Vec<E>,
    shape: [usize; D],
    to: impl Into<TensorCreationOptions<B>>,
) -> Tensor<B, D, K> {
    let count = values.len();
    if count == 0 {
        // A size of 0 means the old one to `reshape`.
        return Tensor::from_data(TensorData::new(values, shape), to);
    }
    Tensor::<B, 1, K>::from_data(TensorData::new(values, [count]), to).reshape(shape)
}

/// A tensor of these numbers.
pub(crate) fn tensor<T: Element>(values: Vec<T>, shape: impl Into<Shape>) -> FlexTensor {
    FlexTensor::from_data(TensorData::new(values, shape.into()))
}

/// A tensor of the shape of another, all NaN.
pub(crate) fn nan_like<B: Backend>(of: FloatTensor<B>) -> FloatTensor<B> {
    B::float_mul_scalar(of, f64::NAN.into())
}

/// The gradients of a reverse pass, which cannot fail in Burn: if it does, they are NaN, which every check after it sees, and the error is kept for
/// [`graph::take_error`](crate::graph::take_error).
pub(crate) trait OrNan<T> {
    fn or_nan(self, gradients: impl FnOnce() -> T) -> T;
}

impl<T> OrNan<T> for Result<T, Error> {
    fn or_nan(self, gradients: impl FnOnce() -> T) -> T {
        self.unwrap_or_else(|error| {
            crate::graph::keep_error(error);
            gradients()
        })
    }
}

/// The output of an operation, with what its reverse pass needs, if one may come.
pub(crate) fn finish<B: Backend, R: Backward<B, N>, C, const N: usize>(
    prepared: OpsPrep<R, B, R::State, C, N, ComputePropertyDone>,
    state: R::State,
    output: FloatTensor<B>,
) -> FloatTensor<Autodiff<B>> {
    match prepared.stateful() {
        OpsKind::Tracked(prep) => prep.finish(state, output),
        OpsKind::UnTracked(prep) => prep.finish(output),
    }
}

/// Hands gradients to those parents that are tracked.
pub(crate) fn register<B: Backend>(
    parents: impl IntoIterator<Item = Option<NodeId>>,
    gradients: impl IntoIterator<Item = Option<FloatTensor<B>>>,
    grads: &mut Gradients,
) {
    for (parent, gradient) in parents.into_iter().zip(gradients) {
        if let (Some(parent), Some(gradient)) = (parent, gradient) {
            grads.register::<B>(parent, gradient);
        }
    }
}
