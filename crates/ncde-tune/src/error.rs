//! The errors of a search before anything runs.

/// The errors of a search before anything runs.
#[derive(Debug, thiserror::Error, Clone, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// The file is no TOML.
    #[error("{0}")]
    Toml(String),

    /// No key is varied.
    #[error(
        "nothing is varied; write a table `[vary]` with lists (`\"train.rate\" = [1e-3, 1e-4]`), or give `--vary rate=1e-3,1e-4`"
    )]
    Nothing,

    /// The values of an axis are not valid.
    #[error("`{key}` in `[vary]`: {problem}")]
    Axis {
        /// Which one.
        key: String,
        /// What is wrong, and what would be right.
        problem: String,
    },

    /// An axis on the command line is not valid.
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

    /// A grid over a range without a number of points.
    #[error(
        "`{0}` is a range, which has no end of points for a grid; say how many (`{{ from = .., to = .., points = 5 }}`), list some, or use `--method random`"
    )]
    Endless(String),

    /// A grid with too many trials.
    #[error("the grid has more than {most} trials; draw some of them (`--method random --trials 100`)")]
    TooMany {
        /// The most there may be.
        most: usize,
    },

    /// The settings differ from those of the search in the directory.
    #[error("it was begun with {was}, but now there is {is}; give the same to go on, or another directory (`--out DIR`)")]
    Differs {
        /// The setting of the search in the directory.
        was: String,
        /// The setting now.
        is: String,
    },

    /// Too few trials or steps for two rungs.
    #[error("halving {trials} trials by {factor} over {steps} steps leaves no rung; {help}")]
    Rungs {
        /// How many trials.
        trials: usize,
        /// One trial in this many is kept.
        factor: usize,
        /// The steps of the last rung.
        steps: usize,
        /// What to do.
        help: &'static str,
    },
}
