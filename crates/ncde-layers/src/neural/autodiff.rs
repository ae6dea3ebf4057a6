//! Any backend under `Autodiff`: the forward pass is the backend's, the reverse pass ours.

use std::sync::Arc;

use burn_autodiff::Autodiff;
use burn_autodiff::checkpoint::strategy::CheckpointStrategy;
use ncde_kernels::neural::Controls;

use super::{Arrays, Error, NeuralOps, Solve, Solved};
use crate::operation::differentiable;

impl<B: NeuralOps, C: CheckpointStrategy> NeuralOps for Autodiff<B, C> {
    fn neural_solve(solve: &Arc<Solve>, arrays: Arrays<Self>, _: bool) -> Result<Solved<Self>, Error> {
        let Arrays { parameters, coefficients, initial, schedule } = arrays;
        let inputs = [parameters, coefficients, initial];
        let outputs = differentiable::<_, C, _, _>(inputs, |[parameters, coefficients, initial], tracked| {
            let arrays = Arrays { parameters, coefficients, initial, schedule };
            let Solved { outputs, states } = B::neural_solve(solve, arrays.clone(), tracked)?;
            let solve = solve.clone();
            let reverse = move |gradient, [_, of_control, _]: [bool; 3]| {
                // A control is most often data: its gradient, as large as itself, is computed only where something waits for it.
                let controls = if of_control { Controls::Variable } else { Controls::Constant };
                B::neural_solve_backward(&solve, controls, arrays, states.ok_or(Error::SecondOrder)?, gradient)
            };
            Ok((outputs, reverse))
        })?;
        Ok(Solved { outputs, states: None })
    }
}
