//! What layers do with rows beside their recurrences, on the host: passes of [`ncde_kernels::rowwise`]. A device does the same by operations of tensors, which are fast there.

use burn_tensor::Tensor;
use ncde_kernels::Float;
use ncde_kernels::rowwise::{Operation, Rowwise};

use super::{Error, LayerBackend};
use crate::hosted::{HostedKernel, Made, hosted};

#[derive(Debug, Clone)]
struct Pass(Rowwise);

impl HostedKernel<2> for Pass {
    const NAME: &'static str = "operations on rows";
    const INPUTS: [&'static str; 2] = ["the rows", "the second array"];

    fn forward<T: Float>(&self, [x, other]: [&[T]; 2]) -> Result<Made<T>, ncde_kernels::Error> {
        let Rowwise { batch, length, width, .. } = self.0;
        Ok((self.0.forward(x, other)?, vec![batch, length, width], Vec::new()))
    }

    fn backward<T: Float>(&self, [x, other]: [&[T]; 2], _: &[T], gradient: &[T]) -> Result<[Vec<T>; 2], ncde_kernels::Error> {
        self.0.backward(x, other, gradient)
    }
}

/// Rows and a second array, put together in one pass.
pub(super) fn pass<B: LayerBackend, const D: usize>(
    operation: Operation,
    x: Tensor<B, 3>,
    other: Tensor<B, D>,
) -> Result<Tensor<B, 3>, Error> {
    let ([batch, length, width], others) = (x.dims(), other.shape().num_elements());
    let pass = Pass(Rowwise { operation, batch, length, width });
    Ok(hosted(pass, [x.reshape([batch * length * width]), other.reshape([others])])?)
}
