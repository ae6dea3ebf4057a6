//! What can go wrong.

use std::path::PathBuf;

/// What can go wrong with an experiment.
#[expect(missing_docs, reason = "the messages say what the variants and their fields are")]
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error("there is no experiment `{name}`; there are {known}")]
    Unknown { name: String, known: String },
    #[error("`{experiment}` has no {what} `{name}`; there are {known}")]
    Filter { experiment: String, what: &'static str, name: String, known: String },
    #[error("{0}")]
    Refused(String),
    #[error("{problem}\n{help}")]
    Data { problem: String, help: String },
    #[error("`{}` {problem}", path.display())]
    Directory { path: PathBuf, problem: String },
    #[error("cannot use `{}`: {problem}", path.display())]
    File { path: PathBuf, problem: String },
    #[error("stopped: {done} of {all} runs are finished")]
    Interrupted { done: usize, all: usize },
    #[error("{run}: {source}")]
    Run { run: String, source: Box<Error> },
    #[error(transparent)]
    Layer(Box<ncde_layers::layer::Error>),
    #[error(transparent)]
    Train(Box<ncde_train::Error>),
    #[error(transparent)]
    Read(Box<ncde_data::Error>),
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
