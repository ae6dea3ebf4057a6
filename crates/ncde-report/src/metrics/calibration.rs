//! Whether probabilities mean what they say: of cases predicted with probability `p`, a share of `p` should be right.

use super::classification::predicted;

/// Cases with about the same probability of their predicted class.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bin {
    /// The mean of these probabilities.
    pub confidence: f64,
    /// The share of the cases that is right.
    pub accuracy: f64,
    /// How many cases.
    pub cases: usize,
}

/// Bins of equally many cases, at most `most`, from the least sure to the surest; each has ten cases or more, but for a single one.
///
/// ```
/// let rows = [[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]];
/// let bins = ncde_report::metrics::calibration(rows.iter().map(|row| (&row[..], 0)), 10);
/// assert_eq!((bins.len(), bins[0].cases), (1, 3));
/// assert!((bins[0].confidence - 2.3 / 3.0).abs() < 1e-12 && (bins[0].accuracy - 2.0 / 3.0).abs() < 1e-12);
/// ```
pub fn calibration<'a>(cases: impl Iterator<Item = (&'a [f64], usize)>, most: usize) -> Vec<Bin> {
    let mut sure: Vec<(f64, bool)> = cases
        .filter(|(row, _)| !row.is_empty() && row.iter().all(|p| p.is_finite()))
        .map(|(row, class)| (row[predicted(row)], predicted(row) == class))
        .collect();
    sure.sort_by(|a, b| a.0.total_cmp(&b.0));
    let bins = (sure.len() / 10).clamp(1, most.max(1));
    let bin = |k: usize| {
        let cases = &sure[k * sure.len() / bins..(k + 1) * sure.len() / bins];
        let n = cases.len() as f64;
        Bin {
            confidence: cases.iter().map(|(p, _)| p).sum::<f64>() / n,
            accuracy: cases.iter().filter(|(_, right)| *right).count() as f64 / n,
            cases: cases.len(),
        }
    };
    if sure.is_empty() { Vec::new() } else { (0..bins).map(bin).collect() }
}

/// The mean distance of confidence and accuracy over the cases; `None` without cases.
pub fn calibration_error(bins: &[Bin]) -> Option<f64> {
    let cases: usize = bins.iter().map(|bin| bin.cases).sum();
    let sum: f64 = bins.iter().map(|bin| bin.cases as f64 * (bin.confidence - bin.accuracy).abs()).sum();
    (cases > 0).then(|| sum / cases as f64)
}
