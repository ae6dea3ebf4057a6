//! A causal convolution of each channel by itself; see [`ncde_runtime::layer::Convolution`].

use burn_tensor::Tensor;

use super::{Batch, Context, Error, LayerBackend, LayerWeights, Rows};

#[derive(Debug)]
pub(super) struct ConvolutionBatch {
    pub(super) size: usize,
}

/// `sum_{first <= j < k} w_j * x_{t-j+first}`, rows before the first being 0.
fn back<B: LayerBackend>(x: &Tensor<B, 3>, weight: &Tensor<B, 2>, first: usize) -> Tensor<B, 3> {
    let [batch, length, width] = x.dims();
    let mut sum = Tensor::zeros([batch, length, width], (&x.device(), x.dtype()));
    for j in first..weight.dims()[0].min(length + first) {
        let (shift, row) = (j - first, weight.clone().narrow(0, j, 1).reshape([1, 1, width]));
        let seen = x.clone().narrow(1, 0, length - shift) * row.repeat_dim(1, length - shift).repeat_dim(0, batch);
        let seen = match shift {
            0 => seen,
            _ => Tensor::cat(vec![Tensor::zeros([batch, shift, width], (&x.device(), x.dtype())), seen], 1),
        };
        sum = sum + seen;
    }
    sum
}

impl<B: LayerBackend> Batch<B> for ConvolutionBatch {
    fn forward(&self, rows: Rows<B>, weights: &LayerWeights<'_, B>, _: &Context<B>) -> Result<Rows<B>, Error> {
        let (weight, trunk) = (weights.weight::<2>("weight")?, rows.trunk());
        let mut all = vec![back(&trunk, &weight, 0)];
        // A branch sees itself, and what lies behind the row that it follows.
        if self.size > 1
            && let Some((branches, behind)) = rows.branches(&back(&trunk, &weight, 1))
        {
            let [batch, count, width] = branches.dims();
            let row = weight.narrow(0, 0, 1).reshape([1, 1, width]).repeat_dim(1, count).repeat_dim(0, batch);
            all.push(branches * row + behind);
        } else if let Some((branches, _)) = rows.branches(&trunk) {
            all.push(back(&branches, &weights.weight::<2>("weight")?, 0));
        }
        let y = Tensor::cat(all, 1);
        let [batch, count, width] = y.dims();
        let bias = weights.weight::<1>("bias")?.reshape([1, 1, width]).repeat_dim(1, count).repeat_dim(0, batch);
        Ok(rows.with(y + bias))
    }
}
