//! Failures and their exit codes: 2 for bad usage or bad input, 1 for the rest, 0 if the reader of our output went away.

use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error(transparent)]
    Npy(#[from] ncde_data::npy::Error),

    #[error(transparent)]
    Data(#[from] ncde_data::Error),

    #[error(transparent)]
    Train(#[from] ncde_train::Error),

    #[error(transparent)]
    Runtime(#[from] ncde_runtime::Error),

    #[error(transparent)]
    Experiment(#[from] ncde_experiment::Error),

    #[error(transparent)]
    Tune(#[from] ncde_tune::Error),

    #[error(transparent)]
    Record(#[from] ncde_report::RecordError),

    #[error("{0}")]
    Refused(String),

    #[error("this program was built without `{device}`; build it with `--features {device}`, or use `--device cpu`")]
    #[cfg(not(all(feature = "cuda", feature = "wgpu")))]
    NotBuilt { device: crate::args::Device },

    /// It was done, and nothing good came out.
    #[error("{0}")]
    Failed(String),

    /// Stopped by a signal; the code is that of a shell.
    #[error("{0}")]
    Interrupted(String),

    #[error("cannot write `{}`: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },

    #[error("cannot write to standard output: {0}")]
    Stdout(io::Error),
}

/// Returns a [`Failure::Refused`] with a formatted message.
macro_rules! refuse {
    ($($message:tt)*) => {
        return Err($crate::error::Failure::Refused(format!($($message)*)))
    };
}
pub(crate) use refuse;

impl Failure {
    pub(crate) fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Stdout(source) if source.kind() == io::ErrorKind::BrokenPipe)
    }

    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Stdout(_) if self.is_broken_pipe() => 0,
            Self::Failed(_) | Self::Write { .. } | Self::Stdout(_) => 1,
            Self::Interrupted(_) => 130,
            Self::Train(error) if error.is_failure() => 1,
            _ => 2,
        }
    }
}
