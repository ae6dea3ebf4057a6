//! Long csv: a row an observation, `id,time,channels...,label`.
//!
//! Rows are gathered by id, and times must increase within a case. Without an id column there is one case, without times
//! observations are counted. A text column becomes one channel `name=value` for each of its values, 1 where it has that
//! value; if it is the only channel, its texts are tokens. A label that is the same on all rows of each case, or stands on its
//! first or last row only, is one of the whole case; any other is one of observations.

pub(super) mod columns;
mod finish;
mod table;
mod texts;
mod tokens;

pub(super) use columns::{Columns, Wanted, is_label};
pub(super) use finish::expand;
pub(super) use table::{Rule, Table};

use super::ReadOptions;
use crate::text::lines::{Lines, Source};
use crate::{Dataset, Error};

pub(super) fn read(source: Source<'_>, name: &str, options: &ReadOptions) -> Result<Dataset, Error> {
    let mut lines = Lines::new(source)?;
    let columns = columns::read(&mut lines, &Wanted::series(options))?;
    let mut table = Table::new(&columns, Rule::Series);
    table.take(&mut lines, &columns, None)?;
    table.finish(name, options)
}
