//! Intervals of forecasts from their errors on the validation part, which training has not seen.
//!
//! ```text
//! width_{k,c} = the ceil(level (n + 1))-th smallest of |forecast - truth| / size          (split conformal: covers with a chance of at least `level` if the future is like that part)
//! ```
//!
//! The size is the width within which nine of ten errors of smoothing were on the same series so far, so that an interval grows and shrinks with its series; without smoothing it is 1. Where a
//! horizon has too few errors, those of all horizons count, as sizes make them alike.

use ncde_data::Dataset;
use ncde_runtime::{Forecast, Intervals};

use super::score::{PredictedRange, compare};
use super::warning::Warning;

/// The chance that intervals are made for.
pub(super) const LEVEL: f64 = 0.9;
/// The fewest errors that have such a share.
const NEEDED: usize = 9;

/// Intervals from the forecasts of a part; a warning if a horizon and channel has too few errors.
pub(super) fn intervals(forecast: &Forecast, data: &Dataset, ranges: &[PredictedRange]) -> Result<Intervals, Warning> {
    let targets = forecast.width(data.channels.len()).max(1);
    let mut errors = vec![Vec::new(); forecast.outputs(data.channels.len())];
    for (case, range) in data.cases.iter().zip(ranges) {
        compare(forecast, case, data.channels.len(), range, |_, [place, c], truth, [value, size], _| {
            if size > 0.0 {
                errors[place * targets + c].push((value - truth).abs() / size);
            }
        });
    }
    if forecast.smoothing.is_some() && errors.iter().any(|own| own.len() < NEEDED) {
        let of_channel = |c: usize| errors.iter().skip(c).step_by(targets).flatten().copied().collect::<Vec<f64>>();
        let pooled: Vec<Vec<f64>> = (0..targets).map(of_channel).collect();
        for (i, own) in errors.iter_mut().enumerate().filter(|(_, own)| own.len() < NEEDED) {
            own.clone_from(&pooled[i % targets]);
        }
    }
    let mut widths = Vec::with_capacity(errors.len());
    for (i, own) in errors.into_iter().enumerate() {
        let seen = own.len();
        widths.push(width(own, LEVEL).ok_or_else(|| Warning::NoIntervals {
            channel: data.channels[forecast.channel(i % targets)].clone(),
            horizon: forecast.horizons().nth(i / targets).unwrap_or(0),
            seen,
            wanted: NEEDED,
        })?);
    }
    let widths = widths.chunks(targets).map(<[f64]>::to_vec).collect();
    Ok(Intervals { level: LEVEL, widths })
}

/// The width that holds a share of errors.
fn width(mut errors: Vec<f64>, level: f64) -> Option<f64> {
    let rank = (level * (errors.len() + 1) as f64 - 1e-9).ceil() as usize;
    errors.sort_by(f64::total_cmp);
    errors.get(rank.checked_sub(1)?).copied().filter(|width| width.is_finite())
}

#[cfg(test)]
mod tests {
    use super::{LEVEL, NEEDED, width};

    #[test]
    fn ranks_are_those_of_a_finite_sample() {
        // The 90th of 99; of 9 the 9th; of 8 there is none.
        assert_eq!(width((1..=99).rev().map(f64::from).collect(), 0.9), Some(90.0));
        assert_eq!(width((1..=9).map(f64::from).collect(), 0.9), Some(9.0));
        assert_eq!(width((1..=8).map(f64::from).collect(), 0.9), None);
        assert_eq!(width(vec![f64::NAN; 20], 0.9), None);
        assert!(width(vec![1.0; NEEDED], LEVEL).is_some() && width(vec![1.0; NEEDED - 1], LEVEL).is_none());
    }
}
