//! A device: its client, what it can hold, and a count of what was launched on it.

use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};

use cubecl::bytes::Bytes;
use cubecl::features::Plane;
use cubecl::prelude::*;
use cubecl::server::{Handle, ServerError};

use crate::error::Error;
use crate::guard::search;
use crate::kernel::{few, scale};
use crate::kernel_cache;
use crate::plan::{Limits, Owner, Run, Shapes};
use crate::recurrence::want_list;
use crate::rounding::Rounding;
use crate::sizes::CUBE;

/// Larger slabs are buffers by themselves: 64 MiB.
const LARGE: usize = 1 << 26;

/// A device.
pub struct Gpu<R: Runtime> {
    client: ComputeClient<R>,
    multiprocessors: usize,
    limits: Limits,
    chunk: Option<usize>,
    few_channels: bool,
    rounding: Rounding,
    launches: AtomicUsize,
}

/// The first NVIDIA GPU.
///
/// # Errors
/// If there is none, or its driver is missing.
#[cfg(feature = "cuda")]
pub fn cuda() -> Result<Gpu<cubecl::cuda::CudaRuntime>, Error> {
    found("NVIDIA", "the driver's libcuda.so and CUDA's libnvrtc.so", || cubecl::cuda::CudaRuntime::client(&Default::default()))
}

/// The GPU that Vulkan, Metal or Direct3D has first; one in software where there is no other.
///
/// # Errors
/// If there is none.
#[cfg(feature = "wgpu")]
pub fn wgpu() -> Result<Gpu<cubecl::wgpu::WgpuRuntime>, Error> {
    found("WebGPU", "a driver for Vulkan, Metal or Direct3D", || cubecl::wgpu::WgpuRuntime::client(&Default::default()))
}

/// A device, or that there is none. Drivers that cannot be loaded end in a panic of the libraries below.
fn found<R: Runtime>(kind: &'static str, needs: &'static str, find: impl FnOnce() -> ComputeClient<R>) -> Result<Gpu<R>, Error> {
    let client = search(|| {
        kernel_cache::configure();
        find()
    });
    let gpu = client.map(Gpu::new).ok_or(Error::NoDevice { kind, needs })?;
    gpu.with_rounding(Rounding::chosen())
}

/// A copy to the host that has begun. Its future borrows the client.
struct Transfer<R: Runtime> {
    bytes: Pin<Box<dyn Future<Output = Result<Vec<Bytes>, ServerError>> + Send>>,
    /// Dropped after what borrows it; where it lies does not change.
    client: Box<ComputeClient<R>>,
}

impl<R: Runtime> Transfer<R> {
    fn new(client: ComputeClient<R>, handle: Handle) -> Self {
        let client = Box::new(client);
        let bytes: Pin<Box<dyn Future<Output = Result<Vec<Bytes>, ServerError>> + Send + '_>> =
            Box::pin(client.read_async(vec![handle]));
        // SAFETY: the client is in a separate box, is not changed, and is dropped after the future (fields are dropped in order).
        let bytes = unsafe { std::mem::transmute::<Pin<Box<dyn Future<Output = _> + Send + '_>>, Pin<Box<_>>>(bytes) };
        Self { bytes, client }
    }

    fn wait(self) -> Result<Vec<Bytes>, ServerError> {
        let Self { bytes, client } = self;
        let seen = cubecl::future::block_on(bytes);
        drop(client);
        seen
    }
}

impl<R: Runtime> Gpu<R> {
    /// A device through its client.
    pub fn new(client: ComputeClient<R>) -> Self {
        let multiprocessors = client.properties().hardware.num_streaming_multiprocessors.unwrap_or(4) as usize;
        let limits = Limits { units: multiprocessors << 11, ..Limits::default() };
        let rounding = Rounding::chosen();
        Self { client, multiprocessors, limits, chunk: None, few_channels: true, rounding, launches: AtomicUsize::new(0) }
    }

    /// Other limits than those of the device.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Chunks of so many steps in linear recurrences, whatever keeps the device busy: for timings.
    #[must_use]
    pub fn with_chunk(self, chunk: Option<usize>) -> Self {
        Self { chunk, ..self }
    }

    /// The steps of a chunk, where they are not chosen by shapes.
    pub(crate) fn chunk(&self) -> Option<usize> {
        self.chunk
    }

    /// Whether units compute the generators of few channels while they step, which is the default; otherwise generators are products of matrices.
    #[must_use]
    pub fn with_few_channels(self, few_channels: bool) -> Self {
        Self { few_channels, ..self }
    }

    /// The same with products of rounded numbers, which it can do.
    pub(crate) fn rounded(self, rounding: Rounding) -> Self {
        Self { rounding, ..self }
    }

    /// How numbers are rounded before they are multiplied with each other.
    pub fn rounding(&self) -> Rounding {
        self.rounding
    }

    /// The client.
    pub fn client(&self) -> &ComputeClient<R> {
        &self.client
    }

    /// What decides how work is cut.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// How many cubes run at once, at least.
    pub(crate) fn multiprocessors(&self) -> usize {
        self.multiprocessors
    }

    /// How many kernels were launched so far.
    pub fn launches(&self) -> usize {
        self.launches.load(Ordering::Relaxed)
    }

    /// How many channels a unit of a run of blocks keeps: all, or none.
    pub(crate) fn few(&self, run: Run, shapes: Shapes) -> usize {
        let fits = Owner::of(run.b) == Owner::Unit && shapes.coefficients * run.b * run.b <= few::MAX_COEFFICIENTS;
        if self.few_channels && fits && run.count.is_multiple_of(self.plane()) { shapes.coefficients } else { 0 }
    }

    /// Units that can sum over themselves: those of a plane, or 1.
    pub(crate) fn plane(&self) -> usize {
        let hardware = &self.client.properties().hardware;
        let is_known = [hardware.plane_size_min, hardware.plane_size_max].iter().all(|&size| size as usize == few::PLANE);
        if is_known && self.client.features().plane.contains(Plane::Ops) { few::PLANE } else { 1 }
    }

    /// Numbers to the device.
    pub fn put(&self, numbers: &[f32]) -> Handle {
        self.client.create_from_slice(bytemuck::cast_slice(numbers))
    }

    /// Numbers back from the device. Waits for everything that was launched before.
    ///
    /// # Errors
    /// If the device failed meanwhile.
    pub fn get(&self, handle: &Handle) -> Result<Vec<f32>, Error> {
        let bytes = self.client.read_one(handle.clone()).map_err(|e| Error::Failed { problem: e.to_string() })?;
        Ok(bytemuck::cast_slice(&bytes).to_vec())
    }

    /// Numbers on their way from the device, as they are after what was launched so far; waits for them when it is called. Devices other than CUDA's are waited for at once: `wgpu` hands out
    /// a buffer that is still mapped to the next that reads.
    pub fn later(&self, handle: &Handle) -> impl FnOnce() -> Result<Vec<f32>, Error> + Send + use<R> {
        let transfer = Transfer::new(self.client.clone(), handle.clone());
        let seen = if R::name(&self.client) == "cuda" { Err(transfer) } else { Ok(transfer.wait()) };
        move || {
            let seen = seen.unwrap_or_else(Transfer::wait).map_err(|e| Error::Failed { problem: e.to_string() })?;
            Ok(seen.first().map(|bytes| bytemuck::cast_slice(bytes).to_vec()).unwrap_or_default())
        }
    }

    /// Waits for everything that was launched.
    ///
    /// # Errors
    /// If the device failed meanwhile.
    pub fn wait(&self) -> Result<(), Error> {
        cubecl::future::block_on(self.client.sync()).map_err(|e| Error::Failed { problem: e.to_string() })
    }

    /// Bytes of the device that are reserved: the most that were in use at any time, as memory is not returned.
    ///
    /// # Errors
    /// If the device does not answer.
    pub fn memory(&self) -> Result<u64, Error> {
        let usage = self.client.memory_usage().map_err(|e| Error::Failed { problem: e.to_string() })?;
        Ok(usage.bytes_reserved)
    }

    /// `factor x` for all numbers of a buffer.
    pub fn scaled(&self, x: &Handle, factor: f32) -> Handle {
        let numbers = x.size_in_used() as usize / size_of::<f32>();
        let out = self.floats(numbers);
        let wide = if numbers.is_multiple_of(4) { 4 } else { 1 };
        let units = numbers / wide;
        launch!(self, scale::scale, each units; wide; [x, out], factor, units);
        out
    }

    /// Lengths on the device, none of them 0 or beyond the longest.
    pub(crate) fn lengths(&self, lengths: &[usize], longest: usize) -> Result<Handle, Error> {
        if let Some(series) = lengths.iter().position(|&length| length == 0 || length > longest) {
            return Err(Error::Length { series, length: lengths[series], longest });
        }
        let lengths: Vec<u32> = lengths.iter().map(|&length| length as u32).collect();
        Ok(self.indices(&lengths))
    }

    /// One length for each series of a batch: the longest, where none are given.
    pub(crate) fn lengths_of(&self, lengths: Option<&[usize]>, batch: usize, longest: usize) -> Result<Handle, Error> {
        let Some(lengths) = lengths else { return self.lengths(&vec![longest; batch], longest) };
        want_list("the list of lengths", lengths.len(), batch)?;
        self.lengths(lengths, longest)
    }

    /// Indices to the device. A buffer has at least one.
    pub(crate) fn indices(&self, indices: &[u32]) -> Handle {
        self.client.create_from_slice(bytemuck::cast_slice(if indices.is_empty() { &[0] } else { indices }))
    }

    /// 1 for what is true; one number without a list.
    pub(crate) fn flags(&self, flags: Option<&[bool]>) -> Handle {
        self.indices(&flags.unwrap_or_default().iter().map(|&flag| u32::from(flag)).collect::<Vec<_>>())
    }

    /// Room for so many numbers.
    pub(crate) fn floats(&self, count: usize) -> Handle {
        self.client.empty(count.max(1) * size_of::<f32>())
    }

    /// Room for the generators of a slab. `CubeCL` has pages of gigabytes for buffers of this size; a persistent one is reused, always as large as a slab may be, so that there
    /// are few.
    pub(crate) fn slab(&self, count: usize) -> Handle {
        let bytes = count * size_of::<f32>();
        if bytes <= LARGE {
            return self.floats(count);
        }
        let room = self.client.memory_persistent_allocation((), |()| self.client.empty(bytes.max(self.limits.slab)));
        room.unwrap_or_else(|_| self.floats(count))
    }

    /// `sum + part` of so many numbers, in the place of the sum where there is one.
    pub(crate) fn add(&self, sum: Option<Handle>, part: Handle, count: usize) -> Handle {
        let Some(sum) = sum else { return part };
        launch!(self, scale::add, each count; [sum, part], count);
        sum
    }

    /// Cubes of a launch over so many units, each of which works for itself.
    pub(crate) fn cubes(&self, units: usize) -> CubeCount {
        self.spread(units.div_ceil(CUBE as usize))
    }

    /// How many buffers a launch may have.
    pub(crate) fn bindings(&self) -> usize {
        (self.client.properties().hardware.max_bindings as usize).clamp(5, 256)
    }

    /// Counts a launch.
    pub(crate) fn count(&self) {
        self.launches.fetch_add(1, Ordering::Relaxed);
    }

    /// So many cubes of a launch. A direction has a limit of 65535.
    pub(crate) fn spread(&self, cubes: usize) -> CubeCount {
        self.count();
        let x = cubes.clamp(1, 1 << 15);
        CubeCount::Static(x as u32, cubes.div_ceil(x).max(1) as u32, 1)
    }
}

/// A buffer as the argument of a launch.
pub(crate) fn array<R: Runtime>(handle: &Handle) -> ArrayArg<R> {
    first(handle, handle.size_in_used() as usize / size_of::<f32>())
}

/// The first numbers of a buffer as the argument of a launch.
pub(crate) fn first<R: Runtime>(handle: &Handle, count: usize) -> ArrayArg<R> {
    debug_assert!((count * size_of::<f32>()) as u64 <= handle.size_in_used(), "{count} numbers of {handle:?}");
    // SAFETY: the buffer has as many numbers.
    unsafe { ArrayArg::from_raw_parts(handle.clone(), count) }
}

/// Launches a kernel with `each units`, a unit for each item, or with so many cubes of so many units. Then come how many numbers a vector has, where it has some, the buffers, and the other
/// arguments of the kernel.
macro_rules! launch {
    ($gpu:expr, $($kernel:ident)::+ $(<$number:ty>)?, each $units:expr; $($arguments:tt)*) => {
        launch!($gpu, $($kernel)::+ $(<$number>)?, $gpu.cubes($units), $crate::sizes::CUBE; $($arguments)*)
    };
    ($gpu:expr, $($kernel:ident)::+ $(<$number:ty>)?, $cubes:expr, $units:expr; [$($buffer:expr),*] $(, $argument:expr)*) => {
        launch!($gpu, $($kernel)::+ $(<$number>)?, $cubes, $units; $($crate::device::array(&$buffer),)* $($argument),*)
    };
    ($gpu:expr, $($kernel:ident)::+, $cubes:expr, $units:expr; $vector:expr; [$($buffer:expr),*] $(, $argument:expr)*) => {
        launch!($gpu, $($kernel)::+, $cubes, $units; $vector, $($crate::device::array(&$buffer),)* $($argument),*)
    };
    ($gpu:expr, $($kernel:ident)::+ $(<$number:ty>)?, $cubes:expr, $units:expr; $($argument:expr),*) => {{
        let (client, cubes, units) = ($gpu.client(), $cubes, cubecl::prelude::CubeDim::new_1d($units as u32));
        // SAFETY: a kernel stays within its arrays as its sizes and their counts come from the same shapes, which were checked before the first launch.
        unsafe { $($kernel)::+::launch_unchecked::<$($number,)? R>(client, cubes, units, $($argument),*) }
    }};
}
pub(crate) use launch;
