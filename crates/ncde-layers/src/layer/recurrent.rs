//! Layers of recurrent cells: what their batch forms have in common. The cells are in [`ncde_kernels::recurrent`].
//!
//! Memory: `O(batch x rows x states)`, states and gates are stored for the reverse pass.

use std::sync::Arc;

use burn_tensor::Tensor;
#[cfg(feature = "gpu")]
use cubecl::Runtime;
#[cfg(feature = "gpu")]
use ncde_gpu::{DeviceKernel, Gpu, recurrent as device};
use ncde_kernels::Float;
#[cfg(feature = "gpu")]
use ncde_kernels::recurrent::Cell;
use ncde_kernels::recurrent::{Gradients, Input, Recurrent};

use super::{Error, LayerBackend, LayerWeights, Rows};
use crate::hosted::{HostedKernel, Made, hosted};

/// The cells of series of so many steps, some of which stand aside.
#[derive(Debug, Clone)]
struct Sequence {
    kernel: Recurrent,
    shape: [usize; 2],
    aside: Option<Arc<[bool]>>,
}

impl Sequence {
    fn input<'a, T>(&'a self, [x, w, u]: [&'a [T]; 3]) -> Input<'a, T> {
        let [batch, length] = self.shape;
        Input { batch, length, x, w, u, aside: self.aside.as_deref() }
    }
}

impl HostedKernel<3> for Sequence {
    const NAME: &'static str = "recurrent cells";
    const INPUTS: [&'static str; 3] = ["the rows", "the input weights", "the recurrent weights"];

    fn forward<T: Float>(&self, inputs: [&[T]; 3]) -> Result<Made<T>, ncde_kernels::Error> {
        let outputs = self.kernel.forward(&self.input(inputs))?;
        Ok((outputs.h, [&self.shape[..], &[self.kernel.hidden()]].concat(), outputs.stored))
    }

    fn backward<T: Float>(&self, inputs: [&[T]; 3], stored: &[T], gradient: &[T]) -> Result<[Vec<T>; 3], ncde_kernels::Error> {
        let Gradients { x, w, u } = self.kernel.backward(&self.input(inputs), stored, gradient)?;
        Ok([x, w, u])
    }

    /// Of one head, where no step stands aside.
    #[cfg(feature = "gpu")]
    fn on_device<R: Runtime>(&self, gpu: &Gpu<R>) -> Option<(impl DeviceKernel<3>, [usize; 2])> {
        let Recurrent { cell, inputs, heads, size } = self.kernel;
        let kernel = device::Recurrent { gru: cell == Cell::Gru, inputs, hidden: size };
        let has_form = cell != Cell::Slstm && heads == 1 && self.aside.is_none();
        (has_form && kernel.fits(gpu)).then_some((kernel, self.shape))
    }
}

/// The state `h` after each row, `[batch, rows, H]`, from rows, the weights `input`, `[n, G H]`, and `bias`, `[G H]`, and those of states.
pub(super) fn states<B: LayerBackend, const D: usize>(
    kernel: Recurrent,
    rows: &Rows<B>,
    x: Tensor<B, 3>,
    recurrent: Tensor<B, D>,
    weights: &LayerWeights<'_, B>,
) -> Result<Tensor<B, 3>, Error> {
    let [batch, count, _] = x.dims();
    // Branches stand aside, right behind the rows that they follow.
    let order = rows.places.in_order();
    let x = order.as_ref().map_or(x.clone(), |order| order.sorted(x));
    let (input, bias) = (weights.weight::<2>("input")?, weights.weight::<1>("bias")?);
    let sequence = Sequence { kernel, shape: [batch, count], aside: order.as_ref().map(|order| order.aside.clone().into()) };
    let inputs = [flat(x), flat(Tensor::cat(vec![input, bias.unsqueeze()], 0)), flat(recurrent)];
    let h = hosted::<B, _, 3, 3>(sequence, inputs)?;
    Ok(order.as_ref().map_or(h.clone(), |order| order.unsorted(h)))
}

fn flat<B: LayerBackend, const D: usize>(x: Tensor<B, D>) -> Tensor<B, 1> {
    let numbers = x.shape().num_elements();
    x.reshape([numbers])
}
