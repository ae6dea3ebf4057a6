//! What can go wrong.

use std::path::PathBuf;

/// What can go wrong with an experiment.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A name that there is no experiment of.
    #[error("there is no experiment `{name}`; there are {known}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// All there are.
        known: String,
    },

    /// A model or a task that an experiment does not have.
    #[error("`{experiment}` has no {what} `{name}`; there are {known}")]
    Filter {
        /// The experiment.
        experiment: String,
        /// `model` or `task`.
        what: &'static str,
        /// What was asked for.
        name: String,
        /// All there are.
        known: String,
    },

    /// A request that makes no sense.
    #[error("{0}")]
    Refused(String),

    /// Data that are not there.
    #[error("{problem}\n{help}")]
    Data {
        /// What is missing, and where it was looked for.
        problem: String,
        /// Where to get it, and the layout that is expected.
        help: String,
    },

    /// The directory of an experiment.
    #[error("`{}` {problem}", path.display())]
    Directory {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },

    /// A file.
    #[error("cannot use `{}`: {problem}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },

    /// It was asked to stop.
    #[error("stopped: {done} of {all} runs are finished")]
    Interrupted {
        /// How many runs are finished.
        done: usize,
        /// How many there are.
        all: usize,
    },

    /// A run.
    #[error("{run}: {source}")]
    Run {
        /// Which.
        run: String,
        /// Why.
        source: Box<Error>,
    },

    /// Layers or training.
    #[error(transparent)]
    Layer(Box<ncde_layers::layer::Error>),

    /// Training.
    #[error(transparent)]
    Train(Box<ncde_train::Error>),

    /// Reading data.
    #[error(transparent)]
    Read(Box<ncde_data::Error>),

    /// A field or its solution.
    #[error(transparent)]
    Solve(Box<ncde_solve::Error>),
}

/// Errors of other crates are large, and those of experiments are handed on often.
macro_rules! boxed {
    ($($variant:ident: $error:ty,)*) => {
        $(impl From<$error> for Error {
            fn from(error: $error) -> Self {
                Self::$variant(Box::new(error))
            }
        })*
    };
}
boxed! {
    Layer: ncde_layers::layer::Error,
    Train: ncde_train::Error,
    Read: ncde_data::Error,
    Solve: ncde_solve::Error,
}
