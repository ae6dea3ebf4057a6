//! The verbs of the command line, one module each.

mod ahead;
pub(crate) mod completions;
pub(crate) mod data;
mod describe;
pub(crate) mod eval;
pub(crate) mod experiment;
pub(crate) mod inspect;
pub(crate) mod predict;
pub(crate) mod report;
pub(crate) mod signature;
pub(crate) mod stream;
pub(crate) mod train;
pub(crate) mod tune;
