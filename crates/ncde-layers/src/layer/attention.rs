//! Causal attention; see [`ncde_runtime::layer::Attention`].
//!
//! Cost: `O(rows (n w + rows w))`. Memory: `O(batch x (heads x rows^2 + rows w))`, where the reverse pass reads all shares again.

use burn_tensor::Tensor;
use ncde_runtime::layer::Attention;

use super::rows::clear_padding;
use super::spread::{Parts, for_all, times};
use super::{Batch, Context, Error, LayerBackend, LayerWeights, Places, Rows};
use crate::operation::put;

#[derive(Debug)]
pub(super) struct AttentionBatch {
    pub(super) spec: Attention,
}

impl AttentionBatch {
    /// What row `i` of the first so many series does not see of row `j`: rows behind it, and those `context` rows before it; a branch sees its parent, what that sees, and itself.
    fn hidden_from(&self, places: &Places, series_count: usize) -> Vec<bool> {
        let (count, trunk, context) = (places.count(), places.trunk, self.spec.context);
        let series = |b: usize| {
            (0..count).flat_map(move |i| {
                let parent = |branches: &super::Branches| branches.parents[b * branches.count + i - trunk];
                let number = places.branches.as_ref().filter(|_| i >= trunk).map_or(i, |branches| parent(branches) + 1);
                (0..count).map(move |j| j != i && (j >= trunk || j >= number || number - j >= context))
            })
        };
        (0..series_count).flat_map(series).collect()
    }

    /// What takes the numbers of a head to themselves with their halves exchanged, the first with the other sign: `[d, d]`.
    fn exchange<B: LayerBackend>(&self, like: &Tensor<B, 3>) -> Tensor<B, 2> {
        let d = self.spec.head;
        let mut entries = vec![0.0_f64; d * d];
        for to in 0..d {
            let (from, sign) = if to < d / 2 { (to + d / 2, -1.0) } else { (to - d / 2, 1.0) };
            entries[from * d + to] = sign;
        }
        put(entries, [d, d], (&like.device(), like.dtype()))
    }

    /// What is added to scores, `[batch, rows, rows]`: `-inf`, nearly, where a row does not see another.
    fn mask<B: LayerBackend>(&self, rows: &Rows<B>) -> Result<Tensor<B, 3>, Error> {
        let places = &rows.places;
        let (batch, count) = (places.batch(), places.count());
        let far = |hidden: Vec<bool>| hidden.into_iter().map(|hidden| if hidden { FAR } else { 0.0 }).collect::<Vec<f64>>();
        if places.branches.is_some() {
            return Ok(rows.constant(far(self.hidden_from(places, batch)), [batch, count, count]));
        }
        // All series see alike.
        let mask = rows.constant(far(self.hidden_from(places, 1)), [count * count]);
        Ok(for_all(mask, [1, batch])?.reshape([batch, count, count]))
    }
}

/// What hides a row: the soft-max of a score so far below others is 0.
const FAR: f64 = -1e30;

impl<B: LayerBackend> Batch<B> for AttentionBatch {
    fn forward(&self, rows: Rows<B>, weights: &LayerWeights<'_, B>, _: &Context<B>) -> Result<Rows<B>, Error> {
        let (places, spec, w) = (&rows.places, &self.spec, self.spec.width());
        let x = clear_padding(rows.values.clone(), &places.lengths, places.trunk);
        let [batch, count, _] = x.dims();
        let (input, output) = (weights.weight::<2>("input")?, weights.weight::<2>("output")?);
        let rates: Vec<f64> = spec.rates().collect();
        let angles = |function: fn(f64) -> f64| {
            let turned = places.times.iter().flat_map(|time| {
                let half: Vec<f64> = rates.iter().map(|rate| function(time * rate)).collect();
                half.repeat(2)
            });
            rows.constant(turned.collect(), [batch, count, spec.head])
        };
        let (cos, sin, exchange, mask) = (angles(f64::cos), angles(f64::sin), self.exchange(&x), self.mask(&rows)?);
        let whole = Parts::new(1, count, &x);
        let mut sum: Option<Tensor<B, 3>> = None;
        // Head by head: what is cut out of wider rows is slow to read.
        for head in 0..spec.heads {
            let part = |i: usize| times(x.clone(), input.clone().narrow(1, i * w + head * spec.head, spec.head));
            let turned = |x: Tensor<B, 3>| Ok::<_, Error>(x.clone() * cos.clone() + times(x, exchange.clone())? * sin.clone());
            let (query, key) = (turned(part(0)? * (spec.head as f64).powf(-0.5))?, turned(part(1)?)?);
            let scores = query.matmul(key.swap_dims(1, 2)) + mask.clone();
            // The largest score of a row is data: the soft-max does not depend on it.
            let largest = scores.clone().detach().max_dim(2);
            let raised = (scores - whole.spread(largest)?).exp();
            let shares = raised.clone() * whole.spread(whole.sums(raised)?.recip())?;
            let seen = times(shares.matmul(part(2)?), output.clone().narrow(0, head * spec.head, spec.head))?;
            sum = Some(match sum {
                Some(sum) => sum + seen,
                None => seen,
            });
        }
        let bias = for_all(weights.weight("bias")?, [batch, count])?;
        Ok(rows.with(match sum {
            Some(sum) => sum + bias,
            None => bias,
        }))
    }
}
