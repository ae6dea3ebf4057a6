//! GPUs: kernels of `ncde-gpu`; on the host where a device does not hold the states of a series.

use burn_cubecl::tensor::CubeTensor;
use burn_cubecl::{BoolElement, CubeRuntime, IntElement};
use burn_flex::Flex;
use burn_tensor::TensorMetadata;
use ncde_gpu::permutation as device;

use super::{ArrayGradients, Arrays, Diagonal, Error, OneHot, PermutationDiagonal, PermutationOps};
use crate::gpu::{OnGpu, buffer, gpu, has_no_kernel, of_buffer, on_device, on_host};

impl<R: CubeRuntime, I: IntElement, B: BoolElement> PermutationOps for OnGpu<R, I, B> {
    fn permutation(spec: PermutationDiagonal, arrays: Arrays<Self>) -> Result<CubeTensor<R>, Error> {
        let (own, gpu) = (kernel(&spec), gpu(&arrays.dictionary));
        if !own.fits(&gpu) {
            has_no_kernel("permutation-diagonal recurrences");
            let device = arrays.dictionary.device.clone();
            return Ok(on_device(&Flex::permutation(spec, hosted(arrays))?, &device));
        }
        let arrays = contiguous(arrays);
        let buffers = buffers(&arrays);
        let states = own.forward(&gpu, &buffers)?;
        Ok(of_buffer(&arrays.dictionary, [buffers.batch, buffers.length, own.width()], states))
    }

    fn permutation_backward(
        spec: PermutationDiagonal,
        arrays: Arrays<Self>,
        states: CubeTensor<R>,
        gradient: CubeTensor<R>,
    ) -> Result<ArrayGradients<Self>, Error> {
        let (own, gpu) = (kernel(&spec), gpu(&arrays.dictionary));
        if !own.fits(&gpu) {
            let device = arrays.dictionary.device.clone();
            let of = Flex::permutation_backward(spec, hosted(arrays), on_host(states), on_host(gradient))?;
            return Ok(ArrayGradients {
                dictionary: on_device(&of.dictionary, &device),
                control: on_device(&of.control, &device),
                initial: on_device(&of.initial, &device),
            });
        }
        let arrays = contiguous(arrays);
        let (states, gradient) = (buffer(states), buffer(gradient));
        let of = own.backward(&gpu, &buffers(&arrays), &states.handle, &gradient.handle)?;
        let like = &arrays.dictionary;
        Ok(ArrayGradients {
            dictionary: of_buffer(like, like.shape(), of.dictionary),
            control: of_buffer(like, arrays.control.shape(), of.control),
            initial: of_buffer(like, arrays.initial.shape(), of.initial),
        })
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

/// The same arrays, laid out as their shapes say.
fn contiguous<R: CubeRuntime, I: IntElement, B: BoolElement>(arrays: Arrays<OnGpu<R, I, B>>) -> Arrays<OnGpu<R, I, B>> {
    Arrays {
        dictionary: buffer(arrays.dictionary),
        control: buffer(arrays.control),
        initial: buffer(arrays.initial),
        timing: arrays.timing,
    }
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

fn hosted<R: CubeRuntime, I: IntElement, B: BoolElement>(arrays: Arrays<OnGpu<R, I, B>>) -> Arrays<Flex> {
    Arrays {
        dictionary: on_host(arrays.dictionary),
        control: on_host(arrays.control),
        initial: on_host(arrays.initial),
        timing: arrays.timing,
    }
}
