//! Tokens in and classes out: rows of a table with its gradient, and the loss of classes.

use cubecl::prelude::*;
use cubecl::server::Handle;

use super::RowsOf;
use crate::device::{Gpu, launch};
use crate::error::Error;
use crate::kernel::rows::{lookup, loss};
use crate::recurrence::want;

impl<R: Runtime> Gpu<R> {
    /// Rows of a table, one for each token; not a number where the table has none.
    ///
    /// # Errors
    /// If a buffer is too small.
    pub fn lookup(&self, tokens: &Handle, rows: usize, table: RowsOf<'_>) -> Result<Handle, Error> {
        want("the tokens", tokens, rows)?;
        want("the table", table.numbers, table.count())?;
        let units = rows * table.width;
        let y = self.floats(units);
        // A token that the table does not have is not looked up.
        launch!(self, lookup::lookup, each units; [tokens, table.numbers, y], table.rows, table.width, units);
        Ok(y)
    }

    /// The gradient of a table of so many rows.
    ///
    /// # Errors
    /// If a buffer is too small.
    pub fn lookup_backward(&self, tokens: &Handle, dy: RowsOf<'_>, vocabulary: usize) -> Result<Handle, Error> {
        want("the tokens", tokens, dy.rows)?;
        want("the gradient", dy.numbers, dy.count())?;
        let splits = (4 * self.multiprocessors()).clamp(1, dy.rows.div_ceil(32).max(1));
        let per_split = dy.rows.div_ceil(splits).max(1);
        let cubes = splits * dy.width.div_ceil(lookup::COLUMNS);
        let numbers = vocabulary * dy.width;
        let parts = self.floats(splits * numbers);
        let CubeCount::Static(x, y, _) = self.spread(cubes) else { return Ok(parts) };
        // Every number of every split is written.
        launch!(self, lookup::reverse, CubeCount::Static(x, y, vocabulary.div_ceil(lookup::TOKENS) as u32), lookup::COLUMNS;
            [tokens, dy.numbers, parts], dy.rows, per_split, vocabulary, dy.width, cubes);
        Ok(self.total(&parts, splits, numbers))
    }

    /// `-share sum w ln(softmax(z)[label] + floor)` over all rows, each with a label and a weight, and its gradient in `z`. NaN where a label is none of the classes.
    ///
    /// # Errors
    /// If a buffer is too small.
    pub fn class_loss(
        &self,
        z: RowsOf<'_>,
        labels: &Handle,
        weights: &Handle,
        floor: f64,
        share: f64,
    ) -> Result<[Handle; 2], Error> {
        want("the outputs", z.numbers, z.count())?;
        want("the labels", labels, z.rows)?;
        want("the weights", weights, z.rows)?;
        let (losses, gradient) = (self.floats(z.rows), self.floats(z.count()));
        launch!(self, loss::classes, each z.rows;
            [z.numbers, labels, weights, losses, gradient], z.width, floor as f32, share as f32, z.rows);
        Ok([self.sum_rows(RowsOf { numbers: &losses, rows: z.rows, width: 1 })?, gradient])
    }
}
