//! What can go wrong in training.

use std::path::PathBuf;

/// An error of training.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A configuration that makes no sense.
    #[error("configuration: {0}")]
    Config(String),

    /// A file of data.
    #[error(transparent)]
    Data(#[from] ncde_data::Error),

    /// Data that cannot be trained on.
    #[error("{0}")]
    Unfit(String),

    /// A case that the preparation or a saved model does not take.
    #[error("case `{id}`: {source}")]
    Case {
        /// Its name.
        id: String,
        /// Why.
        source: ncde_runtime::Error,
    },

    /// A layer.
    #[error(transparent)]
    Layer(#[from] ncde_layers::layer::Error),

    /// A saved model.
    #[error(transparent)]
    Runtime(#[from] ncde_runtime::Error),

    /// A signature.
    #[error(transparent)]
    Signature(#[from] ncde_signature::Error),

    /// The loss is not a number any more.
    #[error(
        "the loss is {loss} at step {step}, in a batch of {batch}; try a smaller learning rate (`--set rate={rate:.0e}`), \
         clipping (`--set clip=1`) or smaller first weights (`--set init=...`)"
    )]
    NotFinite {
        /// What it is.
        loss: f64,
        /// Where.
        step: usize,
        /// What is in the batch.
        batch: String,
        /// A rate to try.
        rate: f64,
    },

    /// A step failed.
    #[error(
        "step {step}, in a batch of {batch}: {source}; try a smaller learning rate (`--set rate={rate:.0e}`) or smaller first weights (`--set init=...`)"
    )]
    Step {
        /// Where.
        step: usize,
        /// What is in the batch.
        batch: String,
        /// Why.
        source: Box<Error>,
        /// A rate to try.
        rate: f64,
    },

    /// Training went wrong, but had been good before.
    #[error("{source}. The best weights before, those of step {step}, are saved, and `run.json`")]
    Stopped {
        /// What went wrong.
        source: Box<Error>,
        /// The step of the best weights.
        step: usize,
    },

    /// A directory that a run cannot be written to.
    #[error("`{}` {problem}", path.display())]
    Directory {
        /// Which one.
        path: PathBuf,
        /// What is there, and what to do.
        problem: String,
    },

    /// Somebody asked it to stop; a checkpoint is written.
    #[error("interrupted after step {step} of {steps}; all that was done is saved in `{}`", directory.display())]
    Interrupted {
        /// How many steps are done.
        step: usize,
        /// Of how many.
        steps: usize,
        /// Where it is saved.
        directory: PathBuf,
    },

    /// A file could not be read or written.
    #[error("`{}`: {problem}", path.display())]
    File {
        /// Which one.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
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
