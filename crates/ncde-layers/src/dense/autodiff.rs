//! Any backend under `Autodiff`: the forward pass is the backend's, the reverse pass ours.

use burn_autodiff::Autodiff;
use burn_autodiff::checkpoint::strategy::CheckpointStrategy;
use burn_tensor::TensorMetadata;
use burn_tensor::backend::AutodiffBackend;
use burn_tensor::ops::FloatTensor;
use ncde_runtime::layer::Function;
use ncde_runtime::random::Stream;

use super::{Adam, DenseOps, Error, Factor, Seen, Updated};
use crate::operation::{differentiable, differentiable_unary};

impl<B: DenseOps, C: CheckpointStrategy> DenseOps for Autodiff<B, C> {
    fn affine(
        x: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: Option<FloatTensor<Self>>,
    ) -> Result<FloatTensor<Self>, Error> {
        let Some(bias) = bias else {
            return differentiable::<_, C, _, _>([x, weight], |[x, weight], _| {
                let y = B::affine(x.clone(), weight.clone(), None)?;
                Ok((y, |dy, [dx, dw]: [bool; 2]| {
                    let [dx, dw, _] = B::affine_backward(x, weight, dy, [dx, dw, false])?;
                    Ok([dx, dw])
                }))
            });
        };
        differentiable::<_, C, _, _>([x, weight, bias], |[x, weight, bias], _| {
            let y = B::affine(x.clone(), weight.clone(), Some(bias))?;
            Ok((y, |dy, wanted| B::affine_backward(x, weight, dy, wanted)))
        })
    }

    fn activation(function: Function, x: FloatTensor<Self>) -> Result<FloatTensor<Self>, Error> {
        differentiable_unary::<_, C, _>(x, |x| {
            let y = B::activation(function, x.clone())?;
            Ok((y, move |dy| B::activation_backward(function, x, dy)))
        })
    }

    fn norm_rows(x: FloatTensor<Self>, affine: Option<[FloatTensor<Self>; 2]>) -> Result<FloatTensor<Self>, Error> {
        let Some([gain, offset]) = affine else {
            return differentiable::<_, C, _, _>([x], |[x], _| {
                let y = B::norm_rows(x.clone(), None)?;
                Ok((y, |dy, _: [bool; 1]| {
                    let [dx, ..] = B::norm_rows_backward(x, None, dy)?;
                    Ok([dx])
                }))
            });
        };
        differentiable::<_, C, _, _>([x, gain, offset], |[x, gain, offset], _| {
            let y = B::norm_rows(x.clone(), Some([gain.clone(), offset]))?;
            Ok((y, |dy, _| B::norm_rows_backward(x, Some(gain), dy)))
        })
    }

    fn scale_columns(
        x: FloatTensor<Self>,
        shift: Option<FloatTensor<Self>>,
        factor: FloatTensor<Self>,
    ) -> Result<FloatTensor<Self>, Error> {
        differentiable_unary::<_, C, _>(x, |x| {
            let y = B::scale_columns(x, shift.map(|shift| shift.primitive), factor.primitive.clone())?;
            Ok((y, |dy| B::scale_columns(dy, None, factor.primitive)))
        })
    }

    fn scaled(x: FloatTensor<Self>, factor: f64, ahead: Option<f64>) -> Result<FloatTensor<Self>, Error> {
        differentiable_unary::<_, C, _>(x, |x| {
            let y = B::scaled(x, factor, ahead)?;
            Ok((y, move |dy| B::scaled_backward(dy, factor, ahead.is_some())))
        })
    }

    fn some_rows(x: FloatTensor<Self>, first: usize, count: usize) -> Result<FloatTensor<Self>, Error> {
        differentiable_unary::<_, C, _>(x, |x| {
            let places = x.shape()[1];
            let y = B::some_rows(x, first, count)?;
            Ok((y, move |dy| B::some_rows_backward(dy, first, places)))
        })
    }

    fn join_rows(first: FloatTensor<Self>, rows: FloatTensor<Self>) -> Result<FloatTensor<Self>, Error> {
        differentiable::<_, C, _, _>([first, rows], |[first, rows], _| {
            let y = B::join_rows(first, rows)?;
            Ok((y, |dy, _| B::join_rows_backward(dy)))
        })
    }

    fn mean_rows(x: FloatTensor<Self>, lengths: &[usize]) -> Result<FloatTensor<Self>, Error> {
        differentiable_unary::<_, C, _>(x, |x| {
            let (saved_lengths, places) = (lengths.to_vec(), x.shape()[1]);
            let y = B::mean_rows(x, lengths)?;
            Ok((y, move |dy| B::mean_rows_backward(dy, &saved_lengths, places)))
        })
    }

    /// The reverse pass makes the mask of the forward pass again.
    fn dropout(x: FloatTensor<Self>, stream: Stream, rate: f64) -> Result<FloatTensor<Self>, Error> {
        differentiable_unary::<_, C, _>(x, |x| {
            let y = B::dropout(x, stream, rate)?;
            Ok((y, move |dy| B::dropout(dy, stream, rate)))
        })
    }

    fn lookup(tokens: FloatTensor<Self>, table: FloatTensor<Self>) -> Result<FloatTensor<Self>, Error> {
        differentiable_unary::<_, C, _>(table, |table| {
            let (tokens, vocabulary) = (tokens.primitive, table.shape()[0]);
            let y = B::lookup(tokens.clone(), table)?;
            Ok((y, move |dy| B::lookup_backward(tokens, dy, vocabulary)))
        })
    }

    /// The gradient is known with the loss, and is not itself differentiated.
    fn class_loss(
        z: FloatTensor<Self>,
        labels: [FloatTensor<Self>; 2],
        floor: f64,
        share: f64,
    ) -> Result<[FloatTensor<Self>; 2], Error> {
        let [loss, gradient] = B::class_loss(z.primitive.clone(), labels.map(|label| label.primitive), floor, share)?;
        let saved = gradient.clone();
        let loss = differentiable_unary::<_, C, _>(z, |_| {
            Ok((loss, |of_loss| {
                let ones = vec![1; saved.shape().num_dims()];
                Ok(B::float_mul(saved, B::float_reshape(of_loss, ones.into())))
            }))
        })?;
        Ok([loss, <Self as AutodiffBackend>::from_inner(gradient)])
    }

    fn outcome(_: FloatTensor<Self>, _: &[FloatTensor<Self>], _: f64) -> Result<(Seen, Factor<Self>), Error> {
        Err(Error::SecondOrder)
    }

    fn update(_: Adam, _: &Factor<Self>, _: Vec<(Updated<Self>, FloatTensor<Self>)>) -> Result<Vec<Updated<Self>>, Error> {
        Err(Error::SecondOrder)
    }
}
