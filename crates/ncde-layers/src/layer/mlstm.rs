//! An LSTM whose state is a matrix; see [`ncde_runtime::layer::Mlstm`].
//!
//! The running maximum `m` is data: what is read does not depend on it, `1e-9` aside. Cost: that of the recurrence in `ncde-kernels`.

use burn_tensor::Tensor;
use burn_tensor::activation::log_sigmoid;
use ncde_runtime::layer::{Mlstm, READ_FLOOR};

use super::matrix_state::{Factors, read};
use super::rows::clear_padding;
use super::slstm::{convolved, norm_heads};
use super::spread::{Parts, gained};
use super::{Batch, Context, Error, LayerBackend, LayerWeights, Places, Rows};
use crate::dense;

#[derive(Debug)]
pub(super) struct MlstmBatch {
    pub(super) spec: Mlstm,
}

/// `m` before the first row: nothing is left of what was before.
const NOTHING: f64 = -1e9;

/// `m` before and after each row, `[batch, rows, heads]`, from `i` and `ln sigmoid(f)`.
fn maxima(places: &Places, heads: usize, i: &[f64], f: &[f64]) -> [Vec<f64>; 2] {
    let [mut before, mut after] = [vec![NOTHING; i.len()], vec![NOTHING; i.len()]];
    for row in 0..places.batch() * places.count() {
        let parent = places.parent(row);
        for head in 0..heads {
            let at = row * heads + head;
            if let Some(parent) = parent {
                before[at] = after[parent * heads + head];
            }
            after[at] = i[at].max(f[at] + before[at]);
        }
    }
    [before, after]
}

impl<B: LayerBackend> Batch<B> for MlstmBatch {
    fn forward(&self, rows: Rows<B>, weights: &LayerWeights<'_, B>, _: &Context<B>) -> Result<Rows<B>, Error> {
        let (heads, block) = (self.spec.heads, self.spec.block);
        let x = clear_padding(rows.values.clone(), &rows.places.lengths, rows.places.trunk);
        let [batch, count, n] = x.dims();
        let (d, blocks) = (n / heads, n / block);
        let u = convolved(&rows.with(x.clone()), weights)?;
        let mixed = |from: &Tensor<B, 3>, name: &str| -> Result<Tensor<B, 3>, Error> {
            let from = from.clone().reshape([batch * count, blocks, block]).swap_dims(0, 1);
            Ok(from.matmul(weights.weight::<3>(name)?).swap_dims(0, 1).reshape([batch, count, n]))
        };
        let (q, k, v) = (mixed(&u, "query")?, mixed(&u, "key")?, mixed(&x, "value")?);
        let all = Tensor::cat(vec![q.clone(), k.clone(), v.clone()], 2);
        let gates = dense::affine(all, weights.weight("gates")?, weights.weight("gates_bias")?)?;
        let (i, f) = (gates.clone().narrow(2, 0, heads), log_sigmoid(gates.narrow(2, heads, heads)));
        let numbers = |of: &Tensor<B, 3>| of.to_data().iter().collect::<Vec<f64>>();
        let [before, after] =
            maxima(&rows.places, heads, &numbers(&i), &numbers(&f)).map(|m| rows.constant(m, [batch, count, heads]));
        let of_heads = |x: Tensor<B, 3>, numbers: usize| x.reshape([batch, count, 1, heads, numbers]);
        let parts = Parts::new(heads, d, &x);
        let w = of_heads((f + before - after.clone()).exp(), 1);
        let fill = (i - after.clone()).exp();
        let filled = parts.times(v, fill.clone())?;
        let v = Tensor::cat(vec![of_heads(filled, d), of_heads(fill, 1)], 4);
        let factors = Factors { w: Some(w), delta: None, k: of_heads(k, d) * (d as f64).powf(-0.5), v };
        let seen =
            read(self.spec.kernel(n), &rows, factors, of_heads(q, d).squeeze_dim(2))?.reshape([batch, count, heads, d + 1]);
        let sum = seen.clone().narrow(3, d, 1).reshape([batch, count, heads]).abs();
        let below = sum.max_pair(after.neg().exp()) + READ_FLOOR;
        let h = parts.times(seen.narrow(3, 0, d).reshape([batch, count, n]), below.recip())?;
        let y = norm_heads(h, heads, weights.weight("norm")?)? + gained(u, weights.weight("skip")?)?;
        Ok(rows.with(y))
    }
}
