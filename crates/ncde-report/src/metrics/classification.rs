//! Metrics of predicted classes, nearly all from one table of counts, `confusion[true][predicted]`.
//!
//! Arrays are `[cases, classes]`, one row a case. The predicted class is the likeliest one, the first of several.
//! Rows without a truth, truths without a row, and truths that are not a class are left out: `cases` says how many
//! were counted.

use serde::{Deserialize, Serialize};

use super::interval::{Interval, clustered, wilson};
use super::ranking::{auroc, average_precision};
use crate::number;

/// The smallest probability that the loss sees, so that one certain error does not make it infinite.
const SMALLEST: f64 = f64::EPSILON;

/// How good predicted classes are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Classification {
    /// The number of cases; without any, all metrics are zero and mean nothing.
    pub cases: usize,
    /// Mean of `-ln p` of the true class.
    #[serde(with = "number")]
    pub loss: f64,
    /// Share of cases predicted right.
    #[serde(with = "number")]
    pub accuracy: f64,
    /// Mean recall over the classes present.
    #[serde(with = "number")]
    pub balanced_accuracy: f64,
    /// Area under the receiver operating characteristic; `None` if fewer than two classes are present.
    pub auroc: Option<f64>,
    /// F1 score, mean over the classes that are present or predicted.
    #[serde(with = "number")]
    pub f1: f64,
    /// Counts, `confusion[true][predicted]`.
    pub confusion: Vec<Vec<u64>>,
    /// For each class the mean, over its cases, of the precision among all cases that look at least as much like it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub average_precision: Vec<Option<f64>>,
    /// The series that the cases are labels of, where a series has several: labels of one series are alike, so that many of them say less than they seem to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<Clusters>,
}

/// Series that have several labels each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Clusters {
    /// How many.
    pub count: usize,
    /// The 95 % interval of the accuracy, with a series as the unit; `None` of a single one.
    pub interval: Option<Interval>,
}

impl Classification {
    /// All metrics of probabilities `[cases, classes]`.
    ///
    /// ```
    /// use ncde_report::Classification;
    /// let metrics = Classification::of(&[0.9, 0.1, 0.2, 0.8, 0.6, 0.4], 2, &[0, 1, 1]);
    /// assert_eq!(metrics.confusion, [[1, 0], [1, 1]]);
    /// assert_eq!(metrics.balanced_accuracy, 0.75);
    /// ```
    pub fn of(probabilities: &[f64], classes: usize, truth: &[usize]) -> Self {
        let likeliest: Vec<usize> = probabilities.chunks_exact(classes.max(1)).map(predicted).collect();
        Self::decided(probabilities, classes, &likeliest, truth)
    }

    /// The same where the predicted classes need not be the likeliest ones.
    ///
    /// ```
    /// use ncde_report::Classification;
    /// let metrics = Classification::decided(&[0.9, 0.1, 0.6, 0.4], 2, &[0, 1], &[0, 1]);
    /// assert_eq!((metrics.accuracy, metrics.confusion), (1.0, vec![vec![1, 0], vec![0, 1]]));
    /// ```
    pub fn decided(probabilities: &[f64], classes: usize, decided: &[usize], truth: &[usize]) -> Self {
        let mut confusion = vec![vec![0; classes]; classes];
        for (&decided, &truth) in decided.iter().zip(truth).filter(|(a, b)| **a < classes && **b < classes) {
            confusion[truth][decided] += 1;
        }
        let scores = |chosen: usize| -> Vec<(f64, bool)> {
            rows(probabilities, classes, truth).map(|(row, class)| (row[chosen], class == chosen)).collect()
        };
        Self {
            cases: confusion.iter().flatten().sum::<u64>() as usize,
            loss: log_loss(probabilities, classes, truth).unwrap_or(0.0),
            accuracy: accuracy(&confusion).unwrap_or(0.0),
            balanced_accuracy: balanced_accuracy(&confusion).unwrap_or(0.0),
            auroc: auroc(probabilities, classes, truth),
            f1: macro_f1(&confusion).unwrap_or(0.0),
            confusion,
            average_precision: (0..classes).map(|class| average_precision(&scores(class))).collect(),
            series: None,
        }
    }

    /// The same with cases of these true classes more that have no prediction: wrong, whatever the class, with the loss of a certain error. The confusion
    /// and the AUROC stay those of the cases that have one.
    ///
    /// ```
    /// use ncde_report::Classification;
    /// let metrics = Classification::of(&[0.9, 0.1, 0.2, 0.8], 2, &[0, 1]).with_missed(&[1, 1]);
    /// assert_eq!((metrics.cases, metrics.accuracy, metrics.balanced_accuracy), (4, 0.5, (1.0 + 1.0 / 3.0) / 2.0));
    /// assert_eq!(metrics.confusion, [[1, 0], [0, 1]]);
    /// ```
    #[must_use]
    pub fn with_missed(self, truth: &[usize]) -> Self {
        if truth.is_empty() {
            return self;
        }
        // A column more, of what was not predicted.
        let mut counts = self.confusion.clone();
        for (class, row) in counts.iter_mut().enumerate() {
            row.push(truth.iter().filter(|missed| **missed == class).count() as u64);
        }
        let cases = self.cases + truth.len();
        Self {
            cases,
            loss: (self.loss * self.cases as f64 - SMALLEST.ln() * truth.len() as f64) / cases as f64,
            accuracy: accuracy(&counts).unwrap_or(0.0),
            balanced_accuracy: balanced_accuracy(&counts).unwrap_or(0.0),
            f1: macro_f1(&counts).unwrap_or(0.0),
            ..self
        }
    }

    /// The same, where cases are labels of series: how many are right of how many, for each series.
    #[must_use]
    pub fn with_series(self, series: &[(u64, u64)]) -> Self {
        let count = series.iter().filter(|(_, labels)| *labels > 0).count();
        Self { series: Some(Clusters { count, interval: clustered(series) }), ..self }
    }

    /// How sure the accuracy is: with a series as the unit, where it has several labels.
    pub fn interval(&self) -> Option<Interval> {
        match &self.series {
            Some(series) => series.interval,
            None => wilson(self.correct(), self.cases as u64),
        }
    }

    /// Errors as (true class, predicted class, cases), the most frequent first.
    ///
    /// ```
    /// use ncde_report::Classification;
    /// let metrics = Classification::of(&[0.9, 0.1, 0.2, 0.8, 0.6, 0.4], 2, &[0, 1, 1]);
    /// assert_eq!(metrics.errors(), [(1, 0, 1)]);
    /// ```
    pub fn errors(&self) -> Vec<(usize, usize, u64)> {
        let cells = self
            .confusion
            .iter()
            .enumerate()
            .flat_map(|(truth, row)| row.iter().enumerate().map(move |(predicted, cases)| (truth, predicted, *cases)));
        let mut errors: Vec<_> = cells.filter(|(truth, predicted, cases)| truth != predicted && *cases > 0).collect();
        errors.sort_by_key(|(_, _, cases)| std::cmp::Reverse(*cases));
        errors
    }

    /// How good each class is told apart from the others.
    ///
    /// ```
    /// use ncde_report::Classification;
    /// let metrics = Classification::of(&[0.9, 0.1, 0.2, 0.8, 0.6, 0.4], 2, &[0, 1, 1]);
    /// let second = metrics.by_class()[1];
    /// assert_eq!((second.cases, second.precision, second.recall), (2, Some(1.0), Some(0.5)));
    /// ```
    pub fn by_class(&self) -> Vec<ClassScore> {
        class_scores(&self.confusion)
    }

    /// The class with the fewest cases, if that is under a fifth of all of them and under half of an even share: a class that
    /// the accuracy hardly counts. Which class, and how well it is told apart.
    ///
    /// ```
    /// use ncde_report::Classification;
    /// let certain = |class: usize| if class == 0 { [0.9, 0.1] } else { [0.1, 0.9] };
    /// let truth: Vec<usize> = (0..30).map(|case| usize::from(case < 2)).collect();
    /// let never: Vec<f64> = truth.iter().flat_map(|_| certain(0)).collect();
    /// let (class, score) = Classification::of(&never, 2, &truth).rarest().unwrap();
    /// assert_eq!((class, score.cases, score.recall, score.precision), (1, 2, Some(0.0), None));
    /// ```
    pub fn rarest(&self) -> Option<(usize, ClassScore)> {
        let scores = self.by_class();
        let all: u64 = scores.iter().map(|score| score.cases).sum();
        let even = 2 * scores.len() as u64;
        let is_rare = |score: &ClassScore| 5 * score.cases < all && even * score.cases < all;
        scores.into_iter().enumerate().min_by_key(|(_, score)| score.cases).filter(|(_, score)| is_rare(score))
    }

    /// The number of cases predicted right.
    pub fn correct(&self) -> u64 {
        trace(&self.confusion)
    }
}

/// How good one class is told apart from the others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClassScore {
    /// How many cases are of the class.
    pub cases: u64,
    /// How many of them were predicted as it.
    pub found: u64,
    /// How many cases were predicted as it.
    pub predicted: u64,
    /// The share of the cases predicted as this class that are of it; `None` if none was predicted.
    pub precision: Option<f64>,
    /// The share of the cases of this class that were predicted as it; `None` if there are none.
    pub recall: Option<f64>,
    /// Their harmonic mean.
    pub f1: Option<f64>,
}

/// The rows that count, each with its true class.
pub(super) fn rows<'a>(
    probabilities: &'a [f64],
    classes: usize,
    truth: &'a [usize],
) -> impl Iterator<Item = (&'a [f64], usize)> + Clone {
    probabilities.chunks_exact(classes.max(1)).zip(truth.iter().copied()).filter(move |(_, class)| *class < classes)
}

/// Probabilities from logits, row by row: `p_k = exp(z_k - max z) / sum_j exp(z_j - max z)`.
///
/// ```
/// let p = ncde_report::metrics::softmax(&[1000.0, 1000.0, 0.0, -1e9], 2);
/// assert_eq!(p, [0.5, 0.5, 1.0, 0.0]);
/// ```
pub fn softmax(logits: &[f64], classes: usize) -> Vec<f64> {
    let mut probabilities = logits.to_vec();
    for row in probabilities.chunks_mut(classes.max(1)) {
        let largest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        row.iter_mut().for_each(|value| *value = (*value - largest).exp());
        let sum: f64 = row.iter().sum();
        row.iter_mut().for_each(|value| *value /= sum);
    }
    probabilities
}

/// The likeliest class of one row, the first of several; a probability that is not a number is never the likeliest.
pub fn predicted(row: &[f64]) -> usize {
    let mut best = 0;
    for (class, value) in row.iter().enumerate() {
        if *value > row[best] || (row[best].is_nan() && !value.is_nan()) {
            best = class;
        }
    }
    best
}

/// Counts `[true][predicted]` of probabilities or logits `[cases, classes]`.
pub fn confusion(probabilities: &[f64], classes: usize, truth: &[usize]) -> Vec<Vec<u64>> {
    let mut counts = vec![vec![0; classes]; classes];
    for (row, class) in rows(probabilities, classes, truth) {
        counts[class][predicted(row)] += 1;
    }
    counts
}

/// Mean of `-ln p` of the true class. Probabilities below 2.2e-16, and those that are not numbers, count as 2.2e-16.
pub fn log_loss(probabilities: &[f64], classes: usize, truth: &[usize]) -> Option<f64> {
    // Not `clamp`, which keeps what is not a number.
    let clip = |p: f64| if p > SMALLEST { p.min(1.0) } else { SMALLEST };
    mean(rows(probabilities, classes, truth).map(|(row, class)| 0.0 - clip(row[class]).ln()))
}

/// Share of cases on the diagonal.
pub fn accuracy(confusion: &[Vec<u64>]) -> Option<f64> {
    let cases: u64 = confusion.iter().flatten().sum();
    (cases > 0).then(|| trace(confusion) as f64 / cases as f64)
}

/// Mean over the classes present of the share of their cases that were predicted right.
pub fn balanced_accuracy(confusion: &[Vec<u64>]) -> Option<f64> {
    mean(class_scores(confusion).iter().filter_map(|score| score.recall))
}

/// Mean of `2 TP / (2 TP + FP + FN)` over the classes that are present or predicted.
pub fn macro_f1(confusion: &[Vec<u64>]) -> Option<f64> {
    mean(class_scores(confusion).iter().filter_map(|score| score.f1))
}

fn class_scores(confusion: &[Vec<u64>]) -> Vec<ClassScore> {
    let score = |(class, row): (usize, &Vec<u64>)| {
        let cases: u64 = row.iter().sum();
        let predicted: u64 = confusion.iter().filter_map(|row| row.get(class)).sum();
        // None is right if the row has no such column.
        let found = row.get(class).copied().unwrap_or(0);
        let share = |total: u64| (total > 0).then(|| found as f64 / total as f64);
        let f1 = (cases + predicted > 0).then(|| 2.0 * found as f64 / (cases + predicted) as f64);
        ClassScore { cases, found, predicted, precision: share(predicted), recall: share(cases), f1 }
    };
    confusion.iter().enumerate().map(score).collect()
}

fn trace(confusion: &[Vec<u64>]) -> u64 {
    confusion.iter().enumerate().filter_map(|(class, row)| row.get(class)).sum()
}

/// The mean of at least one value.
pub(super) fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (count, sum) = values.fold((0_usize, 0.0), |(count, sum), value| (count + 1, sum + value));
    (count > 0).then(|| sum / count as f64)
}
