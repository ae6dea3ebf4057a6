//! The dense parts of layers on rows of numbers, fused: one pass over memory forward, one in reverse.
//!
//! ```text
//! affine       y = x W + b                                          dx = dy W^T,  dW = x^T dy,  db = sum dy
//! lookup       y_i = W[token_i]                                     dW[v] = sum of dy_i over token_i = v
//! dropout      y = m x,  m = 0 or 1 / (1 - p)                       dx = m dy
//! activation   y = s(x)                                             dx = s'(x) dy
//! layer norm   y = g z + c,  z = (x - mean x) / sqrt(var x + e)     dx = f (g dy - mean(g dy) - z mean(g dy z)),  f = 1 / sqrt(var x + e)
//! update       Adam with decoupled weight decay
//! ```
//!
//! Burn's CPU backend walks element by element through anything that is spread along an axis, and takes a pass for each operation of a formula;
//! here a row is a slice.
//!
//! All functions refuse tensors of another number type than f32 (and f64, with the feature `f64`).

mod autodiff;
mod flex;
#[cfg(feature = "gpu")]
mod gpu;
mod ops;

use burn_tensor::Tensor;
use ncde_runtime::layer::Function;
use ncde_runtime::random::Stream;

pub use crate::operation::Error;
pub use ops::{Adam, DenseOps, Factor, Seen, Updated};

use crate::operation::{primitive, public};

/// `x W + b`.
///
/// # Shapes
/// `x`: `[batch, places, inputs]`, `weight`: `[inputs, outputs]`, `bias`: `[outputs]`, to `[batch, places, outputs]`.
pub fn affine<B: DenseOps>(x: Tensor<B, 3>, weight: Tensor<B, 2>, bias: Tensor<B, 1>) -> Result<Tensor<B, 3>, Error> {
    let ([batch, places, inputs], [_, outputs]) = (x.dims(), weight.dims());
    let rows = x.reshape([batch * places, inputs]);
    let y: Tensor<B, 2> = public(B::affine(primitive(rows), primitive(weight), Some(primitive(bias)))?);
    Ok(y.reshape([batch, places, outputs]))
}

/// `x W` for rows `[rows, inputs]`.
pub fn product<B: DenseOps>(x: Tensor<B, 2>, weight: Tensor<B, 2>) -> Result<Tensor<B, 2>, Error> {
    B::affine(primitive(x), primitive(weight), None).map(public)
}

/// Each number with probability `1 - rate`, times `1 / (1 - rate)`, else 0; number `i` by place `i` of the stream.
pub fn dropout<B: DenseOps>(x: Tensor<B, 3>, stream: Stream, rate: f64) -> Result<Tensor<B, 3>, Error> {
    B::dropout(primitive(x), stream, rate).map(public)
}

/// The row of a table for each token.
///
/// # Shapes
/// `tokens`: `[batch, places]`, `table`: `[vocabulary, width]`, to `[batch, places, width]`.
///
/// # Errors
/// Also if the table does not have a token; a device that cannot say so makes its row not a number.
pub fn lookup<B: DenseOps>(tokens: Tensor<B, 2>, table: Tensor<B, 2>) -> Result<Tensor<B, 3>, Error> {
    let ([batch, places], [_, width]) = (tokens.dims(), table.dims());
    let rows: Tensor<B, 2> = public(B::lookup(primitive(tokens.reshape([batch * places])), primitive(table))?);
    Ok(rows.reshape([batch, places, width]))
}

/// A function of every row.
pub fn activation<B: DenseOps>(function: Function, x: Tensor<B, 3>) -> Result<Tensor<B, 3>, Error> {
    B::activation(function, primitive(x)).map(public)
}

/// Every row with mean 0 and variance 1, then times a gain and moved by an offset, where there are some.
///
/// # Shapes
/// `x`: `[batch, places, width]`, `affine`: two of `[width]`.
pub fn layer_norm<B: DenseOps>(x: Tensor<B, 3>, affine: Option<[Tensor<B, 1>; 2]>) -> Result<Tensor<B, 3>, Error> {
    B::norm_rows(primitive(x), affine.map(|pair| pair.map(primitive))).map(public)
}

/// The mean over the first rows of each series, as many as it has: padding counts nothing.
///
/// # Shapes
/// `x`: `[batch, places, width]`, `lengths`: `batch` numbers from 1 to `places`, to `[batch, 1, width]`.
pub fn mean_rows<B: DenseOps>(x: Tensor<B, 3>, lengths: &[usize]) -> Result<Tensor<B, 3>, Error> {
    B::mean_rows(primitive(x), lengths).map(public)
}

/// `-share sum w ln(softmax(z)[label] + floor)` over all rows. What has no label has weight 0, and any class.
///
/// # Shapes
/// `z`: `[batch, places, classes]`, `labels` and `weights`: `[batch places]`, to `[1]`.
///
/// # Errors
/// Also if a label is none of the classes; a device that cannot say so makes the loss not a number.
pub fn class_loss<B: DenseOps>(
    z: Tensor<B, 3>,
    labels: Tensor<B, 1>,
    weights: Tensor<B, 1>,
    floor: f64,
    share: f64,
) -> Result<Tensor<B, 1>, Error> {
    let [loss, _] = B::class_loss(primitive(z), [labels, weights].map(primitive), floor, share)?;
    Ok(public(loss))
}

/// `factor (x - shift)`, column by column; `shift` and `factor` have no gradient.
///
/// # Shapes
/// `x`: `[batch, places, width]`, `shift` and `factor`: `[width]`.
pub fn scale_columns<B: DenseOps>(
    x: Tensor<B, 3>,
    shift: Option<Tensor<B, 1>>,
    factor: Tensor<B, 1>,
) -> Result<Tensor<B, 3>, Error> {
    B::scale_columns(primitive(x), shift.map(primitive), primitive(factor)).map(public)
}

/// So many rows of each series from `first` on. All of them are the tensor itself.
///
/// # Shapes
/// `[batch, places, width]` to `[batch, count, width]`.
pub fn some_rows<B: DenseOps>(x: Tensor<B, 3>, first: usize, count: usize) -> Result<Tensor<B, 3>, Error> {
    if x.dims()[1] == count { Ok(x) } else { B::some_rows(primitive(x), first, count).map(public) }
}

/// A row before those of each series.
///
/// # Shapes
/// `first`: `[batch, 1, width]`, `rows`: `[batch, places, width]`, to `[batch, 1 + places, width]`.
pub fn join_rows<B: DenseOps>(first: Tensor<B, 3>, rows: Tensor<B, 3>) -> Result<Tensor<B, 3>, Error> {
    B::join_rows(primitive(first), primitive(rows)).map(public)
}

/// `factor x`, with the number `ahead` as a column before it, where there is one.
pub fn scaled<B: DenseOps>(x: Tensor<B, 3>, factor: f64, ahead: Option<f64>) -> Result<Tensor<B, 3>, Error> {
    B::scaled(primitive(x), factor, ahead).map(public)
}
