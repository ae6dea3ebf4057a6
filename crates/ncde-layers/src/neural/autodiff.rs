//! Any backend under `Autodiff`: the forward pass is the backend's, the reverse pass ours.

use std::sync::Arc;

use burn_autodiff::Autodiff;
use burn_autodiff::checkpoint::strategy::CheckpointStrategy;
use burn_tensor::ops::FloatTensor;
use ncde_kernels::neural::Controls;

use super::{Arrays, Error, NeuralOps, Saved, Solve};
use crate::operation::differentiable;

impl<B: NeuralOps, C: CheckpointStrategy> NeuralOps for Autodiff<B, C> {
    fn neural_solve(solve: &Arc<Solve>, arrays: Arrays<Self>) -> Result<FloatTensor<Self>, Error> {
        let Arrays { parameters, coefficients, initial, schedule } = arrays;
        differentiable::<_, C, _, _>([parameters, coefficients, initial], |[parameters, coefficients, initial], tracked| {
            let arrays = Arrays { parameters, coefficients, initial, schedule };
            let (outputs, states) = if tracked {
                let Saved { outputs, states } = B::neural_solve_saved(solve, arrays.clone())?;
                (outputs, Some(states))
            } else {
                (B::neural_solve(solve, arrays.clone())?, None)
            };
            let solve = solve.clone();
            let reverse = move |gradient, [_, of_control, _]: [bool; 3]| {
                // A control is most often data: its gradient, as large as itself, is computed only where something waits for it.
                let controls = if of_control { Controls::Variable } else { Controls::Constant };
                let states = states.ok_or(Error::SecondOrder)?;
                B::neural_solve_backward(&solve, controls, arrays, states, gradient)
            };
            Ok((outputs, reverse))
        })
    }

    fn neural_solve_saved(_: &Arc<Solve>, _: Arrays<Self>) -> Result<Saved<Self>, Error> {
        Err(Error::SecondOrder)
    }
}
