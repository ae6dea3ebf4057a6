//! What kernels over the steps of series have in common: arrays in, one array out, and a reverse pass.

use cubecl::Runtime;
use cubecl::server::Handle;

use crate::device::Gpu;
use crate::error::Error;
use crate::recurrence::want;

/// A kernel on `N` contiguous buffers of series of `[batch, length]` steps.
pub trait DeviceKernel<const N: usize> {
    /// The numbers of a row of the output.
    fn width(&self) -> usize;

    /// The output, `[batch, length, width]`, and what the reverse pass needs beside the inputs. What overflows is not finite.
    ///
    /// # Errors
    /// If a buffer has the wrong size, or the device has no room for the kernel.
    fn forward<R: Runtime>(&self, gpu: &Gpu<R>, shape: [usize; 2], inputs: [&Handle; N]) -> Result<(Handle, Vec<Handle>), Error>;

    /// The gradients in the inputs, in their layouts, from what [`forward`](Self::forward) stored and the gradient in the output.
    ///
    /// # Errors
    /// As for [`forward`](Self::forward).
    fn backward<R: Runtime>(
        &self,
        gpu: &Gpu<R>,
        shape: [usize; 2],
        inputs: [&Handle; N],
        stored: &[Handle],
        gradient: &Handle,
    ) -> Result<[Handle; N], Error>;
}

/// What a forward pass stored.
pub(crate) fn stored<const M: usize>(stored: &[Handle], numbers: [usize; M]) -> Result<[&Handle; M], Error> {
    let all: &[Handle; M] = stored.try_into().map_err(|_| Error::Empty { what: "what the forward pass stored" })?;
    all.iter().zip(numbers).try_for_each(|(handle, numbers)| want("what the forward pass stored", handle, numbers))?;
    Ok(all.each_ref())
}

/// The kernel of an operation that has none on a device.
#[derive(Debug)]
pub enum NoKernel {}

impl<const N: usize> DeviceKernel<N> for NoKernel {
    fn width(&self) -> usize {
        match *self {}
    }

    fn forward<R: Runtime>(&self, _: &Gpu<R>, _: [usize; 2], _: [&Handle; N]) -> Result<(Handle, Vec<Handle>), Error> {
        match *self {}
    }

    fn backward<R: Runtime>(
        &self,
        _: &Gpu<R>,
        _: [usize; 2],
        _: [&Handle; N],
        _: &[Handle],
        _: &Handle,
    ) -> Result<[Handle; N], Error> {
        match *self {}
    }
}
