//! What a backend implements.

use std::sync::Arc;

use burn_tensor::backend::Backend;
use burn_tensor::ops::FloatTensor;
use ncde_signature::Signature;

use super::Error;

/// The parts of a path that results are taken over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Over {
    /// The whole path: one result.
    Whole,
    /// Every prefix: `length - 1` results.
    Prefixes,
    /// Windows of this many increments.
    Windows(usize),
}

/// A backend with a signature kernel.
#[expect(unused_variables, reason = "a backend whose reverse passes are not differentiable has none: it refuses")]
pub trait SignatureOps: Backend {
    /// The forward pass.
    ///
    /// # Shapes
    /// `[batch, length, channels]` to `[batch, results, transform.len()]`.
    ///
    /// # Errors
    /// If the transform refuses its input, or the type has no kernel.
    fn signature(transform: &Arc<Signature>, over: Over, path: FloatTensor<Self>) -> Result<FloatTensor<Self>, Error>;

    /// The reverse pass: the gradient of the path.
    ///
    /// # Shapes
    /// `path`: `[batch, length, channels]`, `gradient`: `[batch, results, transform.len()]`, to `[batch, length, channels]`.
    ///
    /// # Errors
    /// Also on a backend that differentiates: the reverse pass is not itself differentiable.
    fn signature_backward(
        transform: &Arc<Signature>,
        over: Over,
        path: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
    ) -> Result<FloatTensor<Self>, Error> {
        Err(Error::SecondOrder)
    }
}
