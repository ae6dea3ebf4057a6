//! GRU-D; see [`ncde_runtime::layer::GruD`].
//!
//! What is seen and when is data: masks and times are found ahead, on the host. Cost: `O(rows x H (c + H))`.

use burn_tensor::Tensor;
use burn_tensor::activation::relu;
use ncde_runtime::layer::GruD;

use super::cell::unroll;
use super::gru::Cell;
use super::rows::clear_padding;
use super::spread::{for_all, gained};
use super::{Batch, Context, Error, LayerBackend, LayerWeights, Places, Rows};
use crate::dense;

#[derive(Debug)]
pub(super) struct GruDBatch {
    pub(super) spec: GruD,
}

/// `delta` and `m` of each row, `[batch, rows, c]`, from its counts.
fn observe(spec: &GruD, places: &Places, counts: Option<Vec<f64>>) -> [Vec<f64>; 2] {
    let (c, rows, steps) = (spec.channels(), places.batch() * places.count(), places.steps(spec.gap));
    let (mut delta, mut m) = (vec![0.0; rows * c], vec![0.0; rows * c]);
    for row in 0..rows {
        let parent = places.parent(row);
        for i in 0..c {
            let (at, before) = (row * c + i, parent.map(|parent| parent * c + i));
            let left = before.map_or(0.0, |before| (1.0 - m[before]) * delta[before]);
            let counts = counts.as_ref().map(|counts| [before.map_or(0.0, |before| counts[before]), counts[at]]);
            let (waited, seen) = GruD::observe(parent.map(|_| steps[row]), left, counts);
            (delta[at], m[at]) = (waited, if seen { 1.0 } else { 0.0 });
        }
    }
    [delta, m]
}

/// `exp(-max(0, x))`.
fn fade<B: LayerBackend>(x: Tensor<B, 3>) -> Tensor<B, 3> {
    relu(x).neg().exp()
}

impl<B: LayerBackend> Batch<B> for GruDBatch {
    fn forward(&self, rows: Rows<B>, weights: &LayerWeights<'_, B>, _: &Context<B>) -> Result<Rows<B>, Error> {
        let (hidden, c) = (self.spec.hidden, self.spec.channels());
        let x = clear_padding(rows.values.clone(), &rows.places.lengths, rows.places.trunk);
        let [batch, count, _] = x.dims();
        let counts = self.spec.counts.map(|first| x.clone().narrow(2, first, c).to_data().iter().collect());
        let [delta, m] = observe(&self.spec, &rows.places, counts).map(|all| rows.constant(all, [batch, count, c]));
        let mut inputs = x.narrow(2, self.spec.values[0], c);
        if self.spec.counts.is_some() {
            let bias = for_all(weights.weight("decay_input_bias")?, [batch, count])?;
            let faded = fade(gained(delta.clone(), weights.weight("decay_input")?)? + bias);
            inputs = Tensor::cat(vec![inputs * (m.clone() + (m.ones_like() - m.clone()) * faded), m], 2);
        }
        let gates = dense::affine(inputs, weights.weight("input")?, weights.weight("bias")?)?;
        let faded = fade(dense::affine(delta, weights.weight("decay_state")?, weights.weight("decay_state_bias")?)?);
        let cell = Cell::new(weights)?;
        let states = unroll(&rows, Tensor::cat(vec![gates, faded], 2), |brought, before| {
            let [gates, faded] = [(0, 3 * hidden), (3 * hidden, hidden)].map(|(first, n)| brought.clone().narrow(1, first, n));
            cell.next(gates, before.map(|before| before * faded))
        })?;
        Ok(rows.with(states))
    }
}
