//! Any backend under `Autodiff`: the forward pass is the backend's, the reverse pass ours.

use burn_autodiff::Autodiff;
use burn_autodiff::checkpoint::base::Checkpointer;
use burn_autodiff::checkpoint::strategy::CheckpointStrategy;
use burn_autodiff::grads::Gradients;
use burn_autodiff::ops::{Backward, Ops, unary};
use burn_tensor::TensorMetadata;
use burn_tensor::backend::AutodiffBackend;
use burn_tensor::ops::FloatTensor;
use ncde_runtime::layer::Function;
use ncde_runtime::random::Stream;

use super::{Adam, DenseOps, Error, Factor, NormGradients, Seen, Updated};
use crate::operation::{OrNan, finish, nan_like, register};

/// With rows and matrix alone, or with a bias too.
#[derive(Debug)]
struct ReverseAffine;

impl<B: DenseOps, const N: usize> Backward<B, N> for ReverseAffine {
    type State = (FloatTensor<B>, FloatTensor<B>);

    fn backward(self, ops: Ops<Self::State, N>, grads: &mut Gradients, _: &mut Checkpointer) {
        let (x, weight) = ops.state;
        let dy = grads.consume::<B>(&ops.node);
        // Rows of data have no gradient.
        let wanted = [0, 1, 2].map(|i| ops.parents.get(i).is_some_and(Option::is_some));
        let of = B::affine_backward(x.clone(), weight.clone(), dy.clone(), wanted)
            .or_nan(|| [x, weight, dy].map(|own| Some(nan_like::<B>(own))));
        register::<B>(ops.parents.map(|node| node.map(|node| node.id)), of, grads);
    }
}

#[derive(Debug)]
struct ReverseActivation;

impl<B: DenseOps> Backward<B, 1> for ReverseActivation {
    type State = (Function, FloatTensor<B>);

    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let (function, x) = ops.state;
        unary::<B, _>(ops.parents, ops.node, grads, |dy| {
            B::activation_backward(function, x.clone(), dy).or_nan(|| nan_like::<B>(x))
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
        let of = B::norm_rows_backward(x.clone(), gain.clone(), dy).or_nan(|| NormGradients {
            x: nan_like::<B>(x),
            affine: gain.map(|gain| [nan_like::<B>(gain.clone()), nan_like::<B>(gain)]),
        });
        let [gain, offset] = of.affine.map_or([None, None], |pair| pair.map(Some));
        register::<B>(ops.parents.map(|node| node.map(|node| node.id)), [Some(of.x), gain, offset], grads);
    }
}

/// By columns.
#[derive(Debug)]
struct ReverseColumns;

impl<B: DenseOps> Backward<B, 1> for ReverseColumns {
    type State = FloatTensor<B>;

    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let factor = ops.state;
        unary::<B, _>(ops.parents, ops.node, grads, |dy| B::scale_columns(dy.clone(), None, factor).or_nan(|| nan_like::<B>(dy)));
    }
}

#[derive(Debug)]
struct ReverseScale;

impl<B: DenseOps> Backward<B, 1> for ReverseScale {
    type State = (f64, bool);

    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let (factor, has_ahead) = ops.state;
        unary::<B, _>(ops.parents, ops.node, grads, |dy| {
            B::scaled_backward(dy.clone(), factor, has_ahead).or_nan(|| nan_like::<B>(dy))
        });
    }
}

#[derive(Debug)]
struct ReverseSome;

impl<B: DenseOps> Backward<B, 1> for ReverseSome {
    type State = (usize, usize);

    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let (first, places) = ops.state;
        unary::<B, _>(ops.parents, ops.node, grads, |dy| {
            B::some_rows_backward(dy.clone(), first, places).or_nan(|| nan_like::<B>(dy))
        });
    }
}

#[derive(Debug)]
struct ReverseJoin;

impl<B: DenseOps> Backward<B, 2> for ReverseJoin {
    type State = FloatTensor<B>;

    fn backward(self, ops: Ops<Self::State, 2>, grads: &mut Gradients, _: &mut Checkpointer) {
        let dy = grads.consume::<B>(&ops.node);
        let of = B::join_rows_backward(dy.clone()).or_nan(|| [nan_like::<B>(ops.state), nan_like::<B>(dy)]);
        register::<B>(ops.parents.map(|node| node.map(|node| node.id)), of.map(Some), grads);
    }
}

#[derive(Debug)]
struct ReverseMean;

impl<B: DenseOps> Backward<B, 1> for ReverseMean {
    type State = (Vec<usize>, usize);

    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let (lengths, places) = ops.state;
        unary::<B, _>(ops.parents, ops.node, grads, |dy| {
            B::mean_rows_backward(dy.clone(), &lengths, places).or_nan(|| nan_like::<B>(dy))
        });
    }
}

#[derive(Debug)]
struct ReverseLoss;

impl<B: DenseOps> Backward<B, 1> for ReverseLoss {
    type State = FloatTensor<B>;

    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let gradient = ops.state;
        unary::<B, _>(ops.parents, ops.node, grads, |of_loss| {
            let ones = vec![1; gradient.shape().num_dims()];
            B::float_mul(gradient, B::float_reshape(of_loss, ones.into()))
        });
    }
}

/// The mask is made again: it is that of the forward pass, whatever it is applied to.
#[derive(Debug)]
struct ReverseDropout;

impl<B: DenseOps> Backward<B, 1> for ReverseDropout {
    type State = (Stream, f64);

    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let (stream, rate) = ops.state;
        unary::<B, _>(ops.parents, ops.node, grads, |dy| B::dropout(dy.clone(), stream, rate).or_nan(|| nan_like::<B>(dy)));
    }
}

#[derive(Debug)]
struct ReverseLookup;

impl<B: DenseOps> Backward<B, 1> for ReverseLookup {
    type State = (FloatTensor<B>, usize);

    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let (tokens, vocabulary) = ops.state;
        unary::<B, _>(ops.parents, ops.node, grads, |dy| {
            B::lookup_backward(tokens, dy.clone(), vocabulary).or_nan(|| nan_like::<B>(dy))
        });
    }
}

impl<B: DenseOps, C: CheckpointStrategy> DenseOps for Autodiff<B, C> {
    fn affine(
        x: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: Option<FloatTensor<Self>>,
    ) -> Result<FloatTensor<Self>, Error> {
        let kept = (x.primitive.clone(), weight.primitive.clone());
        let (bias, node) = bias.map(|bias| (bias.primitive, bias.node)).unzip();
        let output = B::affine(x.primitive, weight.primitive, bias)?;
        Ok(match node {
            None => finish(ReverseAffine.prepare::<C>([x.node, weight.node]).compute_bound(), kept, output),
            Some(bias) => finish(ReverseAffine.prepare::<C>([x.node, weight.node, bias]).compute_bound(), kept, output),
        })
    }

    fn affine_backward(
        _: FloatTensor<Self>,
        _: FloatTensor<Self>,
        _: FloatTensor<Self>,
        _: [bool; 3],
    ) -> Result<[Option<FloatTensor<Self>>; 3], Error> {
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

    fn scale_columns(
        x: FloatTensor<Self>,
        shift: Option<FloatTensor<Self>>,
        factor: FloatTensor<Self>,
    ) -> Result<FloatTensor<Self>, Error> {
        let output = B::scale_columns(x.primitive, shift.map(|shift| shift.primitive), factor.primitive.clone())?;
        Ok(finish(ReverseColumns.prepare::<C>([x.node]).compute_bound(), factor.primitive, output))
    }

    fn scaled(x: FloatTensor<Self>, factor: f64, ahead: Option<f64>) -> Result<FloatTensor<Self>, Error> {
        let output = B::scaled(x.primitive, factor, ahead)?;
        Ok(finish(ReverseScale.prepare::<C>([x.node]).compute_bound(), (factor, ahead.is_some()), output))
    }

    fn scaled_backward(_: FloatTensor<Self>, _: f64, _: bool) -> Result<FloatTensor<Self>, Error> {
        Err(Error::SecondOrder)
    }

    fn some_rows(x: FloatTensor<Self>, first: usize, count: usize) -> Result<FloatTensor<Self>, Error> {
        let kept = (first, x.primitive.shape()[1]);
        let output = B::some_rows(x.primitive, first, count)?;
        Ok(finish(ReverseSome.prepare::<C>([x.node]).compute_bound(), kept, output))
    }

    fn some_rows_backward(_: FloatTensor<Self>, _: usize, _: usize) -> Result<FloatTensor<Self>, Error> {
        Err(Error::SecondOrder)
    }

    fn join_rows(first: FloatTensor<Self>, rows: FloatTensor<Self>) -> Result<FloatTensor<Self>, Error> {
        let kept = first.primitive.clone();
        let output = B::join_rows(first.primitive, rows.primitive)?;
        Ok(finish(ReverseJoin.prepare::<C>([first.node, rows.node]).compute_bound(), kept, output))
    }

    fn join_rows_backward(_: FloatTensor<Self>) -> Result<[FloatTensor<Self>; 2], Error> {
        Err(Error::SecondOrder)
    }

    fn mean_rows(x: FloatTensor<Self>, lengths: &[usize]) -> Result<FloatTensor<Self>, Error> {
        let kept = (lengths.to_vec(), x.primitive.shape()[1]);
        let output = B::mean_rows(x.primitive, lengths)?;
        Ok(finish(ReverseMean.prepare::<C>([x.node]).compute_bound(), kept, output))
    }

    fn mean_rows_backward(_: FloatTensor<Self>, _: &[usize], _: usize) -> Result<FloatTensor<Self>, Error> {
        Err(Error::SecondOrder)
    }

    fn dropout(x: FloatTensor<Self>, stream: Stream, rate: f64) -> Result<FloatTensor<Self>, Error> {
        let output = B::dropout(x.primitive, stream, rate)?;
        Ok(finish(ReverseDropout.prepare::<C>([x.node]).compute_bound(), (stream, rate), output))
    }

    fn lookup(tokens: FloatTensor<Self>, table: FloatTensor<Self>) -> Result<FloatTensor<Self>, Error> {
        let kept = (tokens.primitive.clone(), table.primitive.shape()[0]);
        let output = B::lookup(tokens.primitive, table.primitive)?;
        Ok(finish(ReverseLookup.prepare::<C>([table.node]).compute_bound(), kept, output))
    }

    fn lookup_backward(_: FloatTensor<Self>, _: FloatTensor<Self>, _: usize) -> Result<FloatTensor<Self>, Error> {
        Err(Error::SecondOrder)
    }

    /// The gradient is known with the loss, and is not itself differentiated.
    fn class_loss(
        z: FloatTensor<Self>,
        labels: [FloatTensor<Self>; 2],
        floor: f64,
        share: f64,
    ) -> Result<[FloatTensor<Self>; 2], Error> {
        let [loss, gradient] = B::class_loss(z.primitive, labels.map(|own| own.primitive), floor, share)?;
        let kept = gradient.clone();
        let loss = finish(ReverseLoss.prepare::<C>([z.node]).compute_bound(), kept, loss);
        Ok([loss, <Self as AutodiffBackend>::from_inner(gradient)])
    }

    fn outcome(_: FloatTensor<Self>, _: &[FloatTensor<Self>], _: f64) -> Result<(Seen, Factor<Self>), Error> {
        Err(Error::SecondOrder)
    }

    fn update(_: Adam, _: &Factor<Self>, _: Vec<(Updated<Self>, FloatTensor<Self>)>) -> Result<Vec<Updated<Self>>, Error> {
        Err(Error::SecondOrder)
    }
}
