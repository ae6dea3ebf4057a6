//! Walks whose steps are rounded normal numbers, and terms of their signatures.
//!
//! ```text
//! X_k = X_{k-1} + round(N(0, 1)),   X_0 = round(N(0, 1))
//! S^{w_1..w_k} <- sum_j S^{w_1..w_j} x^{w_{j+1}} ... x^{w_k} / (k - j)!      over a straight piece with increment x (Chen)
//! ```
//!
//! Thesis, sections on the toy dataset and on the expressivity of SSMs.

use ncde_runtime::random::Stream;

const WALKS: u64 = 40;

/// Walks of a seed.
#[expect(missing_docs, reason = "the names say what the fields are")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Walks {
    pub channels: usize,
    pub length: usize,
    pub seed: u64,
}

impl Walks {
    /// Walk `i`, `[length, channels]`.
    ///
    /// ```
    /// use ncde_experiment::series::Walks;
    /// let walks = Walks { channels: 2, length: 5, seed: 1 };
    /// assert!(walks.walk(3).len() == 10 && walks.walk(3).iter().all(|x| x.fract() == 0.0));
    /// assert!(walks.walk(3) == walks.walk(3) && walks.walk(3) != walks.walk(4));
    /// ```
    pub fn walk(&self, i: u64) -> Vec<f64> {
        let stream = Stream::new(self.seed, WALKS).child(i);
        let mut values: Vec<f64> = (0..self.length * self.channels).map(|place| stream.normal(place as u64).round()).collect();
        for k in self.channels..values.len() {
            values[k] += values[k - self.channels];
        }
        values
    }
}

/// A term of the signature of the straight lines through observations, `[length, channels]`: the coordinate of a word of channels, from 0.
///
/// ```
/// // First to the right, then up: the area under the path is on one side.
/// let path = [0.0, 0.0, 2.0, 0.0, 2.0, 3.0];
/// let term = |word: &[usize]| ncde_experiment::series::term(&path, 2, word);
/// assert_eq!([term(&[0]), term(&[0, 1]), term(&[1, 0])], [2.0, 6.0, 0.0]);
/// ```
pub fn term(values: &[f64], channels: usize, word: &[usize]) -> f64 {
    // Of every prefix of the word, the empty one first.
    let mut prefixes = vec![0.0; word.len() + 1];
    prefixes[0] = 1.0;
    for (before, after) in values.chunks_exact(channels).zip(values.chunks_exact(channels).skip(1)) {
        for k in (1..=word.len()).rev() {
            let mut factor = 1.0;
            for j in (0..k).rev() {
                factor *= (after[word[j]] - before[word[j]]) / (k - j) as f64;
                prefixes[k] += prefixes[j] * factor;
            }
        }
    }
    prefixes[word.len()]
}
