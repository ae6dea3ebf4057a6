//! GRU-D; see [`ncde_runtime::layer::GruD`].
//!
//! What is seen and when is data: masks and times are found ahead, on the host. States decay between rows, which the kernel of recurrent cells does not know: a loop over time by
//! tensor operations. Cost: `O(rows x H (c + H))`. Memory: `O(batch x rows x H)`.

use burn_tensor::Tensor;
use burn_tensor::activation::{relu, sigmoid};
use ncde_runtime::layer::GruD;

use super::rows::clear_padding;
use super::spread::{gained, offset};
use super::{Batch, Context, Error, LayerBackend, LayerWeights, Places, Rows};
use crate::dense;

#[derive(Debug)]
pub(super) struct GruDBatch {
    pub(super) spec: GruD,
}

/// `delta` and `m` of each row, `[batch, rows, c]`, from its counts.
fn observe(spec: &GruD, places: &Places, counts: Option<&[f64]>) -> [Vec<f64>; 2] {
    let (c, rows, steps) = (spec.channels(), places.batch() * places.count(), places.steps(spec.gap));
    let (mut delta, mut m) = (vec![0.0; rows * c], vec![0.0; rows * c]);
    for row in 0..rows {
        let parent = places.parent(row);
        for i in 0..c {
            let (at, before) = (row * c + i, parent.map(|parent| parent * c + i));
            let left = before.map_or(0.0, |before| (1.0 - m[before]) * delta[before]);
            let counts = counts.map(|counts| [before.map_or(0.0, |before| counts[before]), counts[at]]);
            let (waited, seen) = GruD::observe(parent.map(|_| steps[row]), left, counts);
            (delta[at], m[at]) = (waited, if seen { 1.0 } else { 0.0 });
        }
    }
    [delta, m]
}

/// A gated recurrent unit from row to row.
#[derive(Debug)]
struct Cell<B: LayerBackend> {
    recurrent: Tensor<B, 2>,
    bias: Tensor<B, 2>,
}

impl<B: LayerBackend> Cell<B> {
    /// The states of several cases, from what a row brings to their gates, `[cases, 3 H]`, and the states before it.
    fn next(&self, gates: &Tensor<B, 2>, before: Option<Tensor<B, 2>>) -> Result<Tensor<B, 2>, Error> {
        let (cases, [n, _]) = (gates.dims()[0], self.recurrent.dims());
        let part = |of: &Tensor<B, 2>, place: usize| of.clone().narrow(1, place * n, n);
        let before = before.unwrap_or_else(|| Tensor::zeros([cases, n], (&gates.device(), gates.dtype())));
        let from_state = dense::product(before.clone(), self.recurrent.clone())?;
        let [r, z] = [0, 1].map(|gate| sigmoid(part(gates, gate) + part(&from_state, gate)));
        let new = (part(gates, 2) + r * (part(&from_state, 2) + self.bias.clone().repeat_dim(0, cases))).tanh();
        Ok(new.clone() + z * (before - new))
    }
}

/// The state after each row, `[batch, rows, states]`, from what rows bring, `[batch, rows, numbers]`. `next` is the state of several cases, `[cases, states]`, from what a row brings to
/// each and the state before it, if there was a row.
fn unroll<B: LayerBackend>(
    rows: &Rows<B>,
    brought: Tensor<B, 3>,
    next: impl Fn(Tensor<B, 2>, Option<Tensor<B, 2>>) -> Result<Tensor<B, 2>, Error>,
) -> Result<Tensor<B, 3>, Error> {
    let ([batch, _, width], trunk) = (brought.dims(), rows.places.trunk);
    let (mut states, mut state) = (Vec::with_capacity(trunk), None);
    for t in 0..trunk {
        let after = next(brought.clone().narrow(1, t, 1).squeeze_dim(1), state)?;
        states.push(after.clone().unsqueeze_dim::<3>(1));
        state = Some(after);
    }
    let states = Tensor::cat(states, 1);
    // A branch follows the state of its parent.
    let Some((branches, before)) = rows.with(brought).branches(&states) else { return Ok(states) };
    let ([_, count, _], [_, _, numbers]) = (branches.dims(), states.dims());
    let cases = batch * count;
    let ends = next(branches.reshape([cases, width]), Some(before.reshape([cases, numbers])))?;
    Ok(Tensor::cat(vec![states, ends.reshape([batch, count, numbers])], 1))
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
        let counts: Option<Vec<f64>> = self.spec.counts.map(|first| x.clone().narrow(2, first, c).to_data().iter().collect());
        let [delta, m] = observe(&self.spec, &rows.places, counts.as_deref()).map(|all| rows.constant(all, [batch, count, c]));
        let mut inputs = x.narrow(2, self.spec.values[0], c);
        if self.spec.counts.is_some() {
            let faded =
                fade(offset(gained(delta.clone(), weights.weight("decay_input")?)?, weights.weight("decay_input_bias")?)?);
            inputs = Tensor::cat(vec![inputs * (m.clone() + (m.ones_like() - m.clone()) * faded), m], 2);
        }
        let gates = dense::affine(inputs, weights.weight("input")?, weights.weight("bias")?)?;
        let faded = fade(dense::affine(delta, weights.weight("decay_state")?, weights.weight("decay_state_bias")?)?);
        let bias = weights.weight::<1>("recurrent_bias")?.unsqueeze();
        let cell = Cell { recurrent: weights.weight("recurrent")?, bias };
        let states = unroll(&rows, Tensor::cat(vec![gates, faded], 2), |brought, before| {
            let [gates, faded] = [(0, 3 * hidden), (3 * hidden, hidden)].map(|(first, n)| brought.clone().narrow(1, first, n));
            cell.next(&gates, before.map(|before| before * faded))
        })?;
        Ok(rows.with(states))
    }
}
