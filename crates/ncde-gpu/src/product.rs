//! Products of matrices on device buffers: in `f32` throughout, or of rounded numbers on tensor cores if requested ([`Rounding`]).

use cubecl::prelude::*;
use cubecl::server::Handle;

use crate::device::{Gpu, launch};
use crate::error::Error;
use crate::kernel::product::{self, PART, ProductLaunch, UNITS};
use crate::kernel::tensor;
use crate::recurrence::{want, want_list};
use crate::rounding::Rounding;

/// Buffers begin at multiples of so many numbers: 256 bytes, the most that `WebGPU` may ask for.
const ALIGNED: usize = 64;

/// A matrix, row after row in a buffer.
#[derive(Debug, Clone, Copy)]
pub struct Matrix<'a> {
    /// The buffer.
    pub numbers: &'a Handle,
    /// Rows, as they lie.
    pub rows: usize,
    /// Columns, as they lie.
    pub columns: usize,
    /// Whether its transpose is meant.
    pub transposed: bool,
}

impl<'a> Matrix<'a> {
    /// A matrix as it lies.
    pub fn new(numbers: &'a Handle, rows: usize, columns: usize) -> Self {
        Self { numbers, rows, columns, transposed: false }
    }

    /// Its transpose.
    #[must_use]
    pub fn transposed(self) -> Self {
        Self { transposed: !self.transposed, ..self }
    }

    /// Rows and columns that are meant.
    fn shape(&self) -> (usize, usize) {
        if self.transposed { (self.columns, self.rows) } else { (self.rows, self.columns) }
    }

    /// How far apart its rows and its columns lie.
    fn strides(&self) -> (usize, usize) {
        if self.transposed { (1, self.columns) } else { (self.columns, 1) }
    }
}

/// How a product is cut: a pure function of shapes and of how many cubes a device has room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cut {
    /// Parts of a tile along its rows, and along its columns.
    pub(crate) parts: (usize, usize),
    /// Steps of the sum that a split has.
    pub(crate) per_split: usize,
    /// How many splits.
    pub(crate) splits: usize,
}

impl Cut {
    /// The shortest sum that is worth a split.
    const SHORTEST: usize = 64;

    /// The largest tiles that leave no part empty and are enough for all multiprocessors; long sums are cut where tiles are too few for them.
    pub(crate) fn new((rows, columns, inner): (usize, usize, usize), multiprocessors: usize) -> Self {
        let tiles = |(tall, broad): (usize, usize)| rows.div_ceil(PART * tall) * columns.div_ceil(PART * broad);
        let full = |count: usize, parts: usize| count.div_ceil(PART).is_multiple_of(parts);
        let all = [(2, 2), (2, 1), (1, 2)];
        let fits = |parts: &(usize, usize)| full(rows, parts.0) && full(columns, parts.1) && tiles(*parts) >= multiprocessors;
        let parts = all.into_iter().find(fits).unwrap_or((1, 1));
        let wanted = (2 * multiprocessors / tiles(parts).max(1)).clamp(1, inner.div_ceil(Self::SHORTEST).max(1));
        // Whole steps of shared memory, so that only the last split is odd.
        let per_split = inner.div_ceil(wanted).next_multiple_of(16).max(16);
        Self { parts, per_split, splits: inner.div_ceil(per_split).max(1) }
    }

    /// The same where groups of steps are not added: splits end with groups.
    pub(crate) fn of_groups((rows, columns, inner): (usize, usize, usize), groups: usize, multiprocessors: usize) -> Self {
        let steps = inner / groups;
        let Self { parts, splits, .. } = Self::new((rows, columns, steps), multiprocessors.div_ceil(groups));
        // The most splits of equal steps, but not more.
        let splits = (1..=splits).rev().find(|&splits| steps.is_multiple_of(splits)).unwrap_or(1);
        Self { parts, per_split: steps / splits, splits: groups * splits }
    }
}

impl<R: Runtime> Gpu<R> {
    /// `a b + bias`, row after row.
    ///
    /// # Errors
    /// If shapes do not fit, or a buffer is too small.
    pub fn product(&self, a: Matrix<'_>, b: Matrix<'_>, bias: Option<&Handle>) -> Result<Handle, Error> {
        let out = self.floats(a.shape().0 * b.shape().1);
        self.product_into(a, b, bias, &out)?;
        Ok(out)
    }

    /// The same, to a buffer that is there.
    pub(crate) fn product_into(&self, a: Matrix<'_>, b: Matrix<'_>, bias: Option<&Handle>, out: &Handle) -> Result<(), Error> {
        let (rows, columns) = (a.shape().0, b.shape().1);
        if let Some(bias) = bias {
            want("the bias", bias, columns)?;
        }
        want("the product", out, rows * columns)?;
        self.multiply(a, b, bias, None, out)
    }

    /// `a b` and the sum of the rows of `b`, as a layer's weights and bias have their gradients.
    ///
    /// # Errors
    /// If shapes do not fit, or a buffer is too small.
    pub fn product_and_sums(&self, a: Matrix<'_>, b: Matrix<'_>) -> Result<[Handle; 2], Error> {
        let (rows, columns) = (a.shape().0, b.shape().1);
        // Both are parts of one buffer, which begin where any device lets them.
        let sums = (rows * columns).next_multiple_of(ALIGNED);
        let out = self.floats(sums + columns);
        self.multiply(a, b, None, Some(sums), &out)?;
        let bytes = |count: usize| (size_of::<f32>() * count) as u64;
        Ok([out.clone().offset_end(bytes(sums + columns - rows * columns)), out.offset_start(bytes(sums))])
    }

    /// `a b + bias`, and sums from such a place on, where there is one.
    fn multiply(
        &self,
        a: Matrix<'_>,
        b: Matrix<'_>,
        bias: Option<&Handle>,
        sums: Option<usize>,
        out: &Handle,
    ) -> Result<(), Error> {
        let ((rows, inner), (_, columns)) = (a.shape(), b.shape());
        self.fit(a, b)?;
        let cut = Cut::new((rows, columns, inner), self.multiprocessors());
        if cut.splits == 1 {
            self.splits_into(a, b, bias, sums, cut, out);
            return Ok(());
        }
        // A bias is added once, to the sum over splits.
        let numbers = sums.map_or(rows * columns, |sums| sums + columns);
        let parts = self.floats(cut.splits * numbers);
        self.splits_into(a, b, None, sums, cut, &parts);
        self.total_into(&parts, cut.splits, numbers, bias.map(|bias| (bias, columns)), out);
        Ok(())
    }

    /// Refuses matrices that do not fit.
    fn fit(&self, a: Matrix<'_>, b: Matrix<'_>) -> Result<(), Error> {
        let ((_, inner), (steps, _)) = (a.shape(), b.shape());
        want_list("the right matrix", steps, inner)?;
        want("the left matrix", a.numbers, a.rows * a.columns)?;
        want("the right matrix", b.numbers, b.rows * b.columns)
    }

    /// `a_g b_g` for each of so many groups of equally many steps of the sum, each in so many splits, which are not added: `[groups, splits, rows, columns]`.
    pub(crate) fn products(&self, a: Matrix<'_>, b: Matrix<'_>, groups: usize) -> Result<(Handle, usize), Error> {
        let ((rows, inner), (_, columns)) = (a.shape(), b.shape());
        self.fit(a, b)?;
        want_list("the right matrix", inner, inner.next_multiple_of(groups))?;
        let cut = Cut::of_groups((rows, columns, inner), groups, self.multiprocessors());
        let out = self.floats(cut.splits * rows * columns);
        self.splits_into(a, b, None, None, cut, &out);
        Ok((out, cut.splits / groups))
    }

    /// The splits of a product, with sums from such a place of each on; sizes have been checked.
    fn splits_into(&self, a: Matrix<'_>, b: Matrix<'_>, bias: Option<&Handle>, sums: Option<usize>, cut: Cut, parts: &Handle) {
        let ((rows, inner), columns) = (a.shape(), b.shape().1);
        let numbers = sums.map_or(rows * columns, |sums| sums + columns);
        let (tall, broad) = cut.parts;
        let ((a_row, a_inner), (b_inner, b_column)) = (a.strides(), b.strides());
        let CubeCount::Static(x, y, _) = self.spread(rows.div_ceil(PART * tall) * columns.div_ceil(PART * broad)) else {
            return;
        };
        let cubes = CubeCount::Static(x, y, cut.splits as u32);
        let (per_split, sums_at) = (cut.per_split, sums.unwrap_or(0));
        let of = ProductLaunch::new(rows, columns, inner, per_split, a_row, a_inner, b_inner, b_column, numbers, sums_at);
        let (has_bias, has_sums, a_by_rows, b_by_rows) = (bias.is_some(), sums.is_some(), !a.transposed, !b.transposed);
        // Without a bias its buffer is not read.
        let (left, right, bias) = (a.numbers, b.numbers, bias.unwrap_or(b.numbers));
        let step = self.rounding().step();
        match self.rounding() {
            Rounding::None => launch!(self, product::multiply, cubes, UNITS * UNITS;
                4; [left, right, bias, parts], of, tall, broad, has_bias, has_sums, a_by_rows, b_by_rows),
            Rounding::Bf16 => launch!(self, tensor::multiply<half::bf16>, cubes, tensor::UNITS;
                [left, right, bias, parts], of, tall, broad, step, has_bias, has_sums, a_by_rows, b_by_rows),
            Rounding::Tf32 => launch!(self, tensor::multiply<tf32>, cubes, tensor::UNITS;
                [left, right, bias, parts], of, tall, broad, step, has_bias, has_sums, a_by_rows, b_by_rows),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tile is not larger than what it is for, but for a part.
    fn rows_beyond(count: usize) -> usize {
        count + PART
    }

    #[test]
    fn a_product_is_cut_so_that_every_step_belongs_to_one_split() {
        for shape in [(1, 1, 1), (10_240, 512, 129), (129, 512, 10_240), (128, 128, 10_240), (7, 3, 1_000_003), (64, 64, 0)] {
            for multiprocessors in [1, 4, 132] {
                let Cut { parts, per_split, splits } = Cut::new(shape, multiprocessors);
                assert!(splits * per_split >= shape.2 && (splits - 1) * per_split <= shape.2 && per_split % 16 == 0, "{shape:?}");
                assert!(parts.0 * PART < rows_beyond(shape.0) && parts.1 * PART < rows_beyond(shape.1), "{shape:?}");
            }
        }
        for (inner, groups) in [(12, 6), (6 * 6400, 6), (6 * 6403, 6), (7, 7), (5, 1)] {
            let Cut { per_split, splits, .. } = Cut::of_groups((128, 64, inner), groups, 132);
            assert!(splits * per_split == inner && splits % groups == 0, "{inner} {groups}");
        }
        assert_eq!(Cut::new((10_240, 512, 129), 132).splits, 1);
        assert!(Cut::new((129, 512, 10_240), 132).splits > 4);
    }
}
