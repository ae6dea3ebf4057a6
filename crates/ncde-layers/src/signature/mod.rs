//! `S(X)` or `log S(X)` of paths `X` given as tensors, with the reverse pass of `ncde-signature`.
//!
//! Memory of the reverse pass: the path itself is all that is kept between the passes.

mod autodiff;
mod flex;
#[cfg(feature = "gpu")]
mod gpu;
mod ops;

use std::sync::Arc;

use burn_tensor::Tensor;
use ncde_signature::Signature;

pub use crate::operation::Error;
pub use ops::{Over, SignatureOps};

use crate::operation::{primitive, public};

/// Of whole paths.
///
/// ```
/// use std::sync::Arc;
/// use burn_autodiff::Autodiff;
/// use burn_flex::Flex;
/// use burn_tensor::Tensor;
/// use ncde_layers::signature::signature;
/// use ncde_signature::{Basis, Signature};
///
/// type B = Autodiff<Flex>;
/// let corner = Tensor::<B, 3>::from_data([[[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]]], &Default::default()).require_grad();
/// let log = Arc::new(Signature::log(2, 2, Basis::Lyndon)?);
/// let area = signature(&log, corner.clone())?.slice([0..1, 2..3]).sum();
/// assert_eq!(area.clone().into_scalar(), 0.5);
/// let gradient = corner.grad(&area.backward()).unwrap().into_data();
/// // The area grows as the corner moves away from the chord, to the right and down.
/// assert_eq!(gradient.to_vec::<f32>().unwrap(), [-0.5, 0.0, 0.5, -0.5, 0.0, 0.5]);
/// # Ok::<(), ncde_layers::signature::Error>(())
/// ```
///
/// # Shapes
/// - `path`: `[batch, length, channels]`
/// - result: `[batch, transform.len()]`
///
/// # Errors
/// If the channels are not the transform's, the length is below 2, a value is not finite, or the type is not f32 (nor f64, with the feature `f64`).
/// A reverse pass cannot return an error: what fails there (an overflow) becomes a gradient of NaN. Nor does a GPU look at values: those that are not
/// finite are handed on.
pub fn signature<B: SignatureOps>(transform: &Arc<Signature>, path: Tensor<B, 3>) -> Result<Tensor<B, 2>, Error> {
    over(transform, Over::Whole, path).map(|all| all.squeeze_dim(1))
}

/// Of every prefix of the paths, from two observations on.
///
/// # Shapes
/// - `path`: `[batch, length, channels]`
/// - result: `[batch, length - 1, transform.len()]`
///
/// # Errors
/// As for [`signature`].
pub fn stream<B: SignatureOps>(transform: &Arc<Signature>, path: Tensor<B, 3>) -> Result<Tensor<B, 3>, Error> {
    over(transform, Over::Prefixes, path)
}

/// Of consecutive windows of `size` increments; neighbours share an observation, the last may be shorter.
///
/// # Shapes
/// - `path`: `[batch, length, channels]`
/// - result: `[batch, windows, transform.len()]`
///
/// # Errors
/// As for [`signature`], or if `size` is 0.
pub fn windows<B: SignatureOps>(transform: &Arc<Signature>, path: Tensor<B, 3>, size: usize) -> Result<Tensor<B, 3>, Error> {
    over(transform, Over::Windows(size), path)
}

fn over<B: SignatureOps>(transform: &Arc<Signature>, over: Over, path: Tensor<B, 3>) -> Result<Tensor<B, 3>, Error> {
    B::signature(transform, over, primitive(path)).map(public)
}
