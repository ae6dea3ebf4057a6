//! About `sqrt(n)` states of `n` steps, when `n` is not known before the end.
//!
//! Every `s`-th state is kept. When there are `2 s` of them, every other one is dropped and `s` doubles: at any time there are at
//! most `2 s` states, `s` steps apart, with `n >= s^2 / 2`.

/// States kept along the way.
#[derive(Debug, Clone)]
pub(super) struct Checkpoints<T> {
    spacing: usize,
    seen: usize,
    states: Vec<Vec<T>>,
}

impl<T: Clone> Checkpoints<T> {
    pub(super) fn new() -> Self {
        Self { spacing: 1, seen: 0, states: Vec::new() }
    }

    /// The state before the next step.
    pub(super) fn push(&mut self, state: &[T]) {
        if self.seen.is_multiple_of(self.spacing) {
            if self.states.len() == 2 * self.spacing {
                let mut index = 0;
                self.states.retain(|_| {
                    index += 1;
                    index % 2 == 1
                });
                self.spacing *= 2;
            }
            self.states.push(state.to_vec());
        }
        self.seen += 1;
    }

    /// Stretches of steps from the last to the first: the first step of each, and the state before it.
    pub(super) fn reversed(&self) -> impl Iterator<Item = (usize, &[T])> {
        self.states.iter().enumerate().rev().map(|(k, state)| (k * self.spacing, state.as_slice()))
    }

    /// How many states are kept.
    pub(super) fn len(&self) -> usize {
        self.states.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_states_at_equal_distances_are_kept() {
        for n in [1, 2, 3, 7, 8, 9, 100, 1000, 12_345] {
            let mut checkpoints = Checkpoints::new();
            for step in 0..n {
                checkpoints.push(&[step]);
            }
            let bound = (8.0 * n as f64).sqrt() + 2.0;
            assert!(checkpoints.len() as f64 <= bound && checkpoints.spacing as f64 <= bound, "{n}: {}", checkpoints.len());
            let mut end = n;
            for (first, state) in checkpoints.reversed() {
                assert_eq!(state, [first]);
                assert!(first < end && end - first <= checkpoints.spacing, "{n}: {first} to {end}");
                end = first;
            }
            assert_eq!(end, 0, "{n}");
        }
    }
}
