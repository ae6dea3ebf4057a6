//! DeltaNet and its kin; see [`ncde_runtime::layer::DeltaNet`].
//!
//! Cost: that of the recurrence in `ncde-kernels`, and of a product of rows with all weights. Memory: `O(batch x rows x columns)`.

use burn_tensor::Tensor;
use burn_tensor::activation::sigmoid;
use ncde_kernels::neural::Activation::Softplus;
use ncde_runtime::layer::{DeltaNet, Function, KEY_EPSILON};

use super::convolution::convolve;
use super::matrix_state::{Factors, read};
use super::rows::clear_padding;
use super::slstm::SILU;
use super::spread::{Parts, gained, offset, times};
use super::{Batch, Context, Error, LayerBackend, LayerWeights, Rows};
use crate::dense;

#[derive(Debug)]
pub(super) struct DeltaNetBatch {
    pub(super) spec: DeltaNet,
}

impl<B: LayerBackend> Batch<B> for DeltaNetBatch {
    fn forward(&self, rows: Rows<B>, weights: &LayerWeights<'_, B>, _: &Context<B>) -> Result<Rows<B>, Error> {
        let DeltaNet { heads, key, value, products, .. } = self.spec;
        let x = clear_padding(rows.values.clone(), &rows.places.lengths, rows.places.trunk);
        let [batch, count, _] = x.dims();
        let input = weights.weight::<2>("input")?;
        // Each part is a product of its own: what is cut out of wider rows is slow to read.
        let part = |first: usize, numbers: usize| times(x.clone(), input.clone().narrow(1, first, numbers));
        let [of_q, of_k, of_v, of_b, of_a, of_g] = self.spec.columns();
        let weight = weights.weight::<2>("convolution")?;
        let convolved = |first: usize, numbers: usize| {
            convolve(&rows.with(part(first, numbers)?), weight.clone().narrow(1, first, numbers), None, true)
        };
        let (queries, keys) = (Parts::new(heads, key, &x), Parts::new(products * heads, key, &x));
        let q = queries.normalised(convolved(0, of_q)?, (key as f64).powf(-0.5), KEY_EPSILON)?;
        let k = keys.normalised(convolved(of_q, of_k)?, 1.0, KEY_EPSILON)?;
        let mut v = convolved(of_q + of_k, of_v)?;
        let (first, mut w) = (of_q + of_k + of_v, None);
        if self.spec.decay {
            let raised = offset(part(first + of_b, of_a)?, weights.weight("decay_bias")?)?;
            let rate = weights.weight::<1>("decay")?.exp().neg();
            let decay = gained(dense::activation(Function::Each(Softplus), raised)?, rate)?.exp();
            // States decay once a row, before its first factor.
            w = Some(match products {
                1 => decay,
                _ => Tensor::cat(
                    vec![decay.clone(), Tensor::ones([batch, count, heads * (products - 1)], (&decay.device(), decay.dtype()))],
                    2,
                ),
            });
        }
        let of_factors = |x: Tensor<B, 3>, each: usize| x.reshape([batch, count, products, heads, each]);
        let mut delta = None;
        if !self.spec.sum {
            let most = if self.spec.negative { 2.0 } else { 1.0 };
            let beta = sigmoid(part(first, of_b)?) * most;
            let lost = w.as_ref().map_or(beta.clone(), |w| beta.clone() * w.clone());
            delta = Some([of_factors(keys.times(k.clone(), lost.neg())?, key), of_factors(k.clone(), key)]);
            v = Parts::new(products * heads, value, &x).times(v, beta)?;
        }
        let factors = Factors { w: w.map(|w| of_factors(w, 1)), delta, k: of_factors(k, key), v: of_factors(v, value) };
        let read = read(self.spec.kernel(), &rows, factors, q.reshape([batch, count, heads, key]))?;
        let mut read = Parts::new(heads, value, &read).normalised_mean(read, weights.weight("norm")?)?;
        if self.spec.gate {
            read = read * dense::activation(SILU, part(first + of_b + of_a, of_g)?)?;
        }
        let y = times(read, weights.weight("output")?)?;
        Ok(rows.with(y))
    }
}
