//! Where a model is trained, and work that is the same on every device.

use ncde_layers::layer;
#[cfg(feature = "gpu")]
use ncde_layers::operation;

use crate::optimizer::TrainBackend;

/// Where a model is trained. Models that are solved for in closed form are, wherever, on the processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Device {
    /// The processor.
    #[default]
    Cpu,
    /// An NVIDIA GPU.
    #[cfg(feature = "cuda")]
    Cuda,
    /// A GPU through Vulkan, Metal or Direct3D.
    #[cfg(feature = "wgpu")]
    Wgpu,
}

impl Device {
    /// Bytes of a GPU that this process has reserved, the most that were in use at any time; none on the processor.
    pub fn reserved(self) -> Option<u64> {
        match self {
            Self::Cpu => None,
            #[cfg(feature = "cuda")]
            Self::Cuda => ncde_gpu::cuda().and_then(|gpu| gpu.memory()).ok(),
            #[cfg(feature = "wgpu")]
            Self::Wgpu => ncde_gpu::wgpu().and_then(|gpu| gpu.memory()).ok(),
        }
    }

    /// Which operations went to the processor instead.
    pub(crate) fn without_kernel(self) -> Vec<&'static str> {
        match self {
            Self::Cpu => Vec::new(),
            #[cfg(feature = "gpu")]
            _ => ncde_layers::gpu::without_kernel(),
        }
    }
}

/// Work that is the same on every device.
pub(crate) trait OnDevice {
    type Output;

    fn run<B: TrainBackend>(self) -> Self::Output;
}

/// Does work on a device.
///
/// # Errors
/// If there is no such device here, or its memory runs out.
pub(crate) fn on_device<T: OnDevice>(device: Device, work: T) -> Result<T::Output, layer::Error> {
    match device {
        Device::Cpu => {}
        #[cfg(feature = "cuda")]
        Device::Cuda => drop(ncde_gpu::cuda().map_err(operation::Error::from)?),
        #[cfg(feature = "wgpu")]
        Device::Wgpu => drop(ncde_gpu::wgpu().map_err(operation::Error::from)?),
    }
    guarded(device, || match device {
        Device::Cpu => work.run::<burn_flex::Flex>(),
        #[cfg(feature = "cuda")]
        Device::Cuda => work.run::<ncde_layers::gpu::Cuda>(),
        #[cfg(feature = "wgpu")]
        Device::Wgpu => work.run::<ncde_layers::gpu::Wgpu>(),
    })
}

/// Does work on a device that is there.
///
/// # Errors
/// If its memory runs out.
pub(crate) fn guarded<T>(device: Device, work: impl FnOnce() -> T) -> Result<T, layer::Error> {
    match device {
        Device::Cpu => Ok(work()),
        #[cfg(feature = "cuda")]
        Device::Cuda => Ok(ncde_gpu::guarded(ncde_gpu::cuda, work).map_err(operation::Error::from)?),
        #[cfg(feature = "wgpu")]
        Device::Wgpu => Ok(ncde_gpu::guarded(ncde_gpu::wgpu, work).map_err(operation::Error::from)?),
    }
}
