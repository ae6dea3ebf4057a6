//! Wilcoxon's signed-rank test: whether two models differ over the same data sets.
//!
//! ```text
//! d_i = x_i - y_i, those that are 0 left out;   r_i = rank of |d_i|, ties averaged;   W = sum of r_i with d_i > 0
//! exact:   W if every sign is as likely as its opposite, all 2^n of them counted
//! normal:  z = (W - n (n+1)/4) / s,   s^2 = n (n+1) (2n+1) / 24 - sum (t^3 - t) / 48,   over groups of t equal |d_i|
//! ```
//!
//! The choices are the defaults of SciPy's `wilcoxon`: differences of 0 are left out (`zero_method="wilcox"`), z is not corrected for continuity, and the
//! method is
//!
//! | differences | no two of equal size, none 0 | others |
//! | --- | --- | --- |
//! | up to 13 | exact | exact, of the ranks as they are tied |
//! | 14 to 50 | exact | normal |
//! | more | normal | normal |
//!
//! Two-sided chances are twice the smaller tail, at most 1. Where all differences are 0 the chance is 1 (SciPy's normal method has no number there).
//! Differences are of equal size if they are the same number: round scores that should tie.

use serde::Serialize;

use super::gamma::normal_tails;
use super::ranks::{ranks, ties};
use super::{Error, check};

/// The most differences whose signs are counted where some are tied or 0.
const MAX_TIED: usize = 13;
/// The most whose signs are counted at all.
const MAX_EXACT: usize = 50;

/// What is tested against "no difference".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alternative {
    /// The first differs from the second.
    TwoSided,
    /// The first is larger.
    Greater,
    /// The first is smaller.
    Less,
}

/// How the chance was computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// All signs were counted.
    Exact,
    /// By the normal approximation.
    Normal,
}

/// What the test says.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Wilcoxon {
    /// The sum of the ranks of positive differences.
    pub positive: f64,
    /// The sum of the ranks of negative differences.
    pub negative: f64,
    /// How the chance was computed.
    pub method: Method,
    /// How likely sums so far apart are if the two do not differ.
    pub p: f64,
}

/// The test of two models on the same data sets.
///
/// ```
/// use ncde_report::statistics::{Alternative, Method, wilcoxon};
/// // Better on all six: of 64 signs, one is all positive and one all negative.
/// let (x, y) = ([0.9, 0.8, 0.7, 0.6, 0.5, 0.9], [0.8, 0.6, 0.4, 0.2, 0.0, 0.3]);
/// let test = wilcoxon(&x, &y, Alternative::TwoSided)?;
/// assert_eq!((test.positive, test.negative, test.p, test.method), (21.0, 0.0, 2.0 / 64.0, Method::Exact));
/// # Ok::<(), ncde_report::statistics::Error>(())
/// ```
///
/// # Errors
/// Without scores, or if the two have not the same number of them, or one is not finite.
pub fn wilcoxon(x: &[f64], y: &[f64], alternative: Alternative) -> Result<Wilcoxon, Error> {
    let all = check(&[x.to_vec(), y.to_vec()], 2, 1)?;
    let differences: Vec<f64> = x.iter().zip(y).map(|(x, y)| x - y).filter(|d| *d != 0.0).collect();
    let sizes: Vec<f64> = differences.iter().map(|d| d.abs()).collect();
    let (ranks, ties) = (ranks(&sizes), ties(&sizes));
    let sum = |sign: f64| -> f64 { ranks.iter().zip(&differences).filter(|(_, d)| **d * sign > 0.0).map(|(r, _)| r).sum() };
    let (positive, negative) = (sum(1.0), sum(-1.0));
    let plain = ties.is_empty() && differences.len() == all;
    let exact = all <= if plain { MAX_EXACT } else { MAX_TIED };
    let [less, greater] = if exact || differences.is_empty() { signs(&ranks, positive) } else { normal(&ranks, &ties, positive) };
    let p = match alternative {
        Alternative::TwoSided => (2.0 * less.min(greater)).min(1.0),
        Alternative::Greater => greater,
        Alternative::Less => less,
    };
    Ok(Wilcoxon { positive, negative, method: if exact { Method::Exact } else { Method::Normal }, p })
}

/// The chances of a sum of at most and of at least `w`, if every sign is as likely as its opposite.
///
/// Ranks are multiples of 1/2, so that twice a sum is a whole number: the chances of all sums, one rank after the other.
fn signs(ranks: &[f64], w: f64) -> [f64; 2] {
    let whole = |rank: f64| (2.0 * rank).round() as usize;
    let most: usize = ranks.iter().map(|&rank| whole(rank)).sum();
    let mut chances = vec![0.0; most + 1];
    chances[0] = 1.0;
    let mut reached = 0;
    for step in ranks.iter().map(|&rank| whole(rank)) {
        for sum in (0..=reached).rev() {
            let half = 0.5 * chances[sum];
            chances[sum] = half;
            chances[sum + step] += half;
        }
        reached += step;
    }
    let at = whole(w);
    [chances[..=at].iter().sum(), chances[at..].iter().sum()]
}

/// The same by the normal approximation.
fn normal(ranks: &[f64], ties: &[usize], w: f64) -> [f64; 2] {
    let n = ranks.len() as f64;
    let tied: f64 = ties.iter().map(|&count| (count as f64).powi(3) - count as f64).sum();
    let variance = n * (n + 1.0) * (2.0 * n + 1.0) / 24.0 - tied / 48.0;
    let z = (w - 0.25 * n * (n + 1.0)) / variance.sqrt();
    let far = 0.5 * normal_tails(z);
    if z > 0.0 { [1.0 - far, far] } else { [far, 1.0 - far] }
}
