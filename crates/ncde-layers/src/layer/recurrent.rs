//! Layers of recurrent cells: what their batch forms have in common. The cells are in [`ncde_kernels::recurrent`].
//!
//! Memory: `O(batch x rows x states)`, gates are computed again in the reverse pass.

use std::sync::Arc;

use burn_tensor::Tensor;
use ncde_kernels::Float;
use ncde_kernels::recurrent::{Gradients, Input, Recurrent};

use super::{Error, LayerBackend, Rows};
use crate::hosted::{HostedKernel, Made, hosted};

/// The cells of series of so many steps, some of which stand aside.
#[derive(Debug, Clone)]
struct Sequence {
    kernel: Recurrent,
    shape: [usize; 2],
    aside: Option<Arc<[bool]>>,
}

impl Sequence {
    fn input<'a, T>(&'a self, [x, u]: [&'a [T]; 2]) -> Input<'a, T> {
        let [batch, length] = self.shape;
        Input { batch, length, x, u, aside: self.aside.as_deref() }
    }
}

impl HostedKernel<2> for Sequence {
    const NAME: &'static str = "recurrent cells";
    const INPUTS: [&'static str; 2] = ["what rows bring to the gates", "the recurrent weights"];

    fn forward<T: Float>(&self, inputs: [&[T]; 2]) -> Result<Made<T>, ncde_kernels::Error> {
        let outputs = self.kernel.forward(&self.input(inputs))?;
        Ok((outputs.h, [&self.shape[..], &[self.kernel.hidden()]].concat(), outputs.states))
    }

    fn backward<T: Float>(&self, inputs: [&[T]; 2], stored: &[T], gradient: &[T]) -> Result<[Vec<T>; 2], ncde_kernels::Error> {
        let Gradients { x, u } = self.kernel.backward(&self.input(inputs), stored, gradient)?;
        Ok([x, u])
    }
}

/// The state `h` after each row, `[batch, rows, H]`, from what rows bring to the gates, `[batch, rows, G H]`, and the recurrent weights, `[heads, d, G d]`, with a bias, `[heads, 1, G d]`.
pub(super) fn states<B: LayerBackend>(
    kernel: Recurrent,
    rows: &Rows<B>,
    gates: Tensor<B, 3>,
    recurrent: Tensor<B, 3>,
    bias: Tensor<B, 3>,
) -> Result<Tensor<B, 3>, Error> {
    let [batch, count, width] = gates.dims();
    // Branches stand aside, right behind the rows that they follow.
    let order = rows.places.in_order();
    let gates = order.as_ref().map_or(gates.clone(), |order| order.sorted(gates));
    let weights = Tensor::cat(vec![recurrent, bias], 1);
    let numbers = weights.shape().num_elements();
    let sequence = Sequence { kernel, shape: [batch, count], aside: order.as_ref().map(|order| order.aside.clone().into()) };
    let h = hosted::<B, _, 2, 3>(sequence, [gates.reshape([batch * count * width]), weights.reshape([numbers])])?;
    Ok(order.as_ref().map_or(h.clone(), |order| order.unsorted(h)))
}
