//! Any backend under `Autodiff`: the forward pass is the backend's, the reverse pass ours.

use std::sync::Arc;

use burn_autodiff::Autodiff;
use burn_autodiff::checkpoint::strategy::CheckpointStrategy;
use burn_tensor::ops::FloatTensor;
use ncde_kernels::{Brackets, Commutators, Controls, Recurrence};

use super::{Arrays, Error, LinearOps, States};
use crate::operation::{Gradients, differentiable, differentiable_unary};

impl<B: LinearOps, C: CheckpointStrategy> LinearOps for Autodiff<B, C> {
    fn recurrence(recurrence: &Arc<Recurrence>, arrays: Arrays<Self>, _: bool) -> Result<States<Self>, Error> {
        let Arrays { a, coefficients, initial, affine, lengths } = arrays;
        let states = match affine {
            None => differentiable::<_, C, _, _>([a, coefficients, initial], |[a, coefficients, initial], _| {
                let arrays = Arrays { a, coefficients, initial, affine: None, lengths };
                let (states, reverse) = forward::<B>(recurrence, arrays)?;
                Ok((states, |gradient, [_, of_coefficients, _]: [bool; 3]| {
                    let [a, coefficients, initial, _] = reverse(gradient, of_coefficients)?;
                    Ok([a, coefficients, initial])
                }))
            }),
            Some(affine) => {
                differentiable::<_, C, _, _>([a, coefficients, initial, affine], |[a, coefficients, initial, affine], _| {
                    let arrays = Arrays { a, coefficients, initial, affine: Some(affine), lengths };
                    let (states, reverse) = forward::<B>(recurrence, arrays)?;
                    Ok((states, |gradient, wanted: [bool; 4]| reverse(gradient, wanted[1])))
                })
            }
        };
        Ok(States { states: states?, reusable: None })
    }

    fn generators(commutators: Commutators, matrices: FloatTensor<Self>) -> Result<FloatTensor<Self>, Error> {
        differentiable_unary::<_, C, _>(matrices, |matrices| {
            let omega = B::generators(commutators, matrices.clone())?;
            Ok((omega, move |gradient| B::generators_backward(commutators, matrices, gradient)))
        })
    }

    fn matrices(brackets: &Arc<Brackets>, a: FloatTensor<Self>) -> Result<FloatTensor<Self>, Error> {
        differentiable_unary::<_, C, _>(a, |a| {
            let (brackets, matrices) = (brackets.clone(), B::matrices(brackets, a.clone())?);
            Ok((matrices, move |gradient| B::matrices_backward(&brackets, a, gradient)))
        })
    }

    fn vectors(brackets: &Arc<Brackets>, a: FloatTensor<Self>, b: FloatTensor<Self>) -> Result<FloatTensor<Self>, Error> {
        differentiable::<_, C, _, _>([a, b], |[a, b], _| {
            let (brackets, vectors) = (brackets.clone(), B::vectors(brackets, a.clone(), b.clone())?);
            Ok((vectors, move |gradient, _| B::vectors_backward(&brackets, a, b, gradient)))
        })
    }
}

/// The states, and the reverse pass, which is told whether a gradient in the coefficients is wanted: often they are data.
#[expect(clippy::type_complexity, reason = "a function of a gradient")]
fn forward<B: LinearOps>(
    recurrence: &Arc<Recurrence>,
    arrays: Arrays<B>,
) -> Result<(FloatTensor<B>, impl FnOnce(FloatTensor<B>, bool) -> Result<Gradients<B, 4>, Error> + Clone + Send + 'static), Error>
{
    let (recurrence, states) = (recurrence.clone(), B::recurrence(recurrence, arrays.clone(), true)?);
    Ok((states.states.clone(), move |gradient, of_coefficients| {
        let controls = if of_coefficients { Controls::Variable } else { Controls::Constant };
        let recurrence = Arc::new(Recurrence::clone(&recurrence).with_controls(controls));
        B::recurrence_backward(&recurrence, arrays, states, gradient)
    }))
}
