//! Causal attention; see [`ncde_runtime::layer::Attention`].
//!
//! Cost: `O(rows (n w + rows w))`. Memory: `O(batch x rows x w)`, scores are computed again in the reverse pass; on a device all scores at once, while they are few enough.

use std::sync::Arc;

use burn_tensor::Tensor;
use burn_tensor::activation::softmax;
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

/// The most scores that a device holds at once: 1 GiB, of which a training step needs several.
const MAX_SCORES: usize = 1 << 28;

/// A score that is never seen.
const HIDDEN: f64 = -1e30;

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

    /// What every row sees, by operations of tensors: all scores at once. `read`: `[batch, rows, 3 w]`.
    fn by_tensors<B: LayerBackend>(&self, rows: &Rows<B>, read: &Tensor<B, 3>) -> Tensor<B, 3> {
        let (Kernel { heads, size, .. }, [batch, count]) = (self.kernel, self.shape);
        let (width, half) = (heads * size, size / 2);
        let part = |which: usize| {
            let part = read.clone().narrow(2, which * width, width);
            part.reshape([batch, count, heads, size]).swap_dims(1, 2)
        };
        let angles = |of: fn(f64) -> f64| {
            let all = self.times.iter().flat_map(|time| self.rates.iter().map(move |rate| of(time * rate)));
            rows.constant(all.collect(), [batch, 1, count, half])
        };
        let (cos, sin) = (angles(f64::cos), angles(f64::sin));
        let turned = |x: Tensor<B, 4>| {
            let [low, high] = [0, half].map(|first| x.clone().narrow(3, first, half));
            let turned = [low.clone() * cos.clone() - high.clone() * sin.clone(), low * sin.clone() + high * cos.clone()];
            Tensor::cat(turned.to_vec(), 3)
        };
        let scores = turned(part(0)).matmul(turned(part(1)).swap_dims(2, 3)) * (size as f64).powf(-0.5);
        let seen = softmax(scores + rows.constant(self.hidden(), [self.masks(), 1, count, count]), 3).matmul(part(2));
        seen.swap_dims(1, 2).reshape([batch, count, width])
    }

    /// How many series see different rows: all, where rows stand aside.
    fn masks(&self) -> usize {
        if self.aside.is_some() { self.shape[0] } else { 1 }
    }

    /// What is added to scores, `[masks, rows, rows]`.
    fn hidden(&self) -> Vec<f64> {
        let count = self.shape[1];
        let mut all = vec![HIDDEN; self.masks() * count * count];
        for (series, all) in all.chunks_exact_mut(count * count).enumerate() {
            let stands_aside = |row: usize| self.aside.as_ref().is_some_and(|aside| aside[series * count + row]);
            let trunk: Vec<usize> = (0..count).filter(|&row| !stands_aside(row)).collect();
            for (row, hidden) in all.chunks_exact_mut(count).enumerate() {
                hidden[row] = 0.0;
                let before = trunk.partition_point(|&other| other < row);
                // Its own place counts as one of those it sees.
                trunk[(before + 1).saturating_sub(self.kernel.context)..before].iter().for_each(|&other| hidden[other] = 0.0);
            }
        }
        all
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
        let read = times(x, weights.weight("input")?)?;
        let seen = if !B::ON_HOST && batch * spec.heads * count * count <= MAX_SCORES {
            sequence.by_tensors(&rows, &read)
        } else {
            hosted::<B, _, 1, 3>(sequence, [read.reshape([batch * count * 3 * spec.width()])])?
        };
        let y = dense::affine(seen, weights.weight("output")?, weights.weight("bias")?)?;
        Ok(rows.with(order.as_ref().map_or(y.clone(), |order| order.unsorted(y))))
    }
}
