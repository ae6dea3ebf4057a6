//! The errors of a search before anything runs.

/// The errors of a search before anything runs.
#[derive(Debug, thiserror::Error, Clone, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// The file is no TOML.
    #[error("{0}")]
    Toml(String),

    /// There is nothing to vary.
    #[error(
        "nothing is varied; write a table `[vary]` with lists (`\"train.rate\" = [1e-3, 1e-4]`), or give `--vary rate=1e-3,1e-4`"
    )]
    Nothing,

    /// The values of an axis make no sense.
    #[error("`{key}` in `[vary]`: {problem}")]
    Axis {
        /// Which one.
        key: String,
        /// What is wrong, and what would be right.
        problem: String,
    },

    /// An axis that was typed makes no sense.
    #[error("`--vary {text}`: {problem}")]
    Vary {
        /// What was typed.
        text: String,
        /// What is wrong, and what would be right.
        problem: String,
    },

    /// Two axes vary the same key.
    #[error("`{0}` is varied twice; give all its values once")]
    Twice(String),

    /// A range has no end of points.
    #[error(
        "`{0}` is a range, which has no end of points for a grid; say how many (`{{ from = .., to = .., points = 5 }}`), list some, or use `--method random`"
    )]
    Endless(String),

    /// More trials than anybody can run.
    #[error("the grid has more than {most} trials; draw some of them (`--method random --trials 100`)")]
    TooMany {
        /// The most there may be.
        most: usize,
    },

    /// A search that was begun cannot go on as this one.
    #[error("it was begun with {was}, but now there is {is}; give the same to go on, or another directory (`--out DIR`)")]
    Differs {
        /// What it was begun with.
        was: String,
        /// What is asked for now.
        is: String,
    },

    /// Too little to halve.
    #[error("halving {trials} trials by {factor} over {steps} steps leaves no rung; {help}")]
    Rungs {
        /// How many trials.
        trials: usize,
        /// The share that is kept is one in so many.
        factor: usize,
        /// The steps of the last rung.
        steps: usize,
        /// What to do.
        help: &'static str,
    },
}
