//! The errors of a search before anything runs.

/// The errors of a search before anything runs.
#[derive(Debug, thiserror::Error, Clone, PartialEq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say it")]
pub enum Error {
    #[error("{0}")]
    Toml(String),

    #[error(
        "nothing is varied; write a table `[vary]` with lists (`\"train.rate\" = [1e-3, 1e-4]`), or give `--vary rate=1e-3,1e-4`"
    )]
    Nothing,

    #[error("`{key}` in `[vary]`: {problem}")]
    Axis { key: String, problem: String },

    #[error("`--vary {text}`: {problem}")]
    Vary { text: String, problem: String },

    #[error("`{0}` is varied twice; give all its values once")]
    Twice(String),

    #[error(
        "`{0}` is a range, which has no end of points for a grid; say how many (`{{ from = .., to = .., points = 5 }}`), list some, or use `--method random`"
    )]
    Endless(String),

    #[error("the grid has more than {most} trials; draw some of them (`--method random --trials 100`)")]
    TooMany { most: usize },

    #[error("it was begun with {was}, but now there is {is}; give the same to go on, or another directory (`--out DIR`)")]
    Differs { was: String, is: String },

    #[error("halving {trials} trials by {factor} over {steps} steps leaves no rung; {help}")]
    Rungs { trials: usize, factor: usize, steps: usize, help: &'static str },
}
