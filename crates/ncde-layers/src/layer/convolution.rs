//! A causal convolution of each channel by itself; see [`ncde_runtime::layer::Convolution`].

use burn_tensor::Tensor;
use ncde_kernels::rowwise::Operation;

use super::rowwise::pass;
use super::slstm::SILU;
use super::spread::{gained, offset};
use super::{Batch, Context, Error, LayerBackend, LayerWeights, Rows};
use crate::dense;

#[derive(Debug)]
pub(super) struct ConvolutionBatch;

/// `sum_{first <= j < k} w_j * x_{t-j+first}`, rows before the first being 0.
fn back<B: LayerBackend>(x: &Tensor<B, 3>, weight: &Tensor<B, 2>, first: usize) -> Result<Tensor<B, 3>, Error> {
    let ([batch, length, width], [size, _]) = (x.dims(), weight.dims());
    if B::ON_HOST {
        return pass(Operation::Convolution { size, first, bias: false, silu: false }, x.clone(), weight.clone());
    }
    let zeros = |rows: usize| Tensor::zeros([batch, rows, width], (&x.device(), x.dtype()));
    let (mut seen, mut sum) = (x.clone(), None);
    for j in first..size.min(length + first) {
        if j > first {
            // One row further back.
            seen = dense::join_rows(zeros(1), dense::some_rows(seen, 0, length - 1)?)?;
        }
        let part = gained(seen.clone(), weight.clone().narrow(0, j, 1).reshape([width]))?;
        sum = Some(match sum {
            Some(sum) => sum + part,
            None => part,
        });
    }
    Ok(sum.unwrap_or_else(|| zeros(length)))
}

/// Each number of rows with those of the rows before it, and a bias; then `x sigmoid(x)`.
pub(super) fn convolve<B: LayerBackend>(
    rows: &Rows<B>,
    weight: Tensor<B, 2>,
    bias: Option<Tensor<B, 1>>,
    silu: bool,
) -> Result<Tensor<B, 3>, Error> {
    let ([size, width], trunk) = (weight.dims(), rows.trunk());
    if B::ON_HOST && rows.places.trunk == rows.places.count() {
        let operation = Operation::Convolution { size, first: 0, bias: bias.is_some(), silu };
        let weights = bias.map_or(weight.clone(), |bias| Tensor::cat(vec![weight, bias.unsqueeze()], 0));
        return pass(operation, trunk, weights);
    }
    let mut all = vec![back(&trunk, &weight, 0)?];
    // A branch sees itself, and what lies behind the row that it follows.
    if size > 1
        && let Some((branches, behind)) = rows.branches(&back(&trunk, &weight, 1)?)
    {
        all.push(gained(branches, weight.narrow(0, 0, 1).reshape([width]))? + behind);
    } else if let Some((branches, _)) = rows.branches(&trunk) {
        all.push(back(&branches, &weight, 0)?);
    }
    let y = if all.len() == 1 { all.remove(0) } else { Tensor::cat(all, 1) };
    let y = if let Some(bias) = bias { offset(y, bias)? } else { y };
    if silu { Ok(dense::activation(SILU, y)?) } else { Ok(y) }
}

impl<B: LayerBackend> Batch<B> for ConvolutionBatch {
    fn forward(&self, rows: Rows<B>, weights: &LayerWeights<'_, B>, _: &Context<B>) -> Result<Rows<B>, Error> {
        let y = convolve(&rows, weights.weight("weight")?, Some(weights.weight("bias")?), false)?;
        Ok(rows.with(y))
    }
}
