//! Which features, and how much they are shrunk, for many rows: what leaves the least error on stretches of the rows that are left out, one after the other.
//!
//! The stretches follow each other in time: neighbouring rows are alike, and rows left out at random would be known already. A series that drifts is asked beyond the levels that
//! the fit has seen, at both ends, so that features of levels are taken only where levels come back.

use ncde_reservoir::sums::{Line, Sums};
use rayon::prelude::*;

/// Penalties are powers of this, as shares of the variance of a feature, between these.
const STEP: f64 = 3.162_277_660_168_379_5;
const PENALTIES: std::ops::RangeInclusive<i32> = -14..=4;
const MIDDLE: i32 = -5;
/// How much less error more features must leave, to be taken.
const WORTH: f64 = 0.99;

/// Features, a penalty, and the fit.
#[derive(Debug)]
pub(super) struct Choice {
    /// The features that are kept, by their places.
    pub(super) kept: Vec<usize>,
    /// The share of the variance of the targets that is not explained, of rows left out; the mean over outputs.
    pub(super) error: f64,
    /// The fit to all rows.
    pub(super) line: Line,
    /// Those to the rows without each stretch.
    pub(super) without: Vec<Line>,
    /// Means and deviations of the features.
    pub(super) means: Vec<f64>,
    pub(super) deviations: Vec<f64>,
}

/// The best of some lists of features, smaller ones first; none if nothing varies. Features count alike, or as much as `sizes` says, which is decided with the first list.
pub(super) fn choose(folds: &[Sums], lists: Vec<Vec<usize>>, sizes: &[f64]) -> Option<Choice> {
    let mut best: Option<Choice> = None;
    let mut ways = vec![vec![1.0; sizes.len()], sizes.to_vec()];
    for kept in lists {
        let own: Vec<Sums> = folds.iter().map(|fold| fold.of(&kept)).collect();
        let weights = |way: &Vec<f64>| kept.iter().map(|&i| way[i]).collect::<Vec<f64>>();
        let tried: Vec<Option<Choice>> = ways.iter().map(|way| best_penalty(&own, &kept, &weights(way))).collect();
        let errors: Vec<f64> = tried.iter().map(|choice| choice.as_ref().map_or(f64::INFINITY, |choice| choice.error)).collect();
        let better = usize::from(errors.len() > 1 && errors[1] < errors[0]);
        ways = vec![ways.swap_remove(better)];
        if let Some(next) = tried.into_iter().nth(better).flatten()
            && best.as_ref().is_none_or(|best| next.error < WORTH * best.error)
        {
            best = Some(next);
        }
    }
    best
}

/// Every feature with deviation 1.
pub(super) fn alike(deviations: &[f64]) -> Vec<f64> {
    deviations.iter().map(|&d| if d > 0.0 { 1.0 / d } else { 0.0 }).collect()
}

/// The penalty with the least error: from the middle down the valley. Standardised features are multiplied with `weights` first.
fn best_penalty(folds: &[Sums], kept: &[usize], weights: &[f64]) -> Option<Choice> {
    let all = folds[1..].iter().fold(folds.first()?.clone(), |sum, fold| sum.plus(fold));
    let (spread, deviations) = (all.spread(), all.deviations());
    let scale: Vec<f64> = alike(&deviations).iter().zip(weights).map(|(scale, weight)| scale * weight).collect();
    let varied: Vec<usize> = (0..spread.len()).filter(|&o| spread[o] > 0.0).collect();
    let rests: Vec<Sums> = folds.iter().map(|fold| all.minus(fold)).collect();
    if varied.is_empty() || scale.iter().all(|&s| s == 0.0) || rests.iter().any(|rest| rest.rows() < 2.0) {
        return None;
    }
    let at = |power: i32| -> Option<(f64, Vec<Line>)> {
        let lambda = PENALTIES.contains(&power).then(|| STEP.powi(power))?;
        let lines: Vec<Option<Line>> = rests.par_iter().map(|rest| rest.fit(&scale, lambda)).collect();
        let lines: Vec<Line> = lines.into_iter().collect::<Option<_>>()?;
        let mut errors = vec![0.0; spread.len()];
        for (fold, line) in folds.iter().zip(&lines) {
            errors.iter_mut().zip(fold.errors(line)).for_each(|(sum, error)| *sum += error);
        }
        Some((varied.iter().map(|&o| errors[o] / spread[o]).sum::<f64>() / varied.len() as f64, lines))
    };
    let (mut power, mut best) = (MIDDLE, at(MIDDLE)?);
    for direction in [1, -1] {
        let mut next = MIDDLE + direction;
        while let Some(found) = at(next).filter(|found| found.0 < best.0) {
            (power, best) = (next, found);
            next += direction;
        }
        if power != MIDDLE {
            break;
        }
    }
    let line = all.fit(&scale, STEP.powi(power))?;
    Some(Choice { kept: kept.to_vec(), error: best.0, line, without: best.1, means: all.means(), deviations })
}
