//! What a backend implements.

use burn_tensor::backend::Backend;
use burn_tensor::ops::FloatTensor;
use burn_tensor::{Tensor, TensorMetadata};
use ncde_runtime::layer::Function;
use ncde_runtime::random::Stream;

use super::Error;
use crate::operation::{Gradients, primitive, public};

/// The constants of one update by Adam.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Adam {
    /// The learning rate.
    pub rate: f64,
    /// The decay of weights, times the rate.
    pub decay: f64,
    /// How many updates there were, this one included.
    pub step: usize,
}

impl Adam {
    /// The decay of the mean of gradients, and of their squares.
    pub const BETA: [f64; 2] = [0.9, 0.999];
    /// What is added to the root of the mean square.
    pub const EPSILON: f64 = 1e-8;
}

/// What gradients are multiplied with before an update: below 1 where their norm is limited.
#[derive(Debug, Clone)]
pub enum Factor<B: Backend> {
    /// A number.
    Number(f64),
    /// On a device that has not been looked at; below 0 where the loss or the norm is no number, and nothing changes.
    OnDevice(FloatTensor<B>),
}

/// The loss and the sum of squares over all gradients.
pub enum Seen {
    /// Both.
    Now([f64; 2]),
    /// On their way from a device; the call waits for them.
    Later(Box<dyn FnOnce() -> Result<[f64; 2], Error> + Send>),
}

impl std::fmt::Debug for Seen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Now(seen) => f.debug_tuple("Now").field(seen).finish(),
            Self::Later(_) => f.write_str("Later"),
        }
    }
}

/// A weight that is trained, with the mean of its gradients and of their squares.
pub type Updated<B> = [FloatTensor<B>; 3];

/// A backend with kernels for dense layers on rows, `[..., width]`.
///
/// # Errors
/// Every operation fails if the type has no kernel. A backend that differentiates refuses the reverse passes: they are not themselves differentiable.
#[expect(unused_variables, reason = "a backend whose reverse passes are not differentiable has none: it refuses")]
pub trait DenseOps: Backend {
    /// `x W + b` for rows `[rows, inputs]`, or `x W`.
    fn affine(
        x: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: Option<FloatTensor<Self>>,
    ) -> Result<FloatTensor<Self>, Error>;

    /// The gradients in `x`, `W` and `b`, those that are wanted: `dy W^T`, `x^T dy`, and the sum of the rows of `dy`.
    fn affine_backward(
        x: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        wanted: [bool; 3],
    ) -> Result<Gradients<Self, 3>, Error> {
        Err(Error::SecondOrder)
    }

    /// A function of every row.
    fn activation(function: Function, x: FloatTensor<Self>) -> Result<FloatTensor<Self>, Error>;

    /// The gradient in `x`.
    fn activation_backward(
        function: Function,
        x: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
    ) -> Result<FloatTensor<Self>, Error> {
        Err(Error::SecondOrder)
    }

    /// Every row with mean 0 and variance 1, then times a gain and moved by an offset.
    fn norm_rows(x: FloatTensor<Self>, affine: Option<[FloatTensor<Self>; 2]>) -> Result<FloatTensor<Self>, Error>;

    /// The gradients in `x`, and in gain and offset where there are some.
    fn norm_rows_backward(
        x: FloatTensor<Self>,
        gain: Option<FloatTensor<Self>>,
        gradient: FloatTensor<Self>,
    ) -> Result<Gradients<Self, 3>, Error> {
        Err(Error::SecondOrder)
    }

    /// `factor (x - shift)`, column by column, for rows `[batch, places, width]`; without `shift`, `factor x`.
    fn scale_columns(
        x: FloatTensor<Self>,
        shift: Option<FloatTensor<Self>>,
        factor: FloatTensor<Self>,
    ) -> Result<FloatTensor<Self>, Error>;

    /// `factor x` for rows `[batch, places, width]`; with the number `ahead` as a column before them, where there is one.
    fn scaled(x: FloatTensor<Self>, factor: f64, ahead: Option<f64>) -> Result<FloatTensor<Self>, Error>;

    /// The gradient in `x`; `has_ahead` says whether there is a column before those of `x`.
    fn scaled_backward(gradient: FloatTensor<Self>, factor: f64, has_ahead: bool) -> Result<FloatTensor<Self>, Error> {
        Err(Error::SecondOrder)
    }

    /// So many rows of each series from `first` on, `[batch, places, width]` to `[batch, count, width]`.
    fn some_rows(x: FloatTensor<Self>, first: usize, count: usize) -> Result<FloatTensor<Self>, Error> {
        Ok(primitive(public::<Self, 3>(x).narrow(1, first, count)))
    }

    /// The gradient in `x`, of so many places: 0 in the other rows.
    fn some_rows_backward(gradient: FloatTensor<Self>, first: usize, places: usize) -> Result<FloatTensor<Self>, Error> {
        let gradient = public::<Self, 3>(gradient);
        let [batch, count, width] = gradient.dims();
        let zeros = Tensor::zeros([batch, places, width], (&gradient.device(), gradient.dtype()));
        Ok(primitive(zeros.slice_assign([0..batch, first..first + count, 0..width], gradient)))
    }

    /// A row before those of each series: `[batch, 1, width]` and `[batch, places, width]` to `[batch, 1 + places, width]`.
    fn join_rows(first: FloatTensor<Self>, rows: FloatTensor<Self>) -> Result<FloatTensor<Self>, Error> {
        Ok(primitive(Tensor::cat(vec![public::<Self, 3>(first), public(rows)], 1)))
    }

    /// The gradients in the first row and in the others.
    fn join_rows_backward(gradient: FloatTensor<Self>) -> Result<Gradients<Self, 2>, Error> {
        let places = gradient.shape()[1];
        Ok([Some(Self::some_rows(gradient.clone(), 0, 1)?), Some(Self::some_rows(gradient, 1, places - 1)?)])
    }

    /// The mean over the first `lengths[b]` rows of each series, `[batch, places, width]` to `[batch, 1, width]`.
    fn mean_rows(x: FloatTensor<Self>, lengths: &[usize]) -> Result<FloatTensor<Self>, Error>;

    /// The gradient in `x`, of so many places.
    fn mean_rows_backward(gradient: FloatTensor<Self>, lengths: &[usize], places: usize) -> Result<FloatTensor<Self>, Error> {
        Err(Error::SecondOrder)
    }

    /// Each number with probability `1 - rate`, times `1 / (1 - rate)`, else 0; number `i` by place `i` of the stream.
    fn dropout(x: FloatTensor<Self>, stream: Stream, rate: f64) -> Result<FloatTensor<Self>, Error>;

    /// The row of a table `[vocabulary, width]` for each token, `[rows]` to `[rows, width]`. A token that the table does not have is an error, or its row is not a
    /// number where tokens are out of sight.
    fn lookup(tokens: FloatTensor<Self>, table: FloatTensor<Self>) -> Result<FloatTensor<Self>, Error>;

    /// The gradient in a table of so many rows.
    fn lookup_backward(
        tokens: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        vocabulary: usize,
    ) -> Result<FloatTensor<Self>, Error> {
        Err(Error::SecondOrder)
    }

    /// `-share sum w ln(softmax(z)[label] + floor)` over rows `[batch, places, classes]`, and its gradient in `z`; each row has a label and a weight.
    /// A label that is none of the classes is an error; a device that cannot say so makes the loss not a number.
    fn class_loss(
        z: FloatTensor<Self>,
        labels: [FloatTensor<Self>; 2],
        floor: f64,
        share: f64,
    ) -> Result<[FloatTensor<Self>; 2], Error>;

    /// The loss and the sum of squares over all gradients; what these are multiplied with so that their norm is at most `most`, with no limit if that is 0.
    fn outcome(loss: FloatTensor<Self>, gradients: &[FloatTensor<Self>], most: f64) -> Result<(Seen, Factor<Self>), Error>;

    /// One update of weights: what each was before it, and its gradient, to what it is after it.
    fn update(
        adam: Adam,
        factor: &Factor<Self>,
        old: Vec<(Updated<Self>, FloatTensor<Self>)>,
    ) -> Result<Vec<Updated<Self>>, Error>;
}
