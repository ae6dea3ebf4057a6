//! The device that tests run on: CUDA where it was built in, else Vulkan (on a machine without a GPU, Mesa's).
#![allow(clippy::unwrap_used, reason = "a test")]

/// Whether every case is run. In software each size of a block and each kind of step is a kernel that takes seconds to compile: every kernel is tested there, at fewer sizes.
pub(crate) const EVERY: bool = cfg!(feature = "cuda");

/// All of some cases, or the first few of them in software.
pub(crate) fn some<T>(all: &[T], few: usize) -> &[T] {
    if EVERY { all } else { &all[..few] }
}

#[cfg(feature = "cuda")]
pub(crate) fn gpu() -> ncde_gpu::Gpu<cubecl::cuda::CudaRuntime> {
    ncde_gpu::cuda().unwrap()
}

#[cfg(not(feature = "cuda"))]
pub(crate) use software::gpu;

/// `CubeCL` compiles the kernels of a device one after the other, which in software is nearly all of the time. Where there is nothing but a processor, a second test that runs at once has it
/// under its other name, which is a device with a queue of its own.
#[cfg(not(feature = "cuda"))]
mod software {
    use std::sync::{LazyLock, Mutex};

    use cubecl::Runtime;
    use cubecl::device::DeviceId;
    use cubecl::wgpu::{AutoGraphicsApi, GraphicsApi, WgpuDevice, WgpuRuntime};
    use ncde_gpu::Gpu;

    /// How many tests have each device.
    static BUSY: Mutex<[usize; 2]> = Mutex::new([0; 2]);

    static ONLY_PROCESSORS: LazyLock<bool> = LazyLock::new(|| {
        let processor = DeviceId { type_id: 3, index_id: 0 };
        WgpuRuntime::enumerate_all_devices(&AutoGraphicsApi::backend()).iter().all(|&device| device == processor)
    });

    thread_local! {
        /// Every test has a thread of its own.
        static OWN: Lease = Lease::new();
    }

    struct Lease(usize);

    impl Lease {
        fn new() -> Self {
            let mut busy = BUSY.lock().unwrap();
            let own = usize::from(busy[1] < busy[0] && *ONLY_PROCESSORS);
            busy[own] += 1;
            Self(own)
        }
    }

    impl Drop for Lease {
        fn drop(&mut self) {
            BUSY.lock().unwrap()[self.0] -= 1;
        }
    }

    pub(crate) fn gpu() -> Gpu<WgpuRuntime> {
        match OWN.with(|own| own.0) {
            0 => ncde_gpu::wgpu().unwrap(),
            _ => Gpu::new(WgpuRuntime::client(&WgpuDevice::Cpu)),
        }
    }
}
