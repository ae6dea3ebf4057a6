//! The state-space model of Mamba-3; see [`ncde_runtime::layer::Mamba3`].
//!
//! Sums of angles are products of turns: a complex recurrence whose factors have size 1, so that no angle becomes large. Cost: that of two factors a row of the recurrence in `ncde-kernels`, and of a product of rows with
//! all weights.

use std::f64::consts::PI;

use burn_tensor::Tensor;
use burn_tensor::activation::sigmoid;
use ncde_kernels::neural::Activation::Softplus;
use ncde_runtime::layer::{Function, MIN_RATE, Mamba3};

use super::convolution::convolve;
use super::matrix_state::{Factors, read};
use super::rows::clear_padding;
use super::slstm::SILU;
use super::spread::{Parts, gained, in_gaps, offset, times};
use super::state_space::turns;
use super::{Batch, Context, Error, LayerBackend, LayerWeights, Rows};
use crate::dense;

#[derive(Debug)]
pub(super) struct Mamba3Batch {
    pub(super) spec: Mamba3,
}

impl<B: LayerBackend> Batch<B> for Mamba3Batch {
    fn forward(&self, rows: Rows<B>, weights: &LayerWeights<'_, B>, _: &Context<B>) -> Result<Rows<B>, Error> {
        let (Mamba3 { heads, head, states, angles, gap }, inner) = (self.spec, self.spec.inner());
        let u = clear_padding(rows.values.clone(), &rows.places.lengths, rows.places.trunk);
        let [batch, count, _] = u.dims();
        let input = weights.weight::<2>("input")?;
        let columns = self.spec.columns();
        // Each part is a product of its own: what is cut out of wider rows is slow to read.
        let part = |which: usize| times(u.clone(), input.clone().narrow(1, columns[..which].iter().sum(), columns[which]));
        let softplus = |x: Tensor<B, 3>| dense::activation(Function::Each(Softplus), x);
        let x = part(1)?;
        let d = in_gaps(&rows, softplus(offset(part(4)?, weights.weight("step_bias")?)?)?, gap)?;
        let of_all_heads = |x: Tensor<B, 3>| Tensor::cat(vec![x; heads], 2);
        let angle = Parts::new(heads, angles, &d).times(of_all_heads(part(7)?.tanh() * PI), d.clone())?;
        let [cos, sin] = turns(&rows, angle)?.map(|x| x.reshape([batch, count, heads, angles]));
        let turned = |which: usize, norm: &str, bias: &str| -> Result<Tensor<B, 3>, Error> {
            let key = Parts::new(1, states, &x).normalised_mean(part(which)?, weights.weight(norm)?)?;
            let key = offset(of_all_heads(key), weights.weight::<2>(bias)?.reshape([heads * states]))?
                .reshape([batch, count, heads, states]);
            let [low, high] = [0, angles].map(|first| key.clone().narrow(3, first, angles));
            let mut all = vec![low.clone() * cos.clone() - high.clone() * sin.clone(), low * sin.clone() + high * cos.clone()];
            if states > 2 * angles {
                all.push(key.narrow(3, 2 * angles, states - 2 * angles));
            }
            Ok(Tensor::cat(all, 3).reshape([batch, count, heads * states]))
        };
        let (b, c) = (turned(2, "b_norm", "b_bias")?, turned(3, "c_norm", "c_bias")?);
        let alpha = (softplus(part(5)?)?.clamp_min(MIN_RATE).neg() * d.clone()).exp();
        let share = sigmoid(part(6)?);
        let parts = Parts::new(heads, head, &x);
        // The row before is a convolution of two rows.
        let before = |x: &Tensor<B, 3>| {
            let [_, _, width] = x.dims();
            let one = Tensor::ones([1, width], (&x.device(), x.dtype()));
            convolve(&rows.with(x.clone()), Tensor::cat(vec![one.zeros_like(), one], 0), None, false)
        };
        let old = parts.times(before(&x)?, (share.ones_like() - share.clone()) * d.clone() * alpha.clone())?;
        let new = parts.times(x.clone(), share * d)?;
        let both = |old: Tensor<B, 3>, new: Tensor<B, 3>| {
            let [_, _, width] = old.dims();
            Tensor::cat(vec![old, new], 2).reshape([batch, count, 2, heads, width / heads])
        };
        let one = alpha.ones_like();
        let factors = Factors { w: Some(both(alpha, one)), delta: None, k: both(before(&b)?, b), v: both(old, new) };
        let o = read(self.spec.kernel(), &rows, factors, c.reshape([batch, count, heads, states]))?;
        let skip = parts.spread(weights.weight::<1>("skip")?.reshape([1, 1, heads]))?.reshape([inner]);
        let gated = (o + gained(x, skip)?) * dense::activation(SILU, part(0)?)?;
        let y = times(gated, weights.weight("output")?)?;
        Ok(rows.with(y))
    }
}
