//! GPUs: signatures are computed on the host.

use std::sync::Arc;

use burn_cubecl::tensor::CubeTensor;
use burn_cubecl::{BoolElement, CubeRuntime, IntElement};
use burn_flex::Flex;
use ncde_signature::Signature;

use super::{Error, Over, SignatureOps};
use crate::gpu::{OnGpu, on_device, on_host};

impl<R: CubeRuntime, I: IntElement, B: BoolElement> SignatureOps for OnGpu<R, I, B> {
    fn signature(transform: &Arc<Signature>, over: Over, path: CubeTensor<R>) -> Result<CubeTensor<R>, Error> {
        let device = path.device.clone();
        Ok(on_device(&Flex::signature(transform, over, on_host(path))?, &device))
    }

    fn signature_backward(
        transform: &Arc<Signature>,
        over: Over,
        path: CubeTensor<R>,
        gradient: CubeTensor<R>,
    ) -> Result<CubeTensor<R>, Error> {
        let device = path.device.clone();
        Ok(on_device(&Flex::signature_backward(transform, over, on_host(path), on_host(gradient))?, &device))
    }
}
