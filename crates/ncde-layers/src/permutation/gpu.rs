//! GPUs: kernels of `ncde-gpu`; on the host where a device does not hold the states of a series.

use burn_cubecl::tensor::CubeTensor;
use burn_cubecl::{BoolElement, CubeRuntime, IntElement};
use burn_flex::Flex;
use burn_tensor::TensorMetadata;
use ncde_gpu::permutation as device;

use super::{Arrays, Diagonal, Error, OneHot, PermutationDiagonal, PermutationOps};
use crate::gpu::{OnGpu, buffer, from_host, gpu, gradients_from_host, of_buffer, on_host};
use crate::operation::Gradients;

impl<R: CubeRuntime, I: IntElement, B: BoolElement> PermutationOps for OnGpu<R, I, B> {
    fn permutation(spec: PermutationDiagonal, arrays: Arrays<Self>) -> Result<CubeTensor<R>, Error> {
        let (kernel, gpu) = (kernel(&spec), gpu(&arrays.dictionary));
        if !kernel.fits(&gpu) {
            let device = arrays.dictionary.device.clone();
            return from_host("permutation-diagonal recurrences", &device, Flex::permutation(spec, arrays.map(on_host)));
        }
        let arrays = arrays.map::<Self>(buffer);
        let buffers = buffers(&arrays);
        let states = kernel.forward(&gpu, &buffers)?;
        Ok(of_buffer(&arrays.dictionary, [buffers.batch, buffers.length, kernel.width()], states))
    }

    fn permutation_backward(
        spec: PermutationDiagonal,
        arrays: Arrays<Self>,
        states: CubeTensor<R>,
        gradient: CubeTensor<R>,
    ) -> Result<Gradients<Self, 3>, Error> {
        let (kernel, gpu) = (kernel(&spec), gpu(&arrays.dictionary));
        if !kernel.fits(&gpu) {
            let device = arrays.dictionary.device.clone();
            let gradients = Flex::permutation_backward(spec, arrays.map(on_host), on_host(states), on_host(gradient));
            return gradients_from_host(&device, gradients);
        }
        let arrays = arrays.map::<Self>(buffer);
        let (states, gradient) = (buffer(states), buffer(gradient));
        let of = kernel.backward(&gpu, &buffers(&arrays), &states.handle, &gradient.handle)?;
        let like = &arrays.dictionary;
        Ok([
            Some(of_buffer(like, like.shape(), of.dictionary)),
            Some(of_buffer(like, arrays.control.shape(), of.control)),
            Some(of_buffer(like, arrays.initial.shape(), of.initial)),
        ])
    }
}

/// The same recurrence on the device.
fn kernel(spec: &PermutationDiagonal) -> device::PermutationDiagonal {
    let diagonal = match spec.diagonal {
        Diagonal::One => device::Diagonal::One,
        Diagonal::Real => device::Diagonal::Real,
        Diagonal::Complex => device::Diagonal::Complex,
    };
    let one_hot = match spec.one_hot {
        OneHot::Columns => device::OneHot::Columns,
        OneHot::Rows => device::OneHot::Rows,
    };
    let (hidden, matrices) = (spec.hidden, spec.matrices);
    device::PermutationDiagonal { hidden, matrices, diagonal, one_hot, input: spec.input }
}

fn buffers<R: CubeRuntime, I: IntElement, B: BoolElement>(arrays: &Arrays<OnGpu<R, I, B>>) -> device::Arrays {
    let shape = arrays.control.shape();
    device::Arrays {
        batch: shape[0],
        length: shape[1],
        dictionary: arrays.dictionary.handle.clone(),
        control: arrays.control.handle.clone(),
        initial: arrays.initial.handle.clone(),
        spans: arrays.timing.spans.as_ref().map(|spans| spans.iter().map(|&dt| dt as f32).collect()),
        lengths: arrays.timing.lengths.clone(),
    }
}
