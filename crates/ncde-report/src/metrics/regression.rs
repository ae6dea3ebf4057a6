//! Metrics of predicted numbers: `mse = mean (f - y)^2`, `mae = mean |f - y|`, `r2 = 1 - mse / variance of y`.
//!
//! A case may have several outputs, end to end: all metrics are over all numbers. Numbers without a partner are left out.

use serde::{Deserialize, Serialize};

use super::classification::mean;
use crate::number;

/// How good predicted numbers are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Regression {
    /// How many numbers were predicted; without any, all metrics are zero and mean nothing.
    pub cases: usize,
    /// Mean square of the error; not finite if a prediction is not.
    #[serde(with = "number")]
    pub mse: f64,
    /// Mean size of the error.
    #[serde(with = "number")]
    pub mae: f64,
    /// Share of the variance that is explained; `None` if the truth does not vary or a prediction is not finite.
    pub r2: Option<f64>,
    /// How many series the numbers belong to, where a series has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<usize>,
}

impl Regression {
    /// All metrics.
    ///
    /// ```
    /// use ncde_report::Regression;
    /// let metrics = Regression::of(&[2.0, 2.0, 5.0], &[1.0, 2.0, 6.0]);
    /// assert_eq!((metrics.mse, metrics.r2), (2.0 / 3.0, Some(1.0 - 2.0 / 14.0)));
    /// ```
    pub fn of(predicted: &[f64], truth: &[f64]) -> Self {
        Self {
            cases: predicted.len().min(truth.len()),
            mse: mse(predicted, truth).unwrap_or(0.0),
            mae: mae(predicted, truth).unwrap_or(0.0),
            r2: r2(predicted, truth),
            series: None,
        }
    }
}

/// Mean square of the error.
pub fn mse(predicted: &[f64], truth: &[f64]) -> Option<f64> {
    mean(predicted.iter().zip(truth).map(|(f, y)| (f - y) * (f - y)))
}

/// Mean size of the error.
pub fn mae(predicted: &[f64], truth: &[f64]) -> Option<f64> {
    mean(predicted.iter().zip(truth).map(|(f, y)| (f - y).abs()))
}

/// Share of the variance that is explained; `None` if the truth does not vary.
pub fn r2(predicted: &[f64], truth: &[f64]) -> Option<f64> {
    let truth = &truth[..truth.len().min(predicted.len())];
    let error = mse(predicted, truth)?;
    let centre = mean(truth.iter().copied())?;
    let variance = mean(truth.iter().map(|y| (y - centre) * (y - centre)))?;
    // Of equal numbers the mean, and so the variance, may be off by a rounding error.
    let varies = truth.iter().any(|y| *y != truth[0]);
    let r2 = 1.0 - error / variance;
    (varies && r2.is_finite()).then_some(r2)
}
