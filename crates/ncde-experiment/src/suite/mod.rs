//! The experiments, one file each: what is run at which budget, and what was published.

mod a5;
mod a5_length;
mod change;
mod formal;
mod lip;
mod ppg;
mod signature_regression;
mod tokens;
mod toy;
mod trained;
mod uea;

pub use uea::{Shape, uea_shapes};

use crate::Error;
use crate::plan::Entry;

/// The experiments of this crate, in the order in which they are listed.
pub const EXPERIMENTS: &[Entry] =
    &[a5::ENTRY, a5_length::ENTRY, formal::ENTRY, signature_regression::ENTRY, toy::ENTRY, uea::ENTRY, ppg::ENTRY, lip::ENTRY];

/// An experiment among some by its name.
///
/// # Errors
/// If there is none; the error names all there are.
pub fn find<'a>(among: &'a [Entry], name: &str) -> Result<&'a Entry, Error> {
    among.iter().find(|entry| entry.name == name).ok_or_else(|| {
        let known = among.iter().map(|entry| format!("`{}`", entry.name)).collect::<Vec<_>>().join(", ");
        Error::Unknown { name: name.into(), known }
    })
}
