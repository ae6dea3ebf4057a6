//! What can go wrong in training.

use std::path::PathBuf;

/// An error of training.
#[expect(missing_docs, reason = "the messages say what the variants and their fields are")]
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error("configuration: {0}")]
    Config(String),
    #[error(transparent)]
    Data(#[from] ncde_data::Error),
    #[error("{0}")]
    Unfit(String),
    #[error("case `{id}`: {source}")]
    Case { id: String, source: ncde_runtime::Error },
    #[error(transparent)]
    Layer(#[from] ncde_layers::layer::Error),
    #[error(transparent)]
    Runtime(#[from] ncde_runtime::Error),
    #[error(transparent)]
    Signature(#[from] ncde_signature::Error),
    #[error(
        "the loss is {loss} at step {step}, in a batch of {batch}; try a smaller learning rate (`--set rate={rate:.0e}`), \
         clipping (`--set clip=1`) or smaller first weights (`--set init=...`)"
    )]
    NotFinite { loss: f64, step: usize, batch: String, rate: f64 },
    #[error(
        "step {step}, in a batch of {batch}: {source}; try a smaller learning rate (`--set rate={rate:.0e}`) or smaller first weights (`--set init=...`)"
    )]
    Step { step: usize, batch: String, source: Box<Error>, rate: f64 },
    #[error("{source}. The best weights before, those of step {step}, are saved, and `run.json`")]
    Stopped { source: Box<Error>, step: usize },
    #[error("`{}` {problem}", path.display())]
    Directory { path: PathBuf, problem: String },
    #[error("interrupted after step {step} of {steps}; all that was done is saved in `{}`", directory.display())]
    Interrupted { step: usize, steps: usize, directory: PathBuf },
    #[error("`{}`: {problem}", path.display())]
    File { path: PathBuf, problem: String },
}

impl Error {
    /// Whether a step of training diverged.
    pub fn is_divergence(&self) -> bool {
        match self {
            Self::NotFinite { .. } => true,
            Self::Step { source, .. } => source.is_overflow(),
            _ => false,
        }
    }

    /// What went wrong in a step, without where and advice.
    pub(crate) fn reason(&self) -> String {
        match self {
            Self::NotFinite { loss, .. } => format!("the loss or its gradient is {loss}"),
            Self::Step { source, .. } => source.to_string(),
            other => other.to_string(),
        }
    }

    /// Whether a state overflowed, in training or in a saved model.
    pub(crate) fn is_overflow(&self) -> bool {
        match self {
            Self::Layer(source) => source.is_overflow(),
            Self::Case { source, .. } | Self::Runtime(source) => source.is_overflow(),
            _ => false,
        }
    }

    /// Whether the run itself went wrong, not what it was asked to do.
    pub fn is_failure(&self) -> bool {
        matches!(self, Self::NotFinite { .. } | Self::Step { .. } | Self::Stopped { .. } | Self::File { .. })
            || self.is_overflow()
    }
}
