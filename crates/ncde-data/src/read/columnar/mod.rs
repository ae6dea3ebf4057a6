//! Parquet and Arrow files as tables: typed columns become the cells that a csv file of the same data has, and all that follows
//! is the same. A null is a missing cell, a time stamp a date.
//!
//! Built with the feature `parquet`; without it such files are refused by name.

#[cfg(feature = "parquet")]
mod cell;
#[cfg(feature = "parquet")]
mod messages;
#[cfg(feature = "parquet")]
mod packing;
#[cfg(feature = "parquet")]
mod pages;
#[cfg(feature = "parquet")]
mod table;

#[cfg(feature = "parquet")]
pub(super) use table::Columns;

use std::path::Path;

use super::{Format, Input, ReadOptions, format, json};
use crate::Error;

/// Without the feature there are none.
#[cfg(not(feature = "parquet"))]
pub(super) enum Columns {}

#[cfg(not(feature = "parquet"))]
impl Columns {
    pub(super) fn names(&self) -> &[String] {
        match *self {}
    }

    pub(super) fn each(&self, _: impl FnMut(u64, &[std::borrow::Cow<'_, [u8]>]) -> Result<(), Error>) -> Result<(), Error> {
        match *self {}
    }
}

/// The input with its columns, if it is of such a format.
pub(super) fn table<'a>(input: Input<'a>, path: &Path, options: &ReadOptions) -> Result<Input<'a>, Error> {
    let format = format::of(&mut input.open()?, path, None);
    match format {
        Ok(format @ (Format::Parquet | Format::Arrow)) => open(&input, format, options),
        Ok(Format::Json) => json::open(&input),
        // Any other file is a csv file here, whatever it is called.
        _ => Ok(input),
    }
}

/// The columns of a file.
#[cfg(feature = "parquet")]
pub(super) fn open(input: &Input<'_>, format: Format, options: &ReadOptions) -> Result<Input<'static>, Error> {
    Ok(Input::columns(input.file(), Columns::read(input, format, options)?))
}

#[cfg(not(feature = "parquet"))]
pub(super) fn open(input: &Input<'_>, format: Format, _: &ReadOptions) -> Result<Input<'static>, Error> {
    Err(Error::NotBuilt { file: input.file().into(), what: format.words(), feature: "parquet" })
}
