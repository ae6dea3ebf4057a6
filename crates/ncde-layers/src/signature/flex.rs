//! The CPU backend: its tensors are slices, and the kernel takes slices.

use std::sync::Arc;

use burn_flex::Flex;
use burn_flex::FlexTensor;
use burn_tensor::{Element, TensorMetadata};
use bytemuck::Pod;
use ncde_signature::{Float, Paths, Signature};

use super::{Error, Over, SignatureOps};
use crate::operation::{dispatch, slice, tensor};

impl SignatureOps for Flex {
    fn signature(transform: &Arc<Signature>, over: Over, path: FlexTensor) -> Result<FlexTensor, Error> {
        dispatch!(path, forward(transform, over, &path))
    }

    fn signature_backward(
        transform: &Arc<Signature>,
        over: Over,
        path: FlexTensor,
        gradient: FlexTensor,
    ) -> Result<FlexTensor, Error> {
        dispatch!(path, backward(transform, over, &path, &gradient))
    }
}

fn forward<T: Float + Element + Pod>(transform: &Signature, over: Over, path: &FlexTensor) -> Result<FlexTensor, Error> {
    let dims = path.shape();
    let path = path.to_contiguous();
    let paths = Paths::new(slice::<T>("the path", &path)?, dims[0], dims[1], dims[2])?;
    let values = match over {
        Over::Whole => transform.of(&paths)?,
        Over::Prefixes => transform.stream(&paths)?,
        Over::Windows(size) => transform.intervals(&paths, &paths.windows(size)?)?,
    };
    let results = values.len() / (dims[0] * transform.len()).max(1);
    Ok(tensor(values, [dims[0], results, transform.len()]))
}

fn backward<T: Float + Element + Pod>(
    transform: &Signature,
    over: Over,
    path: &FlexTensor,
    gradient: &FlexTensor,
) -> Result<FlexTensor, Error> {
    let dims = path.shape();
    let (path, gradient) = (path.to_contiguous(), gradient.to_contiguous());
    let paths = Paths::new(slice::<T>("the path", &path)?, dims[0], dims[1], dims[2])?;
    let gradient = slice::<T>("the gradient", &gradient)?;
    let values = match over {
        Over::Whole => transform.of_backward(&paths, gradient)?,
        Over::Prefixes => transform.stream_backward(&paths, gradient)?,
        Over::Windows(size) => transform.intervals_backward(&paths, &paths.windows(size)?, gradient)?,
    };
    Ok(tensor(values, [dims[0], dims[1], dims[2]]))
}
