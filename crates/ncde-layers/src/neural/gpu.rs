//! GPUs: the kernels of `ncde-gpu`; on the host where they do not apply.

use std::sync::Arc;

use burn_cubecl::tensor::CubeTensor;
use burn_cubecl::{BoolElement, CubeRuntime, IntElement};
use burn_flex::Flex;
use burn_tensor::TensorMetadata;
use ncde_gpu::Gpu;
use ncde_gpu::neural as device;
use ncde_kernels::neural::{Controls, Depth};

use super::{Arrays, Error, Last, NeuralOps, Outputs, Route, Schedule, Solve, Solved};
use crate::gpu::{OnGpu, activation, buffer, gpu, gradients_from_host, has_no_kernel, of_buffer, on_device, on_host};
use crate::operation::Gradients;

impl<R: CubeRuntime, I: IntElement, B: BoolElement> NeuralOps for OnGpu<R, I, B> {
    fn neural_solve(solve: &Arc<Solve>, arrays: Arrays<Self>, reverse_may_come: bool) -> Result<Solved<Self>, Error> {
        let gpu = gpu(&arrays.parameters);
        let Some(kernel) = kernel(solve, &gpu) else {
            has_no_kernel("neural CDEs");
            let device = arrays.parameters.device.clone();
            let Solved { outputs, states } = Flex::neural_solve(solve, arrays.map(on_host), reverse_may_come)?;
            let states = states.map(|states| on_device(&states, &device));
            return Ok(Solved { outputs: on_device(&outputs, &device), states });
        };
        let dt = step_lengths(&arrays.schedule);
        let arrays = arrays.map::<Self>(buffer);
        let buffers = buffers(&arrays, &dt);
        let (hidden, batch) = (solve.network().hidden(), buffers.batch);
        let states = kernel.forward(&gpu, &buffers)?;
        let chosen = match &arrays.schedule.outputs {
            Outputs::Every => states.clone(),
            Outputs::At(at) => kernel.states_at(&gpu, &buffers, &states, at)?,
        };
        let shaped = |count, states| of_buffer(&arrays.parameters, [batch, count, hidden], states);
        Ok(Solved { outputs: shaped(arrays.schedule.count(batch), chosen), states: Some(shaped(arrays.schedule.steps, states)) })
    }

    fn neural_solve_backward(
        solve: &Arc<Solve>,
        controls: Controls,
        arrays: Arrays<Self>,
        states: CubeTensor<R>,
        gradient: CubeTensor<R>,
    ) -> Result<Gradients<Self, 3>, Error> {
        let gpu = gpu(&arrays.parameters);
        let Some(kernel) = kernel(solve, &gpu) else {
            let device = arrays.parameters.device.clone();
            let (states, gradient) = (on_host(states), on_host(gradient));
            let gradients = Flex::neural_solve_backward(solve, controls, arrays.map(on_host), states, gradient);
            return gradients_from_host(&device, gradients);
        };
        let dt = step_lengths(&arrays.schedule);
        let arrays = arrays.map::<Self>(buffer);
        let (states, gradient) = (buffer(states), buffer(gradient));
        let at = match &arrays.schedule.outputs {
            Outputs::Every => None,
            Outputs::At(at) => Some(at.as_slice()),
        };
        let of_controls = controls == Controls::Variable;
        let of = kernel.backward(&gpu, &buffers(&arrays, &dt), (&states.handle, &gradient.handle), at, of_controls)?;
        let like = &arrays.parameters;
        Ok([
            Some(of_buffer(like, like.shape(), of.parameters)),
            of.coefficients.map(|of| of_buffer(like, arrays.coefficients.shape(), of)),
            Some(of_buffer(like, arrays.initial.shape(), of.initial)),
        ])
    }
}

/// The same solve on the device; nothing where it is the host's: brackets of three fields and more, more layers than kernels have, a series that a cube does not hold.
fn kernel<R: CubeRuntime>(solve: &Solve, gpu: &Gpu<R>) -> Option<device::NeuralSolve> {
    if solve.route() != Route::Fused {
        return None;
    }
    let (network, method) = (solve.network(), solve.method());
    let network = device::Network {
        hidden: network.hidden(),
        channels: network.channels(),
        widths: network.widths().to_vec(),
        activation: activation(network.activation()),
        before_last: activation(network.activation_of(network.widths().len().saturating_sub(1))),
        last: match network.last() {
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

/// The lengths of steps in the kernel's type.
fn step_lengths(schedule: &Schedule) -> Vec<f32> {
    schedule.dt.iter().map(|&dt| dt as f32).collect()
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
