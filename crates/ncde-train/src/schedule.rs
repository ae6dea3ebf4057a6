//! How the learning rate goes: up to its peak, then down to its floor.
//!
//! ```text
//! rate_n = peak n / w                                n < w
//!          floor + (peak - floor) s((n - w) / (N - w))
//! s(x) = (1 + cos(pi x)) / 2    cosine,     1 - x    linear,     1    constant
//! ```
//!
//! `n` counts steps from 1, `N` is how many there are, `w` those of the warm-up. A new schedule is a variant of [`Shape`] and its `s`.

use serde::{Deserialize, Serialize};

/// How the learning rate goes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    /// The largest rate.
    pub peak: f64,
    /// The last one; of no effect on a constant rate.
    pub floor: f64,
    /// Steps until the rate is full; need not be a whole number.
    pub warmup: f64,
    /// How it goes on from there.
    pub shape: Shape,
}

/// How the learning rate goes after the warm-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Shape {
    /// It stays.
    Constant,
    /// Down along a cosine.
    Cosine,
    /// Down along a line.
    Linear,
}

impl Shape {
    /// How much of what lies between floor and peak is left after a share of the steps.
    fn left(self, share: f64) -> f64 {
        match self {
            Self::Constant => 1.0,
            Self::Cosine => 0.5 * (1.0 + (std::f64::consts::PI * share).cos()),
            Self::Linear => 1.0 - share,
        }
    }
}

impl Schedule {
    /// The same rate throughout.
    pub fn constant(rate: f64) -> Self {
        Self { peak: rate, floor: rate, warmup: 0.0, shape: Shape::Constant }
    }

    /// The rate of a step, from 0, of so many.
    ///
    /// ```
    /// use ncde_train::{Schedule, Shape};
    /// let schedule = Schedule { peak: 1.0, floor: 0.1, warmup: 10.0, shape: Shape::Cosine };
    /// let rates = [0, 4, 9, 54, 99].map(|step| schedule.rate(step, 100));
    /// assert!(rates.iter().zip([0.1, 0.5, 1.0, 0.55, 0.1]).all(|(seen, wanted)| (seen - wanted).abs() < 1e-12), "{rates:?}");
    /// let linear = Schedule { shape: Shape::Linear, ..schedule };
    /// assert!((linear.rate(54, 100) - 0.55).abs() < 1e-12 && (linear.rate(31, 100) - 0.78).abs() < 0.01);
    /// ```
    pub fn rate(&self, step: usize, steps: usize) -> f64 {
        let (step, steps) = ((step + 1) as f64, steps as f64);
        if step < self.warmup {
            return self.peak * step / self.warmup;
        }
        let share = ((step - self.warmup) / (steps - self.warmup).max(1.0)).min(1.0);
        self.floor + (self.peak - self.floor) * self.shape.left(share)
    }
}
