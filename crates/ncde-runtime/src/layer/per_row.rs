//! Steps that remember nothing: every row is treated by itself.

use super::{Row, Share, Step};
use crate::Error;

/// The step that appends to `out`, which is empty, what a function makes of each row.
pub(super) fn per_row<F>(function: F) -> Result<Box<dyn Step>, Error>
where
    F: FnMut(Row<'_>, &mut Vec<f64>) -> Result<(), Error> + Send + Sync + 'static,
{
    Ok(Box::new(PerRow(function)))
}

struct PerRow<F>(F);

impl<F> std::fmt::Debug for PerRow<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PerRow")
    }
}

impl<F: FnMut(Row<'_>, &mut Vec<f64>) -> Result<(), Error> + Send + Sync> Step for PerRow<F> {
    fn push(&mut self, _: Share<'_>, row: Row<'_>, out: &mut Vec<f64>) -> Result<bool, Error> {
        out.clear();
        (self.0)(row, out)?;
        Ok(true)
    }
}
