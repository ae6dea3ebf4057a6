//! Causal attention; see [`ncde_runtime::layer::Attention`].
//!
//! Cost: `O(rows (n w + rows w))`. Memory: `O(batch x rows x w)`, scores are computed again in the reverse pass.

use std::sync::Arc;

use ncde_kernels::Float;
use ncde_kernels::attention::{Attention as Kernel, Input};
use ncde_runtime::layer::Attention;

use super::rows::clear_padding;
use super::spread::times;
use super::{Batch, Context, Error, LayerBackend, LayerWeights, Rows};
use crate::dense;
use crate::hosted::{HostedKernel, Made, hosted};

#[derive(Debug)]
pub(super) struct AttentionBatch {
    pub(super) spec: Attention,
}

/// The attention of series of so many rows, some of which stand aside.
#[derive(Debug, Clone)]
struct Sequence {
    kernel: Kernel,
    shape: [usize; 2],
    times: Arc<[f64]>,
    rates: Arc<[f64]>,
    aside: Option<Arc<[bool]>>,
}

impl Sequence {
    fn input<'a, T>(&'a self, rows: &'a [T]) -> Input<'a, T> {
        let [batch, length] = self.shape;
        Input { batch, length, rows, times: &self.times, rates: &self.rates, aside: self.aside.as_deref() }
    }
}

impl HostedKernel<1> for Sequence {
    const NAME: &'static str = "attention";
    const INPUTS: [&'static str; 1] = ["queries, keys and values"];

    fn forward<T: Float>(&self, [rows]: [&[T]; 1]) -> Result<Made<T>, ncde_kernels::Error> {
        let (outputs, width) = (self.kernel.forward(&self.input(rows))?, self.kernel.heads * self.kernel.size);
        Ok((outputs.y, [&self.shape[..], &[width]].concat(), outputs.stored))
    }

    fn backward<T: Float>(&self, [rows]: [&[T]; 1], stored: &[T], gradient: &[T]) -> Result<[Vec<T>; 1], ncde_kernels::Error> {
        Ok([self.kernel.backward(&self.input(rows), stored, gradient)?])
    }
}

impl<B: LayerBackend> Batch<B> for AttentionBatch {
    fn forward(&self, rows: Rows<B>, weights: &LayerWeights<'_, B>, _: &Context<B>) -> Result<Rows<B>, Error> {
        let (places, spec) = (&rows.places, &self.spec);
        let x = clear_padding(rows.values.clone(), &places.lengths, places.trunk);
        let [batch, count, _] = x.dims();
        // Branches stand aside, right behind the rows that they follow.
        let order = places.in_order();
        let x = order.as_ref().map_or(x.clone(), |order| order.sorted(x));
        let sequence = Sequence {
            kernel: Kernel { heads: spec.heads, size: spec.head, context: spec.context },
            shape: [batch, count],
            times: order.as_ref().map_or_else(|| places.times.clone(), |order| order.sorted_numbers(&places.times)).into(),
            rates: spec.rates().collect(),
            aside: order.as_ref().map(|order| order.aside.clone().into()),
        };
        let read = times(x, weights.weight("input")?)?.reshape([batch * count * 3 * spec.width()]);
        let seen = hosted::<B, _, 1, 3>(sequence, [read])?;
        let y = dense::affine(seen, weights.weight("output")?, weights.weight("bias")?)?;
        Ok(rows.with(order.as_ref().map_or(y.clone(), |order| order.unsorted(y))))
    }
}
