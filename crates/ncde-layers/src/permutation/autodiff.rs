//! Any backend under `Autodiff`: the forward pass is the backend's, the reverse pass ours.

use burn_autodiff::Autodiff;
use burn_autodiff::checkpoint::base::Checkpointer;
use burn_autodiff::checkpoint::strategy::CheckpointStrategy;
use burn_autodiff::grads::Gradients;
use burn_autodiff::ops::{Backward, Ops};
use burn_tensor::backend::Backend;
use burn_tensor::ops::FloatTensor;

use super::{ArrayGradients, Arrays, Error, PermutationDiagonal, PermutationOps};
use crate::operation::{OrNan, finish, nan_like, register};

/// What the reverse pass needs: the arguments and the states.
#[derive(Debug, Clone)]
struct Memory<B: Backend> {
    spec: PermutationDiagonal,
    arrays: Arrays<B>,
    states: FloatTensor<B>,
}

#[derive(Debug)]
struct Reverse;

impl<B: PermutationOps> Backward<B, 3> for Reverse {
    type State = Memory<B>;

    fn backward(self, ops: Ops<Self::State, 3>, grads: &mut Gradients, _: &mut Checkpointer) {
        let Memory { spec, arrays, states } = ops.state;
        let of = B::permutation_backward(spec, arrays.clone(), states, grads.consume::<B>(&ops.node)).or_nan(|| ArrayGradients {
            dictionary: nan_like::<B>(arrays.dictionary),
            control: nan_like::<B>(arrays.control),
            initial: nan_like::<B>(arrays.initial),
        });
        register::<B>(
            ops.parents.map(|node| node.map(|node| node.id)),
            [Some(of.dictionary), Some(of.control), Some(of.initial)],
            grads,
        );
    }
}

impl<B: PermutationOps, C: CheckpointStrategy> PermutationOps for Autodiff<B, C> {
    fn permutation(spec: PermutationDiagonal, arrays: Arrays<Self>) -> Result<FloatTensor<Self>, Error> {
        let Arrays { dictionary, control, initial, timing } = arrays;
        let parents = [dictionary.node, control.node, initial.node];
        let arrays = Arrays { dictionary: dictionary.primitive, control: control.primitive, initial: initial.primitive, timing };
        let states = B::permutation(spec, arrays.clone())?;
        let memory = Memory { spec, arrays, states: states.clone() };
        Ok(finish(Reverse.prepare::<C>(parents).compute_bound(), memory, states))
    }

    fn permutation_backward(
        _: PermutationDiagonal,
        _: Arrays<Self>,
        _: FloatTensor<Self>,
        _: FloatTensor<Self>,
    ) -> Result<ArrayGradients<Self>, Error> {
        Err(Error::SecondOrder)
    }
}
