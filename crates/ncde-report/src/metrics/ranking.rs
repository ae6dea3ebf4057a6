//! Area under the receiver operating characteristic, as a rank statistic.
//!
//! ```text
//! U = sum of ranks of positives - P (P + 1) / 2,   AUROC = U / (P N)
//! ```
//!
//! for `P` positive and `N` negative cases; equal scores share their mean rank, which counts a tie as one half.
//! O(cases log cases) a class.

use super::classification::{mean, rows};
use crate::statistics::ranks;

/// AUROC of probabilities or logits `[cases, classes]`.
///
/// Two classes: how well the difference of the second and the first ranks the cases. More: the mean over classes
/// of one class against the rest, over classes that have cases both in and out of them. `None` if none has.
///
/// ```
/// use ncde_report::metrics::auroc;
/// // Scores of class 1: 0.1, 0.4, 0.35, 0.8. Three of four pairs are in order.
/// let area = auroc(&[0.9, 0.1, 0.6, 0.4, 0.65, 0.35, 0.2, 0.8], 2, &[0, 0, 1, 1]);
/// assert_eq!(area, Some(0.75));
/// ```
pub fn auroc(probabilities: &[f64], classes: usize, truth: &[usize]) -> Option<f64> {
    let cases = rows(probabilities, classes, truth);
    match classes {
        0 | 1 => None,
        2 => one_against_rest(cases.map(|(row, class)| (row[1] - row[0], class == 1))),
        _ => mean(
            (0..classes).filter_map(|chosen| one_against_rest(cases.clone().map(|(row, class)| (row[chosen], class == chosen)))),
        ),
    }
}

/// The receiver operating characteristic of scores, each with whether its case is a positive one: `[share of negatives, share of positives]` with a score of at
/// least each threshold, from `[0, 0]` to `[1, 1]`. Empty if all cases are alike.
///
/// ```
/// let curve = ncde_report::metrics::roc(&[(0.9, true), (0.6, false), (0.4, true), (0.1, false)]);
/// assert_eq!(curve, [[0.0, 0.0], [0.0, 0.5], [0.5, 0.5], [0.5, 1.0], [1.0, 1.0]]);
/// ```
pub fn roc(scores: &[(f64, bool)]) -> Vec<[f64; 2]> {
    let mut sorted: Vec<(f64, bool)> = scores.iter().copied().filter(|(score, _)| !score.is_nan()).collect();
    sorted.sort_by(|a, b| b.0.total_cmp(&a.0));
    let positives = sorted.iter().filter(|(_, positive)| *positive).count();
    let negatives = sorted.len() - positives;
    if positives == 0 || negatives == 0 {
        return Vec::new();
    }
    let (mut curve, mut above) = (vec![[0.0, 0.0]], [0, 0]);
    for tied in sorted.chunk_by(|a, b| a.0 == b.0) {
        let found = tied.iter().filter(|(_, positive)| *positive).count();
        above = [above[0] + tied.len() - found, above[1] + found];
        curve.push([above[0] as f64 / negatives as f64, above[1] as f64 / positives as f64]);
    }
    curve
}

/// The precision and recall of scores, each with whether its case is a positive one, if what scores at least a threshold is taken for positive: `[threshold,
/// recall, precision]`, from the highest score down. Empty without a positive case.
///
/// ```
/// let curve = ncde_report::metrics::precision_recall(&[(0.9, true), (0.6, false), (0.4, true), (0.1, false)]);
/// assert_eq!(curve, [[0.9, 0.5, 1.0], [0.6, 0.5, 0.5], [0.4, 1.0, 2.0 / 3.0], [0.1, 1.0, 0.5]]);
/// ```
pub fn precision_recall(scores: &[(f64, bool)]) -> Vec<[f64; 3]> {
    let mut sorted: Vec<(f64, bool)> = scores.iter().copied().filter(|(score, _)| !score.is_nan()).collect();
    sorted.sort_by(|a, b| b.0.total_cmp(&a.0));
    let positives = sorted.iter().filter(|(_, positive)| *positive).count();
    let (mut found, mut taken) = (0, 0);
    let point = |tied: &[(f64, bool)]| {
        found += tied.iter().filter(|(_, positive)| *positive).count();
        taken += tied.len();
        [tied[0].0, found as f64 / positives as f64, found as f64 / taken as f64]
    };
    if positives == 0 { Vec::new() } else { sorted.chunk_by(|a, b| a.0 == b.0).map(point).collect() }
}

/// The average precision of scores, each with whether its case is a positive one: the mean over positive cases of the precision among all cases that score at least as
/// high. `None` without a positive case.
///
/// ```
/// let precision = ncde_report::metrics::average_precision(&[(0.9, true), (0.6, false), (0.4, true), (0.1, false)]);
/// assert_eq!(precision, Some((1.0 + 2.0 / 3.0) / 2.0));
/// ```
pub fn average_precision(scores: &[(f64, bool)]) -> Option<f64> {
    let mut sorted: Vec<(f64, bool)> =
        scores.iter().map(|(score, own)| (if score.is_nan() { -1.0 } else { *score }, *own)).collect();
    sorted.sort_by(|a, b| b.0.total_cmp(&a.0));
    let (mut sum, mut found, mut taken) = (0.0, 0, 0);
    for tied in sorted.chunk_by(|a, b| a.0 == b.0) {
        let own = tied.iter().filter(|(_, positive)| *positive).count();
        found += own;
        taken += tied.len();
        sum += own as f64 * found as f64 / taken as f64;
    }
    (found > 0).then(|| sum / found as f64)
}

fn one_against_rest(cases: impl Iterator<Item = (f64, bool)>) -> Option<f64> {
    // A score that is not a number ranks below all others.
    let (scores, positive): (Vec<f64>, Vec<bool>) =
        cases.map(|(score, positive)| (if score.is_nan() { f64::NEG_INFINITY } else { score }, positive)).unzip();
    let positives = positive.iter().filter(|positive| **positive).count() as f64;
    let negatives = positive.len() as f64 - positives;
    if positives == 0.0 || negatives == 0.0 {
        return None;
    }
    let sum: f64 = ranks(&scores).iter().zip(&positive).filter(|(_, positive)| **positive).map(|(rank, _)| rank).sum();
    Some((sum - positives * (positives + 1.0) / 2.0) / (positives * negatives))
}
