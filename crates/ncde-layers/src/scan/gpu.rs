//! GPUs: kernels of `ncde-gpu`.

use burn_cubecl::tensor::CubeTensor;
use burn_cubecl::{BoolElement, CubeRuntime, IntElement};
use burn_tensor::TensorMetadata;
use ncde_gpu::scan as device;

use super::{Arrays, Error, Numbers, ScanOps};
use crate::gpu::{OnGpu, buffer, gpu, of_buffer};
use crate::operation::Gradients;

impl<R: CubeRuntime, I: IntElement, B: BoolElement> ScanOps for OnGpu<R, I, B> {
    fn scan(numbers: Numbers, arrays: Arrays<Self>) -> Result<CubeTensor<R>, Error> {
        let arrays = arrays.map::<Self>(buffer);
        let (scan, buffers) = call(numbers, &arrays);
        let states = scan.forward(&gpu(&arrays.b), &buffers)?;
        Ok(of_buffer(&arrays.b, arrays.b.shape(), states))
    }

    fn scan_backward(
        numbers: Numbers,
        arrays: Arrays<Self>,
        states: CubeTensor<R>,
        gradient: CubeTensor<R>,
    ) -> Result<Gradients<Self, 3>, Error> {
        let arrays = arrays.map::<Self>(buffer);
        let (states, gradient) = (buffer(states), buffer(gradient));
        let (scan, buffers) = call(numbers, &arrays);
        let of = scan.backward(&gpu(&arrays.b), &buffers, &states.handle, &gradient.handle)?;
        let like = &arrays.b;
        Ok([
            Some(of_buffer(like, like.shape(), of.a)),
            Some(of_buffer(like, like.shape(), of.b)),
            Some(of_buffer(like, arrays.initial.shape(), of.initial)),
        ])
    }
}

/// The same recurrence on the device.
fn call<R: CubeRuntime, I: IntElement, B: BoolElement>(
    numbers: Numbers,
    arrays: &Arrays<OnGpu<R, I, B>>,
) -> (device::Scan, device::Arrays) {
    let shape = arrays.b.shape();
    let scan = device::Scan { width: shape[2] / numbers.parts(), complex: numbers == Numbers::Complex };
    let Arrays { a, b, initial } = arrays;
    let [a, b, initial] = [a, b, initial].map(|tensor| tensor.handle.clone());
    (scan, device::Arrays { batch: shape[0], length: shape[1], a, b, initial })
}
