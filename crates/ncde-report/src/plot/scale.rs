//! Axes: where a value lies between the ends, and ticks at 1, 2 or 5 times a power of ten.
//!
//! ```text
//! linear:  (v - low) / (high - low)        log:  the same of log10 v
//! ```

use crate::format::trim;

/// How an axis is spaced, and where its ticks may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spacing {
    /// Linear, with ticks at whole numbers: for counts.
    Whole,
    /// Linear.
    Linear,
    /// Logarithmic if all values are positive and the largest is many times the smallest, else linear.
    Auto,
    /// Linear in seconds since 1970-01-01T00:00:00Z, with ticks where years, months, days or hours begin.
    Dates,
}

/// The largest is this many times the smallest where [`Spacing::Auto`] turns logarithmic.
const LOG_FROM: f64 = 20.0;

/// A value on an axis, and what is written there.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tick {
    pub(crate) value: f64,
    pub(crate) label: String,
}

/// The values that an axis shows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scale {
    low: f64,
    high: f64,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Linear {
        whole: bool,
    },
    /// The ends are logarithms.
    Log,
    Dates,
}

impl Scale {
    /// The axis that shows all finite values with a little room at both ends; `None` without finite values.
    pub(crate) fn of(values: impl Iterator<Item = f64>, spacing: Spacing) -> Option<Self> {
        let (low, high) = values
            .filter(|value| value.is_finite())
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        if low > high {
            return None;
        }
        if spacing == Spacing::Auto && low > 0.0 && high / low >= LOG_FROM {
            let room = 0.04 * (high / low).log10();
            return Some(Self { low: low.log10() - room, high: high.log10() + room, kind: Kind::Log });
        }
        let kind = match spacing {
            Spacing::Dates if super::date::are_dates(low, high) => Kind::Dates,
            _ => Kind::Linear { whole: spacing == Spacing::Whole },
        };
        // Of one value alone: as much room as it is large. Halves keep the difference of huge numbers finite.
        let half = 0.5 * high - 0.5 * low;
        let room = match (half > 1e-12 * high.abs().max(low.abs()), low == 0.0 && high == 0.0) {
            (true, _) => 0.08 * half,
            (false, true) => 1.0,
            (false, false) if kind == Kind::Dates => 60.0,
            (false, false) => 0.1 * high.abs().max(low.abs()),
        };
        Some(Self { low: (low - room).max(f64::MIN / 4.0), high: (high + room).min(f64::MAX / 4.0), kind })
    }

    /// Where a value is: 0 at the lower end, 1 at the upper.
    pub(crate) fn place(&self, value: f64) -> f64 {
        let value = if self.kind == Kind::Log { value.log10() } else { value };
        (value - self.low) / (self.high - self.low)
    }

    /// At most `most` ticks (at least 2), as many as there are nice ones.
    pub(crate) fn ticks(&self, most: usize) -> Vec<Tick> {
        let most = most.max(2);
        match self.kind {
            Kind::Linear { whole } => self.linear_ticks(most, whole),
            Kind::Log => self.log_ticks(most),
            Kind::Dates => super::date::ticks(self.low, self.high, most),
        }
    }

    fn linear_ticks(&self, most: usize, whole: bool) -> Vec<Tick> {
        let mut exponent = ((self.high - self.low) / most as f64).log10().floor() as i32;
        if whole {
            exponent = exponent.max(0);
        }
        // The first nice step with few enough ticks; each is about twice the one before, so this ends soon.
        for (factor, exponent) in (exponent..exponent + 3).flat_map(|e| [(1.0, e), (2.0, e), (5.0, e)]) {
            let step = factor * 10_f64.powi(exponent);
            let (first, last) = ((self.low / step).ceil(), (self.high / step).floor());
            if last - first + 1.0 <= most as f64 {
                let indices = (0..(last - first + 1.0).max(0.0) as usize).map(|index| first + index as f64);
                let values: Vec<f64> = indices.map(|index| decimal(index * factor, exponent)).collect();
                let largest = values.iter().fold(0.0_f64, |largest, value| largest.max(value.abs()));
                return values.into_iter().map(|value| Tick { value, label: label(value, exponent, largest) }).collect();
            }
        }
        Vec::new()
    }

    fn log_ticks(&self, most: usize) -> Vec<Tick> {
        let decades = self.low.floor() as i32..=self.high.ceil() as i32;
        let within = |value: f64| (0.0..=1.0).contains(&self.place(value));
        let try_with = |factors: &[f64], stride: i32| -> Vec<Tick> {
            decades
                .clone()
                .filter(|decade| decade.rem_euclid(stride) == 0)
                .flat_map(|decade| factors.iter().map(move |factor| (decimal(*factor, decade), decade)))
                .filter(|(value, _)| within(*value))
                .map(|(value, decade)| Tick { value, label: label(value, decade, value) })
                .collect()
        };
        let mut ticks = try_with(&[1.0, 2.0, 5.0], 1);
        let mut stride = 1;
        while ticks.len() > most {
            ticks = try_with(&[1.0], stride);
            stride += 1;
        }
        ticks
    }
}

/// `digits 10^exponent`, by division where that is exact.
fn decimal(digits: f64, exponent: i32) -> f64 {
    if exponent < 0 { digits / 10_f64.powi(-exponent) } else { digits * 10_f64.powi(exponent) }
}

/// The label of a tick that is a multiple of `10^exponent`, beside one of size `largest`.
fn label(value: f64, exponent: i32, largest: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    let (unit, suffix) = match largest {
        l if l < 1e4 => (0, ""),
        l if l < 1e6 => (3, "k"),
        l if l < 1e9 => (6, "M"),
        l if l < 1e12 => (9, "G"),
        _ => return scientific(value, exponent),
    };
    if largest < 1e-3 {
        return scientific(value, exponent);
    }
    let decimals = usize::try_from(unit - exponent).unwrap_or(0);
    format!("{:.decimals$}{suffix}", decimal(value, -unit))
}

fn scientific(value: f64, exponent: i32) -> String {
    let digits = usize::try_from(value.abs().log10().floor() as i32 - exponent).unwrap_or(0);
    let text = format!("{value:.digits$e}");
    match text.split_once('e') {
        Some((digits, exponent)) => format!("{}e{exponent}", trim(digits)),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(values: &[f64], spacing: Spacing, most: usize) -> Vec<String> {
        let scale = Scale::of(values.iter().copied(), spacing).unwrap();
        scale.ticks(most).into_iter().map(|tick| tick.label).collect()
    }

    #[test]
    fn ticks_are_one_two_or_five_times_a_power_of_ten() {
        assert_eq!(labels(&[0.0, 1.0], Spacing::Linear, 6), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"].map(fix));
        assert_eq!(labels(&[0.71, 0.93], Spacing::Linear, 6), ["0.75", "0.80", "0.85", "0.90"]);
        assert_eq!(labels(&[0.0, 2500.0], Spacing::Whole, 4), ["0", "1000", "2000"]);
        assert_eq!(labels(&[0.0, 30000.0], Spacing::Whole, 4), ["0", "10k", "20k", "30k"]);
        assert_eq!(labels(&[-3e-5, 2e-5], Spacing::Linear, 6), ["-3e-5", "-2e-5", "-1e-5", "0", "1e-5", "2e-5"]);
    }

    /// Zero is always plain.
    fn fix(label: &str) -> &str {
        if label == "0.0" { "0" } else { label }
    }

    #[test]
    fn steps_are_whole() {
        assert_eq!(labels(&[1.0, 3.0], Spacing::Whole, 7), ["1", "2", "3"]);
        assert_eq!(labels(&[5.0], Spacing::Whole, 7), ["5"]);
    }

    #[test]
    fn a_wide_range_of_positive_values_is_logarithmic() {
        assert_eq!(labels(&[0.01, 1.0], Spacing::Auto, 7), ["0.01", "0.02", "0.05", "0.1", "0.2", "0.5", "1"]);
        assert_eq!(labels(&[1e-6, 1e3], Spacing::Auto, 5), ["1e-6", "1e-4", "0.01", "1", "100"]);
        assert_eq!(labels(&[0.0, 100.0], Spacing::Auto, 3), ["0", "50", "100"]);
    }

    #[test]
    fn every_range_has_few_ticks_in_order_and_inside() {
        for exponent in -300..300 {
            for (low, high) in [(0.0, 1.0), (1.0, 1.0), (0.999, 1.0), (-1.7, 3.1), (1.0, 1e6), (1.0, 23.0)] {
                let values = [low * 10_f64.powi(exponent), high * 10_f64.powi(exponent)];
                for spacing in [Spacing::Whole, Spacing::Linear, Spacing::Auto, Spacing::Dates] {
                    let scale = Scale::of(values.into_iter(), spacing).unwrap();
                    let ticks = scale.ticks(5);
                    assert!(ticks.len() <= 5, "{values:?} {spacing:?} {ticks:?}");
                    assert!(matches!(spacing, Spacing::Whole | Spacing::Dates) || !ticks.is_empty(), "{values:?} {spacing:?}");
                    assert!(ticks.windows(2).all(|pair| pair[0].value < pair[1].value && pair[0].label != pair[1].label));
                    assert!(ticks.iter().all(|tick| (-1e-9..=1.0 + 1e-9).contains(&scale.place(tick.value))), "{ticks:?}");
                    assert!(ticks.iter().all(|tick| tick.label.len() <= 10), "{ticks:?}");
                }
            }
        }
    }

    #[test]
    fn without_finite_values_there_is_no_axis() {
        assert_eq!(Scale::of([f64::NAN, f64::INFINITY].into_iter(), Spacing::Auto), None);
        let huge = Scale::of([f64::MIN, f64::MAX].into_iter(), Spacing::Linear).unwrap();
        assert!(huge.place(0.0).is_finite());
    }
}
