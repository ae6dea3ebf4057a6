//! Causality, by changing the future: values, times and number of all later observations.

#![allow(clippy::unwrap_used, reason = "helpers of tests unwrap too")]

use crate::path_common;

use ncde_signature::path::{
    Acausal, AtObservations, Causal, Causality, Cubic, Linear, Observed, Path, Rectilinear, Series, Start, TimeChannel,
};
use path_common::{Case, increment, observed, polyline, slope, value};
use proptest::prelude::*;

/// Compiles only if the path's type says so.
fn has_causality<C: Causality>(_: &impl Path<f64, Causality = C>) {}

/// The observations of `case` up to `t`, then those of `other`, of which the first comes a little later.
fn with_other_future(case: &Case, other: &Case, t: f64, later: f64) -> Series<f64> {
    let known = case.times().partition_point(|&knot| knot <= t);
    let shift = t + later - other.start;
    let times = [&case.times()[..known], &other.times().iter().map(|s| s + shift).collect::<Vec<_>>()].concat();
    let past = &case.values[..known * case.channels];
    let values = past.iter().chain(other.values.iter().cycle());
    let values = values.copied().take(times.len() * case.channels).collect();
    Series::new(times, values, case.channels).unwrap()
}

fn timed(series: &Series<f64>) -> Observed<f64> {
    series.with_time().unwrap().complete().unwrap()
}

proptest! {
    #[test]
    fn rectilinear_is_online(case in Case::any(), other in Case::any(), fraction in 0.0..=1.0_f64, later in 0.001..1.0) {
        let t = case.time(fraction);
        let now = observed(&case);
        let future = with_other_future(&case, &other, t, later);
        for time in [TimeChannel::First, TimeChannel::None] {
            let a = Rectilinear::new(&timed(&now), time).unwrap();
            let b = Rectilinear::new(&timed(&future), time).unwrap();
            has_causality::<Causal>(&a);
            prop_assert_eq!(value(&a, t), value(&b, t));
            prop_assert_eq!(slope(&a, t), slope(&b, t));
            prop_assert_eq!(increment(&a, case.start, t), increment(&b, case.start, t));
            prop_assert_eq!(polyline(&a, case.start, t, 2), polyline(&b, case.start, t, 2));
        }
    }

    #[test]
    fn linear_and_hermite_are_causal_at_observations(case in Case::any(), other in Case::any(), at in 0..9_usize, later in 0.001..1.0) {
        let t = case.times()[at % case.times().len()];
        let now = observed(&case).complete().unwrap();
        let future = with_other_future(&case, &other, t, later).complete().unwrap();
        at_observation(&Linear::new(&now).unwrap(), &Linear::new(&future).unwrap(), t);
        at_observation(&Cubic::hermite(&now).unwrap(), &Cubic::hermite(&future).unwrap(), t);
    }

    #[test]
    fn filling_forward_does_not_look_ahead(case in Case::any(), missing in prop::collection::vec(any::<bool>(), 30), at in 0..9_usize) {
        let known = at % case.times().len() + 1;
        let size = known * case.channels;
        let mut values = case.values.clone();
        for (value, missing) in values.iter_mut().zip(missing) {
            if missing {
                *value = f64::NAN;
            }
        }
        let fill = |length: usize| {
            let values = values[..length * case.channels].to_vec();
            let series = Series::with_missing(case.times()[..length].to_vec(), values, case.channels).unwrap();
            series.with_counts().fill_forward(&Start::Zero).unwrap().into_series()
        };
        let (whole, prefix) = (fill(case.times().len()), fill(known));
        prop_assert_eq!(&whole.values()[..2 * size], prefix.values());
    }
}

/// Up to an observation time the path does not depend on what comes later.
fn at_observation<P: Path<f64, Causality = AtObservations>>(now: &P, future: &P, t: f64) {
    let start = now.domain().0;
    assert_eq!(value(now, t), value(future, t));
    assert_eq!(increment(now, start, t), increment(future, start, t));
    assert_eq!(polyline(now, start, t, 3), polyline(future, start, t, 3));
    for k in 0..5 {
        let s = start + f64::from(k) / 5.0 * (t - start);
        assert_eq!(value(now, s), value(future, s));
    }
}

/// Two series that differ in their last observation only.
fn twins() -> [Series<f64>; 2] {
    [3.0, 4.0].map(|last| Series::regular(vec![0.0, 1.0, 0.5, last], 1).unwrap())
}

#[test]
fn levels_are_sharp() {
    let [a, b] = twins();
    let [x, y] = [&a, &b].map(|series| series.clone().complete().unwrap());
    // Between two observations linear and Hermite paths know the next one, before them they do not.
    let linear = [&x, &y].map(|series| Linear::new(series).unwrap());
    let hermite = [&x, &y].map(|series| Cubic::hermite(series).unwrap());
    assert_ne!(value(&linear[0], 2.5), value(&linear[1], 2.5));
    assert_ne!(value(&hermite[0], 2.5), value(&hermite[1], 2.5));
    assert_eq!(value(&linear[0], 1.5), value(&linear[1], 1.5));
    assert_eq!(value(&hermite[0], 1.5), value(&hermite[1], 1.5));
    // The natural spline knows it everywhere.
    let natural = [&a, &b].map(|series| Cubic::natural(series).unwrap());
    has_causality::<Acausal>(&natural[0]);
    for t in [0.5, 1.5, 2.5] {
        assert_ne!(value(&natural[0], t), value(&natural[1], t));
    }
}

#[test]
fn crossing_a_gap_looks_ahead_even_at_observations() {
    let across = [2.0, 6.0].map(|last| {
        let values = vec![0.0, 1.0, f64::NAN, 1.0, last, 1.0];
        Series::with_missing(vec![0.0, 1.0, 2.0], values, 2).unwrap()
    });
    let linear = across.clone().map(|series| Linear::across_gaps(&series).unwrap());
    has_causality::<Acausal>(&linear[0]);
    assert_eq!(value(&linear[0], 1.0), [1.0, 1.0]);
    assert_eq!(value(&linear[1], 1.0), [3.0, 1.0]);
    let hermite = across.map(|series| Cubic::hermite_across_gaps(&series).unwrap());
    has_causality::<Acausal>(&hermite[0]);
    assert_ne!(value(&hermite[0], 1.0), value(&hermite[1], 1.0));
}
