//! What layers do to rows of numbers, on device buffers: one by one here, as rows of series in `series`, with tokens and classes in `tokens`.

mod series;
mod tokens;

use cubecl::prelude::*;
use cubecl::server::Handle;

use crate::device::{Gpu, launch};
use crate::error::Error;
use crate::kernel::rows::activation::{self, Activation};
use crate::kernel::rows::{dropout, norm, sums};
use crate::kernel::scale;
use crate::recurrence::want;

/// Rows in a buffer, one after the other.
#[derive(Debug, Clone, Copy)]
pub struct RowsOf<'a> {
    /// The buffer.
    pub numbers: &'a Handle,
    /// How many rows.
    pub rows: usize,
    /// How many numbers each has.
    pub width: usize,
}

impl RowsOf<'_> {
    fn count(&self) -> usize {
        self.rows * self.width
    }
}

/// How rows are cut for sums: rows of a split, and how many splits.
fn cut(rows: usize, width: usize, units: usize) -> (usize, usize) {
    let wanted = (units / width.max(1)).clamp(1, rows.div_ceil(16).max(1));
    let per_split = rows.div_ceil(wanted).max(1);
    (per_split, rows.div_ceil(per_split).max(1))
}

/// Gain and offset; the rows stand in for what is not there.
fn affine_or_rows<'a>(x: RowsOf<'a>, affine: Option<[&'a Handle; 2]>) -> Result<[&'a Handle; 2], Error> {
    let Some(pair) = affine else { return Ok([x.numbers; 2]) };
    pair.iter().try_for_each(|handle| want("gain or offset", handle, x.width))?;
    Ok(pair)
}

impl<R: Runtime> Gpu<R> {
    /// `factor (x - shift)`, each column with its own; `factor x` without a shift.
    ///
    /// # Errors
    /// If a buffer is too small.
    pub fn scale_columns(&self, x: RowsOf<'_>, shift: Option<&Handle>, factor: &Handle) -> Result<Handle, Error> {
        want("the rows", x.numbers, x.count())?;
        want("the factors", factor, x.width)?;
        if let Some(shift) = shift {
            want("the shifts", shift, x.width)?;
        }
        let out = self.floats(x.count());
        // Without a shift its buffer is not read.
        launch!(self, scale::by_columns, each x.count();
            [x.numbers, shift.unwrap_or(factor), factor, out], x.width, x.count(), shift.is_some());
        Ok(out)
    }

    /// `(first, factor x)` for every row.
    ///
    /// # Errors
    /// If the buffer is too small.
    pub fn prepend(&self, x: RowsOf<'_>, first: f64, factor: f64) -> Result<Handle, Error> {
        want("the rows", x.numbers, x.count())?;
        let units = x.rows * (x.width + 1);
        let out = self.floats(units);
        launch!(self, scale::prepend, each units; [x.numbers, out], first as f32, factor as f32, x.width, units);
        Ok(out)
    }

    /// `factor x` for every row `(anything, x)`.
    ///
    /// # Errors
    /// If the buffer is too small.
    pub fn behind(&self, rows: RowsOf<'_>, factor: f64) -> Result<Handle, Error> {
        want("the rows", rows.numbers, rows.count())?;
        let width = rows.width - 1;
        let units = rows.rows * width;
        let out = self.floats(units);
        launch!(self, scale::behind, each units; [rows.numbers, out], factor as f32, width, units);
        Ok(out)
    }

    /// A function of every row, and how many numbers a row has then.
    ///
    /// # Errors
    /// If the buffer is too small.
    pub fn activation(&self, function: Activation, x: RowsOf<'_>) -> Result<(Handle, usize), Error> {
        want("the rows", x.numbers, x.count())?;
        let width = if function == Activation::Glu { x.width / 2 } else { x.width };
        let units = x.rows * width;
        let y = self.floats(units);
        launch!(self, activation::apply, each units; [x.numbers, y], width, units, function);
        Ok((y, width))
    }

    /// The gradient in the rows.
    ///
    /// # Errors
    /// If a buffer is too small.
    pub fn activation_backward(&self, function: Activation, x: RowsOf<'_>, dy: &Handle) -> Result<Handle, Error> {
        let width = if function == Activation::Glu { x.width / 2 } else { x.width };
        let units = x.rows * width;
        want("the rows", x.numbers, x.count())?;
        want("the gradient", dy, units)?;
        let dx = self.floats(x.count());
        launch!(self, activation::reverse, each units; [x.numbers, dy, dx], width, units, function);
        Ok(dx)
    }

    /// Rows of mean 0 and variance 1, then times a gain and moved by an offset.
    ///
    /// # Errors
    /// If a buffer is too small.
    pub fn norm(&self, x: RowsOf<'_>, affine: Option<[&Handle; 2]>, epsilon: f64) -> Result<Handle, Error> {
        want("the rows", x.numbers, x.count())?;
        let [gain, offset] = affine_or_rows(x, affine)?;
        let y = self.floats(x.count());
        // Without gain and offset their buffers are not read.
        launch!(self, norm::norm_rows, self.spread(x.rows.div_ceil(norm::ROWS)), norm::TEAM * norm::ROWS;
            [x.numbers, gain, offset, y], x.rows, x.width, epsilon as f32, affine.is_some());
        Ok(y)
    }

    /// The gradients in the rows, and in gain and offset, one after the other in a buffer.
    ///
    /// # Errors
    /// If a buffer is too small.
    pub fn norm_backward(
        &self,
        x: RowsOf<'_>,
        gain: Option<&Handle>,
        dy: &Handle,
        epsilon: f64,
    ) -> Result<(Handle, Option<Handle>), Error> {
        want("the rows", x.numbers, x.count())?;
        want("the gradient", dy, x.count())?;
        let [gain_or_rows, _] = affine_or_rows(x, gain.map(|gain| [gain, gain]))?;
        let (dx, moments) = (self.floats(x.count()), self.floats(2 * x.rows));
        // Without a gain its buffer is not read.
        launch!(self, norm::reverse, self.spread(x.rows.div_ceil(norm::ROWS)), norm::TEAM * norm::ROWS;
            [x.numbers, gain_or_rows, dy, dx, moments], x.rows, x.width, epsilon as f32, gain.is_some());
        if gain.is_none() {
            return Ok((dx, None));
        }
        let (per_split, splits) = cut(x.rows, x.width, self.limits().units);
        let (parts, units) = (self.floats(splits * 2 * x.width), splits * x.width);
        launch!(self, norm::columns, each units; [x.numbers, dy, moments, parts], x.rows, x.width, per_split, units);
        Ok((dx, Some(self.total(&parts, splits, 2 * x.width))))
    }

    /// The sum of rows.
    ///
    /// # Errors
    /// If the buffer is too small.
    pub fn sum_rows(&self, x: RowsOf<'_>) -> Result<Handle, Error> {
        want("the rows", x.numbers, x.count())?;
        let (per_split, splits) = cut(x.rows, x.width, self.limits().units);
        let units = splits * x.width;
        let parts = self.floats(units);
        launch!(self, sums::rows, each units; [x.numbers, parts], x.rows, x.width, per_split, units);
        Ok(if splits == 1 { parts } else { self.total(&parts, splits, x.width) })
    }

    /// The sum over splits.
    fn total(&self, parts: &Handle, splits: usize, numbers: usize) -> Handle {
        let out = self.floats(numbers);
        self.total_into(parts, splits, numbers, None, &out);
        out
    }

    /// The sum over splits, and a bias of so many numbers that repeats, to a buffer that is there.
    pub(crate) fn total_into(&self, parts: &Handle, splits: usize, numbers: usize, bias: Option<(&Handle, usize)>, out: &Handle) {
        // Without one its buffer is not read.
        let (added, width) = bias.unwrap_or((parts, 1));
        launch!(self, sums::total, self.spread(numbers.div_ceil(sums::SUMS)), sums::SUMS * sums::LANES;
            [parts, added, out], splits, numbers, width, bias.is_some());
    }

    /// Each number stays, times `1 / (1 - rate)`, with probability `1 - rate`: by the numbers of the stream with this key.
    ///
    /// # Errors
    /// If the buffer is too small.
    pub fn dropout(&self, x: &Handle, numbers: usize, key: u64, rate: f64) -> Result<Handle, Error> {
        want("the rows", x, numbers)?;
        let y = self.floats(numbers);
        // A number below the rate is one of 53 bits below this.
        let threshold = (rate * (1_u64 << 53) as f64).ceil() as u64;
        launch!(self, dropout::dropout, each numbers;
            [x, y], key as u32, (key >> 32) as u32, threshold as u32, (threshold >> 32) as u32, (1.0 / (1.0 - rate)) as f32,
            numbers);
        Ok(y)
    }
}
