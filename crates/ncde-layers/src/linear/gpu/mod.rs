//! GPUs: kernels of `ncde-gpu`; on the host where a device has none, or no room for the state of a series.

mod own;

use std::sync::Arc;

use burn_cubecl::tensor::CubeTensor;
use burn_cubecl::{BoolElement, CubeRuntime, IntElement};
use burn_flex::Flex;
use burn_tensor::TensorMetadata;
use cubecl::server::Handle;
use ncde_gpu::{Element, Shapes};
use ncde_kernels::{Bracket, Brackets, Commutators, Controls, Recurrence};

use super::{ArrayGradients, Arrays, Error, LinearOps, States};
use crate::gpu::{OnGpu, buffer, gpu, has_no_kernel, of_buffer, on_device, on_host};
use own::Own;

impl<R: CubeRuntime, I: IntElement, B: BoolElement> LinearOps for OnGpu<R, I, B> {
    fn recurrence(recurrence: &Arc<Recurrence>, arrays: Arrays<Self>, keep: bool) -> Result<States<Self>, Error> {
        let gpu = gpu(&arrays.a);
        let Some(own) = Own::new(&gpu, recurrence, arrays.affine.is_some())? else {
            has_no_kernel("linear recurrences");
            let device = arrays.a.device.clone();
            let states = Flex::recurrence(recurrence, hosted(arrays), keep)?.states;
            return Ok(States { states: on_device(&states, &device), kept: None });
        };
        let arrays = contiguous(&arrays);
        let shapes = shapes(&arrays);
        let (states, kept) = own.forward(&gpu, shapes, &buffers(&arrays), keep)?;
        let shape = [shapes.batch, shapes.length, shapes.columns, recurrence.field().hidden()];
        let flat = |own: Handle| {
            let count = own.size_in_used() as usize / size_of::<f32>();
            of_buffer(&arrays.a, [count], own)
        };
        Ok(States { states: of_buffer(&arrays.a, shape, states), kept: kept.map(flat) })
    }

    fn recurrence_backward(
        recurrence: &Arc<Recurrence>,
        arrays: Arrays<Self>,
        States { states, kept }: States<Self>,
        gradient: CubeTensor<R>,
    ) -> Result<ArrayGradients<Self>, Error> {
        let gpu = gpu(&arrays.a);
        let Some(own) = Own::new(&gpu, recurrence, arrays.affine.is_some())? else {
            let device = arrays.a.device.clone();
            let states = States { states: on_host(states), kept: None };
            let of = Flex::recurrence_backward(recurrence, hosted(arrays), states, on_host(gradient))?;
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
        let (passed, kept) = ((&states.handle, &gradient.handle), kept.as_ref().map(|kept| &kept.handle));
        let of = own.backward(&gpu, shapes, &buffers(&arrays), passed, kept, of_coefficients)?;
        Ok(ArrayGradients {
            a: of_buffer(&arrays.a, arrays.a.shape(), of.a),
            coefficients: of.coefficients.map(|of| of_buffer(&arrays.a, arrays.coefficients.shape(), of)),
            initial: of_buffer(&arrays.a, arrays.initial.shape(), of.initial),
            affine: of.affine.map(|of| of_buffer(&arrays.a, states.shape(), of)),
        })
    }

    fn generators(of: Commutators, each: CubeTensor<R>) -> Result<CubeTensor<R>, Error> {
        let Some(own) = short_windows(of) else {
            has_no_kernel("log-signatures of short windows");
            let device = each.device.clone();
            return Ok(on_device(&Flex::generators(of, on_host(each))?, &device));
        };
        let each = buffer(each);
        let (windows, numbers) = (each.shape()[0], each.shape()[2]);
        Ok(of_buffer(&each, [windows, numbers], own.forward(&gpu(&each), &each.handle, windows, numbers)?))
    }

    fn generators_backward(of: Commutators, each: CubeTensor<R>, gradient: CubeTensor<R>) -> Result<CubeTensor<R>, Error> {
        let Some(own) = short_windows(of) else {
            let device = each.device.clone();
            return Ok(on_device(&Flex::generators_backward(of, on_host(each), on_host(gradient))?, &device));
        };
        let (each, gradient) = (buffer(each), buffer(gradient));
        let (windows, numbers) = (each.shape()[0], each.shape()[2]);
        let out = own.backward(&gpu(&each), &each.handle, &gradient.handle, windows, numbers)?;
        Ok(of_buffer(&each, each.shape(), out))
    }

    fn matrices(brackets: &Arc<Brackets>, a: CubeTensor<R>) -> Result<CubeTensor<R>, Error> {
        let Some(own) = of_blocks(brackets) else {
            has_no_kernel("brackets of matrices");
            let device = a.device.clone();
            return Ok(on_device(&Flex::matrices(brackets, on_host(a))?, &device));
        };
        let a = buffer(a);
        let count = brackets.widened()?.parameters();
        Ok(of_buffer(&a, [count], own.matrices(&gpu(&a), &a.handle)?))
    }

    fn matrices_backward(brackets: &Arc<Brackets>, a: CubeTensor<R>, gradient: CubeTensor<R>) -> Result<CubeTensor<R>, Error> {
        let Some(own) = of_blocks(brackets) else {
            let device = a.device.clone();
            return Ok(on_device(&Flex::matrices_backward(brackets, on_host(a), on_host(gradient))?, &device));
        };
        let (a, gradient) = (buffer(a), buffer(gradient));
        Ok(of_buffer(&a, a.shape(), own.matrices_backward(&gpu(&a), &a.handle, &gradient.handle)?))
    }

    fn vectors(brackets: &Arc<Brackets>, a: CubeTensor<R>, b: CubeTensor<R>) -> Result<CubeTensor<R>, Error> {
        let Some(own) = of_blocks(brackets).filter(|_| brackets.is_of_path()) else {
            has_no_kernel("brackets of added inputs");
            let device = a.device.clone();
            return Ok(on_device(&Flex::vectors(brackets, on_host(a), on_host(b))?, &device));
        };
        let (a, b) = (buffer(a), buffer(b));
        let shape = [brackets.vector_places().len(), b.shape()[1]];
        Ok(of_buffer(&a, shape, own.vectors(&gpu(&a), &a.handle, &b.handle)?))
    }

    fn vectors_backward(
        brackets: &Arc<Brackets>,
        a: CubeTensor<R>,
        b: CubeTensor<R>,
        gradient: CubeTensor<R>,
    ) -> Result<[CubeTensor<R>; 2], Error> {
        let Some(own) = of_blocks(brackets).filter(|_| brackets.is_of_path()) else {
            let device = a.device.clone();
            let of = Flex::vectors_backward(brackets, on_host(a), on_host(b), on_host(gradient))?;
            return Ok(of.map(|of| on_device(&of, &device)));
        };
        let (a, b, gradient) = (buffer(a), buffer(b), buffer(gradient));
        let [da, db] = own.vectors_backward(&gpu(&a), &a.handle, &b.handle, &gradient.handle)?;
        Ok([of_buffer(&a, a.shape(), da), of_buffer(&a, b.shape(), db)])
    }
}

/// Generators of short windows on the device, where blocks are small enough.
fn short_windows(of: Commutators) -> Option<ncde_gpu::Commutators> {
    let Commutators { block, steps, vectors, factor } = of;
    (block <= ncde_gpu::Commutators::LARGEST).then_some(ncde_gpu::Commutators { block, steps, vectors, factor })
}

/// Brackets on the device, where matrices are blocks along the diagonal and every element has one.
fn of_blocks(brackets: &Brackets) -> Option<ncde_gpu::Brackets> {
    let table = brackets.table();
    if brackets.matrix_places().len() != table.len() {
        return None;
    }
    let elements: Vec<Element> = table
        .iter()
        .map(|own| match *own {
            Bracket::Letter(k) => Element::Letter(k),
            Bracket::Pair(p, q) => Element::Pair(p, q),
        })
        .collect();
    let field = brackets.field();
    ncde_gpu::Brackets::new(&field.structure().sizes()?, field.channels(), &elements).ok()
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
