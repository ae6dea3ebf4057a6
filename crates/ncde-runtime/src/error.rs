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

    /// A model of another version of this library.
    #[error("`{}` has format {seen} (written by ncde {writer}), but this version reads format {known}; {}", path.display(),
        if seen > known { "use that version or a later one" } else { "train the model again with this version" })]
    Format {
        /// The description of the model.
        path: PathBuf,
        /// Its format.
        seen: u32,
        /// The format that is read here.
        known: u32,
        /// The version that wrote it.
        writer: String,
    },

    /// A file that is not what it should be.
    #[error("`{}`: {}", path.display(), printable(problem))]
    Corrupt {
        /// Which one.
        path: PathBuf,
        /// What was seen, wanted, and what to try.
        problem: String,
    },

    /// A weight of the wrong shape, or none.
    #[error(
        "weight `{}` {seen}, but the settings of the model ask for {wanted:?}; the files of the model do not belong together",
        printable(name)
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

    /// More or fewer values than the observations have.
    #[error("{seen} values for {times} observations of {channels} channels; {} are wanted, a missing one as NaN", times.saturating_mul(*channels))]
    ValueCount {
        /// How many there are.
        seen: usize,
        /// How many times there are.
        times: usize,
        /// How many channels the model has.
        channels: usize,
    },

    /// A prediction for a series without observations.
    #[error("there is no observation yet, so there is no prediction; push one first")]
    NoObservation,

    /// The saved state of a series that does not belong to the model.
    #[error("the state of a series: {0}; was it saved by another model?")]
    State(String),

    /// A layer that cannot come where it is, or does not fit the others.
    #[error("`{layer}`: {problem}")]
    Layer {
        /// Its place and name.
        layer: String,
        /// What was seen, wanted, and what to try.
        problem: String,
    },

    /// A layer that asks for more weights, memory or work than a model may have: see `docs/model-format.md`.
    #[error("`{layer}`: its settings ask for {asked}, but {allowed}")]
    TooLarge {
        /// Its place and name.
        layer: String,
        /// How much of what.
        asked: String,
        /// How much there may be.
        allowed: String,
    },

    /// A number that is none: a state has overflowed.
    #[error(
        "number {place} of the outputs or of a state is {value}: a state has overflowed; the series is unlike those of training, or the model is unstable"
    )]
    Overflow {
        /// Which one, from 0.
        place: usize,
        /// What it is.
        value: f64,
    },

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

impl Error {
    /// The same error of a layer or its setting, with the place of the layer in its model.
    pub(crate) fn at(self, place: &str, name: &str) -> Self {
        match self {
            Self::Setting { setting, problem } => {
                Self::Layer { layer: format!("{place} ({name})"), problem: format!("`{setting}` is {problem}") }
            }
            Self::TooLarge { asked, allowed, .. } => Self::TooLarge { layer: format!("{place} ({name})"), asked, allowed },
            Self::Layer { problem, .. } => Self::Layer { layer: format!("{place} ({name})"), problem },
            Self::Kernel(_) | Self::Signature(_) | Self::Solve(_) => {
                Self::Layer { layer: format!("{place} ({name})"), problem: self.to_string() }
            }
            other => other,
        }
    }

    /// Whether a state overflowed.
    pub fn is_overflow(&self) -> bool {
        match self {
            Self::Overflow { .. } => true,
            Self::Kernel(source) => {
                // Observations are finite: numbers that are not come from the layer before.
                use ncde_kernels::Error::{Exploded, NotFinite, SolveExploded};
                matches!(source, Exploded { .. } | SolveExploded { .. } | NotFinite { .. })
            }
            Self::Solve(source) => matches!(source, ncde_solve::Error::NotFinite { .. }),
            _ => false,
        }
    }
}

/// Text of a file, without characters that would break a line or command a terminal.
fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() { shown.extend(c.escape_default()) } else { shown.push(c) }
    }
    shown
}
