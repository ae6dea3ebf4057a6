//! Ranks with ties averaged: the smallest has rank 1, and equal values share the mean of the ranks they take up.
//!
//! ```text
//! r_i = #{j: x_j < x_i} + (#{j: x_j = x_i} + 1) / 2
//! ```
//!
//! Values are equal if they are the same number, as in SciPy's `rankdata`; round what rounding errors would tell apart.

use super::{Error, check};

/// Which scores are better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// Those that are larger, as an accuracy.
    More,
    /// Those that are smaller, as an error or a time.
    Less,
}

impl Better {
    /// A score as a cost: less is better.
    pub fn cost(self, score: f64) -> f64 {
        match self {
            Self::More => -score,
            Self::Less => score,
        }
    }
}

/// The ranks of values, the smallest first.
///
/// ```
/// use ncde_report::statistics::ranks;
/// assert_eq!(ranks(&[0.3, 0.1, 0.3, 0.2]), [3.5, 1.0, 3.5, 2.0]);
/// ```
pub fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&i, &j| values[i].total_cmp(&values[j]));
    let mut ranks = vec![0.0; values.len()];
    let mut before = 0;
    for tied in order.chunk_by(|&i, &j| values[i] == values[j]) {
        let shared = before as f64 + 0.5 * (tied.len() as f64 + 1.0);
        tied.iter().for_each(|&i| ranks[i] = shared);
        before += tied.len();
    }
    ranks
}

/// How many values are in each group of equal ones, the groups of one left out.
pub(super) fn ties(values: &[f64]) -> Vec<usize> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.chunk_by(|a, b| a == b).map(<[f64]>::len).filter(|&count| count > 1).collect()
}

/// The average over data sets of the rank of each model; scores are `[model][data set]`, and the best has rank 1.
///
/// ```
/// use ncde_report::statistics::{Better, average_ranks};
/// let accuracies = [vec![0.9, 0.7], vec![0.8, 0.7]];
/// assert_eq!(average_ranks(&accuracies, Better::More)?, [1.25, 1.75]);
/// # Ok::<(), ncde_report::statistics::Error>(())
/// ```
///
/// # Errors
/// If there is no model or no data set, or a score is missing.
pub fn average_ranks(scores: &[Vec<f64>], better: Better) -> Result<Vec<f64>, Error> {
    let sets = check(scores, 1, 1)?;
    let mut sums = vec![0.0; scores.len()];
    for set in 0..sets {
        let costs: Vec<f64> = scores.iter().map(|row| better.cost(row[set])).collect();
        sums.iter_mut().zip(ranks(&costs)).for_each(|(sum, rank)| *sum += rank);
    }
    Ok(sums.into_iter().map(|sum| sum / sets as f64).collect())
}
