//! The device that tests run on: CUDA where it was built in, else Vulkan (on a machine without a GPU, Mesa's).
#![allow(clippy::unwrap_used, reason = "a test")]

use ncde_gpu::Gpu;

#[cfg(feature = "cuda")]
pub(crate) fn gpu() -> Gpu<cubecl::cuda::CudaRuntime> {
    ncde_gpu::cuda().unwrap()
}

#[cfg(not(feature = "cuda"))]
pub(crate) fn gpu() -> Gpu<cubecl::wgpu::WgpuRuntime> {
    ncde_gpu::wgpu().unwrap()
}
