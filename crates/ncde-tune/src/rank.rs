//! The order of trials: those that went furthest first, then by the metric, then by the loss, then the smaller model.

use std::cmp::Ordering;

/// Where a trial stands.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Standing {
    /// The index of the trial.
    pub trial: usize,
    /// The last rung that it has finished.
    pub rung: usize,
    /// The metric, the mean over all its runs; none if one of them is missing or failed, or if it is no number.
    pub value: Option<f64>,
    /// The validation loss, where there is one, for trials with the same metric: few cases have few accuracies.
    pub loss: Option<f64>,
    /// How many numbers its model has.
    pub parameters: usize,
}

/// Brings trials into order, the best first. Those without a value are last; ties go to the smaller loss, to fewer parameters, then to the earlier trial.
///
/// ```
/// use ncde_tune::{Standing, rank};
/// let of = |trial, value| Standing { trial, rung: 0, value, loss: None, parameters: 10 };
/// let mut all = [of(0, Some(0.5)), of(1, None), of(2, Some(0.25)), of(3, Some(f64::NAN))];
/// rank(&mut all, false);
/// assert_eq!(all.map(|standing| standing.trial), [2, 0, 1, 3]);
/// ```
pub fn rank(all: &mut [Standing], higher_is_better: bool) {
    let sign = if higher_is_better { -1.0 } else { 1.0 };
    let value = |standing: &Standing| standing.value.filter(|value| value.is_finite()).map(|value| sign * value);
    all.sort_by(|a, b| {
        let by_value = match (value(a), value(b)) {
            (Some(x), Some(y)) => b.rung.cmp(&a.rung).then(x.total_cmp(&y)),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => return a.trial.cmp(&b.trial),
        };
        let by_loss = a.loss.unwrap_or(f64::MAX).total_cmp(&b.loss.unwrap_or(f64::MAX));
        by_value.then(by_loss).then(a.parameters.cmp(&b.parameters)).then(a.trial.cmp(&b.trial))
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(all: &[(usize, Option<f64>, usize)], higher: bool) -> Vec<usize> {
        let of = |(trial, &(rung, value, parameters))| Standing { trial, rung, value, loss: None, parameters };
        let mut all: Vec<Standing> = all.iter().enumerate().map(of).collect();
        rank(&mut all, higher);
        all.iter().map(|standing| standing.trial).collect()
    }

    #[test]
    fn the_metric_decides_and_its_direction() {
        let all = [(0, Some(0.5), 1), (0, Some(0.9), 1), (0, Some(-0.1), 1)];
        assert_eq!(order(&all, true), [1, 0, 2]);
        assert_eq!(order(&all, false), [2, 0, 1]);
    }

    #[test]
    fn ties_go_to_the_smaller_model_and_the_earlier_trial() {
        let all = [(0, Some(0.5), 9), (0, Some(0.5), 3), (0, Some(0.5), 9)];
        assert_eq!(order(&all, true), [1, 0, 2]);
    }

    #[test]
    fn of_the_same_accuracy_the_smaller_loss_is_ahead() {
        let of = |trial, value, loss| Standing { trial, rung: 0, value: Some(value), loss, parameters: 9 - trial };
        let mut all = [of(0, 0.9, Some(0.3)), of(1, 0.9, Some(0.2)), of(2, 0.95, Some(0.9)), of(3, 0.9, None)];
        rank(&mut all, true);
        assert_eq!(all.map(|standing| standing.trial), [2, 1, 0, 3]);
    }

    #[test]
    fn who_went_further_is_ahead_of_who_was_better_early() {
        let all = [(0, Some(0.99), 1), (2, Some(0.5), 1), (2, Some(0.6), 1), (1, None, 1)];
        assert_eq!(order(&all, true), [2, 1, 0, 3]);
    }
}
