//! The time mixing of RWKV-7; see [`ncde_runtime::layer::Rwkv`].
//!
//! Cost: that of the recurrence in `ncde-kernels`, and products of rows with all weights. Memory: `O(batch x rows x n)`.

use burn_tensor::Tensor;
use burn_tensor::activation::sigmoid;
use ncde_runtime::layer::{FASTEST, MIN_KEY, READ_SCALE, Rwkv};

use super::convolution::convolve;
use super::matrix_state::{Factors, read};
use super::rows::clear_padding;
use super::slstm::norm_heads;
use super::spread::{Parts, gained, offset, times};
use super::{Batch, Context, Error, LayerBackend, LayerWeights, Rows};

#[derive(Debug)]
pub(super) struct RwkvBatch {
    pub(super) spec: Rwkv,
}

impl<B: LayerBackend> Batch<B> for RwkvBatch {
    fn forward(&self, rows: Rows<B>, weights: &LayerWeights<'_, B>, _: &Context<B>) -> Result<Rows<B>, Error> {
        let heads = self.spec.heads;
        let x = clear_padding(rows.values.clone(), &rows.places.lengths, rows.places.trunk);
        let [batch, count, n] = x.dims();
        let (d, x) = (n / heads, rows.with(x));
        let mix = weights.weight::<2>("mix")?;
        // The row before is a convolution of two rows.
        let mixed = |which: usize| {
            let m = mix.clone().narrow(0, which, 1);
            convolve(&x, Tensor::cat(vec![m.clone().neg() + 1.0, m], 0), None, false)
        };
        let through = |x: Tensor<B, 3>, name: &str| times(x, weights.weight(name)?);
        let added = |x: Tensor<B, 3>, name: &str| offset(x, weights.weight(name)?);
        let (r, k, v) = (through(mixed(0)?, "receptance")?, through(mixed(2)?, "key")?, through(mixed(3)?, "value")?);
        let decay = added(through(through(mixed(1)?, "decay_down")?.tanh(), "decay_up")?, "decay")?;
        let w = (sigmoid(decay) * -FASTEST).exp();
        let rates = sigmoid(added(through(through(mixed(4)?, "rate_down")?, "rate_up")?, "rate")?);
        let gate = through(sigmoid(through(mixed(5)?, "gate_down")?), "gate_up")?;
        let parts = Parts::new(heads, d, &r);
        // What is added to the square has no part in numbers that matter; the root has no slope at 0.
        let c = parts.normalised(gained(k.clone(), weights.weight("scale")?)?, 1.0, MIN_KEY * MIN_KEY)?;
        let k = k * (gained(rates.clone() - 1.0, weights.weight("unwritten")?)? + 1.0);
        let of_heads = |x: Tensor<B, 3>| x.reshape([batch, count, 1, heads, d]);
        let delta = [of_heads(c.clone().neg()), of_heads(c * rates)];
        let factors = Factors { w: Some(of_heads(w)), delta: Some(delta), k: of_heads(k.clone()), v: of_heads(v.clone()) };
        let seen = read(self.spec.kernel(n), &rows, factors, r.clone().reshape([batch, count, heads, d]))?;
        let normed = added(norm_heads(seen * READ_SCALE, heads, weights.weight("norm")?)?, "offset")?;
        let bonus = parts.times(v, parts.sums(gained(r * k, weights.weight("bonus")?)?)?)?;
        let y = through((normed + bonus) * gate, "output")?;
        Ok(rows.with(y))
    }
}
