//! The device that tests run on: CUDA where it was built in, else Vulkan (on a machine without a GPU, Mesa's).

#[cfg(feature = "cuda")]
pub(crate) type TestRuntime = cubecl::cuda::CudaRuntime;
#[cfg(not(feature = "cuda"))]
pub(crate) type TestRuntime = cubecl::wgpu::WgpuRuntime;

use cubecl::prelude::*;
use ncde_gpu::Gpu;

pub(crate) fn gpu() -> Gpu<TestRuntime> {
    Gpu::new(TestRuntime::client(&Default::default()))
}
