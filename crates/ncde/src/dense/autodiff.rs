//! Any backend under `Autodiff`: the forward pass is the backend's, the reverse pass ours.

use burn::backend::Autodiff;
use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind, unary};
use burn::tensor::ops::FloatTensor;
use ncde_runtime::layer::Function;

use super::{Adam, DenseOps, Error, NormGradients};
use crate::slices::{register, unknown};

#[derive(Debug)]
struct ReverseAffine;

impl<B: DenseOps> Backward<B, 3> for ReverseAffine {
    type State = (FloatTensor<B>, FloatTensor<B>);

    fn backward(self, ops: Ops<Self::State, 3>, grads: &mut Gradients, _: &mut Checkpointer) {
        let (x, weight) = ops.state;
        let dy = grads.consume::<B>(&ops.node);
        let [to_x, to_weight, to_bias] = ops.parents.map(|parent| parent.map(|node| node.id));
        // Rows of data have no gradient.
        let dx = to_x.is_some().then(|| B::float_matmul(dy.clone(), B::float_transpose(weight)));
        register::<B>(to_x, dx, grads);
        register::<B>(to_weight, Some(B::float_matmul(B::float_transpose(x), dy.clone())), grads);
        register::<B>(to_bias, Some(B::sum_rows(dy.clone()).unwrap_or_else(|_| unknown::<B>(dy))), grads);
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

#[derive(Debug)]
struct ReverseNorm;

impl<B: DenseOps> Backward<B, 1> for ReverseNorm {
    type State = FloatTensor<B>;

    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let x = ops.state;
        unary::<B, _>(ops.parents, ops.node, grads, |dy| {
            B::norm_rows_backward(x.clone(), None, dy).map_or_else(|_| unknown::<B>(x), |of| of.x)
        });
    }
}

#[derive(Debug)]
struct ReverseAffineNorm;

impl<B: DenseOps> Backward<B, 3> for ReverseAffineNorm {
    type State = (FloatTensor<B>, FloatTensor<B>);

    fn backward(self, ops: Ops<Self::State, 3>, grads: &mut Gradients, _: &mut Checkpointer) {
        let (x, gain) = ops.state;
        let dy = grads.consume::<B>(&ops.node);
        let of = B::norm_rows_backward(x.clone(), Some(gain.clone()), dy).unwrap_or_else(|_| NormGradients {
            x: unknown::<B>(x),
            affine: Some([unknown::<B>(gain.clone()), unknown::<B>(gain)]),
        });
        let [gain, offset] = of.affine.map_or([None, None], |pair| pair.map(Some));
        for (parent, gradient) in ops.parents.into_iter().zip([Some(of.x), gain, offset]) {
            register::<B>(parent.map(|node| node.id), gradient, grads);
        }
    }
}

#[derive(Debug)]
struct ReverseScale;

impl<B: DenseOps> Backward<B, 1> for ReverseScale {
    type State = Vec<f32>;

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
        Ok(match ReverseAffine.prepare::<C>([x.node, weight.node, bias.node]).compute_bound().stateful() {
            OpsKind::Tracked(prep) => prep.finish((x.primitive, weight.primitive), output),
            OpsKind::UnTracked(prep) => prep.finish(output),
        })
    }

    fn sum_rows(_: FloatTensor<Self>) -> Result<FloatTensor<Self>, Error> {
        Err(Error::SecondOrder)
    }

    fn activation(function: Function, x: FloatTensor<Self>) -> Result<FloatTensor<Self>, Error> {
        let output = B::activation(function, x.primitive.clone())?;
        Ok(match ReverseActivation.prepare::<C>([x.node]).compute_bound().stateful() {
            OpsKind::Tracked(prep) => prep.finish((function, x.primitive), output),
            OpsKind::UnTracked(prep) => prep.finish(output),
        })
    }

    fn activation_backward(_: Function, _: FloatTensor<Self>, _: FloatTensor<Self>) -> Result<FloatTensor<Self>, Error> {
        Err(Error::SecondOrder)
    }

    fn norm_rows(x: FloatTensor<Self>, affine: Option<[FloatTensor<Self>; 2]>) -> Result<FloatTensor<Self>, Error> {
        let Some([gain, offset]) = affine else {
            let output = B::norm_rows(x.primitive.clone(), None)?;
            return Ok(match ReverseNorm.prepare::<C>([x.node]).compute_bound().stateful() {
                OpsKind::Tracked(prep) => prep.finish(x.primitive, output),
                OpsKind::UnTracked(prep) => prep.finish(output),
            });
        };
        let output = B::norm_rows(x.primitive.clone(), Some([gain.primitive.clone(), offset.primitive]))?;
        Ok(match ReverseAffineNorm.prepare::<C>([x.node, gain.node, offset.node]).compute_bound().stateful() {
            OpsKind::Tracked(prep) => prep.finish((x.primitive, gain.primitive), output),
            OpsKind::UnTracked(prep) => prep.finish(output),
        })
    }

    fn norm_rows_backward(
        _: FloatTensor<Self>,
        _: Option<FloatTensor<Self>>,
        _: FloatTensor<Self>,
    ) -> Result<NormGradients<Self>, Error> {
        Err(Error::SecondOrder)
    }

    fn scale_columns(x: FloatTensor<Self>, shift: &[f32], factor: &[f32]) -> Result<FloatTensor<Self>, Error> {
        let output = B::scale_columns(x.primitive, shift, factor)?;
        Ok(match ReverseScale.prepare::<C>([x.node]).compute_bound().stateful() {
            OpsKind::Tracked(prep) => prep.finish(factor.to_vec(), output),
            OpsKind::UnTracked(prep) => prep.finish(output),
        })
    }

    fn sum_squares(_: &FloatTensor<Self>) -> Result<f64, Error> {
        Err(Error::SecondOrder)
    }

    fn update(_: Adam, _: [FloatTensor<Self>; 3], _: FloatTensor<Self>) -> Result<[FloatTensor<Self>; 3], Error> {
        Err(Error::SecondOrder)
    }
}
