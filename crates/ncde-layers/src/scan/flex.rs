//! The CPU backend: its tensors are slices, and the kernel takes slices.

use burn_flex::{Flex, FlexTensor};
use burn_tensor::{Element, TensorMetadata};
use bytemuck::Pod;
use ncde_kernels::Float;
use ncde_kernels::scan::{Input, Scan};

use super::{Arrays, Error, Numbers, ScanOps};
use crate::operation::{Gradients, dispatch, slice, tensor};

impl ScanOps for Flex {
    fn scan(numbers: Numbers, arrays: Arrays<Self>) -> Result<FlexTensor, Error> {
        dispatch!(arrays.b, forward(numbers, arrays))
    }

    fn scan_backward(
        numbers: Numbers,
        arrays: Arrays<Self>,
        states: FlexTensor,
        gradient: FlexTensor,
    ) -> Result<Gradients<Self, 3>, Error> {
        dispatch!(arrays.b, backward(numbers, arrays, &states, &gradient))
    }
}

fn forward<T: Float + Element + Pod>(numbers: Numbers, arrays: Arrays<Flex>) -> Result<FlexTensor, Error> {
    let arrays = arrays.map(|x| x.to_contiguous());
    let states = scan(numbers, &arrays).forward(&input::<T>(&arrays)?)?;
    Ok(tensor(states, arrays.b.shape()))
}

fn backward<T: Float + Element + Pod>(
    numbers: Numbers,
    arrays: Arrays<Flex>,
    states: &FlexTensor,
    gradient: &FlexTensor,
) -> Result<Gradients<Flex, 3>, Error> {
    let arrays = arrays.map(|x| x.to_contiguous());
    let (states, gradient) = (states.to_contiguous(), gradient.to_contiguous());
    let (states, gradient) = (slice("the states", &states)?, slice("the gradient", &gradient)?);
    let of = scan(numbers, &arrays).backward(&input::<T>(&arrays)?, states, gradient)?;
    Ok([
        Some(tensor(of.a, arrays.a.shape())),
        Some(tensor(of.b, arrays.b.shape())),
        Some(tensor(of.initial, arrays.initial.shape())),
    ])
}

fn scan(numbers: Numbers, arrays: &Arrays<Flex>) -> Scan {
    Scan::new(numbers, arrays.b.shape()[2] / numbers.parts())
}

fn input<T: Float + Element + Pod>(arrays: &Arrays<Flex>) -> Result<Input<'_, T>, Error> {
    let shape = arrays.b.shape();
    Ok(Input {
        batch: shape[0],
        length: shape[1],
        a: slice("a", &arrays.a)?,
        b: slice("b", &arrays.b)?,
        initial: slice("the initial state", &arrays.initial)?,
    })
}
