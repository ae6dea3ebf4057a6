//! How the learning rate goes: up to its peak, then down to its floor.
//!
//! ```text
//! rate_n = peak n / w                                                          n < w
//!          floor + (peak - floor) (1 + cos(pi (n - w) / (N - w))) / 2          cosine
//!          peak                                                                constant
//! ```
//!
//! `n` counts steps from 1, `N` is how many there are, `w` those of the warm-up.

use serde::{Deserialize, Serialize};

/// How the learning rate goes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    /// The largest rate.
    pub peak: f64,
    /// The last one of a cosine.
    pub floor: f64,
    /// Steps until the rate is full; need not be a whole number.
    pub warmup: f64,
    /// How it goes on from there.
    pub shape: Shape,
}

/// How the learning rate goes after the warm-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// It stays.
    Constant,
    /// Down along a cosine.
    Cosine,
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
    /// ```
    pub fn rate(&self, step: usize, steps: usize) -> f64 {
        let (step, steps) = ((step + 1) as f64, steps as f64);
        if step < self.warmup {
            return self.peak * step / self.warmup;
        }
        match self.shape {
            Shape::Constant => self.peak,
            Shape::Cosine => {
                let share = ((step - self.warmup) / (steps - self.warmup).max(1.0)).min(1.0);
                self.floor + 0.5 * (self.peak - self.floor) * (1.0 + (std::f64::consts::PI * share).cos())
            }
        }
    }
}
