//! Tensors on a GPU: Burn's backend for `CubeCL`, in `f32`.
//!
//! Operations that have a kernel on the device run there; the others go to the host and back ([`on_host`]), so that every model trains on every
//! device. [`without_kernel`] tells which.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use burn_cubecl::kernel::into_contiguous;
use burn_cubecl::ops::into_data_sync;
use burn_cubecl::tensor::CubeTensor;
use burn_cubecl::{CubeBackend, CubeRuntime};
use burn_flex::FlexTensor;
use burn_tensor::{DType, Shape};
use cubecl::server::Handle;
use ncde_gpu::Gpu;
use ncde_kernels::neural::Activation;

use crate::operation::Error;

/// A backend on a device that `CubeCL` serves.
pub type OnGpu<R, I, B> = CubeBackend<R, f32, I, B>;

/// NVIDIA GPUs.
#[cfg(feature = "cuda")]
pub type Cuda = OnGpu<cubecl::cuda::CudaRuntime, i32, u8>;

/// GPUs through Vulkan, Metal or Direct3D.
#[cfg(feature = "wgpu")]
pub type Wgpu = OnGpu<cubecl::wgpu::WgpuRuntime, i32, u32>;

/// Operations that went to the host.
static WITHOUT_KERNEL: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

/// Which operations went to the host since the process began, as the device has no kernel for them or too little memory.
pub fn without_kernel() -> Vec<&'static str> {
    WITHOUT_KERNEL.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect()
}

/// The result of an operation that has no kernel on the device and was computed on the host.
pub(crate) fn from_host<R: CubeRuntime>(
    operation: &'static str,
    device: &R::Device,
    result: Result<FlexTensor, Error>,
) -> Result<CubeTensor<R>, Error> {
    has_no_kernel(operation);
    Ok(on_device(&result?, device))
}

/// The gradients of such an operation.
pub(crate) fn gradients_from_host<R: CubeRuntime, const N: usize>(
    device: &R::Device,
    gradients: Result<[Option<FlexTensor>; N], Error>,
) -> Result<[Option<CubeTensor<R>>; N], Error> {
    Ok(gradients?.map(|gradient| gradient.map(|gradient| on_device(&gradient, device))))
}

/// Remembers that an operation goes to the host.
pub(crate) fn has_no_kernel(operation: &'static str) {
    WITHOUT_KERNEL.lock().unwrap_or_else(PoisonError::into_inner).insert(operation);
}

/// A tensor on the host.
pub(crate) fn on_host<R: CubeRuntime>(tensor: CubeTensor<R>) -> FlexTensor {
    FlexTensor::from_data(into_data_sync(tensor))
}

/// The way back.
pub(crate) fn on_device<R: CubeRuntime>(tensor: &FlexTensor, device: &R::Device) -> CubeTensor<R> {
    let data = tensor.to_contiguous().into_data();
    let (client, shape) = (R::client(device), data.shape.clone());
    let handle = client.create_from_slice(data.as_bytes());
    CubeTensor::new_contiguous(client, device.clone(), shape, handle, data.dtype)
}

/// The buffer of a tensor, laid out as its shape says.
pub(crate) fn buffer<R: CubeRuntime>(tensor: CubeTensor<R>) -> CubeTensor<R> {
    into_contiguous(tensor)
}

/// A tensor of a buffer of `f32`.
pub(crate) fn of_buffer<R: CubeRuntime>(like: &CubeTensor<R>, shape: impl Into<Shape>, handle: Handle) -> CubeTensor<R> {
    CubeTensor::new_contiguous(like.client.clone(), like.device.clone(), shape.into(), handle, DType::F32)
}

/// The device of a tensor, for kernels of ours.
pub(crate) fn gpu<R: CubeRuntime>(tensor: &CubeTensor<R>) -> Gpu<R> {
    Gpu::new(tensor.client.clone())
}

/// A function of one number, on the device.
pub(crate) fn activation(function: Activation) -> ncde_gpu::Activation {
    match function {
        Activation::Silu => ncde_gpu::Activation::Silu,
        Activation::Relu => ncde_gpu::Activation::Relu,
        Activation::Tanh => ncde_gpu::Activation::Tanh,
        Activation::Softplus => ncde_gpu::Activation::Softplus,
        Activation::ShiftedSoftplus => ncde_gpu::Activation::ShiftedSoftplus,
        Activation::Identity => ncde_gpu::Activation::Identity,
    }
}
