//! Any backend under `Autodiff`: the forward pass is the backend's, the reverse pass ours.

use std::sync::Arc;

use burn_autodiff::Autodiff;
use burn_autodiff::checkpoint::base::Checkpointer;
use burn_autodiff::checkpoint::strategy::CheckpointStrategy;
use burn_autodiff::grads::Gradients;
use burn_autodiff::ops::{Backward, Ops, OpsKind};
use burn_tensor::backend::Backend;
use burn_tensor::ops::FloatTensor;
use ncde_kernels::neural::Controls;

use super::{ArrayGradients, Arrays, Error, Kept, NeuralOps, Solve};
use crate::operation::{OrNan, nan_like, register};

/// What the reverse pass needs: the arguments and the states.
#[derive(Debug, Clone)]
struct Memory<B: Backend> {
    solve: Arc<Solve>,
    arrays: Arrays<B>,
    states: FloatTensor<B>,
}

#[derive(Debug)]
struct Reverse;

impl<B: NeuralOps> Backward<B, 3> for Reverse {
    type State = Memory<B>;

    fn backward(self, ops: Ops<Self::State, 3>, grads: &mut Gradients, _: &mut Checkpointer) {
        let Memory { solve, arrays, states } = ops.state;
        // A control is most often data: its gradient, as large as itself, is computed only where something waits for it.
        let controls = if ops.parents[1].is_some() { Controls::Variable } else { Controls::Constant };
        let of = B::neural_solve_backward(&solve, controls, arrays.clone(), states, grads.consume::<B>(&ops.node)).or_nan(|| {
            ArrayGradients {
                parameters: nan_like::<B>(arrays.parameters),
                coefficients: Some(nan_like::<B>(arrays.coefficients)),
                initial: nan_like::<B>(arrays.initial),
            }
        });
        register::<B>(
            ops.parents.map(|node| node.map(|node| node.id)),
            [Some(of.parameters), of.coefficients, Some(of.initial)],
            grads,
        );
    }
}

impl<B: NeuralOps, C: CheckpointStrategy> NeuralOps for Autodiff<B, C> {
    fn neural_solve(solve: &Arc<Solve>, arrays: Arrays<Self>) -> Result<FloatTensor<Self>, Error> {
        let Arrays { parameters, coefficients, initial, schedule } = arrays;
        let parents = [parameters.node, coefficients.node, initial.node];
        let arrays = Arrays {
            parameters: parameters.primitive,
            coefficients: coefficients.primitive,
            initial: initial.primitive,
            schedule,
        };
        Ok(match Reverse.prepare::<C>(parents).compute_bound().stateful() {
            OpsKind::Tracked(prep) => {
                let Kept { outputs, states } = B::neural_solve_kept(solve, arrays.clone())?;
                prep.finish(Memory { solve: solve.clone(), arrays, states }, outputs)
            }
            OpsKind::UnTracked(prep) => prep.finish(B::neural_solve(solve, arrays)?),
        })
    }

    fn neural_solve_kept(_: &Arc<Solve>, _: Arrays<Self>) -> Result<Kept<Self>, Error> {
        Err(Error::SecondOrder)
    }

    fn neural_solve_backward(
        _: &Arc<Solve>,
        _: Controls,
        _: Arrays<Self>,
        _: FloatTensor<Self>,
        _: FloatTensor<Self>,
    ) -> Result<ArrayGradients<Self>, Error> {
        Err(Error::SecondOrder)
    }
}
