//! Friedman's test: whether any of `k` models differs from another over `n` data sets.
//!
//! ```text
//! Q = (12 / (n k (k+1)) sum_j R_j^2 - 3 n (k+1)) / C,   R_j the sum of the ranks of model j over data sets
//! C = 1 - sum (t^3 - t) / (n k (k^2 - 1)),              over all groups of t equal scores on a data set
//! p = chance that chi-square with k - 1 degrees of freedom exceeds Q
//! ```
//!
//! `C` is the correction for ties. As SciPy's `friedmanchisquare`, but for a table in which all models are equal on all data sets: there `C` is 0, and
//! here `Q = 0` and `p = 1`. The chi-square law is that of many data sets; with few (below ten, say) the test is cautious.

use serde::Serialize;

use super::gamma::chi_square_tail;
use super::ranks::{Better, average_ranks, ties};
use super::{Error, check};

/// What Friedman's test says.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Friedman {
    /// The statistic, corrected for ties.
    pub statistic: f64,
    /// The degrees of freedom, one less than there are models.
    pub freedom: usize,
    /// How likely a statistic as large is if no model differs.
    pub p: f64,
}

/// Friedman's test of scores `[model][data set]`; which of them are better does not matter.
///
/// # Errors
/// With fewer than three models or two data sets, or if a score is missing.
pub fn friedman(scores: &[Vec<f64>]) -> Result<Friedman, Error> {
    let sets = check(scores, 3, 2)?;
    let (k, n) = (scores.len() as f64, sets as f64);
    let sums = average_ranks(scores, Better::Less)?.into_iter().map(|rank| n * rank);
    let tied: f64 = (0..sets)
        .flat_map(|set| ties(&scores.iter().map(|row| row[set]).collect::<Vec<_>>()))
        .map(|count| (count as f64).powi(3) - count as f64)
        .sum();
    let correction = 1.0 - tied / (n * k * (k * k - 1.0));
    let plain = 12.0 / (n * k * (k + 1.0)) * sums.map(|sum| sum * sum).sum::<f64>() - 3.0 * n * (k + 1.0);
    // Sums of ranks are multiples of 1/2: what is below 0 or beside it is rounding.
    let statistic = if correction > 0.0 { (plain / correction).max(0.0) } else { 0.0 };
    let freedom = scores.len() - 1;
    Ok(Friedman { statistic, freedom, p: chi_square_tail(statistic, freedom) })
}
