//! Solvers: measured orders, adaptive errors, counts, stops and failures.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::common;

use common::{Logistic, assert_close, polygon, slope, uniform};
use ncde_signature::path::{Cubic, Path, Rectilinear, Series, TimeChannel, Windows};
use ncde_solve::Error;
use ncde_solve::field::{Activation, Linear, Network, VectorField};
use ncde_solve::scalar::Scalar;
use ncde_solve::solve::{Adaptive, Along, Drive, LogOde, Method, Save, Solver, Statistics, Steps, Term, Time};

fn logistic(solver: Solver, save: &Save) -> ncde_solve::solve::Solution<f64> {
    let time = Time::new(0.0, 2.0).unwrap();
    solver.solve(&Term { field: &Logistic, drive: &time }, &[1.0], &Logistic::START, save).unwrap()
}

#[test]
fn fixed_steps_show_the_order() {
    for method in Method::ALL {
        let error = |n: usize| {
            let last = logistic(Solver { method, steps: Steps::Shared(n) }, &Save::End);
            let exact = Logistic::exact(2.0);
            (last.last()[0] - exact[0]).abs().max((last.last()[1] - exact[1]).abs())
        };
        let first = if method.tableau().order <= 2 { 64 } else { 32 };
        let points: Vec<(f64, f64)> = (0..3).map(|k| first << k).map(|n| ((n as f64).ln(), error(n).ln())).collect();
        let order = -slope(&points);
        assert!((order - method.tableau().order as f64).abs() < 0.15, "{method:?} has order {order}: {points:?}");
    }
}

#[test]
fn adaptive_errors_follow_the_tolerance() {
    let adaptive = Method::ALL.into_iter().filter(|method| method.tableau().error.is_some());
    for method in adaptive {
        let mut points = Vec::new();
        for tolerance in [1e-4, 1e-5, 1e-6, 1e-7] {
            let solution = logistic(Solver { method, steps: Steps::adaptive(tolerance, tolerance) }, &Save::End);
            let exact = Logistic::exact(2.0);
            let error = solution.last().iter().zip(exact).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            // The sum over steps may be larger than one step's share, never by much.
            assert!(error < 20.0 * tolerance, "{method:?} at {tolerance:e}: {error:e}");
            points.push((tolerance.ln(), error.ln()));
        }
        let slope = slope(&points);
        assert!((0.6..1.4).contains(&slope), "{method:?}: the error goes with the tolerance to the power {slope}");
    }
}

#[test]
fn counts_are_what_they_were() {
    let count = |method, steps| {
        let Statistics { steps, rejected, evaluations } = logistic(Solver { method, steps }, &Save::End).statistics;
        (steps, rejected, evaluations)
    };
    assert_eq!(count(Method::Heun, Steps::AtMost(0.3)), (7, 0, 14));
    assert_eq!(count(Method::Rk4, Steps::Shared(10)), (10, 0, 40));
    assert_eq!(count(Method::DormandPrince, Steps::Shared(10)), (10, 0, 61));
    let adaptive = [Method::BogackiShampine, Method::DormandPrince, Method::Tsitouras];
    let counts = adaptive.map(|method| count(method, Steps::adaptive(1e-6, 1e-6)));
    assert_eq!(counts, [(38, 0, 116), (8, 0, 50), (8, 0, 50)]);
    // A first step that is far too long is taken back.
    let first = Steps::Adaptive(Adaptive { relative: 1e-9, absolute: 1e-9, first: Some(2.0), ..Adaptive::default() });
    assert_eq!(count(Method::Tsitouras, first), (18, 2, 121));
}

/// A cubic through a random walk.
fn cubic(seed: u64, channels: usize, length: usize) -> Cubic<f64, ncde_signature::path::AtObservations> {
    let mut values = uniform(seed, length * channels);
    for i in channels..values.len() {
        values[i] += values[i - channels];
    }
    let times = (0..length).map(|i| i as f64 + 0.3 * (i as f64).sin()).collect();
    Cubic::hermite(&Series::new(times, values, channels).unwrap().complete().unwrap()).unwrap()
}

#[test]
fn a_scalar_equation_along_a_path_is_its_exponential() {
    // dh = h dX: h = exp(X_t - X_0), at knots and between them; the rate jumps at knots and the order survives.
    let path = cubic(1, 1, 6);
    let drive = Along::new(&path).unwrap();
    let field = Linear { hidden: 1, channels: 1 };
    let times = vec![0.0, 0.4, 0.9, path.knots()[2], 3.0, path.knots()[5]];
    for method in Method::ALL {
        let error = |n: usize| {
            let solver = Solver { method, steps: Steps::AtMost(1.0 / n as f64) };
            let solution =
                solver.solve(&Term { field: &field, drive: &drive }, &[1.0], &[2.0], &Save::Times(times.clone())).unwrap();
            let mut worst = 0.0_f64;
            for (i, &t) in times.iter().enumerate() {
                let mut x = [0.0];
                path.increment(0.0, t, &mut x).unwrap();
                worst = worst.max((solution.state(i)[0] - 2.0 * x[0].exp()).abs());
            }
            worst
        };
        let points: Vec<(f64, f64)> = [8, 16, 32, 64].map(|n| ((n as f64).ln(), error(n).ln())).to_vec();
        let order = -slope(&points);
        // Or more, as some terms of the error vanish for this field. A step across a knot would leave order 1 or 2.
        assert!(order > method.tableau().order as f64 - 0.4, "{method:?} has order {order}: {points:?}");
    }
}

#[test]
fn adaptive_steps_land_on_knots() {
    // A zigzag turns at every knot. A step across one would see a kink, and the error would be rejected down to nothing.
    let path = polygon((0..21).map(|i| f64::from(i % 2)).collect(), 1, 20.0);
    let (drive, field) = (Along::new(&path).unwrap(), Linear { hidden: 1, channels: 1 });
    let solver = Solver { method: Method::DormandPrince, steps: Steps::adaptive(1e-6, 1e-6) };
    let solution = solver.solve(&Term { field: &field, drive: &drive }, &[1.0], &[1.0], &Save::Knots).unwrap();
    for (i, state) in solution.states.iter().enumerate() {
        assert!((state - if i % 2 == 0 { 1.0 } else { 1.0_f64.exp() }).abs() < 1e-5, "{i}: {state}");
    }
    assert_eq!(solution.statistics, Statistics { steps: 122, rejected: 0, evaluations: 753 });
}

#[test]
fn depth_one_with_a_window_an_observation_is_the_linear_control() {
    let path = polygon(uniform(3, 7 * 3), 3, 2.0);
    let network = Network::new(4, 3, 8, 2, Activation::Silu, Activation::Tanh).unwrap();
    let (parameters, h) = (uniform(4, network.parameters()), uniform(5, 4));
    let (along, windows) = (Along::new(&path).unwrap(), LogOde::new(&path, &Windows::Observations(1), 1, 1).unwrap());
    for solver in [
        Solver { method: Method::Heun, steps: Steps::thesis(7, 1) },
        Solver { method: Method::Tsitouras, steps: Steps::adaptive(1e-6, 1e-6) },
    ] {
        let a = solver.solve(&Term { field: &network, drive: &along }, &parameters, &h, &Save::Knots).unwrap();
        let b = solver.solve(&Term { field: &network, drive: &windows }, &parameters, &h, &Save::Knots).unwrap();
        assert_close(&a.states, &b.states, 1e-13);
        assert_eq!(a.statistics, b.statistics);
    }
}

#[test]
fn steps_are_shared_out_by_windows() {
    // Windows of 2, 2 and 1 of 5, with 10 steps: 4, 4 and 2. And never less than one.
    let path = polygon(uniform(3, 6), 1, 5.0);
    let drive = LogOde::new(&path, &Windows::Observations(2), 1, 1).unwrap();
    let field = Linear { hidden: 1, channels: 1 };
    for (count, steps) in [(10, 10), (2, 3), (1, 3), (500, 500)] {
        let solver = Solver { method: Method::Euler, steps: Steps::Shared(count) };
        let solution = solver.solve(&Term { field: &field, drive: &drive }, &[1.0], &[1.0], &Save::Knots).unwrap();
        assert_eq!((solution.times.as_slice(), solution.statistics.steps), ([0.0, 2.0, 4.0, 5.0].as_slice(), steps));
        // What comes later changes nothing.
        let part = solver.solve(&Term { field: &field, drive: &drive }, &[1.0], &[1.0], &Save::Times(vec![2.0])).unwrap();
        assert_eq!(part.last(), solution.state(1));
    }
}

#[test]
fn single_precision_follows_double() {
    let time = Time::new(0.0, 2.0).unwrap();
    let solver = Solver { method: Method::Tsitouras, steps: Steps::adaptive(1e-5, 1e-5) };
    let term = Term { field: &Logistic, drive: &time };
    let single = solver.solve(&term, &[1.0_f32], &[0.1, 1.0], &Save::End).unwrap();
    let exact = Logistic::exact(2.0);
    assert!(single.last().iter().zip(exact).all(|(&a, b)| (f64::from(a) - b).abs() < 1e-4));
}

#[test]
fn a_batch_is_its_samples() {
    let drives: Vec<LogOde<f64>> = (0..5_usize)
        .map(|i| {
            LogOde::new(&polygon(uniform(i as u64, (3 + i) * 2), 2, 1.0 + i as f64), &Windows::Observations(2), 2, 1).unwrap()
        })
        .collect();
    let network = Network::new(3, 2, 4, 1, Activation::Silu, Activation::Tanh).unwrap();
    let (parameters, h) = (uniform(4, network.parameters()), uniform(5, 15));
    let solver = Solver { method: Method::Heun, steps: Steps::AtMost(0.1) };
    let batch = solver.solve_batch(&network, &drives, &parameters, &h, &Save::Knots).unwrap();
    for (i, solution) in batch.iter().enumerate() {
        let term = Term { field: &network, drive: &drives[i] };
        assert_eq!(*solution, solver.solve(&term, &parameters, &h[3 * i..3 * i + 3], &Save::Knots).unwrap());
    }
}

/// `h' = c h^2`, which is infinite at `1 / (c h_0)`.
struct Exploding;

impl VectorField for Exploding {
    fn channels(&self) -> usize {
        1
    }

    fn hidden(&self) -> usize {
        1
    }

    fn parameters(&self) -> usize {
        1
    }

    fn eval<N: Scalar>(&self, c: &[N], h: &[N], out: &mut [N]) {
        out[0] = c[0] * h[0] * h[0];
    }
}

#[test]
fn an_exploding_field_ends_in_an_error_that_says_where() {
    let time = Time::new(0.0, 2.0).unwrap();
    let solve = |steps| {
        let solver = Solver { method: Method::DormandPrince, steps };
        solver.solve(&Term { field: &Exploding, drive: &time }, &[1.0], &[1.0], &Save::End).unwrap_err()
    };
    let error = solve(Steps::Shared(400));
    assert!(matches!(error, Error::NotFinite { time, step, .. } if (1.0..1.1).contains(&time) && step == 0.005), "{error}");
    assert!(error.to_string().contains("take smaller steps"), "{error}");
    let error = solve(Steps::adaptive(1e-6, 1e-6));
    assert!(matches!(error, Error::StepTooSmall { time, .. } if (time - 1.0).abs() < 1e-3), "{error}");
    assert!(error.to_string().contains("loosen the tolerances"), "{error}");
    // Not a number from the start.
    let solver = Solver { method: Method::DormandPrince, steps: Steps::adaptive(1e-6, 1e-6) };
    let error = solver.solve(&Term { field: &Exploding, drive: &time }, &[f64::NAN], &[1.0], &Save::End).unwrap_err();
    assert!(matches!(error, Error::NotFinite { time: 0.0, index: 0, .. }), "{error}");
}

#[test]
fn a_stiff_field_ends_in_an_error() {
    let time = Time::new(0.0, 1.0).unwrap();
    let field = Linear { hidden: 1, channels: 1 };
    let steps = Steps::Adaptive(Adaptive { most: 1000, ..Adaptive::default() });
    let solver = Solver { method: Method::Tsitouras, steps };
    let error = solver.solve(&Term { field: &field, drive: &time }, &[-1e6], &[1.0], &Save::End).unwrap_err();
    assert!(matches!(error, Error::TooManySteps { most: 1000, time, end: 1.0, step } if time < 0.1 && step < 1e-3), "{error}");
    assert!(error.to_string().contains("the field is stiff"), "{error}");
}

#[test]
fn what_cannot_be_solved_is_named() {
    let time = Time::new(0.0, 1.0).unwrap();
    let path = polygon(vec![0.0, 1.0, 0.5], 1, 2.0);
    let field = Linear { hidden: 1, channels: 1 };
    let windows = LogOde::new(&path, &Windows::Observations(1), 2, 1).unwrap();
    let says = |error: Error, words: &str| assert!(error.to_string().contains(words), "{error}");
    let solver = Solver { method: Method::Rk4, steps: Steps::adaptive(1e-3, 1e-3) };
    let error = solver.solve(&Term { field: &field, drive: &time }, &[1.0], &[1.0], &Save::End).unwrap_err();
    says(error, "`rk4` has no error estimate, so its steps cannot adapt; take fixed steps, or `tsitouras`");
    let solver = Solver { method: Method::Rk4, steps: Steps::AtMost(0.1) };
    let ask = |times: Vec<f64>| {
        solver.solve(&Term { field: &field, drive: &windows }, &[1.0], &[1.0], &Save::Times(times)).unwrap_err()
    };
    says(ask(vec![1.5]), "time `1.5` lies inside the window from `1` to `2`");
    says(ask(vec![2.5]), "time `2.5` is outside of the control's domain from `0` to `2`");
    says(ask(vec![f64::NAN]), "outside of the control's domain");
    says(ask(vec![1.0, 1.0]), "the list of times to save must be increasing, not `1, then 1`");
    says(ask(vec![]), "must be not empty");
    let two = Linear { hidden: 1, channels: 2 };
    let error = solver.solve(&Term { field: &two, drive: &windows }, &[1.0; 2], &[1.0], &Save::End).unwrap_err();
    says(error, "the field's output (one column for each channel of the control) has 2 entries, wanted 1");
    let error = solver.solve(&Term { field: &field, drive: &time }, &[1.0], &[1.0; 2], &Save::End).unwrap_err();
    says(error, "the initial state has 2 entries, wanted 1");
    let solver = Solver { method: Method::Rk4, steps: Steps::AtMost(0.0) };
    let error = solver.solve(&Term { field: &field, drive: &time }, &[1.0], &[1.0], &Save::End).unwrap_err();
    says(error, "the size of a step must be positive and finite, not `0`");
    let solver = Solver { method: Method::Rk4, steps: Steps::AtMost(1e-12) };
    let error = solver.solve(&Term { field: &field, drive: &time }, &[1.0], &[1.0], &Save::End).unwrap_err();
    says(error, "the number of steps from one stop to the next must be at most a billion");
    says(Time::new(1.0, 1.0).unwrap_err(), "must be finite and increasing");
    let held = Series::new(vec![0.0, 1.0, 2.0], vec![0.0, 5.0, 1.0, 6.0, 2.0, 6.0], 2).unwrap().complete().unwrap();
    let jumping = Rectilinear::new(&held, TimeChannel::First).unwrap();
    says(Along::new(&jumping).unwrap_err(), "the path jumps by `1` at time `1` (channel 1)");
}

#[test]
fn a_drive_keeps_to_its_piece() {
    let path = polygon(vec![0.0, 1.0, -1.0], 1, 2.0);
    let drive = Along::new(&path).unwrap();
    let mut rate = [0.0];
    for (piece, slope) in [(0, 1.0), (1, -2.0)] {
        for t in [0.0, 0.5, 1.0] {
            drive.rate(piece, piece as f64 + t, &mut rate).unwrap();
            assert_eq!(rate, [slope], "piece {piece} at {t}");
        }
    }
}

#[test]
fn networks_are_checked_when_they_are_read() {
    let network = Network::new(2, 3, 4, 1, Activation::ShiftedSoftplus, Activation::Tanh).unwrap();
    let text = serde_json::to_string(&network).unwrap();
    assert!(text.contains(r#"{"width":4,"activation":"shifted-softplus"}"#), "{text}");
    assert_eq!(serde_json::from_str::<Network>(&text).unwrap(), network);
    let error = serde_json::from_str::<Network>(&text.replace("\"hidden\":2", "\"hidden\":3")).unwrap_err();
    assert!(
        error.to_string().contains("the last layer (one output for each channel and state) has 6 entries, wanted 9"),
        "{error}"
    );
}

#[test]
fn solvers_are_saved_by_name() {
    let solver = Solver { method: Method::BogackiShampine, steps: Steps::adaptive(1e-3, 1e-6) };
    let text = serde_json::to_string(&solver).unwrap();
    assert!(text.starts_with(r#"{"method":"bogacki-shampine","steps":{"adaptive":{"relative":0.001"#), "{text}");
    assert_eq!(serde_json::from_str::<Solver>(&text).unwrap(), solver);
    for method in Method::ALL {
        assert_eq!(serde_json::to_string(&method).unwrap(), format!("\"{}\"", method.name()));
    }
}
