//! What operations share: their errors, tensors of the CPU backend as slices, and the reverse pass under `Autodiff`.

use std::fmt::{Debug, Formatter};
use std::marker::PhantomData;

use burn_autodiff::Autodiff;
use burn_autodiff::checkpoint::base::Checkpointer;
use burn_autodiff::checkpoint::strategy::CheckpointStrategy;
use burn_autodiff::ops::{Backward, Ops, OpsKind};
use burn_flex::FlexTensor;
use burn_tensor::backend::Backend;
use burn_tensor::ops::FloatTensor;
use burn_tensor::{BasicOps, DType, Element, Shape, Tensor, TensorCreationOptions, TensorData, TensorMetadata, TensorPrimitive};
use bytemuck::Pod;

/// What can go wrong in an operation.
#[expect(missing_docs, reason = "the message says what each field is")]
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
    Shape { operation: &'static str, what: &'static str, seen: Vec<usize>, wanted: Vec<usize>, meaning: &'static str },

    /// A token that a table does not have.
    #[error("embedding: the batch of tokens has token {seen}, but a whole number below {vocabulary} is needed")]
    Token { seen: f64, vocabulary: usize },

    /// A number type that there is no kernel for.
    #[error(
        "kernels compute in f32, or in f64 with the feature `f64` of the crate `ncde-layers`, not in {dtype:?}; cast all tensors first"
    )]
    Type { dtype: DType },

    /// Two number types in one call.
    #[error("{what} holds {seen:?}, but {wanted:?} is what is computed in; cast one of the tensors first")]
    Mixed { what: &'static str, seen: DType, wanted: DType },

    /// A gradient of a gradient.
    #[error("the reverse pass of a kernel is not itself differentiable; take first derivatives only")]
    SecondOrder,
}

/// Calls a function for the number type of a tensor; its first type is that of numbers, others may follow.
macro_rules! dispatch {
    ($tensor:expr, $function:ident$(::<_, $($other:ident),+>)?($($argument:expr),*)) => {
        match burn_tensor::TensorMetadata::dtype(&$tensor) {
            burn_tensor::DType::F32 => $function::<f32 $($(, $other)+)?>($($argument),*),
            #[cfg(feature = "f64")]
            burn_tensor::DType::F64 => $function::<f64 $($(, $other)+)?>($($argument),*),
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

/// The gradients in the tensors of an operation, in the order of its arguments; none where a tensor is absent, or nobody asks for its gradient.
pub type Gradients<B, const N: usize> = [Option<FloatTensor<B>>; N];

/// What a reverse pass starts from: the operation's own function, and the shapes of its inputs.
#[derive(Clone)]
struct SavedForReverse<F, const N: usize> {
    reverse: F,
    shapes: [Shape; N],
}

impl<F, const N: usize> Debug for SavedForReverse<F, N> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SavedForReverse").field("shapes", &self.shapes).finish_non_exhaustive()
    }
}

/// The reverse pass of any operation, as Burn calls it.
struct ReversePass<F>(PhantomData<fn() -> F>);

impl<F> Debug for ReversePass<F> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str("ReversePass")
    }
}

impl<B, F, const N: usize> Backward<B, N> for ReversePass<F>
where
    B: Backend,
    F: FnOnce(FloatTensor<B>, [bool; N]) -> Result<Gradients<B, N>, Error> + Clone + Send + 'static,
{
    type State = SavedForReverse<F, N>;

    fn backward(self, ops: Ops<Self::State, N>, grads: &mut burn_autodiff::grads::Gradients, _: &mut Checkpointer) {
        let (SavedForReverse { reverse, shapes }, gradient) = (ops.state, grads.consume::<B>(&ops.node));
        let (device, dtype) = (B::float_device(&gradient), gradient.dtype().into());
        // Burn's reverse pass cannot fail: gradients are NaN instead, which every check after it sees.
        let gradients = reverse(gradient, ops.parents.each_ref().map(Option::is_some)).unwrap_or_else(|error| {
            crate::graph::keep_error(error);
            shapes.map(|shape| Some(B::float_full(shape, f64::NAN.into(), &device, dtype)))
        });
        for (parent, gradient) in ops.parents.into_iter().zip(gradients) {
            if let (Some(parent), Some(gradient)) = (parent, gradient) {
                grads.register::<B>(parent.id, gradient);
            }
        }
    }
}

/// An operation under `Autodiff`. `forward` is given the backend's own tensors and whether a reverse pass may come; it returns the output and the
/// reverse pass, which is given the gradient in the output and which inputs want theirs. An error of the reverse pass is kept for
/// [`graph::take_error`](crate::graph::take_error).
pub(crate) fn differentiable<B, C, F, const N: usize>(
    inputs: [FloatTensor<Autodiff<B, C>>; N],
    forward: impl FnOnce([FloatTensor<B>; N], bool) -> Result<(FloatTensor<B>, F), Error>,
) -> Result<FloatTensor<Autodiff<B, C>>, Error>
where
    B: Backend,
    C: CheckpointStrategy,
    F: FnOnce(FloatTensor<B>, [bool; N]) -> Result<Gradients<B, N>, Error> + Clone + Send + 'static,
{
    let shapes = inputs.each_ref().map(TensorMetadata::shape);
    let nodes = inputs.each_ref().map(|input| input.node.clone());
    let inputs = inputs.map(|input| input.primitive);
    Ok(match ReversePass(PhantomData).prepare::<C>(nodes).compute_bound().stateful() {
        OpsKind::Tracked(prepared) => {
            let (output, reverse) = forward(inputs, true)?;
            prepared.finish(SavedForReverse { reverse, shapes }, output)
        }
        OpsKind::UnTracked(prepared) => prepared.finish(forward(inputs, false)?.0),
    })
}

/// As [`differentiable`], for an operation on one tensor.
pub(crate) fn differentiable_unary<B, C, F>(
    input: FloatTensor<Autodiff<B, C>>,
    forward: impl FnOnce(FloatTensor<B>) -> Result<(FloatTensor<B>, F), Error>,
) -> Result<FloatTensor<Autodiff<B, C>>, Error>
where
    B: Backend,
    C: CheckpointStrategy,
    F: FnOnce(FloatTensor<B>) -> Result<FloatTensor<B>, Error> + Clone + Send + 'static,
{
    differentiable::<B, C, _, 1>([input], |[input], _| {
        let (output, reverse) = forward(input)?;
        Ok((output, |gradient, _| Ok([Some(reverse(gradient)?)])))
    })
}
