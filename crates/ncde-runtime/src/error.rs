//! What can go wrong when a saved model is loaded or used.

use std::path::PathBuf;

/// An error of this crate.
///
/// A `problem` says what was seen, what is wanted, and what to try; indices are counted from 0.
#[expect(missing_docs, reason = "the message says what each field is")]
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be read or written.
    #[error("`{}`: {problem}", path.display())]
    File { path: PathBuf, problem: String },

    /// A model of another version of this library.
    #[error("`{}` has format {seen} (written by ncde {writer}), but this version reads format {known}; {}", path.display(),
        if seen > known { "use that version or a later one" } else { "train the model again with this version" })]
    Format { path: PathBuf, seen: u32, known: u32, writer: String },

    /// A file that is not what it should be.
    #[error("`{}`: {}", path.display(), printable(problem))]
    Corrupt { path: PathBuf, problem: String },

    /// A weight of the wrong shape, or none.
    #[error(
        "weight `{}` {seen}, but the settings of the model ask for {wanted:?}; the files of the model do not belong together",
        printable(name)
    )]
    Weight { name: String, seen: String, wanted: Vec<usize> },

    /// An observation that cannot be taken.
    #[error("observation {index}: {problem}")]
    Observation { index: usize, problem: String },

    /// More or fewer values than the observations have.
    #[error("{seen} values for {times} observations of {channels} channels; {} are wanted, a missing one as NaN", times.saturating_mul(*channels))]
    ValueCount { seen: usize, times: usize, channels: usize },

    /// A prediction for a series without observations.
    #[error("there is no observation yet, so there is no prediction; push one first")]
    NoObservation,

    /// The saved state of a series that does not belong to the model.
    #[error("the state of a series: {0}; was it saved by another model?")]
    State(String),

    /// A layer that cannot come where it is, or does not fit the others.
    #[error("`{layer}`: {problem}")]
    Layer { layer: String, problem: String },

    /// A layer that asks for more weights, memory or work than a model may have: see `docs/model-format.md`.
    #[error("`{layer}`: its settings ask for {requested}, but {allowed}")]
    TooLarge { layer: String, requested: String, allowed: String },

    /// A number that is none: a state has overflowed.
    #[error(
        "number {place} of the outputs or of a state is {value}: a state has overflowed; the series is unlike those of training, or the model is unstable"
    )]
    Overflow { place: usize, value: f64 },

    /// A setting that makes no sense.
    #[error("setting `{setting}`: {problem}")]
    Setting { setting: &'static str, problem: String },

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
        let layer = format!("{place} ({name})");
        match self {
            Self::Setting { setting, problem } => Self::Layer { layer, problem: format!("`{setting}` is {problem}") },
            Self::TooLarge { requested, allowed, .. } => Self::TooLarge { layer, requested, allowed },
            Self::Layer { problem, .. } => Self::Layer { layer, problem },
            Self::Kernel(_) | Self::Signature(_) | Self::Solve(_) => Self::Layer { layer, problem: self.to_string() },
            other => other,
        }
    }

    /// Whether a state or a gradient overflowed.
    pub fn is_overflow(&self) -> bool {
        match self {
            Self::Overflow { .. } => true,
            Self::Kernel(source) => {
                // Observations are finite: numbers that are not come from the layer before.
                use ncde_kernels::Error::{Exploded, GradientExploded, NotFinite, SolveExploded, SolveGradientExploded};
                let gradient = matches!(source, GradientExploded { .. } | SolveGradientExploded { .. });
                gradient || matches!(source, Exploded { .. } | SolveExploded { .. } | NotFinite { .. })
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
