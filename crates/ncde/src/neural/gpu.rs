//! GPUs: neural solves are computed on the host.

use std::sync::Arc;

use burn_cubecl::tensor::CubeTensor;
use burn_cubecl::{BoolElement, CubeRuntime, IntElement};
use burn_flex::Flex;
use ncde_kernels::neural::Controls;

use super::{ArrayGradients, Arrays, Error, Kept, NeuralOps, Solve};
use crate::gpu::{OnGpu, on_device, on_host};

impl<R: CubeRuntime, I: IntElement, B: BoolElement> NeuralOps for OnGpu<R, I, B> {
    fn neural_solve(solve: &Arc<Solve>, arrays: Arrays<Self>) -> Result<CubeTensor<R>, Error> {
        let device = arrays.parameters.device.clone();
        Ok(on_device(&Flex::neural_solve(solve, hosted(arrays))?, &device))
    }

    fn neural_solve_kept(solve: &Arc<Solve>, arrays: Arrays<Self>) -> Result<Kept<Self>, Error> {
        let device = arrays.parameters.device.clone();
        let kept = Flex::neural_solve_kept(solve, hosted(arrays))?;
        Ok(Kept { outputs: on_device(&kept.outputs, &device), states: on_device(&kept.states, &device) })
    }

    fn neural_solve_backward(
        solve: &Arc<Solve>,
        controls: Controls,
        arrays: Arrays<Self>,
        states: CubeTensor<R>,
        gradient: CubeTensor<R>,
    ) -> Result<ArrayGradients<Self>, Error> {
        let device = arrays.parameters.device.clone();
        let of = Flex::neural_solve_backward(solve, controls, hosted(arrays), on_host(states), on_host(gradient))?;
        Ok(ArrayGradients {
            parameters: on_device(&of.parameters, &device),
            coefficients: of.coefficients.map(|of| on_device(&of, &device)),
            initial: on_device(&of.initial, &device),
        })
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
