//! The record of one training run, `run.json`: all that a report is made of.
//!
//! What was asked (command, configuration, seed), on what (data), of what (model), what happened (history, best,
//! why it stopped) and how good it is (metrics, predictions). A number that is not finite is `null`.

mod file;

use serde::{Deserialize, Serialize};

pub use file::RecordError;

use crate::Metrics;
use crate::number;

/// One training run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "fields without a comment are what their names say")]
pub struct RunRecord {
    /// The version of this format, [`RunRecord::FORMAT`].
    pub format: u32,
    pub version: String,
    /// The command that made the run.
    pub command: String,
    /// When it started, ISO 8601 in UTC.
    pub started: String,
    pub seed: u64,
    pub threads: usize,
    pub data: DataSummary,
    pub model: ModelSummary,
    /// The effective configuration, as TOML.
    pub config: String,
    /// What happened, in the order of steps.
    pub history: Vec<Point>,
    /// The step whose weights were kept; `None` if nothing was validated.
    pub best: Option<Best>,
    pub steps: usize,
    #[serde(with = "number")]
    pub seconds: f64,
    #[serde(with = "number")]
    pub seconds_per_step: f64,
    pub stopped: StopReason,
    pub validation: Option<Metrics>,
    pub test: Option<Metrics>,
    /// Where it went back to earlier weights, at a lower learning rate, as training diverged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recoveries: Vec<Recovery>,
    /// The cases on which states of the saved model overflow.
    #[serde(default, skip_serializing_if = "Overflowed::is_empty")]
    pub overflowed: Overflowed,
    /// The metric that was asked for, to be shown first; empty for the usual one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub metric: String,
    /// The class that is predicted from a probability on, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<Threshold>,
    /// What simple predictions reach on the same cases.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub baselines: Vec<Baseline>,
    /// Some series with their forecasts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forecasts: Vec<Forecasted>,
    /// What looked wrong with the data.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Where it lies, as whoever reads it says; not in the file.
    #[serde(skip)]
    pub directory: String,
    /// Test cases, at most [`RunRecord::MAX_PREDICTIONS`] of them.
    #[serde(default)]
    pub predictions: Vec<Prediction>,
}

impl RunRecord {
    /// The version of the format that is written, and the newest that is read.
    pub const FORMAT: u32 = 1;

    /// The most predictions a record should hold, so that it stays small enough to open by hand.
    pub const MAX_PREDICTIONS: usize = 2000;
}

/// From which probability on a class is predicted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Threshold {
    /// Its name.
    pub class: String,
    /// The probability.
    #[serde(with = "number")]
    pub at: f64,
}

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum StopReason {
    /// All steps were taken.
    Steps,
    /// Nothing had improved for too long.
    Patience,
    /// Its time was over.
    Time,
    /// The metric was good enough.
    Target,
    /// Somebody who watched it said so.
    Requested,
    /// Training diverged: the loss, a gradient or a state was not finite, once too often.
    #[serde(alias = "explosion")]
    Diverged,
    /// There were no steps: its model was solved for in closed form.
    Solved,
}

impl StopReason {
    /// As it is written in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Steps => "steps",
            Self::Patience => "patience",
            Self::Time => "time",
            Self::Target => "target",
            Self::Requested => "requested",
            Self::Diverged => "diverged",
            Self::Solved => "solved",
        }
    }
}

/// A channel of a series and its forecast from one moment on; all as `[time, value]`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "fields without a comment are what their names say")]
pub struct Forecasted {
    pub id: String,
    pub channel: String,
    /// What was seen before.
    pub seen: Vec<[f64; 2]>,
    /// What came.
    pub truth: Vec<[f64; 2]>,
    pub forecast: Vec<[f64; 2]>,
    /// Lower and upper end of the interval of each forecast; empty if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interval: Vec<[f64; 2]>,
}

/// A simple prediction, and how good it is on the cases that the run is judged by.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "fields without a comment are what their names say")]
pub struct Baseline {
    pub name: String,
    /// What it says, in words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    pub metrics: Metrics,
}

/// What a run was trained on.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "fields without a comment are what their names say")]
pub struct DataSummary {
    pub name: String,
    pub train: usize,
    pub validation: usize,
    pub test: usize,
    pub channels: usize,
    /// How many observations are trained, validated and tested on, if series are split by time; `train`, `validation` and `test` are then series that have some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observations: Option<[usize; 3]>,
    /// How many values beside its series a case has.
    pub statics: usize,
    /// The names of the classes; empty for regression.
    pub classes: Vec<String>,
    /// The task, such as `classification`.
    pub task: String,
    /// How many cases were left out because they were there twice.
    pub removed_duplicates: usize,
    /// The same for the same series and labels, another one for others; empty in records of earlier versions.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub fingerprint: String,
    /// The fewest, the median and the most observations of a case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lengths: Option<[usize; 3]>,
    /// The share of values that is missing.
    #[serde(default)]
    pub missing: f64,
    /// How many cases of each class are for training, validation and testing; empty where a case has no class as a whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counts: Vec<[usize; 3]>,
    /// Channels and static values, at most [`DataSummary::MAX_COLUMNS`] of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<ColumnSummary>,
    /// What each column of the file is for: its name, its role, and what its cells hold; empty where a file has no columns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<[String; 3]>,
    /// Whether times are dates, in seconds since 1970-01-01T00:00:00Z; else they are numbers in a unit of their own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dates: bool,
    /// How many observations ahead a forecast looks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub horizon: Option<usize>,
}

impl DataSummary {
    /// The most columns that are described.
    pub const MAX_COLUMNS: usize = 40;
}

/// A channel or a static value.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "fields without a comment are what their names say")]
pub struct ColumnSummary {
    pub name: String,
    /// The smallest value, the mean, the largest; none if all are missing.
    pub range: Option<[f64; 3]>,
    /// The share of its values that is missing.
    pub missing: f64,
}

/// What was trained.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelSummary {
    /// The kind, such as `slice` or `ncde`.
    pub name: String,
    /// Its sizes in words, such as `block 4, H = 64, depth 2, windows of 16`.
    pub detail: String,
    /// How many numbers are trained.
    pub parameters: usize,
}

/// A moment of the training.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "fields without a comment are what their names say")]
pub struct Point {
    /// How many steps were done.
    pub step: usize,
    /// Since the start.
    #[serde(with = "number")]
    pub seconds: f64,
    #[serde(with = "number")]
    pub loss: f64,
    #[serde(with = "number")]
    pub rate: f64,
    pub validation: Option<f64>,
    /// The validation metric that the best step is chosen by.
    pub metric: Option<f64>,
}

/// A step that diverged, and that was taken again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recovery {
    /// The step.
    pub step: usize,
    /// The step whose weights it went back to; 0 for the first ones.
    pub from: usize,
    /// What the learning rate is multiplied with from there on.
    #[serde(with = "number")]
    pub factor: f64,
    /// What was not finite.
    pub reason: String,
}

/// The names of cases without a prediction, as a state overflows. A class that should have been predicted counts as wrong; numbers
/// are scored without them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overflowed {
    /// Of the validation cases.
    pub validation: Vec<String>,
    /// Of the test cases.
    pub test: Vec<String>,
}

impl Overflowed {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.validation.is_empty() && self.test.is_empty()
    }
}

/// The step whose weights were kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "fields without a comment are what their names say")]
pub struct Best {
    pub step: usize,
    /// The name of the metric it was chosen by.
    pub metric: String,
    /// Its value on the validation cases.
    #[serde(with = "number")]
    pub value: f64,
}

/// What was predicted for one test case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "fields without a comment are what their names say")]
pub struct Prediction {
    pub id: String,
    pub truth: Outcome,
    pub predicted: Outcome,
    /// One probability a class; empty for regression.
    #[serde(default, with = "number::list")]
    pub probabilities: Vec<f64>,
}

/// A class or a number; in JSON a text or a number.
///
/// ```
/// use ncde_report::record::Outcome;
/// assert_eq!(serde_json::to_string(&[Outcome::from("walking"), Outcome::from(0.5)]).unwrap(), r#"["walking",0.5]"#);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Outcome {
    /// The name of a class.
    Class(String),
    /// A number.
    #[serde(with = "number")]
    Number(f64),
}

impl Outcome {
    /// The number, if it is one and finite.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Number(value) if value.is_finite() => Some(*value),
            Self::Number(_) | Self::Class(_) => None,
        }
    }
}

impl From<&str> for Outcome {
    fn from(class: &str) -> Self {
        Self::Class(class.into())
    }
}

impl From<String> for Outcome {
    fn from(class: String) -> Self {
        Self::Class(class)
    }
}

impl From<f64> for Outcome {
    fn from(value: f64) -> Self {
        Self::Number(value)
    }
}
