//! Several models on several data sets: whether they differ, and which.
//!
//! ```text
//! scores [model][data set] -> ranks on each data set -> average ranks, Friedman: does any model differ?
//!                          -> Wilcoxon of every pair -> Holm: which pairs differ? -> cliques of those that do not
//! ```
//!
//! | file | what |
//! | --- | --- |
//! | `ranks` | ranks with ties averaged |
//! | `friedman` | Friedman's test, corrected for ties |
//! | `wilcoxon` | the signed-rank test of a pair |
//! | `holm` | Holm's correction of several p-values |
//! | `comparison` | all of it for a table, with the cliques of a critical-difference diagram |
//! | `gamma` | the incomplete gamma function, which chi-square and normal tails are |
//!
//! Values agree with SciPy 1.17 (`rankdata`, `friedmanchisquare`, `wilcoxon` with its defaults) and statsmodels 0.15 (`multipletests`, `holm`) on random tables
//! with ties.
//!
//! ```
//! use ncde_report::statistics::{Better, Comparison};
//!
//! // Three models on six data sets; the first is best on all.
//! let scores = [[5.0, 6.0, 7.0, 8.0, 9.0, 9.5], [4.0, 5.5, 6.0, 6.5, 8.0, 7.0], [3.0, 5.0, 6.5, 6.0, 7.0, 6.8]];
//! let comparison = Comparison::of(&scores.map(Vec::from), Better::More)?;
//! assert_eq!(comparison.order, [0, 1, 2]);
//! assert!((comparison.friedman.p - 0.005704).abs() < 1e-6 && (comparison.ranks[0] - 1.0).abs() < 1e-15);
//! # Ok::<(), ncde_report::statistics::Error>(())
//! ```

mod comparison;
mod friedman;
mod gamma;
mod holm;
mod ranks;
mod wilcoxon;

pub use comparison::{Comparison, LEVEL, Pair};
pub use friedman::{Friedman, friedman};
pub use holm::holm;
pub use ranks::{Better, average_ranks, ranks};
pub use wilcoxon::{Alternative, Method, Wilcoxon, wilcoxon};

/// Why there is nothing to test. Models and data sets are counted from 0.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say it")]
pub enum Error {
    #[error("{what}: there are {seen}, and at least {wanted} are needed")]
    Few { what: &'static str, seen: usize, wanted: usize },
    #[error("model {model} has {seen} scores and the first has {wanted}; every model needs a score on every data set")]
    Ragged { model: usize, seen: usize, wanted: usize },
    #[error("the score of model {model} on data set {set} is not a finite number; leave the model or the data set out")]
    NotFinite { model: usize, set: usize },
}

/// The number of data sets of a table `[model][data set]` that can be tested.
fn check(scores: &[Vec<f64>], models: usize, sets: usize) -> Result<usize, Error> {
    let few = |what, seen, wanted| if seen < wanted { Err(Error::Few { what, seen, wanted }) } else { Ok(()) };
    few("models", scores.len(), models)?;
    let wanted = scores.first().map_or(0, Vec::len);
    for (model, row) in scores.iter().enumerate() {
        if row.len() != wanted {
            return Err(Error::Ragged { model, seen: row.len(), wanted });
        }
        if let Some(set) = row.iter().position(|score| !score.is_finite()) {
            return Err(Error::NotFinite { model, set });
        }
    }
    few("data sets", wanted, sets)?;
    Ok(wanted)
}
