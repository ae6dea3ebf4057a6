//! Interpolations: identities that hold for all of them, and what is special to each.

#![allow(clippy::unwrap_used, reason = "helpers of tests unwrap too")]

use crate::path_common;

use ncde_signature::Error;
use ncde_signature::path::{Cubic, Linear, Path, Rectilinear, Series, TimeChannel};
use path_common::{Case, increment, observed, polyline, slope, value};
use proptest::prelude::*;

fn close(x: f64, y: f64, tolerance: f64) -> bool {
    (x - y).abs() <= tolerance * (1.0 + x.abs().max(y.abs()))
}

/// Calls `check` with each path through the same observations; channel 0 is the time.
fn for_each_path(case: &Case, check: impl Fn(&dyn Values, &'static str)) {
    let series = observed(case).with_time().unwrap();
    let complete = series.clone().complete().unwrap();
    check(&Linear::new(&complete).unwrap(), "linear");
    check(&Linear::across_gaps(&series).unwrap(), "linear across gaps");
    check(&Rectilinear::new(&complete, TimeChannel::First).unwrap(), "rectilinear, time");
    check(&Rectilinear::new(&complete, TimeChannel::None).unwrap(), "rectilinear");
    check(&Cubic::natural(&series).unwrap(), "natural");
    check(&Cubic::hermite(&complete).unwrap(), "hermite");
    check(&Cubic::hermite_across_gaps(&series).unwrap(), "hermite across gaps");
}

/// A path of any causality behind one object.
trait Values {
    fn knots(&self) -> &[f64];
    fn value(&self, t: f64) -> Vec<f64>;
    fn slope(&self, t: f64) -> Vec<f64>;
    fn increment(&self, s: f64, t: f64) -> Vec<f64>;
    fn polyline(&self, s: f64, t: f64, refinement: usize) -> Vec<Vec<f64>>;
}

impl<P: Path<f64>> Values for P {
    fn knots(&self) -> &[f64] {
        Path::knots(self)
    }
    fn value(&self, t: f64) -> Vec<f64> {
        value(self, t)
    }
    fn slope(&self, t: f64) -> Vec<f64> {
        slope(self, t)
    }
    fn increment(&self, s: f64, t: f64) -> Vec<f64> {
        increment(self, s, t)
    }
    fn polyline(&self, s: f64, t: f64, refinement: usize) -> Vec<Vec<f64>> {
        polyline(self, s, t, refinement)
    }
}

proptest! {
    #[test]
    fn paths_pass_through_their_observations(case in Case::any()) {
        let series = observed(&case).with_time().unwrap();
        for_each_path(&case, |path, name| {
            for (&t, row) in series.times().iter().zip(series.rows()) {
                assert_eq!(path.value(t), row, "{name} at {t}");
            }
        });
    }

    #[test]
    fn increments_and_polylines_agree_with_values(
        case in Case::any(),
        ends in [0.0..=1.0, 0.0..=1.0],
        refinement in 1..4_usize,
    ) {
        let [a, b] = ends.map(|fraction| case.time(fraction));
        let (s, t) = (a.min(b), a.max(b));
        for_each_path(&case, |path, name| {
            let (first, last) = (path.value(s), path.value(t));
            let difference: Vec<f64> = last.iter().zip(&first).map(|(x, y)| x - y).collect();
            assert_eq!(path.increment(s, t), difference, "{name}");
            for ends in [(s, t), (s, s), (t, t)] {
                let vertices = path.polyline(ends.0, ends.1, refinement);
                assert!(vertices.len() >= 2, "{name}");
                assert_eq!(vertices[0], path.value(ends.0), "{name}");
                assert_eq!(vertices[vertices.len() - 1], path.value(ends.1), "{name}");
            }
        });
    }

    #[test]
    fn polylines_join_at_knots(case in Case::any(), refinement in 1..4_usize) {
        for_each_path(&case, |path, name| {
            let knots = path.knots();
            let (start, end) = (knots[0], knots[knots.len() - 1]);
            let whole = path.polyline(start, end, refinement);
            for &knot in &knots[1..knots.len() - 1] {
                let mut joined = path.polyline(start, knot, refinement);
                joined.extend(path.polyline(knot, end, refinement).into_iter().skip(1));
                assert_eq!(joined, whole, "{name} at {knot}");
            }
        });
    }

    #[test]
    fn derivatives_agree_with_differences(case in Case::any(), u in 0.1..0.9_f64) {
        for_each_path(&case, |path, name| {
            for pair in path.knots().windows(2) {
                // Strictly between knots all paths are smooth: central differences.
                let h = pair[1] - pair[0];
                let (t, e) = (pair[0] + u * h, 1e-4 * h);
                let (below, above) = (path.value(t - e), path.value(t + e));
                for (channel, slope) in path.slope(t).into_iter().enumerate() {
                    let difference = (above[channel] - below[channel]) / (2.0 * e);
                    // The central difference of a cubic is off by its third derivative, below 1e3 / h^3 here.
                    assert!((slope - difference).abs() < 1e-4 / h, "{name}: {slope} {difference}");
                }
            }
        });
    }

    #[test]
    fn derivatives_come_from_the_right_and_at_the_end_from_the_left(case in Case::any()) {
        for_each_path(&case, |path, name| {
            let knots = path.knots();
            for (i, &t) in knots.iter().enumerate() {
                let last = i + 1 == knots.len();
                let h = if last { knots[i - 1] - t } else { knots[i + 1] - t };
                for (channel, slope) in path.slope(t).into_iter().enumerate() {
                    // Slopes are quadratic on a piece, so three of them tell the fourth.
                    let at = |k: f64| path.slope(t + k * h / 4.0)[channel];
                    let wanted = 3.0 * at(1.0) - 3.0 * at(2.0) + at(3.0);
                    assert!(close(slope, wanted, 1e-9 / h.abs().min(1.0)), "{name}: {slope} {wanted}");
                }
            }
        });
    }

    #[test]
    fn cubic_polylines_cut_each_interval_equally(case in Case::any()) {
        let path = Cubic::natural(&observed(&case)).unwrap();
        let (start, end) = path.domain();
        let vertices = polyline(&path, start, end, 4);
        assert_eq!(vertices.len(), 4 * (case.times().len() - 1) + 1);
        for (k, vertex) in vertices.iter().enumerate().take(4 * (case.times().len() - 1)) {
            let (t, next) = (case.times()[k / 4], case.times()[k / 4 + 1]);
            let wanted = value(&path, t + (k % 4) as f64 / 4.0 * (next - t));
            for (x, y) in vertex.iter().zip(wanted) {
                assert!(close(*x, y, 1e-9));
            }
        }
        // Straight paths ignore the refinement.
        let line = Linear::new(&observed(&case).complete().unwrap()).unwrap();
        assert_eq!(polyline(&line, start, end, 4), polyline(&line, start, end, 1));
    }

    #[test]
    fn natural_splines_are_twice_differentiable(case in Case::any()) {
        let path = Cubic::natural(&observed(&case)).unwrap();
        let knots = case.times();
        let channel = 0;
        // Exact one-sided second derivative at a knot: slopes are quadratic on each piece.
        let curvature = |t: f64, e: f64| {
            let at = |k: f64| slope(&path, t + k * e)[channel];
            let here = 3.0 * at(1.0) - 3.0 * at(2.0) + at(3.0);
            (here, (-3.0 * here + 4.0 * at(1.0) - at(2.0)) / (2.0 * e))
        };
        for i in 0..knots.len() {
            let left = (i > 0).then(|| curvature(knots[i], (knots[i - 1] - knots[i]) / 4.0));
            let right = knots.get(i + 1).map(|next| curvature(knots[i], (next - knots[i]) / 4.0));
            match (left, right) {
                (Some(left), Some(right)) => {
                    prop_assert!(close(left.0, right.0, 1e-7), "{left:?} {right:?}");
                    prop_assert!(close(left.1, right.1, 1e-5), "{left:?} {right:?}");
                }
                (end, start) => {
                    let at_end = end.or(start).unwrap().1;
                    prop_assert!(at_end.abs() < 1e-5, "{at_end}");
                }
            }
        }
    }

    #[test]
    fn hermite_slopes_are_backward_differences(case in Case::any()) {
        let series = observed(&case);
        let path = Cubic::hermite(&series.clone().complete().unwrap()).unwrap();
        let (times, d) = (series.times(), series.channels());
        for i in 1..times.len() {
            let backward = (series.values()[i * d] - series.values()[(i - 1) * d]) / (times[i] - times[i - 1]);
            // From the right, where the next piece starts, and just from the left.
            prop_assert!(close(slope(&path, times[i])[0], backward, 1e-12));
            let left = slope(&path, times[i] - 1e-9 * (times[i] - times[i - 1]))[0];
            prop_assert!(close(left, backward, 1e-5));
        }
    }

    #[test]
    fn channels_ignore_times_at_which_they_are_missing(case in Case::any()) {
        // A second channel adds knots halfway; the first is missing there and must not notice.
        let alone = Series::new(case.times(), case.values[..case.times().len()].to_vec(), 1).unwrap();
        let (mut times, mut values) = (vec![], vec![]);
        for (i, (&t, &x)) in alone.times().iter().zip(alone.values()).enumerate() {
            if i > 0 {
                times.push(0.3 * alone.times()[i - 1] + 0.7 * t);
                values.extend([f64::NAN, 1.0]);
            }
            times.push(t);
            values.extend([x, 2.0]);
        }
        let joint = Series::with_missing(times, values, 2).unwrap();
        let check = |name, alone: &dyn Values, joint: &dyn Values| {
            for k in 0..=40 {
                let t = case.time(f64::from(k) / 40.0);
                let (x, y) = (alone.value(t)[0], joint.value(t)[0]);
                assert!(close(x, y, 1e-9), "{name} at {t}: {x} {y}");
            }
        };
        check("linear", &Linear::across_gaps(&alone).unwrap(), &Linear::across_gaps(&joint).unwrap());
        check("natural", &Cubic::natural(&alone).unwrap(), &Cubic::natural(&joint).unwrap());
        check(
            "hermite",
            &Cubic::hermite_across_gaps(&alone).unwrap(),
            &Cubic::hermite_across_gaps(&joint).unwrap(),
        );
    }
}

#[test]
fn channels_are_constant_outside_their_observations() {
    let nan = f64::NAN;
    let values = vec![nan, 1.0, 5.0, nan, 3.0, nan, 7.0, nan, nan, nan, nan, nan];
    let series = Series::with_missing(vec![0.0, 1.0, 2.0, 4.0, 5.0, 7.0], values, 2).unwrap();
    let check = |path: &dyn Values| {
        for (t, wanted) in [(0.0, 5.0), (0.5, 5.0), (4.0, 7.0), (4.5, 7.0), (7.0, 7.0)] {
            assert_eq!(path.value(t), [wanted, 1.0]);
        }
        assert_eq!(path.slope(0.5), [0.0, 0.0]);
        assert_eq!(path.slope(7.0), [0.0, 0.0]);
    };
    check(&Linear::across_gaps(&series).unwrap());
    check(&Cubic::natural(&series).unwrap());
    check(&Cubic::hermite_across_gaps(&series).unwrap());
}

#[test]
fn a_known_natural_spline_is_found() {
    // Truncated powers with knots 0, 1, 2.5, 4 whose second derivative vanishes at 0 and at 4.
    let spline = |t: f64| {
        let power = |s: f64| (t - s).max(0.0).powi(3);
        3.0 - t + power(0.0) - 2.0 * power(1.0) + 4.0 / 3.0 * power(2.5)
    };
    let knots = vec![0.0, 1.0, 2.5, 4.0];
    let values = knots.iter().map(|&t| spline(t)).collect();
    let path = Cubic::natural(&Series::new(knots, values, 1).unwrap()).unwrap();
    for k in 0..=80 {
        let t = f64::from(k) / 20.0;
        assert!(close(value(&path, t)[0], spline(t), 1e-13), "at {t}");
    }
    // By hand on a regular grid: second derivatives 0, -4, 4, 0.
    let path = Cubic::natural(&Series::regular(vec![0.0, 1.0, 0.0, 1.0], 1).unwrap()).unwrap();
    assert!(close(value(&path, 0.5)[0], 0.75, 1e-15));
    assert!(close(value(&path, 1.5)[0], 0.5, 1e-15));
}

#[test]
fn rectilinear_jumps_belong_to_the_interval_that_ends_there() {
    let series = Series::new(vec![0.0, 1.0, 3.0], vec![5.0, 6.0, 8.0], 1).unwrap();
    let path = Rectilinear::new(&series.clone().complete().unwrap(), TimeChannel::None).unwrap();
    assert_eq!(value(&path, 1.0_f64.next_down()), [5.0]);
    assert_eq!(value(&path, 1.0), [6.0]);
    assert_eq!(increment(&path, 0.0, 1.0), [1.0]);
    assert_eq!(increment(&path, 1.0, 2.0), [0.0]);
    assert_eq!(polyline(&path, 0.0, 1.0, 1), [[5.0], [6.0]]);
    assert_eq!(polyline(&path, 1.0, 2.0, 1), [[6.0], [6.0]]);
    assert_eq!(polyline(&path, 0.5, 2.0, 1), [[5.0], [6.0]]);
    assert_eq!(polyline(&path, 0.0, 3.0, 1), [[5.0], [6.0], [8.0]]);

    let timed = series.with_time().unwrap().complete().unwrap();
    let path = Rectilinear::new(&timed, TimeChannel::First).unwrap();
    assert_eq!(value(&path, 2.0), [2.0, 6.0]);
    assert_eq!(slope(&path, 1.0), [1.0, 0.0]);
    assert_eq!(polyline(&path, 0.0, 1.0, 1), [[0.0, 5.0], [1.0, 5.0], [1.0, 6.0]]);
    assert_eq!(polyline(&path, 1.0, 2.0, 1), [[1.0, 6.0], [2.0, 6.0]]);
    assert_eq!(polyline(&path, 0.5, 3.0, 1), [[0.5, 5.0], [1.0, 5.0], [1.0, 6.0], [3.0, 6.0], [3.0, 8.0]]);
    // Without being told, the time channel jumps like the others.
    let path = Rectilinear::new(&timed, TimeChannel::None).unwrap();
    assert_eq!(value(&path, 2.0), [1.0, 6.0]);
}

#[test]
fn a_jump_is_not_seen_early_even_if_its_fraction_rounds_to_one() {
    let start = -1e-20;
    let series = Series::new(vec![start, 1.0, 2.0], vec![5.0, 6.0, 7.0], 1).unwrap();
    let path = Rectilinear::new(&series.complete().unwrap(), TimeChannel::None).unwrap();
    let before = 1.0_f64.next_down();
    assert_eq!(value(&path, before), [5.0]);
    let series = Series::new(vec![-1.0, 1e-20], vec![5.0, 6.0], 1).unwrap();
    let path = Rectilinear::new(&series.complete().unwrap(), TimeChannel::None).unwrap();
    assert_eq!((0.0 - -1.0) / (1e-20 - -1.0), 1.0);
    assert_eq!(value(&path, 0.0), [5.0]);
}

#[test]
fn a_time_channel_must_be_the_time() {
    let series = Series::regular(vec![0.0, 1.0, 2.5], 1).unwrap().complete().unwrap();
    let error = Rectilinear::new(&series, TimeChannel::First).unwrap_err();
    assert!(error.to_string().contains("`2.5` at observation 2, time `2`"), "{error}");
    assert!(Rectilinear::new(&series, TimeChannel::None).is_ok());
}

#[test]
fn arguments_are_checked() {
    let series = Series::new(vec![1.0, 2.0, 4.0], vec![0.0, 1.0, 0.0], 1).unwrap();
    let complete = series.clone().complete().unwrap();
    check_arguments(&Linear::new(&complete).unwrap());
    check_arguments(&Rectilinear::new(&complete, TimeChannel::None).unwrap());
    check_arguments(&Cubic::natural(&series).unwrap());
    check_arguments(&Cubic::hermite(&complete).unwrap());
}

fn check_arguments(path: &impl Path<f64>) {
    assert_eq!((path.channels(), path.domain()), (1, (1.0, 4.0)));
    let mut out = [0.0];
    for time in [0.5, 4.5, f64::INFINITY] {
        let outside = Error::OutsideDomain { time, start: 1.0, end: 4.0 };
        assert_eq!(path.evaluate(time, &mut out).unwrap_err(), outside);
        assert_eq!(path.derivative(time, &mut out).unwrap_err(), outside);
        assert_eq!(path.increment(2.0, time, &mut out).unwrap_err(), outside);
        assert_eq!(path.polyline(2.0, time, 1, &mut vec![]).unwrap_err(), outside);
    }
    let nan = path.evaluate(f64::NAN, &mut out).unwrap_err();
    assert!(matches!(nan, Error::OutsideDomain { .. }));
    let reversed = Error::Reversed { start: 3.0, end: 2.0 };
    assert_eq!(path.increment(3.0, 2.0, &mut out).unwrap_err(), reversed);
    assert_eq!(path.polyline(3.0, 2.0, 1, &mut vec![]).unwrap_err(), reversed);
    let none = path.polyline(1.0, 2.0, 0, &mut vec![]).unwrap_err();
    assert_eq!(none.to_string(), "the refinement of a polyline must be 1 or more, not `0`");
    let wide = path.evaluate(1.0, &mut [0.0; 2]).unwrap_err();
    assert_eq!(wide.to_string(), "evaluate: `out` (one entry per channel) has 2 entries, wanted 1");
    assert!(path.derivative(1.0, &mut [0.0; 2]).is_err());
    assert!(path.increment(1.0, 2.0, &mut []).is_err());
    // What was in the vector before is gone.
    let mut vertices = vec![9.0; 100];
    path.polyline(1.0, 4.0, 1, &mut vertices).unwrap();
    assert_eq!(vertices, [0.0, 1.0, 0.0]);
}

#[test]
fn single_precision_and_objects_work() {
    let series = Series::new(vec![0.0, 1e-20, 1.0], vec![0.0_f32, 1.0, 3.0], 1).unwrap();
    let paths: [Box<dyn Path<f32, Causality = _>>; 2] =
        [Box::new(Linear::across_gaps(&series).unwrap()), Box::new(Cubic::hermite_across_gaps(&series).unwrap())];
    for path in &paths {
        let mut out = [f32::NAN];
        path.evaluate(1.0, &mut out).unwrap();
        assert_eq!(out, [3.0]);
        path.derivative(0.0, &mut out).unwrap();
        assert!((out[0] - 1e20).abs() < 1e14);
    }
}
