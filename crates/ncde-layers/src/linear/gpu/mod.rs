//! GPUs: kernels of `ncde-gpu`; on the host where a device has none, or no room for the state of a series.

mod device;

use std::sync::Arc;

use burn_cubecl::tensor::CubeTensor;
use burn_cubecl::{BoolElement, CubeRuntime, IntElement};
use burn_flex::Flex;
use burn_tensor::TensorMetadata;
use cubecl::server::Handle;
use ncde_gpu::{Element, Shapes};
use ncde_kernels::{Bracket, Brackets, Commutators, Controls, Recurrence};

use super::{Arrays, Error, LinearOps, States};
use crate::gpu::{OnGpu, buffer, from_host, gpu, gradients_from_host, of_buffer, on_host};
use crate::operation::Gradients;
use device::DeviceRecurrence;

impl<R: CubeRuntime, I: IntElement, B: BoolElement> LinearOps for OnGpu<R, I, B> {
    fn recurrence(recurrence: &Arc<Recurrence>, arrays: Arrays<Self>, keep: bool) -> Result<States<Self>, Error> {
        let gpu = gpu(&arrays.a);
        let Some(kernel) = DeviceRecurrence::new(&gpu, recurrence, arrays.affine.is_some())? else {
            let device = arrays.a.device.clone();
            let states = Flex::recurrence(recurrence, arrays.map(on_host), keep).map(|all| all.states);
            return Ok(States { states: from_host("linear recurrences", &device, states)?, reusable: None });
        };
        let arrays = arrays.map::<Self>(buffer);
        let shapes = shapes(&arrays);
        let (states, reusable) = kernel.forward(&gpu, shapes, &buffers(&arrays), keep)?;
        let shape = [shapes.batch, shapes.length, shapes.columns, recurrence.field().hidden()];
        let flat = |handle: Handle| {
            let count = handle.size_in_used() as usize / size_of::<f32>();
            of_buffer(&arrays.a, [count], handle)
        };
        Ok(States { states: of_buffer(&arrays.a, shape, states), reusable: reusable.map(flat) })
    }

    fn recurrence_backward(
        recurrence: &Arc<Recurrence>,
        arrays: Arrays<Self>,
        States { states, reusable }: States<Self>,
        gradient: CubeTensor<R>,
    ) -> Result<Gradients<Self, 4>, Error> {
        let gpu = gpu(&arrays.a);
        let Some(kernel) = DeviceRecurrence::new(&gpu, recurrence, arrays.affine.is_some())? else {
            let device = arrays.a.device.clone();
            let states = States { states: on_host(states), reusable: None };
            let gradients = Flex::recurrence_backward(recurrence, arrays.map(on_host), states, on_host(gradient));
            return gradients_from_host(&device, gradients);
        };
        let arrays = arrays.map::<Self>(buffer);
        let shapes = shapes(&arrays);
        let (states, gradient) = (buffer(states), buffer(gradient));
        let of_coefficients = recurrence.controls() == Controls::Variable;
        let (passed, reusable) = ((&states.handle, &gradient.handle), reusable.as_ref().map(|tensor| &tensor.handle));
        let of = kernel.backward(&gpu, shapes, &buffers(&arrays), passed, reusable, of_coefficients)?;
        Ok([
            Some(of_buffer(&arrays.a, arrays.a.shape(), of.a)),
            of.coefficients.map(|of| of_buffer(&arrays.a, arrays.coefficients.shape(), of)),
            Some(of_buffer(&arrays.a, arrays.initial.shape(), of.initial)),
            of.affine.map(|of| of_buffer(&arrays.a, states.shape(), of)),
        ])
    }

    fn generators(commutators: Commutators, matrices: CubeTensor<R>) -> Result<CubeTensor<R>, Error> {
        let Some(kernel) = short_windows(commutators) else {
            let device = matrices.device.clone();
            return from_host("log-signatures of short windows", &device, Flex::generators(commutators, on_host(matrices)));
        };
        let matrices = buffer(matrices);
        let (windows, numbers) = (matrices.shape()[0], matrices.shape()[2]);
        Ok(of_buffer(&matrices, [windows, numbers], kernel.forward(&gpu(&matrices), &matrices.handle, windows, numbers)?))
    }

    fn generators_backward(
        commutators: Commutators,
        matrices: CubeTensor<R>,
        gradient: CubeTensor<R>,
    ) -> Result<CubeTensor<R>, Error> {
        let Some(kernel) = short_windows(commutators) else {
            let device = matrices.device.clone();
            let of = Flex::generators_backward(commutators, on_host(matrices), on_host(gradient));
            return from_host("log-signatures of short windows", &device, of);
        };
        let (matrices, gradient) = (buffer(matrices), buffer(gradient));
        let (windows, numbers) = (matrices.shape()[0], matrices.shape()[2]);
        let out = kernel.backward(&gpu(&matrices), &matrices.handle, &gradient.handle, windows, numbers)?;
        Ok(of_buffer(&matrices, matrices.shape(), out))
    }

    fn matrices(brackets: &Arc<Brackets>, a: CubeTensor<R>) -> Result<CubeTensor<R>, Error> {
        let Some(kernel) = of_blocks(brackets) else {
            return from_host("brackets of matrices", &a.device.clone(), Flex::matrices(brackets, on_host(a)));
        };
        let a = buffer(a);
        let count = brackets.widened()?.parameters();
        Ok(of_buffer(&a, [count], kernel.matrices(&gpu(&a), &a.handle)?))
    }

    fn matrices_backward(brackets: &Arc<Brackets>, a: CubeTensor<R>, gradient: CubeTensor<R>) -> Result<CubeTensor<R>, Error> {
        let Some(kernel) = of_blocks(brackets) else {
            let device = a.device.clone();
            return from_host("brackets of matrices", &device, Flex::matrices_backward(brackets, on_host(a), on_host(gradient)));
        };
        let (a, gradient) = (buffer(a), buffer(gradient));
        Ok(of_buffer(&a, a.shape(), kernel.matrices_backward(&gpu(&a), &a.handle, &gradient.handle)?))
    }

    fn vectors(brackets: &Arc<Brackets>, a: CubeTensor<R>, b: CubeTensor<R>) -> Result<CubeTensor<R>, Error> {
        let Some(kernel) = of_blocks(brackets).filter(|_| brackets.is_of_path()) else {
            let device = a.device.clone();
            return from_host("brackets of added inputs", &device, Flex::vectors(brackets, on_host(a), on_host(b)));
        };
        let (a, b) = (buffer(a), buffer(b));
        let shape = [brackets.vector_places().len(), b.shape()[1]];
        Ok(of_buffer(&a, shape, kernel.vectors(&gpu(&a), &a.handle, &b.handle)?))
    }

    fn vectors_backward(
        brackets: &Arc<Brackets>,
        a: CubeTensor<R>,
        b: CubeTensor<R>,
        gradient: CubeTensor<R>,
    ) -> Result<Gradients<Self, 2>, Error> {
        let Some(kernel) = of_blocks(brackets).filter(|_| brackets.is_of_path()) else {
            let device = a.device.clone();
            let gradients = Flex::vectors_backward(brackets, on_host(a), on_host(b), on_host(gradient));
            return gradients_from_host(&device, gradients);
        };
        let (a, b, gradient) = (buffer(a), buffer(b), buffer(gradient));
        let [da, db] = kernel.vectors_backward(&gpu(&a), &a.handle, &b.handle, &gradient.handle)?;
        Ok([Some(of_buffer(&a, a.shape(), da)), Some(of_buffer(&a, b.shape(), db))])
    }
}

/// Generators of short windows on the device, where blocks are small enough.
fn short_windows(commutators: Commutators) -> Option<ncde_gpu::Commutators> {
    let Commutators { block, steps, vectors, factor } = commutators;
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
        .map(|bracket| match *bracket {
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

fn buffers<R: CubeRuntime, I: IntElement, B: BoolElement>(arrays: &Arrays<OnGpu<R, I, B>>) -> ncde_gpu::Arrays {
    ncde_gpu::Arrays {
        a: arrays.a.handle.clone(),
        coefficients: arrays.coefficients.handle.clone(),
        initial: arrays.initial.handle.clone(),
        affine: arrays.affine.as_ref().map(|affine| affine.handle.clone()),
        lengths: arrays.lengths.as_deref().map(<[usize]>::to_vec),
    }
}
