//! How good predictions are, from predictions and truth alone.
//!
//! | name | what | best |
//! | --- | --- | --- |
//! | `loss` | mean of `-ln p` of the true class | 0 |
//! | `accuracy` | share of cases whose likeliest class is the true one | 1 |
//! | `balanced_accuracy` | mean over the classes present of their recall | 1 |
//! | `auroc` | chance that a case of a class scores above one of another, ties count half | 1 |
//! | `f1` | mean over classes of `2 TP / (2 TP + FP + FN)` | 1 |
//! | `mse`, `mae` | mean square and mean size of the error | 0 |
//! | `r2` | `1 - sum (y - f)^2 / sum (y - mean y)^2` | 1 |
//! | `mase` | the mean size of the error, in units of a naive forecast's on the training part | 0 |
//! | `coverage` | the share of numbers in the intervals of their forecasts | the level of those |
//!
//! Functions return `None` where there is nothing to compute. None of them panics.

mod calibration;
mod classification;
mod forecast;
mod interval;
mod ranking;
mod regression;

use serde::{Deserialize, Serialize};

pub use calibration::{Bin, calibration, calibration_error};
pub use classification::{
    ClassScore, Classification, Clusters, accuracy, balanced_accuracy, confusion, log_loss, macro_f1, predicted, softmax,
};
pub use forecast::{Errors, Forecast, Naive, Score, SeriesScore, Tally};
pub use interval::{Interval, Spread, clustered, spread, wilson};
pub use ranking::{auroc, average_precision, precision_recall, roc};
pub use regression::{Regression, mae, mse, r2};

/// The metrics of any task.
///
/// In JSON the fields lie side by side: `{"cases": 3, "mse": 0.5, ...}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Metrics {
    /// Of predicted classes.
    Classification(Classification),
    /// Of forecasts.
    Forecast(Forecast),
    /// Of predicted numbers.
    Regression(Regression),
}

impl Metrics {
    /// The metric to show if only one is shown, with its name: `accuracy`, `mse`, or `mase` of forecasts.
    ///
    /// ```
    /// use ncde_report::{Metrics, Regression};
    /// let metrics = Metrics::Regression(Regression::of(&[1.0, 2.0], &[1.0, 4.0]));
    /// assert_eq!(metrics.headline(), ("mse", 2.0));
    /// ```
    pub fn headline(&self) -> (&'static str, f64) {
        match self {
            Self::Classification(metrics) => ("accuracy", metrics.accuracy),
            Self::Regression(metrics) => ("mse", metrics.mse),
            Self::Forecast(metrics) => metrics.mase.map_or(("mae", metrics.mae), |mase| ("mase", mase)),
        }
    }

    /// All metrics of this task, in the order to show them; `None` where one is undefined.
    fn values(&self) -> Vec<(&'static str, Option<f64>)> {
        match self {
            Self::Classification(metrics) => vec![
                ("accuracy", Some(metrics.accuracy)),
                ("balanced_accuracy", Some(metrics.balanced_accuracy)),
                ("auroc", metrics.auroc),
                ("f1", Some(metrics.f1)),
                ("loss", Some(metrics.loss)),
            ],
            Self::Regression(metrics) => vec![("mse", Some(metrics.mse)), ("mae", Some(metrics.mae)), ("r2", metrics.r2)],
            Self::Forecast(metrics) => vec![
                ("mase", metrics.mase),
                ("r2", metrics.r2),
                ("mae", Some(metrics.mae)),
                ("mse", Some(metrics.mse)),
                ("coverage", metrics.coverage),
            ],
        }
    }

    /// A metric by its name; `None` if this task has no such metric, if it is undefined, or without cases.
    ///
    /// ```
    /// use ncde_report::{Classification, Metrics};
    /// let metrics = Metrics::Classification(Classification::of(&[0.8, 0.2, 0.4, 0.6], 2, &[0, 1]));
    /// assert_eq!(metrics.get("auroc"), Some(1.0));
    /// assert_eq!(metrics.get("mse"), None);
    /// ```
    pub fn get(&self, name: &str) -> Option<f64> {
        self.values().into_iter().find(|(known, _)| *known == name && self.cases() > 0)?.1
    }

    /// The names that [`Metrics::get`] knows for this task, in the order to show them.
    pub fn names(&self) -> Vec<&'static str> {
        self.values().into_iter().map(|(name, _)| name).collect()
    }

    /// The number of cases: of series for forecasts, else of what is predicted.
    pub fn cases(&self) -> usize {
        match self {
            Self::Classification(metrics) => metrics.cases,
            Self::Regression(metrics) => metrics.cases,
            Self::Forecast(metrics) => metrics.cases,
        }
    }
}

/// Whether more of a metric is better: false for `loss`, `mse`, `rmse`, `mae` and `mase`, true for all others.
pub fn higher_is_better(name: &str) -> bool {
    !matches!(name, "loss" | "mse" | "rmse" | "mae" | "mase")
}
