//! Random choices.

use ncde_runtime::random::Stream;

/// Random choices, one after the other.
pub(crate) struct Dice {
    stream: Stream,
    place: u64,
}

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self { stream: Stream::new(seed, 77), place: 0 }
    }

    pub(crate) fn uniform(&mut self) -> f64 {
        self.place += 1;
        self.stream.uniform(self.place)
    }

    pub(crate) fn normal(&mut self) -> f64 {
        let (u, v) = (self.uniform(), self.uniform());
        (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }

    pub(crate) fn chance(&mut self, p: f64) -> bool {
        self.uniform() < p
    }

    /// From `low` to `high`, both included.
    pub(crate) fn whole(&mut self, low: usize, high: usize) -> usize {
        low + (self.uniform() * (high - low + 1) as f64) as usize
    }

    pub(crate) fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.whole(0, all.len() - 1)]
    }
}
