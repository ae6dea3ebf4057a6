//! Failures and their exit codes: 2 for bad usage or bad input, 1 for the rest, 0 if the reader of our output went away.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::array::{ReadError, TargetError};

#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error(transparent)]
    Read(#[from] ReadError),

    #[error(transparent)]
    Target(#[from] TargetError),

    #[error("{what}: {source}")]
    Signature {
        /// What was being computed, or of which file.
        what: String,
        source: ncde_signature::Error,
    },

    #[error("{what}: {source}")]
    Kernel {
        /// What was being computed.
        what: String,
        source: ncde_kernels::Error,
    },

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

    #[error("{} of {of} cases have no prediction, as a state overflows: {}", cases.len(), first(cases))]
    Overflowed {
        /// Their ids.
        cases: Vec<String>,
        /// How many cases there are.
        of: usize,
    },

    #[error("cannot write `{}`: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },

    #[error("cannot write to standard output: {0}")]
    Stdout(io::Error),

    #[error("cannot start {threads} threads: {source}; ask for fewer with `--threads`")]
    Threads { threads: usize, source: rayon::ThreadPoolBuildError },
}

/// The first few of some ids.
pub(crate) fn first(ids: &[String]) -> String {
    let some: Vec<String> = ids.iter().take(8).map(|id| format!("`{id}`")).collect();
    let more = if ids.len() > some.len() { format!(" and {} more", ids.len() - some.len()) } else { String::new() };
    some.join(", ") + &more
}

impl Failure {
    pub(crate) fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Stdout(source) if source.kind() == io::ErrorKind::BrokenPipe)
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Self::Stdout(_) if self.is_broken_pipe() => ExitCode::SUCCESS,
            Self::Failed(_) | Self::Overflowed { .. } | Self::Write { .. } | Self::Stdout(_) | Self::Threads { .. } => {
                ExitCode::from(1)
            }
            Self::Interrupted(_) => ExitCode::from(130),
            Self::Train(error) if error.is_failure() => ExitCode::from(1),
            #[cfg(not(all(feature = "cuda", feature = "wgpu")))]
            Self::NotBuilt { .. } => ExitCode::from(2),
            Self::Data(_)
            | Self::Train(_)
            | Self::Runtime(_)
            | Self::Record(_)
            | Self::Experiment(_)
            | Self::Tune(_)
            | Self::Read(_)
            | Self::Target(_)
            | Self::Signature { .. }
            | Self::Kernel { .. }
            | Self::Refused(_) => ExitCode::from(2),
        }
    }
}
