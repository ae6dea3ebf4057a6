//! What is seen of a run from outside: where it runs, what happens meanwhile, what it leaves.

use ncde_report::RunRecord;
use ncde_report::record::{Best, Point, Recovery};

use ncde_layers::layer::{self, LayerBackend};
#[cfg(feature = "gpu")]
use ncde_layers::operation;

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

/// Work that is the same on every device.
pub(super) trait OnDevice {
    /// What comes of it.
    type Output;

    /// Does it on a backend.
    fn run<B: LayerBackend>(self) -> Self::Output;
}

/// Does work on a device.
///
/// # Errors
/// If there is no such device here, or its memory runs out.
pub(super) fn on_device<T: OnDevice>(device: Device, work: T) -> Result<T::Output, layer::Error> {
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
pub(super) fn guarded<T>(device: Device, work: impl FnOnce() -> T) -> Result<T, layer::Error> {
    match device {
        Device::Cpu => Ok(work()),
        #[cfg(feature = "cuda")]
        Device::Cuda => Ok(ncde_gpu::guarded(ncde_gpu::cuda, work).map_err(operation::Error::from)?),
        #[cfg(feature = "wgpu")]
        Device::Wgpu => Ok(ncde_gpu::guarded(ncde_gpu::wgpu, work).map_err(operation::Error::from)?),
    }
}

/// What happens while a run goes on.
#[derive(Debug)]
pub enum Event<'a> {
    /// Training begins, or goes on after `done` steps.
    Started {
        /// Steps already done.
        done: usize,
        /// Steps in all.
        steps: usize,
        /// Weights that are trained.
        parameters: usize,
    },
    /// A step is done.
    Step {
        /// How many are done.
        step: usize,
        /// Its loss.
        loss: f64,
    },
    /// A step diverged; it is taken again from earlier weights, at a lower learning rate.
    Recovered {
        /// What happened.
        recovery: &'a Recovery,
        /// How often it has happened.
        count: usize,
        /// How often it may.
        most: usize,
    },
    /// The validation part was evaluated.
    Evaluated {
        /// What was seen.
        point: &'a Point,
        /// The best so far.
        best: Option<&'a Best>,
    },
    /// The readout of a reservoir is solved for.
    Solved {
        /// The features that were chosen, in words.
        chosen: &'a str,
        /// The mean square of leave-out errors.
        error: f64,
    },
    /// The weights are there, and are being tested.
    Testing,
    /// Cases on which states overflow: they have no prediction, and count as wrong.
    Overflowed {
        /// Of which part.
        part: &'a str,
        /// Their names.
        cases: &'a [String],
    },
}

/// What a run leaves.
#[derive(Debug)]
pub struct Outcome {
    /// All that was seen.
    pub record: RunRecord,
    /// Whether it was already finished, and nothing was done.
    pub already: bool,
}
