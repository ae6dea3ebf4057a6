//! What can go wrong when a saved model is loaded or used.

use std::path::PathBuf;

/// An error of this crate.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be read or written.
    #[error("`{}`: {problem}", path.display())]
    File {
        /// Which one.
        path: PathBuf,
        /// What the system said.
        problem: String,
    },

    /// A model of a later version of this library.
    #[error("`{}` has format {seen}, but this version of ncde reads formats up to {known}; use ncde {writer} or later", path.display())]
    Newer {
        /// The description of the model.
        path: PathBuf,
        /// Its format.
        seen: u32,
        /// The latest format known here.
        known: u32,
        /// The version that wrote it.
        writer: String,
    },

    /// A file that is not what it should be.
    #[error("`{}`: {problem}", path.display())]
    Corrupt {
        /// Which one.
        path: PathBuf,
        /// What was seen, wanted, and what to try.
        problem: String,
    },

    /// A weight of the wrong shape, or none.
    #[error(
        "weight `{name}` {seen}, but the settings of the model ask for {wanted:?}; the files of the model do not belong together"
    )]
    Weight {
        /// Its name.
        name: String,
        /// What is there.
        seen: String,
        /// The shape it should have.
        wanted: Vec<usize>,
    },

    /// An observation that cannot be taken.
    #[error("observation {index}: {problem}")]
    Observation {
        /// Which one of its series, from 0.
        index: usize,
        /// What was seen, wanted, and what to try.
        problem: String,
    },

    /// The saved state of a series that does not belong to the model.
    #[error("the state of a series: {0}; was it saved by another model?")]
    State(String),

    /// A setting that makes no sense.
    #[error("setting `{setting}`: {problem}")]
    Setting {
        /// Which one.
        setting: &'static str,
        /// What was seen, wanted, and what to try.
        problem: String,
    },

    /// A kernel refused its input, or a state overflowed.
    #[error(transparent)]
    Kernel(#[from] ncde_kernels::Error),

    /// A vector field or its solution.
    #[error(transparent)]
    Solve(#[from] ncde_solve::Error),

    /// A signature could not be computed.
    #[error(transparent)]
    Signature(#[from] ncde_signature::Error),
}
