//! Any backend under `Autodiff`: the forward pass is the backend's, the reverse pass ours.

use std::sync::Arc;

use burn_autodiff::Autodiff;
use burn_autodiff::checkpoint::base::Checkpointer;
use burn_autodiff::checkpoint::strategy::CheckpointStrategy;
use burn_autodiff::grads::Gradients;
use burn_autodiff::ops::{Backward, Ops, unary};
use burn_tensor::backend::Backend;
use burn_tensor::ops::FloatTensor;
use ncde_kernels::{Brackets, Commutators, Controls, Recurrence};

use super::{ArrayGradients, Arrays, Error, LinearOps, States};
use crate::operation::{OrNan, finish, nan_like, register};

/// What the reverse pass of a recurrence needs: its arguments and what came out.
#[derive(Debug, Clone)]
struct Kept<B: Backend> {
    recurrence: Arc<Recurrence>,
    arrays: Arrays<B>,
    states: States<B>,
}

/// With three parents, or with the affine input as the fourth.
#[derive(Debug)]
struct Reverse;

impl<B: LinearOps, const N: usize> Backward<B, N> for Reverse {
    type State = Kept<B>;

    fn backward(self, ops: Ops<Self::State, N>, grads: &mut Gradients, _: &mut Checkpointer) {
        let Kept { recurrence, arrays, states } = ops.state;
        // The gradient in the coefficients is computed only if somebody asks for it: often they are data.
        let controls = if ops.parents[1].is_some() { Controls::Variable } else { Controls::Constant };
        let recurrence = Arc::new(Recurrence::clone(&recurrence).with_controls(controls));
        let of = B::recurrence_backward(&recurrence, arrays.clone(), states, grads.consume::<B>(&ops.node)).or_nan(|| {
            ArrayGradients {
                a: nan_like::<B>(arrays.a),
                coefficients: Some(nan_like::<B>(arrays.coefficients)),
                initial: nan_like::<B>(arrays.initial),
                affine: arrays.affine.map(nan_like::<B>),
            }
        });
        let gradients = [Some(of.a), of.coefficients, Some(of.initial), of.affine];
        register::<B>(ops.parents.map(|node| node.map(|node| node.id)), gradients, grads);
    }
}

#[derive(Debug)]
struct ReverseMatrices;

impl<B: LinearOps> Backward<B, 1> for ReverseMatrices {
    type State = (Arc<Brackets>, FloatTensor<B>);

    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let (brackets, a) = ops.state;
        unary::<B, _>(ops.parents, ops.node, grads, |gradient| {
            B::matrices_backward(&brackets, a.clone(), gradient).or_nan(|| nan_like::<B>(a))
        });
    }
}

#[derive(Debug)]
struct ReverseGenerators;

impl<B: LinearOps> Backward<B, 1> for ReverseGenerators {
    type State = (Commutators, FloatTensor<B>);

    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let (of, each) = ops.state;
        unary::<B, _>(ops.parents, ops.node, grads, |gradient| {
            B::generators_backward(of, each.clone(), gradient).or_nan(|| nan_like::<B>(each))
        });
    }
}

#[derive(Debug)]
struct ReverseVectors;

impl<B: LinearOps> Backward<B, 2> for ReverseVectors {
    type State = (Arc<Brackets>, FloatTensor<B>, FloatTensor<B>);

    fn backward(self, ops: Ops<Self::State, 2>, grads: &mut Gradients, _: &mut Checkpointer) {
        let (brackets, a, b) = ops.state;
        let gradient = grads.consume::<B>(&ops.node);
        let both = B::vectors_backward(&brackets, a.clone(), b.clone(), gradient).or_nan(|| [nan_like::<B>(a), nan_like::<B>(b)]);
        register::<B>(ops.parents.map(|node| node.map(|node| node.id)), both.map(Some), grads);
    }
}

impl<B: LinearOps, C: CheckpointStrategy> LinearOps for Autodiff<B, C> {
    fn recurrence(recurrence: &Arc<Recurrence>, arrays: Arrays<Self>, _: bool) -> Result<States<Self>, Error> {
        let Arrays { a, coefficients, initial, affine, lengths } = arrays;
        let (affine, affine_node) = affine.map(|affine| (affine.primitive, affine.node)).unzip();
        let arrays = Arrays { a: a.primitive, coefficients: coefficients.primitive, initial: initial.primitive, affine, lengths };
        let seen = B::recurrence(recurrence, arrays.clone(), true)?;
        let states = seen.states.clone();
        let kept = Kept { recurrence: recurrence.clone(), arrays, states: seen };
        let [a, coefficients, initial] = [a.node, coefficients.node, initial.node];
        let states = match affine_node {
            None => finish(Reverse.prepare::<C>([a, coefficients, initial]).compute_bound(), kept, states),
            Some(affine) => finish(Reverse.prepare::<C>([a, coefficients, initial, affine]).compute_bound(), kept, states),
        };
        Ok(States { states, kept: None })
    }

    fn recurrence_backward(
        _: &Arc<Recurrence>,
        _: Arrays<Self>,
        _: States<Self>,
        _: FloatTensor<Self>,
    ) -> Result<ArrayGradients<Self>, Error> {
        Err(Error::SecondOrder)
    }

    fn generators(of: Commutators, each: FloatTensor<Self>) -> Result<FloatTensor<Self>, Error> {
        let output = B::generators(of, each.primitive.clone())?;
        Ok(finish(ReverseGenerators.prepare::<C>([each.node]).compute_bound(), (of, each.primitive), output))
    }

    fn generators_backward(_: Commutators, _: FloatTensor<Self>, _: FloatTensor<Self>) -> Result<FloatTensor<Self>, Error> {
        Err(Error::SecondOrder)
    }

    fn matrices(brackets: &Arc<Brackets>, a: FloatTensor<Self>) -> Result<FloatTensor<Self>, Error> {
        let output = B::matrices(brackets, a.primitive.clone())?;
        Ok(finish(ReverseMatrices.prepare::<C>([a.node]).compute_bound(), (brackets.clone(), a.primitive), output))
    }

    fn matrices_backward(_: &Arc<Brackets>, _: FloatTensor<Self>, _: FloatTensor<Self>) -> Result<FloatTensor<Self>, Error> {
        Err(Error::SecondOrder)
    }

    fn vectors(brackets: &Arc<Brackets>, a: FloatTensor<Self>, b: FloatTensor<Self>) -> Result<FloatTensor<Self>, Error> {
        let output = B::vectors(brackets, a.primitive.clone(), b.primitive.clone())?;
        Ok(finish(
            ReverseVectors.prepare::<C>([a.node, b.node]).compute_bound(),
            (brackets.clone(), a.primitive, b.primitive),
            output,
        ))
    }

    fn vectors_backward(
        _: &Arc<Brackets>,
        _: FloatTensor<Self>,
        _: FloatTensor<Self>,
        _: FloatTensor<Self>,
    ) -> Result<[FloatTensor<Self>; 2], Error> {
        Err(Error::SecondOrder)
    }
}
