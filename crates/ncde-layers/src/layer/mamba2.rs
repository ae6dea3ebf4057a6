//! The state-space model of Mamba-2; see [`ncde_runtime::layer::Mamba2`].
//!
//! Cost: that of the recurrence in `ncde-kernels`, and of a product of rows with all weights. Memory: `O(batch x rows x columns)`.

use burn_tensor::Tensor;
use ncde_kernels::neural::Activation::Softplus;
use ncde_runtime::layer::{Function, Mamba2};

use super::convolution::convolve;
use super::matrix_state::{Factors, read};
use super::rows::clear_padding;
use super::slstm::SILU;
use super::spread::{Parts, gained, in_gaps, offset, times};
use super::{Batch, Context, Error, LayerBackend, LayerWeights, Rows};
use crate::dense;

#[derive(Debug)]
pub(super) struct Mamba2Batch {
    pub(super) spec: Mamba2,
}

impl<B: LayerBackend> Batch<B> for Mamba2Batch {
    fn forward(&self, rows: Rows<B>, weights: &LayerWeights<'_, B>, _: &Context<B>) -> Result<Rows<B>, Error> {
        let Mamba2 { heads, head, states, gap, .. } = self.spec;
        let inner = self.spec.inner();
        let u = clear_padding(rows.values.clone(), &rows.places.lengths, rows.places.trunk);
        let [batch, count, _] = u.dims();
        let (input, convolution) = (weights.weight::<2>("input")?, weights.weight::<2>("convolution")?);
        let bias = weights.weight::<1>("convolution_bias")?;
        // Each part is a product of its own: what is cut out of wider rows is slow to read.
        let part = |first: usize, numbers: usize| times(u.clone(), input.clone().narrow(1, first, numbers));
        let convolved = |first: usize, numbers: usize| {
            let (weight, bias) = (convolution.clone().narrow(1, first, numbers), bias.clone().narrow(0, first, numbers));
            convolve(&rows.with(part(inner + first, numbers)?), weight, Some(bias), true)
        };
        let (x, b, c) = (convolved(0, inner)?, convolved(inner, states)?, convolved(inner + states, states)?);
        let step = offset(part(2 * inner + 2 * states, heads)?, weights.weight("step_bias")?)?;
        let d = in_gaps(&rows, dense::activation(Function::Each(Softplus), step)?, gap)?;
        let w = gained(d.clone(), weights.weight::<1>("decay")?.exp().neg())?.exp();
        let parts = Parts::new(heads, head, &x);
        let of_all_heads = |x: Tensor<B, 3>| Tensor::cat(vec![x; heads], 2).reshape([batch, count, heads, states]);
        let of_heads = |x: Tensor<B, 3>, numbers: usize| x.reshape([batch, count, 1, heads, numbers]);
        let v = of_heads(parts.times(x.clone(), d)?, head);
        let factors = Factors { w: Some(of_heads(w, 1)), delta: None, k: of_all_heads(b).unsqueeze_dim(2), v };
        let o = read(self.spec.kernel(), &rows, factors, of_all_heads(c))?;
        let skip = parts.spread(weights.weight::<1>("skip")?.reshape([1, 1, heads]))?.reshape([inner]);
        let gated = (o + gained(x, skip)?) * dense::activation(SILU, part(0, inner)?)?;
        let normed = Parts::new(1, inner, &gated).normalised_mean(gated, weights.weight("norm")?)?;
        let y = times(normed, weights.weight("output")?)?;
        Ok(rows.with(y))
    }
}
