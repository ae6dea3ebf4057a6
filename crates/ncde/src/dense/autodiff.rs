//! Any backend under `Autodiff`: the forward pass is the backend's, the reverse pass ours.

use burn_autodiff::Autodiff;
use burn_autodiff::checkpoint::base::Checkpointer;
use burn_autodiff::checkpoint::strategy::CheckpointStrategy;
use burn_autodiff::grads::Gradients;
use burn_autodiff::ops::{Backward, Ops, unary};
use burn_tensor::ops::FloatTensor;
use ncde_runtime::layer::Function;

use super::{Adam, DenseOps, Error, NormGradients};
use crate::operation::{finish, register, unknown};

#[derive(Debug)]
struct ReverseAffine;

impl<B: DenseOps> Backward<B, 3> for ReverseAffine {
    type State = (FloatTensor<B>, FloatTensor<B>);

    fn backward(self, ops: Ops<Self::State, 3>, grads: &mut Gradients, _: &mut Checkpointer) {
        let (x, weight) = ops.state;
        let dy = grads.consume::<B>(&ops.node);
        // Rows of data have no gradient.
        let dx = ops.parents[0].is_some().then(|| B::float_matmul(dy.clone(), B::float_transpose(weight)));
        let dw = B::float_matmul(B::float_transpose(x), dy.clone());
        let db = B::sum_rows(dy.clone()).unwrap_or_else(|_| unknown::<B>(dy));
        register::<B>(ops.parents.map(|node| node.map(|node| node.id)), [dx, Some(dw), Some(db)], grads);
    }
}

#[derive(Debug)]
struct ReverseActivation;

impl<B: DenseOps> Backward<B, 1> for ReverseActivation {
    type State = (Function, FloatTensor<B>);

    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let (function, x) = ops.state;
        unary::<B, _>(ops.parents, ops.node, grads, |dy| {
            B::activation_backward(function, x.clone(), dy).unwrap_or_else(|_| unknown::<B>(x))
        });
    }
}

/// With rows alone, or with gain and offset too.
#[derive(Debug)]
struct ReverseNorm;

impl<B: DenseOps, const N: usize> Backward<B, N> for ReverseNorm {
    type State = (FloatTensor<B>, Option<FloatTensor<B>>);

    fn backward(self, ops: Ops<Self::State, N>, grads: &mut Gradients, _: &mut Checkpointer) {
        let (x, gain) = ops.state;
        let dy = grads.consume::<B>(&ops.node);
        let of = B::norm_rows_backward(x.clone(), gain.clone(), dy).unwrap_or_else(|_| NormGradients {
            x: unknown::<B>(x),
            affine: gain.map(|gain| [unknown::<B>(gain.clone()), unknown::<B>(gain)]),
        });
        let [gain, offset] = of.affine.map_or([None, None], |pair| pair.map(Some));
        register::<B>(ops.parents.map(|node| node.map(|node| node.id)), [Some(of.x), gain, offset], grads);
    }
}

#[derive(Debug)]
struct ReverseScale;

impl<B: DenseOps> Backward<B, 1> for ReverseScale {
    type State = Vec<f64>;

    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let factor = ops.state;
        unary::<B, _>(ops.parents, ops.node, grads, |dy| {
            B::scale_columns(dy.clone(), &vec![0.0; factor.len()], &factor).unwrap_or_else(|_| unknown::<B>(dy))
        });
    }
}

impl<B: DenseOps, C: CheckpointStrategy> DenseOps for Autodiff<B, C> {
    fn affine(x: FloatTensor<Self>, weight: FloatTensor<Self>, bias: FloatTensor<Self>) -> Result<FloatTensor<Self>, Error> {
        let output = B::affine(x.primitive.clone(), weight.primitive.clone(), bias.primitive)?;
        Ok(finish(
            ReverseAffine.prepare::<C>([x.node, weight.node, bias.node]).compute_bound(),
            (x.primitive, weight.primitive),
            output,
        ))
    }

    fn sum_rows(_: FloatTensor<Self>) -> Result<FloatTensor<Self>, Error> {
        Err(Error::SecondOrder)
    }

    fn activation(function: Function, x: FloatTensor<Self>) -> Result<FloatTensor<Self>, Error> {
        let output = B::activation(function, x.primitive.clone())?;
        Ok(finish(ReverseActivation.prepare::<C>([x.node]).compute_bound(), (function, x.primitive), output))
    }

    fn activation_backward(_: Function, _: FloatTensor<Self>, _: FloatTensor<Self>) -> Result<FloatTensor<Self>, Error> {
        Err(Error::SecondOrder)
    }

    fn norm_rows(x: FloatTensor<Self>, affine: Option<[FloatTensor<Self>; 2]>) -> Result<FloatTensor<Self>, Error> {
        let Some([gain, offset]) = affine else {
            let output = B::norm_rows(x.primitive.clone(), None)?;
            return Ok(finish(ReverseNorm.prepare::<C>([x.node]).compute_bound(), (x.primitive, None), output));
        };
        let output = B::norm_rows(x.primitive.clone(), Some([gain.primitive.clone(), offset.primitive]))?;
        let prepared = ReverseNorm.prepare::<C>([x.node, gain.node, offset.node]).compute_bound();
        Ok(finish(prepared, (x.primitive, Some(gain.primitive)), output))
    }

    fn norm_rows_backward(
        _: FloatTensor<Self>,
        _: Option<FloatTensor<Self>>,
        _: FloatTensor<Self>,
    ) -> Result<NormGradients<Self>, Error> {
        Err(Error::SecondOrder)
    }

    fn scale_columns(x: FloatTensor<Self>, shift: &[f64], factor: &[f64]) -> Result<FloatTensor<Self>, Error> {
        let output = B::scale_columns(x.primitive, shift, factor)?;
        Ok(finish(ReverseScale.prepare::<C>([x.node]).compute_bound(), factor.to_vec(), output))
    }

    fn sum_squares(_: &FloatTensor<Self>) -> Result<f64, Error> {
        Err(Error::SecondOrder)
    }

    fn update(_: Adam, _: [FloatTensor<Self>; 3], _: FloatTensor<Self>) -> Result<[FloatTensor<Self>; 3], Error> {
        Err(Error::SecondOrder)
    }
}
