//! GPUs: kernels of `ncde-gpu`; on the host where a device does not hold the words of a window.

use std::sync::Arc;

use burn_cubecl::tensor::CubeTensor;
use burn_cubecl::{BoolElement, CubeRuntime, IntElement};
use burn_flex::Flex;
use burn_tensor::TensorMetadata;
use ncde_gpu::signature as device;
use ncde_signature::{Basis, Signature};

use super::{Error, Over, SignatureOps};
use crate::gpu::{OnGpu, buffer, from_host, gpu, of_buffer, on_host};

impl<R: CubeRuntime, I: IntElement, B: BoolElement> SignatureOps for OnGpu<R, I, B> {
    fn signature(transform: &Arc<Signature>, over: Over, path: CubeTensor<R>) -> Result<CubeTensor<R>, Error> {
        let Some(kernel) = kernel(transform, over, &path) else {
            return from_host("signatures", &path.device.clone(), Flex::signature(transform, over, on_host(path)));
        };
        let path = buffer(path);
        let (gpu, arrays) = (gpu(&path), arrays(&path));
        let values = kernel.forward(&gpu, on(over), &arrays)?;
        Ok(of_buffer(&path, [arrays.batch, on(over).results(arrays.length), kernel.len()], values))
    }

    fn signature_backward(
        transform: &Arc<Signature>,
        over: Over,
        path: CubeTensor<R>,
        gradient: CubeTensor<R>,
    ) -> Result<CubeTensor<R>, Error> {
        let Some(kernel) = kernel(transform, over, &path) else {
            let of_path = Flex::signature_backward(transform, over, on_host(path.clone()), on_host(gradient));
            return from_host("signatures", &path.device, of_path);
        };
        let (path, gradient) = (buffer(path), buffer(gradient));
        let of_path = kernel.backward(&gpu(&path), on(over), &arrays(&path), &gradient.handle)?;
        Ok(of_buffer(&path, path.shape(), of_path))
    }
}

/// The same transform on the device, where that takes these paths. What it does not take, and every mistake in shapes, is left to the host.
fn kernel<R: CubeRuntime>(transform: &Signature, over: Over, path: &CubeTensor<R>) -> Option<device::Signature> {
    let shape = path.shape();
    let (channels, depth) = (transform.shape().width(), transform.shape().depth());
    if shape[2] != channels {
        return None;
    }
    let plain = device::Signature { channels, depth, output: device::Output::Signature };
    if !plain.fits(&gpu(path), on(over), shape[0], shape[1]) {
        return None;
    }
    let output = match transform.basis() {
        None => device::Output::Signature,
        Some(basis) if basis.basis() == Basis::Expanded => device::Output::Expanded,
        Some(basis) => device::Output::Basis(device::Coordinates::new(channels, depth, basis.combinations().ok()?).ok()?),
    };
    Some(device::Signature { output, ..plain })
}

fn arrays<R: CubeRuntime>(path: &CubeTensor<R>) -> device::Arrays {
    let shape = path.shape();
    device::Arrays { batch: shape[0], length: shape[1], path: path.handle.clone() }
}

fn on(over: Over) -> device::Over {
    match over {
        Over::Whole => device::Over::Whole,
        Over::Prefixes => device::Over::Prefixes,
        Over::Windows(size) => device::Over::Windows(size),
    }
}
