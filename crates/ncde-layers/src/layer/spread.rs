//! Numbers that are the same along rows, and sums over parts of a row, as products with matrices of zeros and ones.
//!
//! ```text
//! gained      x_r * w,   w for all rows r: x * (1 w^T)
//! spread      x_p for every number of part p: x E,   E[p, i] = 1 where number i is in part p
//! sums        over the numbers of each part: x E^T
//! ```
//!
//! Burn's CPU backend walks element by element through a tensor that is spread along an axis, in some 50 ns each; a product takes 1 ns, and its reverse pass is one too. On the host most of them are one pass of
//! [`super::rowwise`].

use burn_tensor::{Tensor, TensorCreationOptions};
use ncde_kernels::rowwise::Operation;
use ncde_runtime::layer::READ_EPSILON;

use super::rowwise::pass;
use super::{Error, LayerBackend, Rows};
use crate::dense;
use crate::operation::put;

/// One row for all rows of a batch: `[width]` to `[batch, count, width]`.
pub(super) fn for_all<B: LayerBackend>(row: Tensor<B, 1>, [batch, count]: [usize; 2]) -> Result<Tensor<B, 3>, Error> {
    let [width] = row.dims();
    let ones = Tensor::ones([batch * count, 1], (&row.device(), row.dtype()));
    Ok(dense::product(ones, row.reshape([1, width]))?.reshape([batch, count, width]))
}

/// Rows times one gain for each of their numbers.
pub(super) fn gained<B: LayerBackend>(x: Tensor<B, 3>, gain: Tensor<B, 1>) -> Result<Tensor<B, 3>, Error> {
    if B::ON_HOST {
        return pass(Operation::Gain, x, gain);
    }
    let [batch, count, _] = x.dims();
    Ok(x * for_all(gain, [batch, count])?)
}

/// Rows and one number more for each of theirs.
pub(super) fn offset<B: LayerBackend>(x: Tensor<B, 3>, by: Tensor<B, 1>) -> Result<Tensor<B, 3>, Error> {
    if B::ON_HOST {
        return pass(Operation::Offset, x, by);
    }
    let [batch, count, _] = x.dims();
    Ok(x + for_all(by, [batch, count])?)
}

/// Steps times the gaps before their rows; without `gap` every row is one step.
pub(super) fn in_gaps<B: LayerBackend>(rows: &Rows<B>, steps: Tensor<B, 3>, gap: Option<f64>) -> Result<Tensor<B, 3>, Error> {
    let ([batch, count, width], Some(gap)) = (steps.dims(), gap) else { return Ok(steps) };
    let dt = rows.constant(rows.places.steps(gap), [batch, count, 1]);
    Parts::new(1, width, &steps).times(steps, dt)
}

/// Rows that consist of parts of as many numbers.
#[derive(Debug, Clone)]
pub(super) struct Parts<B: LayerBackend> {
    /// `E`: `[parts, parts size]`.
    spread: Tensor<B, 2>,
}

impl<B: LayerBackend> Parts<B> {
    /// So many parts of so many numbers, for tensors like this one.
    pub(super) fn new<const D: usize>(parts: usize, size: usize, like: &Tensor<B, D>) -> Self {
        let entry = |i: usize| if i % (parts * size) / size == i / (parts * size) { 1.0 } else { 0.0 };
        let options: TensorCreationOptions<B> = (&like.device(), like.dtype()).into();
        Self { spread: put((0..parts * parts * size).map(entry).collect::<Vec<f64>>(), [parts, parts * size], options) }
    }

    /// The number of each part, for all of its numbers: `[batch, count, parts]` to `[batch, count, parts size]`.
    pub(super) fn spread(&self, x: Tensor<B, 3>) -> Result<Tensor<B, 3>, Error> {
        times(x, self.spread.clone())
    }

    /// Rows times the number of each part.
    pub(super) fn times(&self, x: Tensor<B, 3>, s: Tensor<B, 3>) -> Result<Tensor<B, 3>, Error> {
        let [parts, _] = self.spread.dims();
        if B::ON_HOST { pass(Operation::Spread { parts }, x, s) } else { Ok(x * self.spread(s)?) }
    }

    /// The sum over each part, the way back.
    pub(super) fn sums(&self, x: Tensor<B, 3>) -> Result<Tensor<B, 3>, Error> {
        times(x, self.spread.clone().transpose())
    }

    /// The sums of two rows beside each other, as those of real and of imaginary parts.
    pub(super) fn sums_of_both(&self, x: Tensor<B, 3>) -> Result<Tensor<B, 3>, Error> {
        let sums = self.spread.clone().transpose();
        times(x, Tensor::cat(vec![sums.clone(), sums], 0))
    }

    /// Vectors, each divided by the root of its square and `epsilon`, times `factor`.
    pub(super) fn normalised(&self, x: Tensor<B, 3>, factor: f64, epsilon: f64) -> Result<Tensor<B, 3>, Error> {
        if B::ON_HOST {
            let [parts, _] = self.spread.dims();
            let unread = Tensor::<B, 1>::ones([1], (&x.device(), x.dtype()));
            return pass(Operation::Normalised { parts, factor, epsilon, gains: false }, x, unread);
        }
        let length = (self.sums(x.clone().square())? + epsilon).sqrt();
        Ok(x * self.spread(length.recip() * factor)?)
    }

    /// Vectors of `gain.len()` numbers, each divided by the root of its mean square, with a gain for each number.
    pub(super) fn normalised_mean(&self, x: Tensor<B, 3>, gain: Tensor<B, 1>) -> Result<Tensor<B, 3>, Error> {
        let ([parts, _], [size]) = (self.spread.dims(), gain.dims());
        // The root of the mean square is that of the sum over the root of the count.
        let (factor, epsilon) = ((size as f64).sqrt(), READ_EPSILON * size as f64);
        if B::ON_HOST {
            return pass(Operation::Normalised { parts, factor, epsilon, gains: true }, x, gain);
        }
        let normed = self.normalised(x, factor, epsilon)?;
        gained(normed, Tensor::cat(vec![gain; parts], 0))
    }
}

/// `x W` for all rows.
pub(super) fn times<B: LayerBackend>(x: Tensor<B, 3>, weight: Tensor<B, 2>) -> Result<Tensor<B, 3>, Error> {
    let ([batch, count, inputs], [_, outputs]) = (x.dims(), weight.dims());
    Ok(dense::product(x.reshape([batch * count, inputs]), weight)?.reshape([batch, count, outputs]))
}
