//! The CPU backend: its tensors are slices, and the kernel takes slices.

use burn_flex::Flex;
use burn_flex::FlexTensor;
use burn_tensor::{Element, TensorMetadata};
use bytemuck::Pod;
use ncde_kernels::Float;
use ncde_kernels::permutation::Input;

use super::{Arrays, Error, PermutationDiagonal, PermutationOps};
use crate::operation::{Gradients, dispatch, slice, tensor};

impl PermutationOps for Flex {
    fn permutation(spec: PermutationDiagonal, arrays: Arrays<Self>) -> Result<FlexTensor, Error> {
        dispatch!(arrays.dictionary, forward(spec, arrays))
    }

    fn permutation_backward(
        spec: PermutationDiagonal,
        arrays: Arrays<Self>,
        states: FlexTensor,
        gradient: FlexTensor,
    ) -> Result<Gradients<Self, 3>, Error> {
        dispatch!(arrays.dictionary, backward(spec, arrays, &states, &gradient))
    }
}

fn forward<T: Float + Element + Pod>(spec: PermutationDiagonal, arrays: Arrays<Flex>) -> Result<FlexTensor, Error> {
    let arrays = arrays.map(|x| x.to_contiguous());
    let input = input::<T>(&arrays)?;
    Ok(tensor(spec.forward(&input)?, [input.batch, input.length, spec.width()]))
}

fn backward<T: Float + Element + Pod>(
    spec: PermutationDiagonal,
    arrays: Arrays<Flex>,
    states: &FlexTensor,
    gradient: &FlexTensor,
) -> Result<Gradients<Flex, 3>, Error> {
    let arrays = arrays.map(|x| x.to_contiguous());
    let (states, gradient) = (states.to_contiguous(), gradient.to_contiguous());
    let of = spec.backward(&input::<T>(&arrays)?, slice("the states", &states)?, slice("the gradient", &gradient)?)?;
    Ok([
        Some(tensor(of.dictionary, arrays.dictionary.shape())),
        Some(tensor(of.control, arrays.control.shape())),
        Some(tensor(of.initial, arrays.initial.shape())),
    ])
}

fn input<T: Float + Element + Pod>(arrays: &Arrays<Flex>) -> Result<Input<'_, T>, Error> {
    let shape = arrays.control.shape();
    Ok(Input {
        batch: shape[0],
        length: shape[1],
        dictionary: slice("the dictionary", &arrays.dictionary)?,
        control: slice("the control", &arrays.control)?,
        initial: slice("the initial state", &arrays.initial)?,
        spans: arrays.timing.spans.as_deref(),
        lengths: arrays.timing.lengths.as_deref(),
    })
}
