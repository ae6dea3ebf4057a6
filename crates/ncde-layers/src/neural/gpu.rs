//! GPUs: the kernels of `ncde-gpu`; on the host where they do not apply.

use std::sync::Arc;

use burn_cubecl::tensor::CubeTensor;
use burn_cubecl::{BoolElement, CubeRuntime, IntElement};
use burn_flex::Flex;
use burn_tensor::TensorMetadata;
use ncde_gpu::Gpu;
use ncde_gpu::neural as device;
use ncde_kernels::neural::{Controls, Depth};

use super::{ArrayGradients, Arrays, Error, Kept, Last, NeuralOps, Outputs, Route, Schedule, Solve};
use crate::gpu::{OnGpu, activation, buffer, gpu, has_no_kernel, of_buffer, on_device, on_host};

impl<R: CubeRuntime, I: IntElement, B: BoolElement> NeuralOps for OnGpu<R, I, B> {
    fn neural_solve(solve: &Arc<Solve>, arrays: Arrays<Self>) -> Result<CubeTensor<R>, Error> {
        if kernel(solve, &gpu(&arrays.parameters)).is_some() {
            return Ok(Self::neural_solve_kept(solve, arrays)?.outputs);
        }
        let device = arrays.parameters.device.clone();
        Ok(on_device(&Flex::neural_solve(solve, hosted(arrays))?, &device))
    }

    fn neural_solve_kept(solve: &Arc<Solve>, arrays: Arrays<Self>) -> Result<Kept<Self>, Error> {
        let gpu = gpu(&arrays.parameters);
        let Some(own) = kernel(solve, &gpu) else {
            has_no_kernel("neural CDEs");
            let device = arrays.parameters.device.clone();
            let kept = Flex::neural_solve_kept(solve, hosted(arrays))?;
            return Ok(Kept { outputs: on_device(&kept.outputs, &device), states: on_device(&kept.states, &device) });
        };
        let (arrays, dt) = contiguous(arrays);
        let buffers = buffers(&arrays, &dt);
        let (hidden, batch) = (solve.network().hidden(), buffers.batch);
        let states = own.forward(&gpu, &buffers)?;
        let chosen = match &arrays.schedule.outputs {
            Outputs::Every => states.clone(),
            Outputs::At(at) => own.states_at(&gpu, &buffers, &states, at)?,
        };
        let shaped = |count, states| of_buffer(&arrays.parameters, [batch, count, hidden], states);
        Ok(Kept { outputs: shaped(arrays.schedule.count(batch), chosen), states: shaped(arrays.schedule.steps, states) })
    }

    fn neural_solve_backward(
        solve: &Arc<Solve>,
        controls: Controls,
        arrays: Arrays<Self>,
        states: CubeTensor<R>,
        gradient: CubeTensor<R>,
    ) -> Result<ArrayGradients<Self>, Error> {
        let gpu = gpu(&arrays.parameters);
        let Some(own) = kernel(solve, &gpu) else {
            let device = arrays.parameters.device.clone();
            let of = Flex::neural_solve_backward(solve, controls, hosted(arrays), on_host(states), on_host(gradient))?;
            return Ok(ArrayGradients {
                parameters: on_device(&of.parameters, &device),
                coefficients: of.coefficients.map(|of| on_device(&of, &device)),
                initial: on_device(&of.initial, &device),
            });
        };
        let (arrays, dt) = contiguous(arrays);
        let (states, gradient) = (buffer(states), buffer(gradient));
        let at = match &arrays.schedule.outputs {
            Outputs::Every => None,
            Outputs::At(at) => Some(at.as_slice()),
        };
        let of_controls = controls == Controls::Variable;
        let of = own.backward(&gpu, &buffers(&arrays, &dt), (&states.handle, &gradient.handle), at, of_controls)?;
        let like = &arrays.parameters;
        Ok(ArrayGradients {
            parameters: of_buffer(like, like.shape(), of.parameters),
            coefficients: of.coefficients.map(|of| of_buffer(like, arrays.coefficients.shape(), of)),
            initial: of_buffer(like, arrays.initial.shape(), of.initial),
        })
    }
}

/// The same solve on the device; nothing where it is the host's: brackets of three fields and more, more layers than kernels have, a series that a cube does not hold.
fn kernel<R: CubeRuntime>(solve: &Solve, gpu: &Gpu<R>) -> Option<device::NeuralSolve> {
    if solve.route() != Route::Fused {
        return None;
    }
    let (own, method) = (solve.network(), solve.method());
    let network = device::Network {
        hidden: own.hidden(),
        channels: own.channels(),
        widths: own.widths().to_vec(),
        activation: activation(own.activation()),
        before_last: activation(own.activation_of(own.widths().len().saturating_sub(1))),
        last: match own.last() {
            Last::Tanh => device::Last::Tanh,
            Last::Linear => device::Last::Linear,
        },
    };
    let narrow = |row: &[f64]| row.iter().map(|&x| x as f32).collect::<Vec<f32>>();
    let (tableau, stages) = (method.tableau(), method.stages());
    let method = device::Method { a: (0..stages).map(|s| narrow(tableau.row(s))).collect(), b: narrow(&tableau.b[..stages]) };
    let solve = device::NeuralSolve::new(&network, &method, solve.kernel().depth() == Depth::Two).ok()?;
    solve.fits(gpu).then_some(solve)
}

/// The same arrays, laid out as their shapes say, and the lengths of steps in the kernel's type.
fn contiguous<R: CubeRuntime, I: IntElement, B: BoolElement>(
    arrays: Arrays<OnGpu<R, I, B>>,
) -> (Arrays<OnGpu<R, I, B>>, Vec<f32>) {
    let dt = arrays.schedule.dt.iter().map(|&dt| dt as f32).collect();
    let arrays = Arrays {
        parameters: buffer(arrays.parameters),
        coefficients: buffer(arrays.coefficients),
        initial: buffer(arrays.initial),
        schedule: arrays.schedule,
    };
    (arrays, dt)
}

fn buffers<'a, R: CubeRuntime, I: IntElement, B: BoolElement>(
    arrays: &'a Arrays<OnGpu<R, I, B>>,
    dt: &'a [f32],
) -> device::Arrays<'a> {
    let shape = arrays.coefficients.shape();
    let Schedule { steps, rows, .. } = &*arrays.schedule;
    device::Arrays {
        batch: shape[0],
        steps: *steps,
        control: shape[1],
        parameters: arrays.parameters.handle.clone(),
        coefficients: arrays.coefficients.handle.clone(),
        initial: arrays.initial.handle.clone(),
        dt,
        rows,
    }
}

fn hosted<R: CubeRuntime, I: IntElement, B: BoolElement>(arrays: Arrays<OnGpu<R, I, B>>) -> Arrays<Flex> {
    Arrays {
        parameters: on_host(arrays.parameters),
        coefficients: on_host(arrays.coefficients),
        initial: on_host(arrays.initial),
        schedule: arrays.schedule,
    }
}
