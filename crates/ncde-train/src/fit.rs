//! Scalings, from the training part alone.
//!
//! ```text
//! standard: (x - mean) / deviation,   min-max: 2 (x - min) / (max - min) - 1,   time: (t - t_0) / the longest duration
//! ```
//!
//! A constant channel, or one that varies by rounding alone, keeps its unit. Under `min-max` time goes from -1 to 1 as well.

use ncde_data::{Case, Dataset};
use ncde_runtime::{Missing, Preparation, Scaling};

use super::names::{MissingName, Scale};

/// A deviation below this share of the largest magnitude is rounding.
const ROUNDING: f64 = 1e-10;

/// Mean, deviation and range of the values that are there.
#[derive(Debug, Clone, Copy)]
struct Spread {
    count: usize,
    mean: f64,
    /// The sum of squared distances from the mean.
    squares: f64,
    least: f64,
    most: f64,
}

impl Spread {
    const NONE: Self = Self { count: 0, mean: 0.0, squares: 0.0, least: f64::INFINITY, most: f64::NEG_INFINITY };

    /// One value more (Welford's update, which does not cancel).
    fn push(&mut self, x: f64) {
        if x.is_nan() {
            return;
        }
        self.count += 1;
        let step = x - self.mean;
        self.mean += step / self.count as f64;
        self.squares += step * (x - self.mean);
        self.least = self.least.min(x);
        self.most = self.most.max(x);
    }

    fn scaling(&self, scale: Scale) -> Scaling {
        let largest = self.least.abs().max(self.most.abs());
        let inverse = |size: f64| if size > ROUNDING * largest.max(1e-30) { 1.0 / size } else { 1.0 };
        match scale {
            _ if self.count == 0 => Scaling::IDENTITY,
            Scale::None => Scaling::IDENTITY,
            Scale::Standard => Scaling { shift: self.mean, factor: inverse((self.squares / self.count as f64).sqrt()) },
            Scale::MinMax => Scaling { shift: 0.5 * (self.least + self.most), factor: inverse(0.5 * (self.most - self.least)) },
        }
    }
}

/// The scaling of some numbers, NaN aside.
pub(super) fn scaling(values: impl IntoIterator<Item = f64>, scale: Scale) -> Scaling {
    let mut spread = Spread::NONE;
    values.into_iter().for_each(|x| spread.push(x));
    spread.scaling(scale)
}

/// The preparation for these settings, fitted on these cases.
pub(super) fn fit(data: &Dataset, train: &[usize], scale: Scale, time: bool, missing: MissingName) -> Preparation {
    let channels = data.channels.len();
    let cases = || train.iter().map(|&i| &data.cases[i]);
    let mut spreads = vec![Spread::NONE; channels];
    for case in cases() {
        for row in case.values.chunks_exact(channels) {
            spreads.iter_mut().zip(row).for_each(|(spread, &x)| spread.push(x));
        }
    }
    let statics = (0..data.statics.len()).map(|k| {
        // Statics only move the initial state: without a unit of their own they would drown the first knot.
        let scale = if scale == Scale::None { Scale::None } else { Scale::Standard };
        scaling(cases().map(|case| case.statics[k]), scale)
    });
    let duration = |case: &Case| case.times.last().zip(case.times.first()).map_or(0.0, |(last, first)| last - first);
    let longest = cases().map(duration).fold(0.0, f64::max);
    let time = time.then(|| match (scale, longest > 0.0) {
        (_, false) => Scaling::IDENTITY,
        (Scale::MinMax, true) => Scaling { shift: 0.5 * longest, factor: 2.0 / longest },
        (Scale::Standard | Scale::None, true) => Scaling { shift: 0.0, factor: 1.0 / longest },
    });
    let missing = match missing {
        MissingName::Refuse => Missing::Refuse {},
        MissingName::Forward => Missing::Forward {},
        MissingName::Counts => {
            let n = train.len().max(1) as f64;
            Missing::Counts { factors: spreads.iter().map(|s| 1.0 / (s.count as f64 / n).max(1.0)).collect() }
        }
    };
    Preparation { channels: spreads.iter().map(|s| s.scaling(scale)).collect(), statics: statics.collect(), time, missing }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalings_do_what_they_say() {
        let values = [1.0, 3.0, f64::NAN, 5.0];
        let standard = scaling(values, Scale::Standard);
        assert_eq!(standard.shift, 3.0);
        assert!((standard.factor - 1.0 / (8.0_f64 / 3.0).sqrt()).abs() < 1e-15);
        let range = scaling(values, Scale::MinMax);
        assert_eq!([range.apply(1.0), range.apply(5.0)], [-1.0, 1.0]);
        assert_eq!(scaling([7.0, 7.0], Scale::Standard), Scaling { shift: 7.0, factor: 1.0 });
        assert_eq!(scaling([f64::NAN], Scale::MinMax), Scaling::IDENTITY);
        // Rounding is no variation: it keeps its unit.
        for scale in [Scale::Standard, Scale::MinMax] {
            assert_eq!(scaling([1e6, 1e6 + 1e-5, 1e6 - 1e-5], scale).factor, 1.0);
        }
        // A large offset does not eat the deviation.
        let far = scaling([1e9 + 1.0, 1e9 + 2.0, 1e9 + 3.0], Scale::Standard);
        assert!((far.factor - 1.5_f64.sqrt()).abs() < 1e-6, "{far:?}");
    }
}
