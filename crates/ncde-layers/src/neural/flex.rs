//! The CPU backend: its tensors are slices, and the kernel and the generic solver take slices.

use std::sync::Arc;

use burn_flex::Flex;
use burn_flex::FlexTensor;
use burn_tensor::{Element, TensorMetadata};
use bytemuck::Pod;
use ncde_kernels::Float;
use ncde_kernels::neural::{self, Controls, Input};

use super::generic::{self, Precision};
use super::{Arrays, Error, NeuralOps, Outputs, Solve, Solved};
use crate::operation::{Gradients, dispatch, slice, tensor};

impl NeuralOps for Flex {
    fn neural_solve(solve: &Arc<Solve>, arrays: Arrays<Self>, reverse_may_come: bool) -> Result<Solved<Self>, Error> {
        dispatch!(arrays.parameters, forward(solve, arrays, reverse_may_come))
    }

    fn neural_solve_backward(
        solve: &Arc<Solve>,
        controls: Controls,
        arrays: Arrays<Self>,
        states: FlexTensor,
        gradient: FlexTensor,
    ) -> Result<Gradients<Self, 3>, Error> {
        let solve = Solve::clone(solve).with_controls(controls);
        dispatch!(arrays.parameters, backward(&solve, arrays, &states, &gradient))
    }
}

fn forward<T: Precision + Element + Pod>(
    solve: &Solve,
    arrays: Arrays<Flex>,
    reverse_may_come: bool,
) -> Result<Solved<Flex>, Error> {
    let (arrays, dt) = prepare::<T>(arrays);
    let input = input(&arrays, &dt)?;
    if !reverse_may_come {
        let outputs = states(solve, &input, outputs(&arrays))?;
        return Ok(Solved { outputs: shaped(outputs, input.batch, solve), states: None });
    }
    let hidden = solve.network().hidden();
    let states = states(solve, &input, neural::Outputs::Every)?;
    let chosen = match &arrays.schedule.outputs {
        Outputs::Every => None,
        Outputs::At(at) => {
            let series = at.chunks_exact(at.len() / input.batch).zip(states.chunks_exact(input.steps * hidden));
            let rows = series.flat_map(|(at, states)| at.iter().map(|&step| &states[step * hidden..(step + 1) * hidden]));
            Some(rows.collect::<Vec<_>>().concat())
        }
    };
    let states = shaped(states, input.batch, solve);
    let outputs = chosen.map_or_else(|| states.clone(), |chosen| shaped(chosen, input.batch, solve));
    Ok(Solved { outputs, states: Some(states) })
}

fn backward<T: Precision + Element + Pod>(
    solve: &Solve,
    arrays: Arrays<Flex>,
    states: &FlexTensor,
    gradient: &FlexTensor,
) -> Result<Gradients<Flex, 3>, Error> {
    let (arrays, dt) = prepare::<T>(arrays);
    let (states, gradient) = (states.to_contiguous(), gradient.to_contiguous());
    let (states, gradient) = (slice::<T>("the states", &states)?, slice::<T>("the gradient", &gradient)?);
    let (input, outputs) = (input(&arrays, &dt)?, outputs(&arrays));
    let of = match solve.generic() {
        Some(generic) => generic::backward(solve, generic, &input, states, outputs, gradient)?,
        None => solve.kernel().backward(&input, states, outputs, gradient)?,
    };
    Ok([
        Some(tensor(of.parameters, arrays.parameters.shape())),
        of.coefficients.map(|of| tensor(of, arrays.coefficients.shape())),
        Some(tensor(of.initial, arrays.initial.shape())),
    ])
}

/// By the kernel, or where it does not apply by the generic solver.
fn states<T: Precision>(solve: &Solve, input: &Input<'_, T>, outputs: neural::Outputs<'_>) -> Result<Vec<T>, Error> {
    match solve.generic() {
        Some(generic) => generic::forward(solve, generic, input, outputs),
        None => {
            let mut states = Vec::new();
            solve.kernel().forward_into(input, outputs, &mut states)?;
            Ok(states)
        }
    }
}

/// The same arrays, laid out as their shapes say (no copy where they already are), and the steps in the kernel's type.
fn prepare<T: Float>(arrays: Arrays<Flex>) -> (Arrays<Flex>, Vec<T>) {
    let dt = arrays.schedule.dt.iter().map(|&dt| T::from_f64(dt)).collect();
    (arrays.map(|x| x.to_contiguous()), dt)
}

fn input<'a, T: Float + Element + Pod>(arrays: &'a Arrays<Flex>, dt: &'a [T]) -> Result<Input<'a, T>, Error> {
    let shape = arrays.coefficients.shape();
    Ok(Input {
        batch: shape[0],
        steps: arrays.schedule.steps,
        control: shape[1],
        parameters: slice("the vector of parameters", &arrays.parameters)?,
        coefficients: slice("the control", &arrays.coefficients)?,
        initial: slice("the initial state", &arrays.initial)?,
        dt,
        rows: &arrays.schedule.rows,
    })
}

fn outputs(arrays: &Arrays<Flex>) -> neural::Outputs<'_> {
    match &arrays.schedule.outputs {
        Outputs::Every => neural::Outputs::Every,
        Outputs::At(at) => neural::Outputs::At(at),
    }
}

/// `[batch, count, H]`.
fn shaped<T: Element>(states: Vec<T>, batch: usize, solve: &Solve) -> FlexTensor {
    let hidden = solve.network().hidden();
    let count = states.len() / (batch * hidden);
    tensor(states, [batch, count, hidden])
}
