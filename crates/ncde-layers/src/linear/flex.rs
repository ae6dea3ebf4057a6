//! The CPU backend: its tensors are slices, and the kernel takes slices.

use std::sync::Arc;

use burn_flex::Flex;
use burn_flex::FlexTensor;
use burn_tensor::{Element, TensorMetadata};
use bytemuck::Pod;
use ncde_kernels::{Brackets, Commutators, Controls, Float, Input, Recurrence};

use super::{Arrays, Error, LinearOps, States};
use crate::operation::{Gradients, dispatch, slice, tensor};

impl LinearOps for Flex {
    fn recurrence(recurrence: &Arc<Recurrence>, arrays: Arrays<Self>, _: bool) -> Result<States<Self>, Error> {
        Ok(States { states: dispatch!(arrays.a, forward(recurrence, arrays))?, reusable: None })
    }

    fn recurrence_backward(
        recurrence: &Arc<Recurrence>,
        arrays: Arrays<Self>,
        states: States<Self>,
        gradient: FlexTensor,
    ) -> Result<Gradients<Self, 4>, Error> {
        dispatch!(arrays.a, backward(recurrence, arrays, &states.states, &gradient))
    }

    fn generators(commutators: Commutators, matrices: FlexTensor) -> Result<FlexTensor, Error> {
        dispatch!(matrices, generators(commutators, &matrices))
    }

    fn generators_backward(commutators: Commutators, matrices: FlexTensor, gradient: FlexTensor) -> Result<FlexTensor, Error> {
        dispatch!(matrices, generators_backward(commutators, &matrices, &gradient))
    }

    fn matrices(brackets: &Arc<Brackets>, a: FlexTensor) -> Result<FlexTensor, Error> {
        dispatch!(a, matrices(brackets, &a))
    }

    fn matrices_backward(brackets: &Arc<Brackets>, a: FlexTensor, gradient: FlexTensor) -> Result<FlexTensor, Error> {
        dispatch!(a, matrices_backward(brackets, &a, &gradient))
    }

    fn vectors(brackets: &Arc<Brackets>, a: FlexTensor, b: FlexTensor) -> Result<FlexTensor, Error> {
        dispatch!(a, vectors(brackets, &a, &b))
    }

    fn vectors_backward(
        brackets: &Arc<Brackets>,
        a: FlexTensor,
        b: FlexTensor,
        gradient: FlexTensor,
    ) -> Result<Gradients<Self, 2>, Error> {
        dispatch!(a, vectors_backward(brackets, &a, &b, &gradient))
    }
}

fn forward<T: Float + Element + Pod>(recurrence: &Recurrence, arrays: Arrays<Flex>) -> Result<FlexTensor, Error> {
    let arrays = arrays.map(|x| x.to_contiguous());
    let input = input::<T>(&arrays)?;
    let shape = [input.batch, input.length, input.columns, recurrence.field().hidden()];
    Ok(tensor(recurrence.forward(&input)?, shape))
}

fn backward<T: Float + Element + Pod>(
    recurrence: &Recurrence,
    arrays: Arrays<Flex>,
    states: &FlexTensor,
    gradient: &FlexTensor,
) -> Result<Gradients<Flex, 4>, Error> {
    let arrays = arrays.map(|x| x.to_contiguous());
    let (states, gradient) = (states.to_contiguous(), gradient.to_contiguous());
    let input = input::<T>(&arrays)?;
    let of = recurrence.backward(&input, slice::<T>("the states", &states)?, slice::<T>("the gradient", &gradient)?)?;
    Ok([
        Some(tensor(of.a, arrays.a.shape())),
        (recurrence.controls() == Controls::Variable).then(|| tensor(of.coefficients, arrays.coefficients.shape())),
        Some(tensor(of.initial, arrays.initial.shape())),
        of.affine.map(|affine| tensor(affine, states.shape())),
    ])
}

fn generators<T: Float + Element + Pod>(commutators: Commutators, matrices: &FlexTensor) -> Result<FlexTensor, Error> {
    let (matrices, shape) = (matrices.to_contiguous(), matrices.shape());
    let omega = commutators.forward(shape[2], slice::<T>("the matrices of increments", &matrices)?)?;
    Ok(tensor(omega, [shape[0], shape[2]]))
}

fn generators_backward<T: Float + Element + Pod>(
    commutators: Commutators,
    matrices: &FlexTensor,
    gradient: &FlexTensor,
) -> Result<FlexTensor, Error> {
    let (matrices, gradient) = (matrices.to_contiguous(), gradient.to_contiguous());
    let shape = matrices.shape();
    let (matrices, gradient) = (slice::<T>("the matrices of increments", &matrices)?, slice::<T>("the gradient", &gradient)?);
    Ok(tensor(commutators.backward(shape[2], matrices, gradient)?, shape))
}

fn matrices<T: Float + Element + Pod>(brackets: &Brackets, a: &FlexTensor) -> Result<FlexTensor, Error> {
    let a = a.to_contiguous();
    let values = brackets.matrices(slice::<T>("A", &a)?)?;
    let size = values.len();
    Ok(tensor(values, [size]))
}

fn matrices_backward<T: Float + Element + Pod>(
    brackets: &Brackets,
    a: &FlexTensor,
    gradient: &FlexTensor,
) -> Result<FlexTensor, Error> {
    let (a, gradient) = (a.to_contiguous(), gradient.to_contiguous());
    let values = brackets.matrices_backward(slice::<T>("A", &a)?, slice::<T>("the gradient", &gradient)?)?;
    Ok(tensor(values, a.shape()))
}

fn vectors<T: Float + Element + Pod>(brackets: &Brackets, a: &FlexTensor, b: &FlexTensor) -> Result<FlexTensor, Error> {
    let (a, b) = (a.to_contiguous(), b.to_contiguous());
    let hidden = b.shape()[1];
    let values = brackets.vectors(slice::<T>("A", &a)?, slice::<T>("B", &b)?)?;
    Ok(tensor(values, [brackets.vector_places().len(), hidden]))
}

fn vectors_backward<T: Float + Element + Pod>(
    brackets: &Brackets,
    a: &FlexTensor,
    b: &FlexTensor,
    gradient: &FlexTensor,
) -> Result<Gradients<Flex, 2>, Error> {
    let (a, b, gradient) = (a.to_contiguous(), b.to_contiguous(), gradient.to_contiguous());
    let (da, db) =
        brackets.vectors_backward(slice::<T>("A", &a)?, slice::<T>("B", &b)?, slice::<T>("the gradient", &gradient)?)?;
    Ok([Some(tensor(da, a.shape())), Some(tensor(db, b.shape()))])
}

fn input<T: Float + Element + Pod>(arrays: &Arrays<Flex>) -> Result<Input<'_, T>, Error> {
    let (coefficients, initial) = (arrays.coefficients.shape(), arrays.initial.shape());
    Ok(Input {
        batch: coefficients[0],
        length: coefficients[1],
        columns: initial[1],
        a: slice("A", &arrays.a)?,
        coefficients: slice("the coefficients", &arrays.coefficients)?,
        initial: slice("the initial state", &arrays.initial)?,
        affine: arrays.affine.as_ref().map(|affine| slice("the affine input", affine)).transpose()?,
        lengths: arrays.lengths.as_deref(),
    })
}
