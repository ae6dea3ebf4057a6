//! How many steps a solver takes in each window, and where they lie.
//!
//! ```text
//! window [r_k, r_{k+1}]:  n_k >= 1 equal steps of dt = (r_{k+1} - r_k) / n_k,  so no step goes across the end of a window
//! ```

use serde::{Deserialize, Serialize};

use super::Error;
use crate::neural::{Outputs, Schedule};

/// More steps in one window than this come from a slip in units.
const MOST_STEPS: f64 = 1e8;

/// The choice of steps. Each window gets its share, and at least one.
///
/// With [`Shared`](Self::Shared) the steps of a window depend on how long its series is, so that a state depends, by an error of
/// the solver, on where the series ends. The others look at the window alone.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StepRule {
    /// As few equal steps in a window as are no longer than this.
    AtMost(f64),
    /// So many over the whole of each series, shared out by the lengths of its windows.
    Shared(usize),
    /// So many in each window.
    EachWindow(usize),
}

impl StepRule {
    /// The thesis's number of steps, `max{500, 1 + length / step}`, for series of `length` observations in windows of `step`.
    ///
    /// ```
    /// use ncde::model::StepRule;
    /// assert_eq!(StepRule::thesis(896, 16), StepRule::Shared(500));
    /// assert_eq!(StepRule::thesis(17_984, 12), StepRule::Shared(1499));
    /// ```
    pub fn thesis(length: usize, step: usize) -> Self {
        Self::Shared((1 + length / step.max(1)).max(500))
    }

    pub(super) fn check(self) -> Result<(), Error> {
        let problem = match self {
            Self::AtMost(step) if !(step > 0.0 && step.is_finite()) => {
                format!("a step of `{step}`; give a positive length of time")
            }
            Self::Shared(0) | Self::EachWindow(0) => "0 steps; at least 1 is needed".into(),
            _ => return Ok(()),
        };
        Err(Error::Setting { setting: "steps", problem })
    }

    /// The number of steps in a window of a series.
    fn count(self, window: f64, series: f64) -> Result<usize, Error> {
        let count = match self {
            // A remainder of a billionth is rounding, not another step.
            Self::AtMost(step) => (window / step - 1e-9).ceil(),
            Self::Shared(count) => (window / series * count as f64).round(),
            Self::EachWindow(count) => count as f64,
        };
        if count > MOST_STEPS {
            let problem = format!("{count:.1e} steps in a window of length `{window}`; are both in the same units of time?");
            return Err(Error::Setting { setting: "steps", problem });
        }
        Ok(count.max(1.0) as usize)
    }

    /// The numbers of steps in all windows of a series.
    pub(super) fn counts(self, windows: &[f64]) -> Result<Vec<usize>, Error> {
        let series = windows.iter().sum();
        windows.iter().map(|&window| self.count(window, series)).collect()
    }
}

/// The steps of one series.
#[derive(Debug, Clone, Default)]
pub(super) struct Steps {
    /// Their lengths.
    pub(super) dt: Vec<f64>,
    /// The row that each stage reads, `[steps, stages]`.
    pub(super) rows: Vec<usize>,
    /// The last step of each window.
    pub(super) ends: Vec<usize>,
}

/// One schedule for all series, with a state for each of `windows`: shorter ones stand still after their end, and their last state is
/// repeated; one without a step stays where it starts.
pub(super) fn schedule(series: &[Steps], windows: usize, stages: usize) -> Schedule {
    let steps = series.iter().map(|own| own.dt.len()).max().unwrap_or_default().max(1);
    let (mut dt, mut rows, mut at) = (Vec::new(), Vec::new(), Vec::new());
    for (b, own) in series.iter().enumerate() {
        dt.extend_from_slice(&own.dt);
        dt.resize((b + 1) * steps, 0.0);
        rows.extend_from_slice(&own.rows);
        rows.resize((b + 1) * steps * stages, 0);
        at.extend_from_slice(&own.ends);
        at.resize((b + 1) * windows, own.ends.last().copied().unwrap_or_default());
    }
    Schedule { steps, dt, rows, outputs: Outputs::At(at) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test")]
mod tests {
    use super::*;

    #[test]
    fn each_window_gets_its_share_and_at_least_one() {
        let windows = [1.0, 0.5, 0.01, 2.49];
        for (rule, wanted) in [
            (StepRule::AtMost(0.25), vec![4, 2, 1, 10]),
            (StepRule::Shared(8), vec![2, 1, 1, 5]),
            (StepRule::EachWindow(3), vec![3; 4]),
        ] {
            assert_eq!(rule.counts(&windows).unwrap(), wanted, "{rule:?}");
        }
        // Rounding does not make a step of its own.
        assert_eq!(StepRule::AtMost(0.1).counts(&[0.3]).unwrap(), [3]);
    }

    #[test]
    fn rules_that_make_no_sense() {
        for rule in [StepRule::AtMost(0.0), StepRule::AtMost(f64::NAN), StepRule::Shared(0), StepRule::EachWindow(0)] {
            assert!(matches!(rule.check(), Err(Error::Setting { setting: "steps", .. })), "{rule:?}");
        }
        assert!(matches!(StepRule::AtMost(1e-12).counts(&[1.0]), Err(Error::Setting { setting: "steps", .. })));
    }

    #[test]
    fn shorter_series_stand_still_at_their_end() {
        let short = Steps { dt: vec![0.5], rows: vec![0, 0], ends: vec![0] };
        let long = Steps { dt: vec![0.2; 3], rows: vec![0, 0, 0, 0, 1, 1], ends: vec![1, 2] };
        let all = schedule(&[short, long, Steps::default()], 3, 2);
        assert_eq!((all.steps, all.dt), (3, vec![0.5, 0.0, 0.0, 0.2, 0.2, 0.2, 0.0, 0.0, 0.0]));
        assert_eq!(all.rows, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0]);
        assert_eq!(all.outputs, Outputs::At(vec![0, 0, 0, 1, 2, 2, 0, 0, 0]));
        assert_eq!(schedule(&[Steps::default()], 2, 1).dt, [0.0]);
    }
}
