//! Rows on a clock between observations that are far apart. Responses are read there as well, so that what is pooled hangs less on when a series happened to be observed.
//!
//! ```text
//! n = min(ceil(gap / tick - 1/4) - 1, 31) rows between two observations, evenly spaced, on the line between their values
//! ```

use crate::responses::Rows;

/// The most rows between two observations.
const MAX_BETWEEN: f64 = 31.0;

/// Observations with the rows between them.
#[derive(Debug, Clone, Default)]
pub struct Ticked {
    gaps: Vec<f64>,
    since: Vec<f64>,
    values: Vec<f32>,
}

/// How many rows lie between two observations.
fn between(gap: f64, tick: f64) -> usize {
    ((gap / tick - 0.25).ceil() - 1.0).clamp(0.0, MAX_BETWEEN) as usize
}

impl Ticked {
    /// Forgets all rows.
    pub fn clear(&mut self) {
        self.gaps.clear();
        self.since.clear();
        self.values.clear();
    }

    /// How many rows there are.
    pub fn count(&self) -> usize {
        self.gaps.len()
    }

    /// Adds an observation at a time since the start of the series, and before it those of the clock, where there is one. `before` is the time and the values of the observation
    /// before; without values there are none between. Times are divided by the horizon.
    pub fn push(
        &mut self,
        before: (f64, Option<&[f32]>),
        time: f64,
        row: impl Iterator<Item = f32> + Clone,
        horizon: f64,
        tick: Option<f64>,
    ) {
        let (from, values) = before;
        let count = tick.zip(values).map_or(0, |(tick, _)| between((time - from) / horizon, tick));
        let mut last = from;
        for j in 1..=count {
            let share = j as f64 / (count + 1) as f64;
            let at = from + share * (time - from);
            self.gaps.push((at - last) / horizon);
            self.since.push(at / horizon);
            let ends = values.unwrap_or_default().iter().zip(row.clone());
            self.values.extend(ends.map(|(a, b)| a + (b - a) * share as f32));
            last = at;
        }
        self.gaps.push((time - last) / horizon);
        self.since.push(time / horizon);
        self.values.extend(row);
    }

    /// Rows from one to another of a series, or of the part of it that was pushed.
    pub fn rows(&self, from: usize, to: usize, first: bool) -> Rows<'_> {
        let width = self.values.len() / self.gaps.len().max(1);
        Rows { gaps: &self.gaps[from..to], since: &self.since[from..to], values: &self.values[from * width..to * width], first }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_the_clock_lie_on_the_line_between_observations() {
        let mut ticked = Ticked::default();
        ticked.push((0.0, None), 0.0, [1.0, 5.0].into_iter(), 10.0, Some(0.1));
        ticked.push((0.0, Some(&[1.0, 5.0])), 4.0, [3.0, 1.0].into_iter(), 10.0, Some(0.1));
        ticked.push((4.0, Some(&[3.0, 1.0])), 5.2, [0.0, 0.0].into_iter(), 10.0, Some(0.1));
        let rows = ticked.rows(0, ticked.count(), true);
        assert_eq!(rows.values, [1.0, 5.0, 1.5, 4.0, 2.0, 3.0, 2.5, 2.0, 3.0, 1.0, 0.0, 0.0]);
        assert!(rows.since.iter().zip([0.0, 0.1, 0.2, 0.3, 0.4, 0.52]).all(|(a, b)| (a - b).abs() < 1e-12), "{rows:?}");
        assert!(rows.gaps.iter().zip([0.0, 0.1, 0.1, 0.1, 0.1, 0.12]).all(|(a, b)| (a - b).abs() < 1e-12), "{rows:?}");
        assert_eq!(
            [between(1.0, 1.0), between(1.25, 1.0), between(1.26, 1.0), between(1e300, 1.0), between(0.0, 1.0)],
            [0, 0, 1, 31, 0]
        );
    }
}
