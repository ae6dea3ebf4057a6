//! GPUs: structures that are closed under products have kernels there, the others are computed on the host.

use std::sync::Arc;

use burn_cubecl::tensor::CubeTensor;
use burn_cubecl::{BoolElement, CubeRuntime, IntElement};
use burn_flex::Flex;
use burn_tensor::TensorMetadata;
use ncde_gpu::{Flow, Gpu, Shapes};
use ncde_kernels::{Brackets, Commutators, Contraction, Controls, Recurrence, Transition};

use super::{ArrayGradients, Arrays, Error, LinearOps};
use crate::gpu::{OnGpu, buffer, of_buffer, on_device, on_host};

impl<R: CubeRuntime, I: IntElement, B: BoolElement> LinearOps for OnGpu<R, I, B> {
    fn recurrence(recurrence: &Arc<Recurrence>, arrays: Arrays<Self>) -> Result<CubeTensor<R>, Error> {
        let Some(own) = kernel(recurrence, &arrays)? else {
            let device = arrays.a.device.clone();
            return Ok(on_device(&Flex::recurrence(recurrence, hosted(arrays))?, &device));
        };
        let arrays = contiguous(&arrays);
        let shapes = shapes(&arrays);
        let states = own.forward(&Gpu::new(arrays.a.client.clone()), shapes, &buffers(&arrays))?;
        Ok(of_buffer(&arrays.a, [shapes.batch, shapes.length, shapes.columns, own.hidden()], states))
    }

    fn recurrence_backward(
        recurrence: &Arc<Recurrence>,
        arrays: Arrays<Self>,
        states: CubeTensor<R>,
        gradient: CubeTensor<R>,
    ) -> Result<ArrayGradients<Self>, Error> {
        let device = arrays.a.device.clone();
        let Some(own) = kernel(recurrence, &arrays)? else {
            let of = Flex::recurrence_backward(recurrence, hosted(arrays), on_host(states), on_host(gradient))?;
            return Ok(ArrayGradients {
                a: on_device(&of.a, &device),
                coefficients: of.coefficients.map(|of| on_device(&of, &device)),
                initial: on_device(&of.initial, &device),
                affine: of.affine.map(|of| on_device(&of, &device)),
            });
        };
        let arrays = contiguous(&arrays);
        let shapes = shapes(&arrays);
        let (states, gradient) = (buffer(states), buffer(gradient));
        let of_coefficients = recurrence.controls() == Controls::Variable;
        let gpu = Gpu::new(arrays.a.client.clone());
        let of = own.backward(&gpu, shapes, &buffers(&arrays), (&states.handle, &gradient.handle), of_coefficients)?;
        Ok(ArrayGradients {
            a: of_buffer(&arrays.a, arrays.a.shape(), of.a),
            coefficients: of.coefficients.map(|of| of_buffer(&arrays.a, arrays.coefficients.shape(), of)),
            initial: of_buffer(&arrays.a, arrays.initial.shape(), of.initial),
            affine: of.affine.map(|of| of_buffer(&arrays.a, states.shape(), of)),
        })
    }

    fn generators(of: Commutators, each: CubeTensor<R>) -> Result<CubeTensor<R>, Error> {
        let device = each.device.clone();
        Ok(on_device(&Flex::generators(of, on_host(each))?, &device))
    }

    fn generators_backward(of: Commutators, each: CubeTensor<R>, gradient: CubeTensor<R>) -> Result<CubeTensor<R>, Error> {
        let device = each.device.clone();
        Ok(on_device(&Flex::generators_backward(of, on_host(each), on_host(gradient))?, &device))
    }

    fn matrices(brackets: &Arc<Brackets>, a: CubeTensor<R>) -> Result<CubeTensor<R>, Error> {
        let device = a.device.clone();
        Ok(on_device(&Flex::matrices(brackets, on_host(a))?, &device))
    }

    fn matrices_backward(brackets: &Arc<Brackets>, a: CubeTensor<R>, gradient: CubeTensor<R>) -> Result<CubeTensor<R>, Error> {
        let device = a.device.clone();
        Ok(on_device(&Flex::matrices_backward(brackets, on_host(a), on_host(gradient))?, &device))
    }

    fn vectors(brackets: &Arc<Brackets>, a: CubeTensor<R>, b: CubeTensor<R>) -> Result<CubeTensor<R>, Error> {
        let device = a.device.clone();
        Ok(on_device(&Flex::vectors(brackets, on_host(a), on_host(b))?, &device))
    }

    fn vectors_backward(
        brackets: &Arc<Brackets>,
        a: CubeTensor<R>,
        b: CubeTensor<R>,
        gradient: CubeTensor<R>,
    ) -> Result<[CubeTensor<R>; 2], Error> {
        let device = a.device.clone();
        let of = Flex::vectors_backward(brackets, on_host(a), on_host(b), on_host(gradient))?;
        Ok(of.map(|of| on_device(&of, &device)))
    }
}

/// The recurrence on the device, where its structure has kernels there.
fn kernel<B: burn_tensor::backend::Backend>(
    recurrence: &Recurrence,
    arrays: &Arrays<B>,
) -> Result<Option<ncde_gpu::Recurrence>, Error> {
    let affine = match (&arrays.affine, recurrence.affine()) {
        (None, _) => ncde_gpu::Affine::None,
        (_, ncde_kernels::Affine::Exact) => ncde_gpu::Affine::Exact,
        (_, ncde_kernels::Affine::Approximate) => ncde_gpu::Affine::Plain,
    };
    let flow = Flow { exact: recurrence.transition() == Transition::Exp, affine };
    let blocks = recurrence.field().structure().sizes().filter(|_| recurrence.contraction() == Contraction::Matrices);
    Ok(blocks.map(|blocks| ncde_gpu::Recurrence::new(blocks, flow)).transpose()?)
}

fn shapes<R: CubeRuntime, I: IntElement, B: BoolElement>(arrays: &Arrays<OnGpu<R, I, B>>) -> Shapes {
    let (coefficients, initial) = (arrays.coefficients.shape(), arrays.initial.shape());
    Shapes { batch: coefficients[0], length: coefficients[1], columns: initial[1], coefficients: coefficients[2] }
}

/// The same arrays, laid out as their shapes say.
fn contiguous<R: CubeRuntime, I: IntElement, B: BoolElement>(arrays: &Arrays<OnGpu<R, I, B>>) -> Arrays<OnGpu<R, I, B>> {
    Arrays {
        a: buffer(arrays.a.clone()),
        coefficients: buffer(arrays.coefficients.clone()),
        initial: buffer(arrays.initial.clone()),
        affine: arrays.affine.clone().map(buffer),
        lengths: arrays.lengths.clone(),
    }
}

fn buffers<R: CubeRuntime, I: IntElement, B: BoolElement>(arrays: &Arrays<OnGpu<R, I, B>>) -> ncde_gpu::Arrays {
    ncde_gpu::Arrays {
        a: arrays.a.handle.clone(),
        coefficients: arrays.coefficients.handle.clone(),
        initial: arrays.initial.handle.clone(),
        affine: arrays.affine.as_ref().map(|affine| affine.handle.clone()),
        lengths: arrays.lengths.as_deref().map(<[usize]>::to_vec),
    }
}

fn hosted<R: CubeRuntime, I: IntElement, B: BoolElement>(arrays: Arrays<OnGpu<R, I, B>>) -> Arrays<Flex> {
    Arrays {
        a: on_host(arrays.a),
        coefficients: on_host(arrays.coefficients),
        initial: on_host(arrays.initial),
        affine: arrays.affine.map(on_host),
        lengths: arrays.lengths,
    }
}
