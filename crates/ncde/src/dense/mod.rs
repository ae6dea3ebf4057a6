//! The dense parts of layers on rows of numbers, fused: one pass over memory forward, one in reverse.
//!
//! ```text
//! affine       y = x W + b                                          dx = dy W^T,  dW = x^T dy,  db = sum dy
//! activation   y = s(x)                                             dx = s'(x) dy
//! layer norm   y = g z + c,  z = (x - mean x) / sqrt(var x + e)     dx = f (g dy - mean(g dy) - z mean(g dy z)),  f = 1 / sqrt(var x + e)
//! update       Adam with decoupled weight decay
//! ```
//!
//! Burn's CPU backend walks element by element through anything that is spread along an axis, and takes a pass for each operation of a formula;
//! here a row is a slice.

mod autodiff;
mod flex;
#[cfg(feature = "gpu")]
mod gpu;
mod ops;

use burn_tensor::Tensor;
use ncde_runtime::layer::Function;

pub use crate::operation::Error;
pub use ops::{Adam, DenseOps, NormGradients};

use crate::operation::{primitive, public};

/// `x W + b`.
///
/// # Shapes
/// `x`: `[batch, places, inputs]`, `weight`: `[inputs, outputs]`, `bias`: `[outputs]`, to `[batch, places, outputs]`.
///
/// # Errors
/// If the tensors have another number type than f32 (and f64, with the feature `f64`).
pub fn affine<B: DenseOps>(x: Tensor<B, 3>, weight: Tensor<B, 2>, bias: Tensor<B, 1>) -> Result<Tensor<B, 3>, Error> {
    let ([batch, places, inputs], [_, outputs]) = (x.dims(), weight.dims());
    let rows = x.reshape([batch * places, inputs]);
    let y: Tensor<B, 2> = public(B::affine(primitive(rows), primitive(weight), primitive(bias))?);
    Ok(y.reshape([batch, places, outputs]))
}

/// A function of every row.
///
/// # Errors
/// As for [`affine`].
pub fn activation<B: DenseOps>(function: Function, x: Tensor<B, 3>) -> Result<Tensor<B, 3>, Error> {
    B::activation(function, primitive(x)).map(public)
}

/// Every row with mean 0 and variance 1, then times a gain and moved by an offset, where there are some.
///
/// # Shapes
/// `x`: `[batch, places, width]`, `affine`: two of `[width]`.
///
/// # Errors
/// As for [`affine`].
pub fn layer_norm<B: DenseOps>(x: Tensor<B, 3>, affine: Option<[Tensor<B, 1>; 2]>) -> Result<Tensor<B, 3>, Error> {
    B::norm_rows(primitive(x), affine.map(|pair| pair.map(primitive))).map(public)
}

/// `factor * (x - shift)`, column by column; the constants have no gradient.
///
/// # Shapes
/// `x`: `[batch, places, width]`, the others `[width]`.
///
/// # Errors
/// As for [`affine`].
pub fn scale_columns<B: DenseOps>(x: Tensor<B, 3>, shift: &[f64], factor: &[f64]) -> Result<Tensor<B, 3>, Error> {
    B::scale_columns(primitive(x), shift, factor).map(public)
}
