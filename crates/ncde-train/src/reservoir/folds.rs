//! Chooses features and the ridge penalty for many rows by the error on stretches of rows that are left out one at a time.
//!
//! Stretches are consecutive in time, as neighbouring rows are alike and rows left out at random would leak. In a series that drifts the first and the last stretch lie beyond the
//! levels that the fit has seen, so features of levels are chosen only where levels come back.

use ncde_reservoir::sums::{Line, Sums};
use rayon::prelude::*;

use super::down_the_valley;

/// Penalties are powers of this, as shares of the variance of a feature, between these.
const STEP: f64 = 3.162_277_660_168_379_5;
const PENALTIES: std::ops::RangeInclusive<i32> = -14..=4;
const MIDDLE: i32 = -5;
/// A longer list of features is taken if its error is below this share of that of the shorter one.
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

/// The factors that give every feature deviation 1.
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
    let at = |power: i32| -> Option<(f64, f64, Vec<Line>)> {
        let lambda = PENALTIES.contains(&power).then(|| STEP.powi(power))?;
        let lines: Vec<Option<Line>> = rests.par_iter().map(|rest| rest.fit(&scale, lambda)).collect();
        let lines: Vec<Line> = lines.into_iter().collect::<Option<_>>()?;
        let mut errors = vec![0.0; spread.len()];
        for (fold, line) in folds.iter().zip(&lines) {
            errors.iter_mut().zip(fold.errors(line)).for_each(|(sum, error)| *sum += error);
        }
        Some((lambda, varied.iter().map(|&o| errors[o] / spread[o]).sum::<f64>() / varied.len() as f64, lines))
    };
    let (lambda, error, without) = down_the_valley(MIDDLE, at, |(_, error, _)| *error)?;
    let line = all.fit(&scale, lambda)?;
    Some(Choice { kept: kept.to_vec(), error, line, without, means: all.means(), deviations })
}
