//! Windows cover the domain exactly, whatever the way of cutting.

use ncde_signature::Error;
use ncde_signature::path::Windows;
use proptest::prelude::*;

fn regular(length: usize) -> Vec<f64> {
    (0..length).map(|i| i as f64).collect()
}

proptest! {
    #[test]
    fn windows_cover_the_domain(
        start in -1e3..1e3_f64,
        steps in prop::collection::vec(0.01..5.0_f64, 1..40),
        count in 1..50_usize,
        duration in 0.01..100.0_f64,
        inner in prop::collection::vec(0.0..=1.0_f64, 0..10),
    ) {
        let mut knots = vec![start];
        for step in steps {
            knots.push(knots[knots.len() - 1] + step);
        }
        let end = knots[knots.len() - 1];
        let mut times: Vec<f64> = inner.into_iter().map(|u| (start + u * (end - start)).min(end)).collect();
        times.sort_by(f64::total_cmp);
        times.dedup();
        for windows in [Windows::Observations(count), Windows::Duration(duration), Windows::Times(times)] {
            let ends = windows.ends(&knots).unwrap();
            prop_assert_eq!((ends[0], ends[ends.len() - 1]), (start, end));
            prop_assert!(ends.windows(2).all(|pair| pair[0] < pair[1]), "{:?}", ends);
            if let Windows::Duration(_) = windows {
                prop_assert!(ends.windows(2).all(|pair| pair[1] - pair[0] <= duration * (1.0 + 1e-8)));
            }
        }
    }

    #[test]
    fn windows_near_the_resolution_of_time_are_not_empty(duration in 1e-6..3e-6_f64, steps in 2..100_u32) {
        // Times near 1e9 are 1.2e-7 apart.
        let end = 1e9 + f64::from(steps) * duration;
        let ends = Windows::Duration(duration).ends(&[1e9, end]).unwrap();
        prop_assert!(ends.windows(2).all(|pair| pair[0] < pair[1]), "{:?}", ends);
    }
}

#[test]
fn a_window_of_observations_has_that_many_increments() {
    let ends = |count, length| Windows::Observations(count).ends(&regular(length)).unwrap();
    assert_eq!(ends(12, 17_984).len() - 1, 1499);
    assert_eq!(ends(2, 5), [0.0, 2.0, 4.0]);
    assert_eq!(ends(3, 5), [0.0, 3.0, 4.0]);
    assert_eq!(ends(4, 5), [0.0, 4.0]);
    assert_eq!(ends(usize::MAX, 5), [0.0, 4.0]);
    assert_eq!(ends(1, 2), [0.0, 1.0]);
}

#[test]
fn a_remainder_from_rounding_makes_no_window() {
    // The third step may fall just after the end, on it or just before it.
    for end in [0.3, 0.1 * 3.0, (0.1_f64 * 3.0).next_up()] {
        let ends = Windows::Duration(0.1).ends(&[0.0, end]).unwrap();
        assert_eq!(ends, [0.0, 0.1, 0.2, end]);
    }
    assert_eq!(Windows::Duration(5.0).ends(&[0.0, 1.0]).unwrap(), [0.0, 1.0]);
    assert_eq!(Windows::Duration(0.75).ends(&[0.0, 1.0]).unwrap(), [0.0, 0.75, 1.0]);
}

#[test]
fn listed_times_may_name_the_ends_or_not() {
    let knots = regular(5);
    for times in [vec![1.5], vec![0.0, 1.5], vec![1.5, 4.0], vec![0.0, 1.5, 4.0]] {
        assert_eq!(Windows::Times(times).ends(&knots).unwrap(), [0.0, 1.5, 4.0]);
    }
    assert_eq!(Windows::Times(vec![]).ends(&knots).unwrap(), [0.0, 4.0]);
}

#[test]
fn bad_windows_are_refused() {
    let knots = regular(5);
    let bad = [
        Windows::Observations(0),
        Windows::Duration(0.0),
        Windows::Duration(-1.0),
        Windows::Duration(f64::NAN),
        Windows::Duration(f64::INFINITY),
        Windows::Duration(1e-12),
        Windows::Times(vec![1.0, 1.0]),
        Windows::Times(vec![2.0, 1.0]),
        Windows::Times(vec![f64::NAN]),
    ];
    for windows in bad {
        let error = windows.ends(&knots).unwrap_err();
        assert!(matches!(error, Error::BadParameter { .. }), "{windows:?}: {error}");
    }
    // A step that the times cannot resolve.
    let lost = Windows::Duration(1e-17).ends(&[1.0, 1.0 + 2e-16]);
    assert!(matches!(lost.unwrap_err(), Error::BadParameter { .. }));
    for time in [-1.0, 4.5] {
        let error = Windows::Times(vec![time]).ends(&knots).unwrap_err();
        assert_eq!(error, Error::OutsideDomain { time, start: 0.0, end: 4.0 });
    }
}

#[test]
fn knots_must_make_a_path() {
    let ends = |knots: &[f64]| Windows::Observations(1).ends(knots).unwrap_err();
    assert_eq!(ends(&[]), Error::EmptySeries);
    assert!(matches!(ends(&[1.0]), Error::OneObservation { .. }));
    assert!(matches!(ends(&[1.0, 0.0]), Error::TimesNotIncreasing { .. }));
    assert!(matches!(ends(&[1.0, f64::INFINITY]), Error::TimeNotFinite { index: 1, .. }));
}
