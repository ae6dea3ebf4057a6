//! Rows of series: at other places, behind a first row, their means.

use cubecl::prelude::*;
use cubecl::server::Handle;

use super::RowsOf;
use crate::device::{Gpu, launch};
use crate::error::Error;
use crate::kernel::rows::{shift, sums};
use crate::recurrence::want;

impl<R: Runtime> Gpu<R> {
    /// Rows of series, `places` of each, at `to` places: row `t` is row `t + first` of the same series, 0 where there is none.
    ///
    /// # Errors
    /// If the buffer is too small.
    pub fn move_rows(&self, x: RowsOf<'_>, places: usize, to: usize, first: isize) -> Result<Handle, Error> {
        want("the rows", x.numbers, x.count())?;
        let numbers = x.rows / places.max(1) * to * x.width;
        let wide = if x.width.is_multiple_of(4) { 4 } else { 1 };
        let (out, units) = (self.floats(numbers), numbers / wide);
        let shift = (first * (x.width / wide) as isize) as i32;
        let (from_count, to_count) = (places * x.width / wide, to * x.width / wide);
        launch!(self, shift::move_rows, each units; wide; [x.numbers, out], from_count, to_count, shift, units);
        Ok(out)
    }

    /// A row before the `places` of each series.
    ///
    /// # Errors
    /// If a buffer is too small.
    pub fn join_rows(&self, first: &Handle, x: RowsOf<'_>, places: usize) -> Result<Handle, Error> {
        let series = x.rows / places.max(1);
        want("the rows", x.numbers, x.count())?;
        want("the first rows", first, series * x.width)?;
        let numbers = x.count() + series * x.width;
        let wide = if x.width.is_multiple_of(4) { 4 } else { 1 };
        let (out, units) = (self.floats(numbers), numbers / wide);
        let width = x.width / wide;
        launch!(self, shift::join_rows, each units; wide; [first, x.numbers, out], places * width, width, units);
        Ok(out)
    }

    /// The mean over the first rows of each series; there are as many series as lengths.
    ///
    /// # Errors
    /// If the buffer is too small, or a series is longer than its rows.
    pub fn mean_rows(&self, x: RowsOf<'_>, lengths: &[usize]) -> Result<Handle, Error> {
        want("the rows", x.numbers, x.count())?;
        let places = x.rows / lengths.len().max(1);
        let ends = self.lengths(lengths, places)?;
        let out = self.floats(lengths.len() * x.width);
        let cubes = lengths.len() * x.width.div_ceil(sums::SUMS);
        launch!(self, sums::means, self.spread(cubes), sums::SUMS * sums::LANES; [x.numbers, ends, out], places, x.width, cubes);
        Ok(out)
    }

    /// The gradient in the rows, of which each series has so many places.
    ///
    /// # Errors
    /// If the buffer is too small, or a series is longer than its rows.
    pub fn mean_rows_backward(&self, dy: RowsOf<'_>, lengths: &[usize], places: usize) -> Result<Handle, Error> {
        want("the gradient", dy.numbers, lengths.len() * dy.width)?;
        let ends = self.lengths(lengths, places)?;
        let units = lengths.len() * places * dy.width;
        let dx = self.floats(units);
        launch!(self, sums::means_back, each units; [dy.numbers, ends, dx], places, dy.width, units);
        Ok(dx)
    }
}
