//! Series: what is refused and with which words, augmentations, gaps, tokens.

#![allow(clippy::unwrap_used, reason = "helpers of tests unwrap too")]

use ncde_signature::Error;
use ncde_signature::path::{Linear, Series, Start};

const NAN: f64 = f64::NAN;

fn gappy() -> Series<f64> {
    // Channel 0 has a gap in the middle, channel 1 starts with one.
    let values = vec![1.0, NAN, NAN, 20.0, 3.0, NAN];
    Series::with_missing(vec![0.0, 1.0, 4.0], values, 2).unwrap()
}

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}

#[test]
fn shapes_and_times_are_checked() {
    let new = |times: &[f64], values: &[f64], channels| Series::new(times.to_vec(), values.to_vec(), channels).unwrap_err();
    assert_eq!(new(&[], &[], 1), Error::EmptySeries);
    assert_eq!(new(&[0.0], &[], 0), Error::NoChannels);
    assert_eq!(
        new(&[0.0, 1.0], &[1.0, 2.0, 3.0], 2).to_string(),
        "series: `values` (2 observations of 2 channels) has 3 entries, wanted 4"
    );
    assert!(matches!(new(&[0.0, 1.0], &[1.0], usize::MAX), Error::Size { .. }));
    assert_eq!(new(&[0.0, 2.0, 2.0], &[0.0; 3], 1), Error::TimesNotIncreasing { index: 2, previous: 2.0, time: 2.0 });
    assert!(matches!(new(&[0.0, NAN], &[0.0; 2], 1), Error::TimeNotFinite { index: 1, .. }));
    assert!(matches!(new(&[f64::NEG_INFINITY, 0.0], &[0.0; 2], 1), Error::TimeNotFinite { index: 0, .. }));
    assert!(matches!(Series::regular(vec![1.0, 2.0, 3.0], 2).unwrap_err(), Error::Size { seen: 1, wanted: 2, .. }));
    assert_eq!(Series::<f32>::regular(vec![], 2).unwrap_err(), Error::EmptySeries);
    assert_eq!(Series::regular(vec![1.0], 0).unwrap_err(), Error::NoChannels);
}

#[test]
fn values_that_are_not_finite_are_named() {
    let error = Series::new(vec![0.0, 1.0], vec![0.0, 1.0, 2.0, NAN], 2).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the value of observation 1, channel 1, is NaN; if it is missing, say so with `Series::with_missing`"
    );
    let infinite = vec![0.0, f64::INFINITY, NAN, 0.0];
    let error = Series::with_missing(vec![0.0, 1.0], infinite, 2).unwrap_err();
    assert!(matches!(&error, Error::NotFinite { location, channel: 1, .. } if location == "observation 0"));
    let error = gappy().complete().unwrap_err();
    assert!(matches!(&error, Error::NotFinite { location, channel: 1, .. } if location == "observation 0"));
    assert!(error.to_string().contains("fill_forward"));
}

#[test]
fn a_single_observation_is_a_series_but_no_path() {
    let one = Series::regular(vec![1.0, 2.0], 2).unwrap().complete().unwrap();
    assert_eq!(one.length(), 1);
    assert!(matches!(Linear::new(&one).unwrap_err(), Error::OneObservation { .. }));
    let two = one.with_basepoint(-1.0).unwrap().complete().unwrap();
    assert!(Linear::new(&two).is_ok());
}

#[test]
fn time_is_never_missing() {
    let series = gappy().with_time().unwrap();
    assert_eq!((series.channels(), series.missing()), (3, 3));
    let time: Vec<f64> = series.rows().map(|row| row[0]).collect();
    assert_eq!(time, series.times());
    let huge = Series::new(vec![0.0, 1e300], vec![0.0_f32, 1.0], 1).unwrap();
    assert!(huge.with_time().unwrap_err().to_string().contains("scale the times"));
}

#[test]
fn counts_come_from_the_mask() {
    let series = gappy().with_counts();
    let wanted = [1.0, NAN, 1.0, 0.0, NAN, 20.0, 1.0, 1.0, 3.0, NAN, 2.0, 1.0];
    assert_eq!(bits(series.values()), bits(&wanted));
}

#[test]
fn augmentations_compose_with_filling() {
    let series = gappy().with_counts().with_basepoint(-2.0).unwrap().with_time().unwrap();
    let filled = series.fill_forward(&Start::Required).unwrap();
    #[rustfmt::skip]
    let wanted = [
        -2.0, 0.0,  0.0, 0.0, 0.0,
         0.0, 1.0,  0.0, 1.0, 0.0,
         1.0, 1.0, 20.0, 1.0, 1.0,
         4.0, 3.0, 20.0, 2.0, 1.0,
    ];
    assert_eq!(filled.values(), wanted);
}

#[test]
fn a_basepoint_comes_first() {
    let series = Series::regular(vec![1.0, 2.0], 1).unwrap();
    for time in [0.0, 1.0, NAN, f64::NEG_INFINITY] {
        let error = series.with_basepoint(time).unwrap_err();
        assert!(matches!(error, Error::BadParameter { .. }), "{time}: {error}");
    }
}

#[test]
fn filling_forward_needs_a_start() {
    let series = gappy();
    assert_eq!(series.fill_forward(&Start::Required).unwrap_err(), Error::MissingStart { channel: 1, first: 1 });
    let zero = series.fill_forward(&Start::Zero).unwrap();
    assert_eq!(zero.values(), [1.0, 0.0, 1.0, 20.0, 3.0, 20.0]);
    let given = series.fill_forward(&Start::Values(vec![-1.0, -2.0])).unwrap();
    assert_eq!(given.values(), [1.0, -2.0, 1.0, 20.0, 3.0, 20.0]);
    assert!(matches!(series.fill_forward(&Start::Values(vec![0.0])).unwrap_err(), Error::Size { seen: 1, wanted: 2, .. }));
    assert!(matches!(series.fill_forward(&Start::Values(vec![0.0, NAN])).unwrap_err(), Error::BadParameter { .. }));
}

#[test]
fn a_channel_never_observed_is_named() {
    let series = Series::with_missing(vec![0.0, 1.0], vec![1.0, NAN, 2.0, NAN], 2).unwrap();
    let error = Error::NeverObserved { channel: 1 };
    assert_eq!(series.fill_forward(&Start::Required).unwrap_err(), error);
    assert_eq!(Linear::across_gaps(&series).unwrap_err(), error);
    let filled = series.fill_forward(&Start::Zero).unwrap();
    assert_eq!(filled.into_series().values(), [1.0, 0.0, 2.0, 0.0]);
}
